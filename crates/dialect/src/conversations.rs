//! Recorded conversations with inference servers: when each request came, how long it was, and which blocks its prompt has.
//!
//! Two forms of the same columns, those of the traces that Mooncake's authors published: a JSON object in each line, or CSV with
//! a line of names. Refuses what is out of order and what has more blocks than tokens; draws and runs nothing.

use iodyno_model::kv_cache::RecordedRequest;
use iodyno_model::{Diagnostic, Origin};
use serde_json::Value;

/// The columns, in the order of the published ones.
const TIMESTAMP: &str = "timestamp";
const INPUT: &str = "input_length";
const OUTPUT: &str = "output_length";
const BLOCKS: &str = "hash_ids";
const COLUMNS: [&str; 4] = [TIMESTAMP, INPUT, OUTPUT, BLOCKS];

/// Times are in milliseconds.
const NS_PER_MS: f64 = 1e6;
/// Longer prompts are a slip of the pen.
const MOST_TOKENS: u64 = 100_000_000;

/// The requests of a file's text, in the order of their arrival, from the first one's time on; `path` is what messages call it.
///
/// # Errors
/// The first line that is wrong, or that there is none.
pub fn parse(text: &str, path: &str, block_tokens: u64) -> Result<Vec<RecordedRequest>, Diagnostic> {
    let is_json = text.trim_start().starts_with('{');
    let mut lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let wrong = |line: usize, message: String, hint: String| {
        let origin = Origin::File { path: path.into(), line: line as u32 + 1 };
        Diagnostic::error(&origin, message).hint(hint)
    };
    let order = match (is_json, lines.clone().next()) {
        (_, None) => return Err(wrong(0, "no request is in it".into(), form())),
        (true, _) => Vec::new(),
        (false, Some((at, head))) => {
            lines.next();
            columns(head).map_err(|message| wrong(at, message, form()))?
        }
    };
    let mut requests: Vec<RecordedRequest> = Vec::new();
    let mut first = None;
    for (at, line) in lines {
        let read = if is_json { of_json(line) } else { of_csv(line, &order) };
        let (ms, mut request) = read.map_err(|message| wrong(at, message, form()))?;
        let held = request.tokens.div_ceil(block_tokens.max(1));
        if request.blocks.len() as u64 > held {
            let message =
                format!("{} blocks, and {} tokens have {held}", request.blocks.len(), request.tokens);
            return Err(wrong(at, message, "say how many tokens a block has: --block-tokens 512".into()));
        }
        let after = ms - *first.get_or_insert(ms);
        request.at_ns = (after * NS_PER_MS) as u64;
        if after < 0.0 || requests.last().is_some_and(|last| last.at_ns > request.at_ns) {
            let message = "it came before the request of the line above".into();
            return Err(wrong(at, message, "sort the lines by their timestamp".into()));
        }
        requests.push(request);
    }
    if requests.is_empty() {
        return Err(wrong(0, "no request is in it".into(), form()));
    }
    Ok(requests)
}

fn form() -> String {
    format!(
        "a line is {{\"{TIMESTAMP}\": 27482, \"{INPUT}\": 6955, \"{OUTPUT}\": 52, \"{BLOCKS}\": [46, 47]}}, or CSV with a first \
         line {}",
        COLUMNS.join(",")
    )
}

type Timed = (f64, RecordedRequest);

fn of_json(line: &str) -> Result<Timed, String> {
    let value: Value = serde_json::from_str(line).map_err(|error| format!("no JSON: {error}"))?;
    let field = |name: &str| value.get(name).ok_or(format!("`{name}` is missing"));
    let count = |name: &str| field(name)?.as_u64().ok_or(format!("`{name}`: expected a whole number"));
    let ids = field(BLOCKS)?.as_array().ok_or(format!("`{BLOCKS}`: expected a list"))?;
    let id = |id: &Value| id.as_u64().ok_or(format!("`{BLOCKS}`: expected whole numbers"));
    request(
        field(TIMESTAMP)?.as_f64().ok_or(format!("`{TIMESTAMP}`: expected milliseconds"))?,
        count(INPUT)?,
        count(OUTPUT)?,
        ids.iter().map(id).collect::<Result<_, _>>()?,
    )
}

fn request(ms: f64, tokens: u64, answer: u64, blocks: Vec<u64>) -> Result<Timed, String> {
    if !ms.is_finite() || !(0.0..=1e15).contains(&ms) {
        return Err(format!("`{TIMESTAMP}`: expected milliseconds"));
    }
    for (name, tokens) in [(INPUT, tokens), (OUTPUT, answer)] {
        if tokens > MOST_TOKENS {
            return Err(format!("`{name}`: {tokens} tokens, at most {MOST_TOKENS}"));
        }
    }
    Ok((ms, RecordedRequest { at_ns: 0, tokens, answer, blocks }))
}

