//! Versions and retention of the store in this process.

use std::collections::BTreeMap;

use super::{Answer, LoggedRequest, StoredObject};

/// What a bucket keeps besides its newest objects.
#[derive(Default)]
pub(super) struct Versions {
    pub is_on: bool,
    /// It was made with object lock.
    pub locks: bool,
    by_key: BTreeMap<String, Vec<Version>>,
    made: u64,
}

struct Version {
    id: String,
    object: StoredObject,
    is_retained: bool,
}

impl Versions {
    /// Takes a new version of an object, where versions are kept.
    pub fn add(&mut self, key: &str, object: &StoredObject) {
        if self.is_on {
            self.made += 1;
            let version =
                Version { id: format!("v{}", self.made), object: object.clone(), is_retained: false };
            self.by_key.entry(key.into()).or_default().insert(0, version);
        }
    }

    pub fn count(&self) -> usize {
        self.by_key.values().map(Vec::len).sum()
    }

    pub fn retained(&self) -> usize {
        self.by_key.values().flatten().filter(|version| version.is_retained).count()
    }

    pub fn find(&self, key: &str, id: &str) -> Option<&StoredObject> {
        let version = self.by_key.get(key)?.iter().find(|version| version.id == id)?;
        Some(&version.object)
    }

    /// The answer to a question about the bucket or a version, or none where it is no such question.
    pub fn answer(&mut self, request: &LoggedRequest) -> Option<Answer> {
        let asks = |name: &str| request.query.contains_key(name);
        match (request.method.as_str(), request.key.as_str()) {
            ("PUT", "") if asks("versioning") => {
                self.is_on = true;
                Some(Answer::new(200, ""))
            }
            ("GET", "") if asks("versioning") => {
                let status = if self.is_on { "<Status>Enabled</Status>" } else { "" };
                Some(Answer::new(200, format!("<VersioningConfiguration>{status}</VersioningConfiguration>")))
            }
            ("GET", "") if asks("object-lock") => Some(match self.locks {
                true => Answer::new(200, "<ObjectLockConfiguration/>"),
                false => Answer::error(404, "ObjectLockConfigurationNotFoundError", ""),
            }),
            ("GET", "") if asks("versions") => Some(self.list(request)),
            ("PUT", key) if asks("retention") => Some(self.retain(request, key)),
            ("DELETE", key) if asks("versionId") => {
                Some(self.remove(request, key, &request.query["versionId"]))
            }
            _ => None,
        }
    }

    /// Pages of two keys: who asks has to go on.
    fn list(&self, request: &LoggedRequest) -> Answer {
        let text = |name: &str| request.query.get(name).cloned().unwrap_or_default();
        let (prefix, after) = (text("prefix"), text("key-marker"));
        let mut keys = self.by_key.iter().filter(|(key, _)| key.starts_with(&prefix) && **key > after);
        let page: Vec<_> = keys.by_ref().take(2).collect();
        let is_cut = keys.next().is_some();
        let mut body = format!("<ListVersionsResult><IsTruncated>{is_cut}</IsTruncated>");
        if let (true, Some((last, versions))) = (is_cut, page.last()) {
            let id = versions.last().map_or("", |version| version.id.as_str());
            body += &format!(
                "<NextKeyMarker>{last}</NextKeyMarker><NextVersionIdMarker>{id}</NextVersionIdMarker>"
            );
        }
        for (key, versions) in page {
            for version in versions {
                let (id, size) = (&version.id, version.object.bytes.len());
                body += &format!(
                    "<Version><Key>{key}</Key><VersionId>{id}</VersionId><Size>{size}</Size></Version>"
                );
            }
        }
        Answer::new(200, body + "</ListVersionsResult>")
    }

    fn retain(&mut self, request: &LoggedRequest, key: &str) -> Answer {
        if !self.locks {
            return Answer::error(400, "InvalidRequest", "");
        }
        let id = request.query.get("versionId").cloned().unwrap_or_default();
        match self.by_key.get_mut(key).and_then(|all| all.iter_mut().find(|version| version.id == id)) {
            Some(version) => {
                version.is_retained = true;
                Answer::new(200, "")
            }
            None => Answer::error(404, "NoSuchVersion", ""),
        }
    }

    /// Removes a version, unless it is retained and nobody asks to bypass that.
    pub fn remove(&mut self, request: &LoggedRequest, key: &str, id: &str) -> Answer {
        let bypasses =
            request.headers.get("x-amz-bypass-governance-retention").is_some_and(|on| on == "true");
        if let Some(all) = self.by_key.get_mut(key) {
            if !bypasses && all.iter().any(|version| version.id == id && version.is_retained) {
                return Answer::error(403, "AccessDenied", "");
            }
            all.retain(|version| version.id != id);
            if all.is_empty() {
                self.by_key.remove(key);
            }
        }
        Answer::new(204, "")
    }

    pub fn has(&self, key: &str) -> bool {
        self.by_key.contains_key(key)
    }
}
