//! What rules can ask a store: each call with its arguments, the request it makes, and what is taken of the answer.
//!
//! Keys are relative to the round's prefix. Further words are headers (`NAME: VALUE` is written `name=value`); of an answer
//! all headers are attributes, with `_` for `-`, and `size` is the length of its body.

use iodyno_s3::address::{BucketAddress, encoded};
use iodyno_s3::body::{self, texts};
use iodyno_s3::sign::sha256_hex;
use iodyno_s3::{Checksum, RequestHead, operation};

use super::client::{Client, StoreAnswer};
use super::signing::Signing;
use crate::judge::Came;
use crate::syscall::Answer;

/// A call: its name, its arguments (those in brackets may be left out, `…` stands for any number).
pub const CALLS: &[(&str, &str)] = &[
    ("put", "KEY BODY [HEADER=VALUE…]"),
    ("get", "KEY [HEADER=VALUE…]"),
    ("head", "KEY [HEADER=VALUE…]"),
    ("delete", "KEY [HEADER=VALUE…]"),
    ("delete_many", "KEY…"),
    ("copy", "FROM TO [HEADER=VALUE…]"),
    ("list", "PREFIX [PARAMETER=VALUE…]"),
    ("list1", "PREFIX [PARAMETER=VALUE…]"),
    ("head_bucket", ""),
    ("location", ""),
    ("versioning", ""),
    ("versions", "PREFIX"),
    ("create_upload", "KEY [HEADER=VALUE…]"),
    ("upload", "KEY UPLOAD NUMBER BODY [HEADER=VALUE…]"),
    ("upload_copy", "KEY UPLOAD NUMBER FROM [HEADER=VALUE…]"),
    ("complete", "KEY UPLOAD NUMBER:ETAG…"),
    ("complete_if", "KEY UPLOAD HEADER=VALUE NUMBER:ETAG…"),
    ("abort", "KEY UPLOAD"),
    ("parts", "KEY UPLOAD"),
    ("uploads", "PREFIX"),
    ("tag", "KEY NAME=VALUE…"),
    ("tags", "KEY"),
    ("untag", "KEY"),
    ("try", "CALL…"),
    ("signed", "HOW CALL…"),
];

/// Whether a call can be made as it is written.
///
/// # Errors
/// There is none of that name, or it takes other arguments.
fn check_call(name: &str, arguments: &[String]) -> Result<(), String> {
    let Some((_, shape)) = CALLS.iter().find(|(known, _)| *known == name) else {
        return Err(format!("`{name}`: there is no such call"));
    };
    let words: Vec<&str> = shape.split_whitespace().collect();
    let least = words.iter().filter(|word| !word.starts_with('[')).count();
    let most = if shape.contains('…') { usize::MAX } else { words.len() };
    match arguments.len() {
        count if (least..=most).contains(&count) => Ok(()),
        _ => Err(format!("`{name}` takes other arguments: {name} {shape}")),
    }
}

/// Makes a call for a round whose keys begin with `prefix`.
///
/// # Errors
/// The rule makes no sense: why.
pub fn carry_out(
    client: &mut Client<'_>,
    prefix: &str,
    name: &str,
    words: &[String],
) -> Result<Came, String> {
    carry_out_signed(client, prefix, (name, words), None)
}

fn carry_out_signed(
    client: &mut Client<'_>,
    prefix: &str,
    (name, words): (&str, &[String]),
    signing: Option<Signing>,
) -> Result<Came, String> {
    check_call(name, words)?;
    if name == "signed" {
        let how = Signing::parse(&words[0])?;
        return carry_out_signed(client, prefix, (&words[1], &words[2..]), Some(how));
    }
    if name == "try" {
        carry_out(client, prefix, &words[0], &words[1..])?;
        return Ok(Came::default());
    }
    let place = CallPlace { at: &client.at, bucket: &client.settings.bucket, prefix, words };
    let mut asked = match name {
        "list" | "list1" | "versions" | "uploads" | "head_bucket" | "location" | "versioning" => {
            place.of_bucket(name)?
        }
        "create_upload" | "upload" | "upload_copy" | "complete" | "complete_if" | "abort" | "parts" => {
            place.of_upload(name)?
        }
        _ => place.of_object(name)?,
    };
    for word in words.get(asked.headers_from..).unwrap_or_default() {
        match word.strip_prefix('?') {
            Some(parameter) => asked.head.query.push(header(parameter)?),
            None => asked.head.headers.push(header(word)?),
        }
    }
    Ok(match client.ask_signed(&asked.head, &asked.body, signing) {
        Ok(answer) => came(name, prefix, &answer),
        Err(why) => Came::instead(why),
    })
}

/// A call's request, and which of its words are headers.
struct CallRequest {
    head: RequestHead,
    body: Vec<u8>,
    headers_from: usize,
}

