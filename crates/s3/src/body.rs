//! Bodies in XML: errors, lists, and what belongs to multipart uploads and to removing many objects.
//!
//! Elements are found by their names wherever they stand: servers differ in name spaces and in order.

use quick_xml::Reader;
use quick_xml::escape::unescape;
use quick_xml::events::Event;

/// What a body says by name: each element that holds text, in order, with the element around it.
///
/// # Errors
/// It is no XML.
pub fn texts(body: &[u8]) -> Result<Vec<(String, String, String)>, String> {
    let mut reader = Reader::from_reader(body);
    let (mut open, mut found, mut buffer): (Vec<String>, Vec<(String, String, String)>, _) =
        (Vec::new(), Vec::new(), Vec::new());
    let mut text = String::new();
    let wrong = |error: &dyn std::fmt::Display| format!("a body that is no XML: {error}");
    loop {
        match reader.read_event_into(&mut buffer).map_err(|error| wrong(&error))? {
            Event::Start(start) => {
                open.push(String::from_utf8_lossy(start.local_name().as_ref()).into_owned());
                text.clear();
            }
            Event::Text(part) => text.push_str(&String::from_utf8_lossy(&part)),
            Event::CData(part) => text.push_str(&String::from_utf8_lossy(&part)),
            Event::GeneralRef(name) => {
                let name = format!("&{};", String::from_utf8_lossy(&name));
                text.push_str(&unescape(&name).map_err(|error| wrong(&error))?);
            }
            Event::End(_) => {
                let Some(name) = open.pop() else {
                    return Err("a body that closes what it did not open".into());
                };
                let around = open.last().cloned().unwrap_or_default();
                found.push((around, name, std::mem::take(&mut text).trim().to_string()));
            }
            Event::Empty(start) => {
                let name = String::from_utf8_lossy(start.local_name().as_ref()).into_owned();
                found.push((open.last().cloned().unwrap_or_default(), name, String::new()));
            }
            Event::Eof => return Ok(found),
            _ => {}
        }
        buffer.clear();
    }
}

/// Where a bucket is made: nothing is said where the region is the one that needs no word.
pub fn bucket_in(region: &str) -> String {
    match region {
        "" | "us-east-1" => String::new(),
        _ => format!(
            "<CreateBucketConfiguration><LocationConstraint>{}</LocationConstraint></CreateBucketConfiguration>",
            escaped(region)
        ),
    }
}

/// Lets a bucket keep versions.
pub const VERSIONING_ON: &str = "<VersioningConfiguration xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">\
    <Status>Enabled</Status></VersioningConfiguration>";

/// Whether the answer to a question for a bucket's versioning says that it keeps versions.
pub fn keeps_versions(body: &[u8]) -> bool {
    texts(body).is_ok_and(|texts| texts.iter().any(|(_, name, text)| name == "Status" && text == "Enabled"))
}

/// What retains a version until a time: it can be removed before by who may bypass governance.
pub fn retention(until: crate::UtcTime) -> String {
    format!(
        "<Retention xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><Mode>GOVERNANCE</Mode>\
         <RetainUntilDate>{}</RetainUntilDate></Retention>",
        until.iso()
    )
}

/// A text as it stands in a body.
pub fn escaped(text: &str) -> String {
    quick_xml::escape::escape(text).into_owned()
}

/// An error in a store's words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ErrorBody {
    /// `AccessDenied`, `NoSuchKey`, …; empty: it says none.
    pub code: String,
    pub message: String,
    /// The region that it expected, where it says so.
    pub region: Option<String>,
}

impl ErrorBody {
    /// Reads an error, or nothing where the body is none.
    pub fn parse(body: &[u8]) -> ErrorBody {
        let mut error = ErrorBody::default();
        let Ok(texts) = texts(body) else { return error };
        for (around, name, text) in texts.into_iter().filter(|(around, ..)| around == "Error") {
            match name.as_str() {
                "Code" => error.code = text,
                "Message" => error.message = text,
                "Region" => error.region = Some(text),
                _ => drop(around),
            }
        }
        error
    }

    /// The error inside a body whose status is success: copies and completions answer before they are done.
    pub fn within(body: &[u8]) -> Option<ErrorBody> {
        let error = ErrorBody::parse(body);
        (!error.code.is_empty()).then_some(error)
    }
}

/// A page of a list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListPage {
    pub keys: Vec<(String, u64)>,
    /// Common prefixes, where a delimiter was asked for.
    pub prefixes: Vec<String>,
    /// What asks for the next page; none: this is the last.
    pub next: Option<String>,
}

impl ListPage {
    /// Reads a page.
    ///
    /// # Errors
    /// It is none.
    pub fn parse(body: &[u8]) -> Result<ListPage, String> {
        let (mut page, mut truncated, mut is_list) = (ListPage::default(), false, false);
        for (around, name, text) in texts(body)? {
            match (around.as_str(), name.as_str()) {
                ("Contents", "Key") => page.keys.push((text, 0)),
                ("Contents", "Size") => {
                    if let Some(last) = page.keys.last_mut() {
                        last.1 = text.parse().unwrap_or(0);
                    }
                }
                ("CommonPrefixes", "Prefix") => page.prefixes.push(text),
                ("ListBucketResult", "IsTruncated") => truncated = text == "true",
                ("ListBucketResult", "NextContinuationToken") => page.next = Some(text),
                (_, "ListBucketResult") => is_list = true,
                _ => {}
            }
        }
        if !truncated {
            page.next = None;
        }
        if is_list { Ok(page) } else { Err("a body that is no list".into()) }
    }
}

