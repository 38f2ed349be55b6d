//! The wheel: installed by pip into a fresh environment, read by the module's own tests, and started by uvx without being installed.

use std::process::Command;

use super::super::external::{empty_folder, lines, read};
use super::{Trial, Tried, Unmade, expect, needs, script};

/// pip from `dist/` alone, then the tests of the module, by the program that the wheel brought.
pub fn wheel(trial: &Trial) -> Tried {
    needs("python3")?;
    let (folder, dist) = (trial.folder("venv"), trial.release.into.display().to_string());
    trial.made(&format!("{}.whl", trial.processor))?;
    empty_folder(&folder)?;
    let place = folder.display();
    let said = script(
        "sh",
        &format!(
            "python3 -m venv '{place}'; '{place}/bin/python' -m pip install -q --no-index --find-links '{dist}' iodyno
             '{place}/bin/iodyno' --version; '{place}/bin/python' -m pip check"
        ),
    )?;
    expect(&said, &format!("iodyno {}", trial.release.version))?;
    script(
        "sh",
        &format!("'{place}/bin/python' -m pip install -q pytest 'iodyno[pandas,plot]' --find-links '{dist}'"),
    )
    .map_err(|why| Unmade::Skipped(format!("pytest, pandas or matplotlib cannot be had: {why:?}")))?;
    let mut tests = Command::new(folder.join("bin/python"));
    tests.args(["-m", "pytest", "-q"]).current_dir(trial.release.root.join("python"));
    tests.env_remove("IODYNO").env_remove("PYTHONPATH").env("PYTHONDONTWRITEBYTECODE", "1");
    let said = lines(tests)?;
    let counts = said.last().cloned().unwrap_or_default();
    let examples = examples(trial, &folder)?;
    script(
        "sh",
        &format!("'{place}/bin/python' -m pip uninstall -q -y iodyno; test ! -e '{place}/bin/iodyno'"),
    )?;
    Ok(format!("{}; {examples} of its README were run", counts.trim_matches(['=', ' '])))
}

/// The README's Python, as it stands there.
fn examples(trial: &Trial, folder: &std::path::Path) -> Result<String, Unmade> {
    let readme = read(&trial.release.root.join("python/README.md"))?;
    let blocks: Vec<&str> =
        readme.split("```python\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    let place = folder.join("readme");
    empty_folder(&place)?;
    super::super::external::write(&place.join("job.fio"), b"[j]\nfilename=data\nsize=16m\nrw=randread\n")?;
    for block in &blocks {
        let mut python = Command::new(folder.join("bin/python"));
        python.args(["-c", block]).current_dir(&place).env("IODYNO_HISTORY", place.join("history.sqlite"));
        lines(python)?;
    }
    Ok(format!("{} blocks", blocks.len()))
}

/// `uvx iodyno measure`, from `dist/` alone.
pub fn uvx(trial: &Trial) -> Tried {
    needs("python3")?;
    let (folder, dist) = (trial.folder("uv"), trial.release.into.display().to_string());
    trial.made(&format!("{}.whl", trial.processor))?;
    empty_folder(&folder)?;
    let place = folder.display();
    script("sh", &format!("python3 -m venv '{place}/venv'; '{place}/venv/bin/python' -m pip install -q uv"))
        .map_err(|why| Unmade::Skipped(format!("uv cannot be had from PyPI: {why:?}")))?;
    let said = script(
        "sh",
        &format!(
            "export UV_CACHE_DIR='{place}/cache' UV_PYTHON_DOWNLOADS=never; mkdir '{place}/target'
             '{place}/venv/bin/uvx' -q --no-index --find-links '{dist}' iodyno measure --quick --no-save '{place}/target'
             echo \"measured: $?\""
        ),
    )?;
    expect(&said, "measured: 0")?;
    Ok("uvx iodyno measure --quick".into())
}