impl CallRequest {
    fn new(head: RequestHead, body: Vec<u8>, headers_from: usize) -> Self {
        CallRequest { head, body, headers_from }
    }

    fn bare(head: RequestHead, headers_from: usize) -> Self {
        CallRequest::new(head, Vec::new(), headers_from)
    }
}

/// Where a call is made, with its words.
struct CallPlace<'a> {
    at: &'a BucketAddress,
    bucket: &'a str,
    prefix: &'a str,
    words: &'a [String],
}

impl CallPlace<'_> {
    fn word(&self, index: usize) -> &str {
        self.words.get(index).map_or("", String::as_str)
    }

    fn key(&self, index: usize) -> String {
        format!("{}{}", self.prefix, self.word(index))
    }

    /// A request on the object that the first word names.
    fn bare(&self, method: &'static str) -> RequestHead {
        RequestHead::new(method, self.at.path(&self.key(0)))
    }

    /// A request whose body is these bytes, and signed.
    fn with_body(&self, head: RequestHead, body: Vec<u8>, headers_from: usize) -> CallRequest {
        CallRequest::new(head.body(body.len() as u64, sha256_hex(&body)), body, headers_from)
    }

    fn of_bucket(&self, name: &str) -> Result<CallRequest, String> {
        let root = |method: &'static str| RequestHead::new(method, self.at.bucket_path().into());
        let list = match name {
            "head_bucket" => return Ok(CallRequest::bare(root("HEAD"), 0)),
            "location" | "versioning" => {
                let parameter = if name == "location" { "location" } else { "versioning" };
                return Ok(CallRequest::bare(root("GET").with(parameter, ""), 0));
            }
            "list" => root("GET").with("list-type", "2"),
            "versions" => root("GET").with("versions", ""),
            "uploads" => root("GET").with("uploads", ""),
            _ => root("GET"),
        };
        let list = parameters(list.with("prefix", self.key(0)), self.prefix, &self.words[1..])?;
        Ok(CallRequest::bare(list, self.words.len()))
    }

    fn of_upload(&self, name: &str) -> Result<CallRequest, String> {
        let part = || self.bare("PUT").with("partNumber", self.word(2)).with("uploadId", self.word(1));
        let all = self.words.len();
        Ok(match name {
            "create_upload" => CallRequest::bare(self.bare("POST").with("uploads", ""), 1),
            "upload" => self.with_body(part(), self.word(3).as_bytes().to_vec(), 4),
            "upload_copy" => {
                let source = format!("/{}/{}", encoded(self.bucket, false), encoded(&self.key(3), true));
                CallRequest::bare(part().header("x-amz-copy-source", source), 4)
            }
            "abort" => CallRequest::bare(operation::abort_upload(self.at, &self.key(0), self.word(1)), all),
            "parts" => CallRequest::bare(self.bare("GET").with("uploadId", self.word(1)), all),
            _ => {
                let (condition, parts) = self.words[2..].split_at(usize::from(name == "complete_if"));
                let parts = parts.iter().map(|word| part_in_body(word)).collect::<Result<String, _>>()?;
                let body = format!("<CompleteMultipartUpload>{parts}</CompleteMultipartUpload>").into_bytes();
                let mut head = operation::complete_upload(self.at, &self.key(0), self.word(1), &body);
                head.headers
                    .extend(condition.iter().map(|word| header(word)).collect::<Result<Vec<_>, _>>()?);
                CallRequest::new(head, body, all)
            }
        })
    }

    fn of_object(&self, name: &str) -> Result<CallRequest, String> {
        let write = operation::WriteOptions::default();
        let all = self.words.len();
        Ok(match name {
            "put" => self.with_body(self.bare("PUT"), self.word(1).as_bytes().to_vec(), 2),
            "get" => CallRequest::bare(self.bare("GET"), 1),
            "head" => CallRequest::bare(self.bare("HEAD"), 1),
            "delete" => CallRequest::bare(self.bare("DELETE"), 1),
            "copy" => CallRequest::bare(
                operation::copy(self.at, self.bucket, &self.key(0), &self.key(1), &write),
                2,
            ),
            "delete_many" => {
                let keys: Vec<String> = (0..all).map(|at| self.key(at)).collect();
                let body = body::delete_many(keys.iter().map(String::as_str), false).into_bytes();
                CallRequest::new(operation::delete_many(self.at, &body), body, all)
            }
            "tag" => {
                let body = tagging(&self.words[1..])?.into_bytes();
                let digest = Checksum::Crc32c.of(&body);
                let head = self.bare("PUT").with("tagging", "").header("x-amz-checksum-crc32c", digest);
                self.with_body(head, body, all)
            }
            "tags" => CallRequest::bare(self.bare("GET").with("tagging", ""), all),
            "untag" => CallRequest::bare(self.bare("DELETE").with("tagging", ""), all),
            other => return Err(format!("`{other}`: there is no such call")),
        })
    }
}