/// The upload's id, of the answer to a multipart upload that begins.
///
/// # Errors
/// It says none.
pub fn upload_id(body: &[u8]) -> Result<String, String> {
    let found = texts(body)?.into_iter().find(|(_, name, text)| name == "UploadId" && !text.is_empty());
    found.map(|(.., id)| id).ok_or_else(|| "an upload without an id".into())
}

/// Uploads that were begun and not ended: keys with their ids.
///
/// # Errors
/// It is no such list.
pub fn uploads(body: &[u8]) -> Result<Vec<(String, String)>, String> {
    let mut found: Vec<(String, String)> = Vec::new();
    for (around, name, text) in texts(body)?.into_iter().filter(|(around, ..)| around == "Upload") {
        match name.as_str() {
            "Key" => found.push((text, String::new())),
            "UploadId" => {
                if let Some(last) = found.last_mut() {
                    last.1 = text;
                }
            }
            _ => drop(around),
        }
    }
    Ok(found)
}

/// A page of versions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VersionPage {
    pub versions: Vec<ObjectVersion>,
    /// The key and the version that the next page begins behind; none: this is the last.
    pub next: Option<(String, String)>,
}

/// A version of an object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ObjectVersion {
    pub key: String,
    pub id: String,
    /// It says that the object was removed, and holds nothing.
    pub is_marker: bool,
}

impl VersionPage {
    /// Reads a page.
    ///
    /// # Errors
    /// It is none.
    pub fn parse(body: &[u8]) -> Result<VersionPage, String> {
        let (mut page, mut truncated, mut is_list) = (VersionPage::default(), false, false);
        let (mut version, mut next) = (ObjectVersion::default(), (String::new(), String::new()));
        for (around, name, text) in texts(body)? {
            match (around.as_str(), name.as_str()) {
                ("Version" | "DeleteMarker", "Key") => version.key = text,
                ("Version" | "DeleteMarker", "VersionId") => version.id = text,
                (_, "Version" | "DeleteMarker") => {
                    let is_marker = name == "DeleteMarker";
                    page.versions.push(ObjectVersion { is_marker, ..std::mem::take(&mut version) });
                }
                ("ListVersionsResult", "IsTruncated") => truncated = text == "true",
                ("ListVersionsResult", "NextKeyMarker") => next.0 = text,
                ("ListVersionsResult", "NextVersionIdMarker") => next.1 = text,
                (_, "ListVersionsResult") => is_list = true,
                _ => {}
            }
        }
        page.next = Some(next).filter(|(key, _)| truncated && !key.is_empty());
        if is_list { Ok(page) } else { Err("a body that is no list of versions".into()) }
    }
}

/// What completes a multipart upload: the parts' ETags, and their checksums if they have one.
pub fn complete_upload(parts: &[Part]) -> String {
    let mut body = String::from("<CompleteMultipartUpload>");
    for (index, part) in parts.iter().enumerate() {
        body.push_str("<Part>");
        if let Some((algorithm, value)) = &part.checksum {
            body.push_str(&format!("<Checksum{algorithm}>{value}</Checksum{algorithm}>"));
        }
        let etag = escaped(&part.etag);
        body.push_str(&format!("<ETag>{etag}</ETag><PartNumber>{}</PartNumber></Part>", index + 1));
    }
    body + "</CompleteMultipartUpload>"
}

/// A part that was uploaded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Part {
    pub etag: String,
    /// The algorithm as the API writes it, and the value.
    pub checksum: Option<(&'static str, String)>,
}

/// What removes many objects at once; `is_quiet`: the answer names only those that stay.
pub fn delete_many<'a>(keys: impl IntoIterator<Item = &'a str>, is_quiet: bool) -> String {
    delete_versions(keys.into_iter().map(|key| (key, "")), is_quiet)
}

/// The same for versions: keys with their ids; empty: the object, whichever versions it has.
pub fn delete_versions<'a>(versions: impl IntoIterator<Item = (&'a str, &'a str)>, is_quiet: bool) -> String {
    let mut body = String::from(if is_quiet { "<Delete><Quiet>true</Quiet>" } else { "<Delete>" });
    for (key, id) in versions {
        let id = if id.is_empty() { id.into() } else { format!("<VersionId>{}</VersionId>", escaped(id)) };
        body.push_str(&format!("<Object><Key>{}</Key>{id}</Object>", escaped(key)));
    }
    body + "</Delete>"
}

/// An object that could not be removed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RemovalError {
    pub key: String,
    /// Empty: no version was named.
    pub version: String,
    /// Why.
    pub code: String,
}

