//! The requests of the operations that a client makes.

use crate::address::{BucketAddress, encoded};
use crate::checksum::{BodySums, Checksum};
use crate::request::RequestHead;

/// Encryption by the server, as each request that writes an object says it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Encryption {
    /// `AES256`, `aws:kms` or `aws:kms:dsse`; empty: the bucket's own.
    pub algorithm: String,
    /// The key's id with KMS; empty: the account's own.
    pub kms_key: String,
}

impl Encryption {
    fn on(&self, mut request: RequestHead) -> RequestHead {
        if !self.algorithm.is_empty() {
            request = request.header("x-amz-server-side-encryption", self.algorithm.clone());
        }
        if !self.kms_key.is_empty() {
            request = request.header("x-amz-server-side-encryption-aws-kms-key-id", self.kms_key.clone());
        }
        request
    }
}

/// How objects are written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WriteOptions {
    pub encryption: Encryption,
    /// `STANDARD`, `REDUCED_REDUNDANCY`, …; empty: the bucket's own.
    pub storage_class: String,
    pub checksum: Option<Checksum>,
}

impl WriteOptions {
    fn on(&self, request: RequestHead) -> RequestHead {
        let request = self.encryption.on(request);
        match self.storage_class.as_str() {
            "" => request,
            class => request.header("x-amz-storage-class", class),
        }
    }
}

/// The header that asks to remove or change what is retained in the mode GOVERNANCE.
pub const BYPASS_GOVERNANCE: &str = "x-amz-bypass-governance-retention";

/// Writes an object whose body has these sums.
pub fn put(at: &BucketAddress, key: &str, body: &BodySums, options: &WriteOptions) -> RequestHead {
    with_body(options.on(RequestHead::new("PUT", at.path(key))), body)
}

fn with_body(request: RequestHead, body: &BodySums) -> RequestHead {
    let request = request.body(body.bytes, body.payload_hash.clone());
    match &body.checksum {
        Some((checksum, value)) => request.header(checksum.header(), value.clone()),
        None => request,
    }
}

/// Reads a part of an object, or all of it where no part is said; `checks`: its checksum is wanted too.
pub fn get(at: &BucketAddress, key: &str, range: Option<(u64, u64)>, checks: bool) -> RequestHead {
    let mut request = RequestHead::new("GET", at.path(key));
    if let Some((offset, bytes)) = range {
        request = request.header("range", format!("bytes={offset}-{}", offset + bytes.max(1) - 1));
    }
    if checks { request.header("x-amz-checksum-mode", "ENABLED") } else { request }
}

/// Reads a part of an object that was written in parts, by its number; the first is 1.
pub fn get_part(at: &BucketAddress, key: &str, number: u64) -> RequestHead {
    RequestHead::new("GET", at.path(key)).with("partNumber", number.to_string())
}

pub fn head(at: &BucketAddress, key: &str) -> RequestHead {
    RequestHead::new("HEAD", at.path(key))
}

pub fn delete(at: &BucketAddress, key: &str) -> RequestHead {
    RequestHead::new("DELETE", at.path(key))
}

/// Removes many objects by one request, whose body is [`crate::body::delete_many`]'s; the API wants a checksum of it.
pub fn delete_many(at: &BucketAddress, body: &[u8]) -> RequestHead {
    let request = RequestHead::new("POST", at.bucket_path().into()).with("delete", "");
    with_body(request, &BodySums::of(body, true, Some(Checksum::Crc32c)))
}

/// A page of the objects below a prefix, at most so many; `after` is what the page before named as next.
pub fn list(at: &BucketAddress, prefix: &str, most: u64, after: Option<&str>) -> RequestHead {
    let request = RequestHead::new("GET", at.bucket_path().into())
        .with("list-type", "2")
        .with("max-keys", most.to_string());
    let request = if prefix.is_empty() { request } else { request.with("prefix", prefix) };
    match after {
        Some(token) => request.with("continuation-token", token),
        None => request,
    }
}

/// Makes a bucket; the body is [`crate::body::bucket_in`]'s. `locks`: its objects can be retained, so it keeps versions.
pub fn make_bucket(at: &BucketAddress, body: &[u8], locks: bool) -> RequestHead {
    let hash = crate::sign::sha256_hex(body);
    let request = RequestHead::new("PUT", at.bucket_path().into()).body(body.len() as u64, hash);
    if locks { request.header("x-amz-bucket-object-lock-enabled", "true") } else { request }
}

/// Removes a bucket, which has to be empty.
pub fn remove_bucket(at: &BucketAddress) -> RequestHead {
    RequestHead::new("DELETE", at.bucket_path().into())
}

/// Lets a bucket keep versions; the body is [`crate::body::VERSIONING_ON`].
pub fn put_versioning(at: &BucketAddress, body: &[u8]) -> RequestHead {
    let request = RequestHead::new("PUT", at.bucket_path().into()).with("versioning", "");
    with_body(request, &BodySums::of(body, true, Some(Checksum::Crc32c)))
}

/// Whether a bucket's objects can be retained.
pub fn object_lock(at: &BucketAddress) -> RequestHead {
    RequestHead::new("GET", at.bucket_path().into()).with("object-lock", "")
}

/// Retains an object's version until a time; the body is [`crate::body::retention`]'s. Shortening one needs the right to
/// bypass governance, which is asked for.
pub fn put_retention(at: &BucketAddress, key: &str, body: &[u8]) -> RequestHead {
    let request = RequestHead::new("PUT", at.path(key)).with("retention", "");
    let request = request.header(BYPASS_GOVERNANCE, "true");
    with_body(request, &BodySums::of(body, true, Some(Checksum::Crc32c)))
}