/// `name=value`; names of headers are sent in small letters, as they are signed.
fn header(word: &str) -> Result<(&'static str, String), String> {
    let (name, value) = word.split_once('=').ok_or_else(|| format!("`{word}`: a header is name=value"))?;
    Ok((leaked(name), value.into()))
}

/// Names of headers and parameters, of which rules have a few dozen, live as long as the program.
fn leaked(name: &str) -> &'static str {
    use std::collections::BTreeSet;
    use std::sync::{Mutex, PoisonError};
    static NAMES: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = names.get(name) {
        return known;
    }
    let leaked: &'static str = Box::leak(name.to_string().into_boxed_str());
    names.insert(leaked);
    leaked
}

/// Parameters of a list; those that are keys begin with the round's prefix.
fn parameters(mut request: RequestHead, prefix: &str, words: &[String]) -> Result<RequestHead, String> {
    for word in words {
        let (name, value) =
            word.split_once('=').ok_or_else(|| format!("`{word}`: a parameter is name=value"))?;
        let value = match name {
            "start-after" | "marker" | "key-marker" => format!("{prefix}{value}"),
            _ => value.to_string(),
        };
        request.query.push((leaked(name), value));
    }
    Ok(request)
}

/// `1:"etag"`.
fn part_in_body(word: &str) -> Result<String, String> {
    let (number, etag) = word.split_once(':').ok_or_else(|| format!("`{word}`: a part is NUMBER:ETAG"))?;
    let etag = body::escaped(etag);
    Ok(format!("<Part><PartNumber>{number}</PartNumber><ETag>{etag}</ETag></Part>"))
}

fn tagging(words: &[String]) -> Result<String, String> {
    let mut text = String::from("<Tagging><TagSet>");
    for word in words {
        let (name, value) = word.split_once('=').ok_or_else(|| format!("`{word}`: a tag is name=value"))?;
        let (name, value) = (body::escaped(name), body::escaped(value));
        text.push_str(&format!("<Tag><Key>{name}</Key><Value>{value}</Value></Tag>"));
    }
    Ok(text + "</TagSet></Tagging>")
}

/// What a rule sees of an answer.
fn came(name: &str, prefix: &str, answer: &StoreAnswer) -> Came {
    let mut seen = Answer::default().with("status", answer.status).with("size", answer.body.len());
    for (name, value) in &answer.headers {
        seen.fields.push((name.to_ascii_lowercase().replace('-', "_"), value.clone()));
    }
    // A completed upload and a copy may fail after the head was sent: then the body tells.
    let failure = body::ErrorBody::within(&answer.body)
        .filter(|_| matches!(name, "complete" | "complete_if" | "copy" | "upload_copy"));
    if !answer.is_success() || failure.is_some() {
        return Came::failed(seen, failure.map_or_else(|| answer.errors(), |failure| vec![failure.code]));
    }
    let told = AnswerTexts { texts: texts(&answer.body).unwrap_or_default(), prefix };
    Came::answer(match name {
        "list" | "list1" => told.list(seen),
        "create_upload" | "parts" | "uploads" | "complete" | "complete_if" | "copy" | "upload_copy" => {
            told.upload(name, seen)
        }
        "get" => Answer { text: crate::syscall::text(&answer.body), ..seen },
        _ => told.others(name, seen),
    })
}

/// The texts of an answer's body.
struct AnswerTexts<'a> {
    texts: Vec<(String, String, String)>,
    prefix: &'a str,
}

