//! A store that does not speak HTTP, asked by the same requests: what rules want of it becomes calls of its library, and what
//! they come to becomes an answer.
//!
//! Only what every store has: objects written whole, read, looked at and removed, and lists of names.

use iodyno_engine::engines::s3::blocking::StoreAnswer;
use iodyno_engine::store_client::StoreClient;
use iodyno_s3::RequestHead;
use iodyno_s3::address::decoded;
use iodyno_s3::body::escaped;

/// Answers a request.
pub fn answer(store: &mut dyn StoreClient, request: &RequestHead, body: &[u8]) -> StoreAnswer {
    let parameter =
        |name: &str| request.query.iter().find(|(known, _)| *known == name).map(|(_, value)| value);
    // Behind the bucket's name, which is no part of what the store calls an object.
    let path = decoded(request.path.trim_start_matches('/'));
    let name = path.split_once('/').map_or("", |(_, name)| name);
    let result = match (request.method, request.query.as_slice()) {
        ("PUT", []) if !name.is_empty() => store.put(name, body).map(|()| Vec::new()),
        ("GET", []) if !name.is_empty() => store.get(name),
        ("HEAD", []) if !name.is_empty() => {
            return of(store.length(name).map(|bytes| (Vec::new(), Some(bytes))));
        }
        ("DELETE", []) if !name.is_empty() => match store.remove(name) {
            // What is not there is removed, as the rules have it.
            Ok(()) | Err(libc::ENOENT) => Ok(Vec::new()),
            Err(errno) => Err(errno),
        },
        ("GET", _) if parameter("list-type").is_some() => {
            list(store, parameter("prefix").map_or("", String::as_str))
        }
        _ => return failed(501, "NotImplemented"),
    };
    of(result.map(|body| (body, None)))
}

/// A page with all names that begin so.
fn list(store: &mut dyn StoreClient, prefix: &str) -> Result<Vec<u8>, i32> {
    let above = &prefix[..prefix.rfind('/').map_or(0, |slash| slash + 1)];
    let mut names = store.objects(above)?;
    names.retain(|name| name.starts_with(prefix));
    names.sort();
    let entry = |name: &String| format!("<Contents><Key>{}</Key></Contents>", escaped(name));
    let entries: String = names.iter().map(entry).collect();
    let count = names.len();
    Ok(format!("<ListBucketResult><KeyCount>{count}</KeyCount><IsTruncated>false</IsTruncated>{entries}</ListBucketResult>")
        .into_bytes())
}

fn of(result: Result<(Vec<u8>, Option<u64>), i32>) -> StoreAnswer {
    match result {
        Ok((body, length)) => {
            let length = length.unwrap_or(body.len() as u64);
            StoreAnswer { status: 200, headers: vec![("Content-Length".into(), length.to_string())], body }
        }
        Err(libc::ENOENT) => failed(404, "NoSuchKey"),
        Err(errno) => failed(500, &iodyno_engine::failure::strerror(errno)),
    }
}

fn failed(status: u16, code: &str) -> StoreAnswer {
    let body = format!("<Error><Code>{}</Code></Error>", escaped(code)).into_bytes();
    StoreAnswer { status, headers: Vec::new(), body }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use iodyno_s3::body::ListPage;

    use super::*;

    struct Objects(BTreeMap<String, Vec<u8>>);

    impl StoreClient for Objects {
        fn put(&mut self, name: &str, bytes: &[u8]) -> Result<(), i32> {
            self.0.insert(name.into(), bytes.into());
            Ok(())
        }
        fn get(&mut self, name: &str) -> Result<Vec<u8>, i32> {
            self.0.get(name).cloned().ok_or(libc::ENOENT)
        }
        fn length(&mut self, name: &str) -> Result<u64, i32> {
            self.get(name).map(|bytes| bytes.len() as u64)
        }
        fn remove(&mut self, name: &str) -> Result<(), i32> {
            self.0.remove(name).map(drop).ok_or(libc::ENOENT)
        }
        fn objects(&mut self, above: &str) -> Result<Vec<String>, i32> {
            Ok(self.0.keys().filter(|name| name.starts_with(above)).cloned().collect())
        }
        fn children(&mut self, _: &str, _: &str) -> Result<Vec<String>, i32> {
            Err(libc::EIO)
        }
    }

    #[test]
    fn requests_are_calls_and_their_results_answers() {
        let mut store = Objects(BTreeMap::new());
        let mut ask = |method: &'static str, path: &str, query: &[(&'static str, &str)], body: &[u8]| {
            let head = RequestHead::new(method, path.into());
            let head = query.iter().fold(head, |head, (name, value)| head.with(name, *value));
            answer(&mut store, &head, body)
        };
        assert_eq!(ask("PUT", "/pool/a/b%20%25c", &[], b"one").status, 200);
        assert_eq!(ask("GET", "/pool/a/b%20%25c", &[], b"").body, b"one");
        let head = ask("HEAD", "/pool/a/b%20%25c", &[], b"");
        assert_eq!((head.headers[0].1.as_str(), head.body.len()), ("3", 0));
        assert_eq!(ask("PUT", "/pool/ab", &[], b"").status, 200);
        let page = ask("GET", "/pool", &[("list-type", "2"), ("prefix", "a/")], b"");
        assert_eq!(ListPage::parse(&page.body).unwrap().keys, [("a/b %c".to_string(), 0)]);
        assert_eq!(ask("DELETE", "/pool/a/b%20%25c", &[], b"").status, 200);
        assert_eq!(ask("DELETE", "/pool/a/b%20%25c", &[], b"").status, 200);
        assert_eq!(ask("GET", "/pool/a/b%20%25c", &[], b"").errors(), ["NoSuchKey", "404"]);
        assert_eq!(ask("GET", "/pool", &[("uploads", "")], b"").errors(), ["NotImplemented", "501"]);
        assert_eq!(ask("PUT", "/pool/ab", &[("tagging", "")], b"").status, 501);
    }
}