/// Where each of the columns stands.
fn columns(head: &str) -> Result<Vec<usize>, String> {
    let names = cells(head);
    let place = |wanted: &&str| {
        let found = names.iter().position(|name| name.trim() == *wanted);
        found.ok_or(format!("no column `{wanted}`"))
    };
    COLUMNS.iter().map(place).collect()
}

fn of_csv(line: &str, order: &[usize]) -> Result<Timed, String> {
    let cells = cells(line);
    let cell = |column: usize| {
        let text = order.get(column).and_then(|place| cells.get(*place)).map(|cell| cell.trim());
        text.ok_or(format!("`{}` is missing", COLUMNS[column]))
    };
    let count = |column: usize| {
        cell(column)?.parse::<u64>().map_err(|_| format!("`{}`: expected a whole number", COLUMNS[column]))
    };
    let ids = cell(3)?.trim_matches(['[', ']']).split([',', ';', ' ']).filter(|id| !id.is_empty());
    let id = |id: &str| id.parse::<u64>().map_err(|_| format!("`{BLOCKS}`: expected whole numbers"));
    let ms = cell(0)?.parse::<f64>().map_err(|_| format!("`{TIMESTAMP}`: expected milliseconds"))?;
    request(ms, count(1)?, count(2)?, ids.map(id).collect::<Result<_, _>>()?)
}

/// The cells of a line; commas within quotation marks belong to one.
fn cells(line: &str) -> Vec<String> {
    let (mut cells, mut is_quoted) = (vec![String::new()], false);
    for letter in line.chars() {
        match letter {
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => cells.push(String::new()),
            letter => cells.last_mut().into_iter().for_each(|cell| cell.push(letter)),
        }
    }
    cells
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<Vec<RecordedRequest>, String> {
        parse(text, "t", 512).map_err(|wrong| {
            assert!(wrong.hint.is_some());
            wrong.to_string().lines().next().unwrap_or_default().to_string()
        })
    }

    #[test]
    fn both_forms_say_the_same() {
        let json = "{\"timestamp\": 1000, \"input_length\": 1500, \"output_length\": 7, \"hash_ids\": [4, 5, 9]}\n\
                    {\"timestamp\": 1002.5, \"input_length\": 512, \"output_length\": 0, \"hash_ids\": [4]}\n";
        let csv =
            "input_length,timestamp,hash_ids,output_length\n1500,1000,\"[4, 5, 9]\",7\n\n512,1002.5,4,0\n";
        let wanted = vec![
            RecordedRequest { at_ns: 0, tokens: 1500, answer: 7, blocks: vec![4, 5, 9] },
            RecordedRequest { at_ns: 2_500_000, tokens: 512, answer: 0, blocks: vec![4] },
        ];
        assert_eq!(parsed(json).unwrap(), wanted);
        assert_eq!(parsed(csv).unwrap(), wanted);
    }

    #[test]
    fn what_is_wrong_has_its_line() {
        let line = |ms: i64, tokens: i64, ids: &str| {
            format!(
                "{{\"timestamp\": {ms}, \"input_length\": {tokens}, \"output_length\": 1, \"hash_ids\": {ids}}}\n"
            )
        };
        let good = line(10, 600, "[1]");
        for (text, wanted) in [
            (String::new(), "error: t:1: no request is in it"),
            ("a,b\n1,2\n".into(), "error: t:1: no column `timestamp`"),
            (format!("{}\n", COLUMNS.join(",")), "error: t:1: no request is in it"),
            (format!("{}\n1,2,3\n", COLUMNS.join(",")), "error: t:2: `hash_ids` is missing"),
            (
                format!("{}\n1,x,3,4\n", COLUMNS.join(",")),
                "error: t:2: `input_length`: expected a whole number",
            ),
            (good.clone() + "{", "error: t:2: no JSON"),
            (good.clone() + &line(9, 600, "[1]"), "error: t:2: it came before the request of the line above"),
            (good.clone() + &line(11, 600, "[1, 2, 3]"), "error: t:2: 3 blocks, and 600 tokens have 2"),
            (good.clone() + &line(11, -1, "[1]"), "error: t:2: `input_length`: expected a whole number"),
            (good + &line(11, 1, "[\"x\"]"), "error: t:2: `hash_ids`: expected whole numbers"),
        ] {
            let wrong = parsed(&text).unwrap_err();
            assert!(wrong.starts_with(wanted), "{text}: {wrong}");
        }
    }
}