impl AnswerTexts<'_> {
    /// All texts of an element, by its name and that of the one around it (`*`: any, as servers differ in roots).
    fn read(&self, path: &str) -> Vec<&str> {
        let (around, name) = path.split_once('/').unwrap_or(("", path));
        let is_it =
            |(at, known, _): &&(String, String, String)| (around == "*" || at == around) && known == name;
        self.texts.iter().filter(is_it).map(|(_, _, text)| text.as_str()).collect()
    }

    fn first(&self, path: &str) -> &str {
        self.read(path).first().copied().unwrap_or_default()
    }

    /// Keys as the round knows them.
    fn keys(&self, path: &str) -> String {
        let own = |key: &&str| key.strip_prefix(self.prefix).unwrap_or(key).to_string();
        self.read(path).iter().map(own).collect::<Vec<_>>().join(" ")
    }

    fn list(&self, seen: Answer) -> Answer {
        Answer { text: self.keys("Contents/Key"), ..seen }
            .with("count", self.read("Contents/Key").len())
            .with("key_count", self.first("ListBucketResult/KeyCount"))
            .with("truncated", self.first("ListBucketResult/IsTruncated"))
            .with("prefixes", self.keys("CommonPrefixes/Prefix"))
            .with("token", self.first("ListBucketResult/NextContinuationToken"))
            .with("next_marker", self.keys("ListBucketResult/NextMarker"))
            .with("max_keys", self.first("ListBucketResult/MaxKeys"))
            .with("delimiter", self.first("ListBucketResult/Delimiter"))
            .with("sizes", self.read("Contents/Size").join(" "))
            .with("etags", self.read("Contents/ETag").join(" "))
            .with("classes", self.read("Contents/StorageClass").join(" "))
            .with("owners", self.read("Owner/ID").len())
    }

    fn upload(&self, name: &str, seen: Answer) -> Answer {
        match name {
            "create_upload" => {
                let id = self.first("InitiateMultipartUploadResult/UploadId");
                let key = self.keys("InitiateMultipartUploadResult/Key");
                Answer { text: id.into(), ..seen }.with("upload", id).with("key", key)
            }
            "parts" => Answer { text: self.read("Part/PartNumber").join(" "), ..seen }
                .with("sizes", self.read("Part/Size").join(" "))
                .with("etags", self.read("Part/ETag").join(" ")),
            "uploads" => Answer { text: self.keys("Upload/Key"), ..seen },
            "copy" => seen.with("etag", self.first("CopyObjectResult/ETag")),
            "upload_copy" => seen.with("etag", self.first("CopyPartResult/ETag")),
            _ => seen
                .with("etag", self.first("CompleteMultipartUploadResult/ETag"))
                .with("key", self.keys("CompleteMultipartUploadResult/Key")),
        }
    }

    fn others(&self, name: &str, seen: Answer) -> Answer {
        match name {
            "versions" => Answer { text: self.keys("Version/Key"), ..seen }
                .with("ids", self.read("Version/VersionId").join(" "))
                .with("latest", self.read("Version/IsLatest").join(" "))
                .with("markers", self.keys("DeleteMarker/Key")),
            "versioning" => seen.with("state", self.first("*/Status")),
            "location" => Answer { text: self.first("LocationConstraint").into(), ..seen },
            "delete_many" => Answer { text: self.keys("Deleted/Key"), ..seen }
                .with("failed", self.keys("Error/Key"))
                .with("codes", self.read("Error/Code").join(" ")),
            "tags" => {
                let pairs = self.read("Tag/Key").into_iter().zip(self.read("Tag/Value"));
                let pairs: Vec<_> = pairs.map(|(name, value)| format!("{name}={value}")).collect();
                Answer { text: pairs.join(" "), ..seen }
            }
            _ => seen,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(status: u16, body: &str) -> StoreAnswer {
        let headers = vec![("ETag".to_string(), "\"1\"".to_string())];
        StoreAnswer { status, headers, body: body.into() }
    }

    #[test]
    fn calls_are_told_by_their_shape() {
        let words = |line: &str| {
            let mut words: Vec<String> = line.split(' ').map(String::from).collect();
            let name = words.remove(0);
            check_call(&name, &words)
        };
        for right in [
            "signed wrong get a",
            "put a x",
            "get a range=bytes=0-1",
            "complete k u 1:e",
            "try delete a",
            "head_bucket",
        ] {
            let right = words(right);
            assert_eq!(right, Ok(()));
        }
        assert!(words("put a").unwrap_err().contains("put KEY BODY"));
        assert!(words("mkdir a").unwrap_err().contains("no such call"));
    }

    #[test]
    fn answers_are_read_by_what_was_asked() {
        let list = "<ListBucketResult><IsTruncated>true</IsTruncated><Contents><Key>p/a</Key><Size>3</Size></Contents>\
                    <Contents><Key>p/b</Key><Size>4</Size></Contents><CommonPrefixes><Prefix>p/d/</Prefix>\
                    </CommonPrefixes></ListBucketResult>";
        let seen = came("list", "p/", &answer(200, list));
        assert_eq!(seen.answer.text, "a b");
        assert_eq!(seen.answer.field("prefixes"), Some("d/"));
        assert_eq!((seen.answer.field("sizes"), seen.answer.field("truncated")), (Some("3 4"), Some("true")));
        let got = came("get", "p/", &answer(200, "body"));
        assert_eq!((got.answer.text.as_str(), got.answer.field("etag")), ("body", Some("\"1\"")));
        let missing = came("get", "p/", &answer(404, "<Error><Code>NoSuchKey</Code></Error>"));
        assert_eq!(
            (missing.succeeded(), missing.errors),
            (false, vec!["NoSuchKey".to_string(), "404".into()])
        );
        let late = came("complete", "p/", &answer(200, "<Error><Code>InternalError</Code></Error>"));
        assert_eq!(late.errors, ["InternalError"]);
    }
}
