//! What can be asked for, and who answers it.

use iodyno_model::{Diagnostic, Origin};
use iodyno_studio::admission::secured;
use iodyno_studio::design::{self, Design};
use iodyno_studio::http::{HttpRequest, Response};
use iodyno_studio::page;
use serde_json::{Value, json};

use super::Studio;
use super::compare::compare;
use super::designs;
use super::explanation::diagnostic;
use super::export::export;
use super::folder;
use super::import::LoadImport;
use super::machine;
use super::results;
use super::running::Start;

/// What comes of something that was asked for.
type Told = Result<Value, Vec<Diagnostic>>;

/// The answer to a request that was let in.
pub fn answer(studio: &Studio, request: &HttpRequest, token: &str) -> Response {
    match (request.method.as_str(), request.path.strip_prefix("/api/")) {
        ("GET", None) => match page::part(&request.path) {
            Some(part) => secured(Response::of(part.kind, part.text)),
            None => secured(Response::refused(404, "there is nothing else here")),
        },
        ("GET", Some("file")) => match file(studio, request) {
            Ok(response) if response.headers.iter().any(|(name, _)| *name == "Content-Security-Policy") => {
                response
            }
            Ok(response) => secured(response),
            Err(wrong) => told(Err(vec![wrong])),
        },
        ("GET", Some(path)) => told(get(studio, request, path, token)),
        ("POST", Some(path)) => told(body(request).and_then(|asked| post(studio, path, &asked))),
        _ => secured(Response::refused(
            405,
            "only the page's own parts are got, and only its questions are posted",
        )),
    }
}

fn told(told: Told) -> Response {
    const KIND: &str = "application/json; charset=utf-8";
    secured(match told {
        Ok(value) => Response::of(KIND, value.to_string()),
        Err(wrong) => {
            let wrong: Vec<Value> = wrong.iter().map(diagnostic).collect();
            Response { status: 422, ..Response::of(KIND, json!({ "wrong": wrong }).to_string()) }
        }
    })
}

fn body(request: &HttpRequest) -> Told {
    let wrong = |why: &str| vec![Diagnostic::error(&Origin::argument("request"), why)];
    // A form of another page cannot send this kind.
    if !request.header("content-type").is_some_and(|kind| kind.starts_with("application/json")) {
        return Err(wrong("JSON is expected"));
    }
    serde_json::from_slice(&request.body).map_err(|error| wrong(&format!("this is no JSON: {error}")))
}

fn get(studio: &Studio, request: &HttpRequest, path: &str, token: &str) -> Told {
    let one = |wrong: Diagnostic| vec![wrong];
    match path {
        "start" => Ok(json!({
            "token": token, "version": env!("CARGO_PKG_VERSION"), "first": designs::first(), "stock": design::stock(),
            "kept": designs::kept(&studio.folder), "folder": studio.folder.to_string_lossy(), "running": studio.runs.list(),
        })),
        "targets" => Ok(machine::targets()),
        "machine" => Ok(machine::shown()),
        "designs" => Ok(json!({ "kept": designs::kept(&studio.folder) })),
        "design" => {
            let name = request.asked("name").unwrap_or_default();
            let path = folder::kept(&studio.folder, name).filter(|_| name.ends_with(".icf"));
            let none = || vec![Diagnostic::error(&Origin::argument(name), "no such design is kept")];
            let text = path.and_then(|path| std::fs::read_to_string(path).ok()).ok_or_else(none)?;
            let (design, notes) = design::of_icf(name, &text)?;
            Ok(json!({ "design": design, "notes": notes }))
        }
        "running" => match number(request).and_then(|number| studio.runs.get(number)) {
            Some(run) => Ok(run.since(request.asked("from").and_then(|from| from.parse().ok()).unwrap_or(0))),
            None => Err(vec![Diagnostic::error(&Origin::argument("run"), "no such run was started here")]),
        },
        "runs" => {
            results::list(request.asked("text"), request.asked("tag"), request.asked("state")).map_err(one)
        }
        "run" => results::show(request.asked("run").unwrap_or_default()).map_err(one),
        "compare" => {
            let numbers: Vec<&str> = request.asked("runs").unwrap_or_default().split(',').collect();
            compare(&numbers, request.asked("across") == Some("all")).map_err(one)
        }
        _ => Err(vec![Diagnostic::error(&Origin::argument(path), "there is nothing of that name")]),
    }
}

fn number(request: &HttpRequest) -> Option<usize> {
    request.asked("number")?.parse().ok()
}

/// A file to look at or to keep: of a run that is kept, or the report of one that was started here.
fn file(studio: &Studio, request: &HttpRequest) -> Result<Response, Diagnostic> {
    if let Some(name) = request.asked("report") {
        let none = || Diagnostic::error(&Origin::argument(name), "no such report is kept");
        let path = folder::kept(&studio.folder, name).ok_or_else(none)?;
        let bytes = std::fs::read(&path).map_err(|_| none())?;
        let response = Response::of("text/plain; charset=utf-8", bytes);
        return Ok(response
            .with("Content-Disposition", format!("attachment; filename=\"{}\"", name.replace('"', ""))));
    }
    let runs: Vec<&str> = request.asked("runs").unwrap_or_default().split(',').collect();
    results::file(&runs, request.asked("as").unwrap_or_default(), request.asked("keep").is_some())
}

fn post(studio: &Studio, path: &str, asked: &Value) -> Told {
    let typed = asked["destroy"].as_str().unwrap_or_default();
    match path {
        "explain" => Ok(designs::explain(&designed(asked)?)),
        "save" => designs::save(studio, &designed(asked)?),
        "export" => export(&designed(asked)?, asked["to"].as_str().unwrap_or_default()),
        "import" => Ok(LoadImport::of(asked)?.shown()),
        "begin" => begin(studio, designs::start(studio, &designed(asked)?, typed)?),
        "begin-as-written" => begin(studio, LoadImport::of(asked)?.start(studio, typed)?),
        "stop" => {
            let number = asked["number"].as_u64().and_then(|number| usize::try_from(number).ok());
            match number.and_then(|number| studio.runs.get(number)) {
                Some(run) => {
                    run.stop();
                    Ok(json!({}))
                }
                None => {
                    Err(vec![Diagnostic::error(&Origin::argument("stop"), "no such run was started here")])
                }
            }
        }
        "change" => {
            results::change(asked["run"].as_str().unwrap_or_default(), asked).map_err(|wrong| vec![wrong])
        }
        _ => Err(vec![Diagnostic::error(&Origin::argument(path), "there is nothing of that name")]),
    }
}

fn begin(studio: &Studio, start: Start<'_>) -> Told {
    let run = studio.runs.start(start).map_err(|wrong| vec![wrong])?;
    Ok(json!({ "number": run.number, "words": run.words }))
}

fn designed(asked: &Value) -> Result<Design, Vec<Diagnostic>> {
    let wrong =
        |error: serde_json::Error| vec![Diagnostic::error(&Origin::argument("design"), error.to_string())];
    serde_json::from_value(asked["design"].clone()).map_err(wrong)
}