/// What could not be removed.
///
/// # Errors
/// The body is no XML.
pub fn removal_errors(body: &[u8]) -> Result<Vec<RemovalError>, String> {
    let (mut found, mut one) = (Vec::new(), RemovalError::default());
    for (around, name, text) in texts(body)? {
        match (around.as_str(), name.as_str()) {
            ("Error", "Key") => one.key = text,
            ("Error", "VersionId") => one.version = text,
            ("Error", "Code") => one.code = text,
            (_, "Error") => found.push(std::mem::take(&mut one)),
            _ => {}
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_read_by_their_code() {
        let body = b"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Error><Code>NoSuchKey</Code><Message>a &amp; b</Message>\
                     <Region>eu-west-1</Region></Error>";
        let error = ErrorBody::parse(body);
        assert_eq!((error.code.as_str(), error.message.as_str()), ("NoSuchKey", "a & b"));
        assert_eq!(error.region.as_deref(), Some("eu-west-1"));
        assert_eq!(ErrorBody::parse(b"<html>"), ErrorBody::default());
        assert_eq!(ErrorBody::within(b"<CopyObjectResult><ETag>x</ETag></CopyObjectResult>"), None);
    }

    #[test]
    fn lists_have_keys_sizes_and_a_next_page() {
        let body = b"<ListBucketResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><IsTruncated>true</IsTruncated>\
                     <NextContinuationToken>T</NextContinuationToken><Contents><Key>a&lt;b</Key><Size>3</Size></Contents>\
                     <Contents><Key>c</Key><Size>4</Size></Contents><CommonPrefixes><Prefix>d/</Prefix></CommonPrefixes>\
                     </ListBucketResult>";
        let page = ListPage::parse(body).unwrap();
        assert_eq!(page.keys, [("a<b".to_string(), 3), ("c".to_string(), 4)]);
        assert_eq!((page.prefixes, page.next.as_deref()), (vec!["d/".to_string()], Some("T")));
        let empty = ListPage::parse(b"<ListBucketResult/>");
        assert_eq!(empty.map(|page| page.keys.len()), Ok(0));
        assert!(ListPage::parse(b"<Other></Other>").is_err());
        assert!(ListPage::parse(b"<a></b>").is_err());
    }

    #[test]
    fn uploads_begin_and_end() {
        let body = b"<InitiateMultipartUploadResult><UploadId>u1</UploadId></InitiateMultipartUploadResult>";
        assert_eq!(upload_id(body).as_deref(), Ok("u1"));
        assert!(upload_id(b"<x><UploadId></UploadId></x>").is_err());
        let part = Part { etag: "\"e\"".into(), checksum: Some(("CRC32C", "AAAA".into())) };
        let text = complete_upload(&[part]);
        assert!(
            text.contains("<ChecksumCRC32C>AAAA</ChecksumCRC32C><ETag>&quot;e&quot;</ETag><PartNumber>1<"),
            "{text}"
        );
        let list = b"<ListMultipartUploadsResult><Upload><Key>k</Key><UploadId>u</UploadId></Upload></ListMultipartUploadsResult>";
        assert_eq!(uploads(list), Ok(vec![("k".into(), "u".into())]));
    }

    #[test]
    fn many_are_removed_and_those_that_stay_are_said() {
        assert_eq!(
            delete_many(["a<"], true),
            "<Delete><Quiet>true</Quiet><Object><Key>a&lt;</Key></Object></Delete>"
        );
        let body = b"<DeleteResult><Error><Key>k</Key><Code>AccessDenied</Code></Error></DeleteResult>";
        let stays = RemovalError { key: "k".into(), version: String::new(), code: "AccessDenied".into() };
        assert_eq!(removal_errors(body), Ok(vec![stays]));
    }

    #[test]
    fn versions_are_read_and_removed_by_their_ids() {
        let body = b"<ListVersionsResult><IsTruncated>true</IsTruncated><NextKeyMarker>k</NextKeyMarker>\
                     <NextVersionIdMarker>2</NextVersionIdMarker><Version><Key>k</Key><VersionId>1</VersionId></Version>\
                     <DeleteMarker><Key>k</Key><VersionId>2</VersionId></DeleteMarker></ListVersionsResult>";
        let page = VersionPage::parse(body).unwrap();
        let told: Vec<_> =
            page.versions.iter().map(|one| (one.key.as_str(), one.id.as_str(), one.is_marker)).collect();
        assert_eq!(told, [("k", "1", false), ("k", "2", true)]);
        assert_eq!(page.next, Some(("k".into(), "2".into())));
        assert!(VersionPage::parse(b"<ListBucketResult/>").is_err());
        let text = delete_versions([("a", "1"), ("b", "")], false);
        assert_eq!(
            text,
            "<Delete><Object><Key>a</Key><VersionId>1</VersionId></Object><Object><Key>b</Key></Object></Delete>"
        );
        assert!(keeps_versions(VERSIONING_ON.as_bytes()) && !keeps_versions(b"<VersioningConfiguration/>"));
        let until = crate::UtcTime { unix: 1_369_353_600 };
        assert!(retention(until).contains("<RetainUntilDate>2013-05-24T00:00:00Z</RetainUntilDate>"));
    }
}