/// Copies an object inside the store.
pub fn copy(at: &BucketAddress, bucket: &str, from: &str, to: &str, options: &WriteOptions) -> RequestHead {
    let source = format!("/{}/{}", encoded(bucket, false), encoded(from, true));
    options.on(RequestHead::new("PUT", at.path(to))).header("x-amz-copy-source", source)
}

/// Begins a multipart upload.
pub fn create_upload(at: &BucketAddress, key: &str, options: &WriteOptions) -> RequestHead {
    let request = options.on(RequestHead::new("POST", at.path(key)).with("uploads", ""));
    match options.checksum {
        Some(checksum) => request.header("x-amz-checksum-algorithm", checksum.algorithm()),
        None => request,
    }
}

/// Uploads a part; the first has number 1.
pub fn upload_part(at: &BucketAddress, key: &str, (number, id): (u32, &str), body: &BodySums) -> RequestHead {
    let request =
        RequestHead::new("PUT", at.path(key)).with("partNumber", number.to_string()).with("uploadId", id);
    with_body(request, body)
}

/// Makes an object of the parts that the body names.
pub fn complete_upload(at: &BucketAddress, key: &str, id: &str, body: &[u8]) -> RequestHead {
    let request = RequestHead::new("POST", at.path(key)).with("uploadId", id);
    request.body(body.len() as u64, crate::sign::sha256_hex(body))
}

/// Gives an upload up; its parts are removed.
pub fn abort_upload(at: &BucketAddress, key: &str, id: &str) -> RequestHead {
    RequestHead::new("DELETE", at.path(key)).with("uploadId", id)
}

/// The uploads below a prefix that were begun and not ended.
pub fn list_uploads(at: &BucketAddress, prefix: &str) -> RequestHead {
    RequestHead::new("GET", at.bucket_path().into()).with("uploads", "").with("prefix", prefix)
}

/// Whether a bucket keeps versions.
pub fn versioning(at: &BucketAddress) -> RequestHead {
    RequestHead::new("GET", at.bucket_path().into()).with("versioning", "")
}

/// A page of the versions below a prefix, delete markers among them; `after`: the key and the version that the page before
/// named as next.
pub fn list_versions(at: &BucketAddress, prefix: &str, after: Option<(&str, &str)>) -> RequestHead {
    let request =
        RequestHead::new("GET", at.bucket_path().into()).with("versions", "").with("prefix", prefix);
    match after {
        Some((key, "")) => request.with("key-marker", key),
        Some((key, version)) => request.with("key-marker", key).with("version-id-marker", version),
        None => request,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Addressing, Endpoint};

    fn line(request: &RequestHead) -> String {
        let mut query = String::new();
        request.write_query(&mut query);
        let headers: Vec<_> =
            request.headers.iter().map(|(name, value)| format!("{name}: {value}")).collect();
        format!("{} {}?{query} {}", request.method, request.path, headers.join(", "))
    }

    #[test]
    fn each_operation_is_one_request() {
        let at = BucketAddress::new(&Endpoint::parse("http://h").unwrap(), Addressing::Path, "b");
        let encryption = Encryption { algorithm: "aws:kms".into(), kms_key: "k1".into() };
        let options = WriteOptions {
            encryption,
            storage_class: "STANDARD_IA".into(),
            checksum: Some(Checksum::Crc32c),
        };
        let plain = BodySums::of(b"x", false, None);
        for (request, text) in [
            (
                get(&at, "p/k", Some((5, 10)), true),
                "GET /b/p/k? range: bytes=5-14, x-amz-checksum-mode: ENABLED",
            ),
            (
                list(&at, "p/", 1000, Some("t=")),
                "GET /b?continuation-token=t%3D&list-type=2&max-keys=1000&prefix=p%2F ",
            ),
            (copy(&at, "b", "a b", "c", &WriteOptions::default()), "PUT /b/c? x-amz-copy-source: /b/a%20b"),
            (
                put(&at, "k", &BodySums::of(b"123456789", false, options.checksum), &options),
                "PUT /b/k? x-amz-server-side-encryption: aws:kms, x-amz-server-side-encryption-aws-kms-key-id: k1, \
                 x-amz-storage-class: STANDARD_IA, x-amz-checksum-crc32c: 4waSgw==",
            ),
            (upload_part(&at, "k", (2, "u"), &plain), "PUT /b/k?partNumber=2&uploadId=u "),
            (create_upload(&at, "k", &WriteOptions::default()), "POST /b/k?uploads= "),
            (abort_upload(&at, "k", "u"), "DELETE /b/k?uploadId=u "),
            (list_uploads(&at, "p"), "GET /b?prefix=p&uploads= "),
        ] {
            assert_eq!(line(&request), text);
        }
        assert_eq!(delete_many(&at, b"x").body_bytes, 1);
        let none = WriteOptions::default();
        for (request, class) in [
            (put(&at, "k", &plain, &none), "requests.put"),
            (copy(&at, "b", "a", "c", &none), "requests.copy"),
            (create_upload(&at, "k", &none), "requests.multipart"),
            (upload_part(&at, "k", (1, "u"), &plain), "requests.multipart"),
            (complete_upload(&at, "k", "u", b"x"), "requests.multipart"),
            (list(&at, "", 1, None), "requests.list"),
            (list_uploads(&at, "p"), "requests.list"),
            (get(&at, "k", None, false), "requests.get"),
            (head(&at, "k"), "requests.head"),
            (delete(&at, "k"), "requests.delete"),
            (delete_many(&at, b"x"), "requests.delete"),
            (abort_upload(&at, "k", "u"), "requests.delete"),
        ] {
            assert_eq!(request.class().count_name(), class, "{}", line(&request));
        }
    }
}
