//! `--volume` of `iodyno k8s`: what is mounted into the pods, and where.

use serde_json::{Value, json};

/// What a volume is.
#[derive(Clone, Debug, PartialEq, Eq)]
enum VolumeSource {
    /// A claim by its name.
    Claim(String),
    /// A claim whose device is handed on as it is, without a file system.
    Device(String),
    /// A directory of the node.
    Host(String),
    /// An empty directory of the pod, of a size at most.
    Empty(Option<String>),
    /// The same in memory.
    Memory(Option<String>),
}

/// A volume and its place in the pods.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Volume {
    source: VolumeSource,
    /// An absolute path.
    pub path: String,
    is_read_only: bool,
}

/// How a volume is written, for hints.
const FORM: &str = "expected claim=NAME:/PATH, device=CLAIM:/dev/NAME, host=/PATH:/PATH, empty:/PATH, empty=10Gi:/PATH or \
     memory=1Gi:/PATH, with :ro behind it where nothing is written";

impl Volume {
    /// `claim=data:/data`, `host=/mnt/x:/data:ro`.
    pub fn parsed(text: &str) -> Result<Volume, String> {
        let (rest, is_read_only) = match text.strip_suffix(":ro") {
            Some(rest) => (rest, true),
            None => (text, false),
        };
        let (source, path) = rest.split_once(":/").ok_or(FORM)?;
        let path = format!("/{}", path.trim_end_matches('/'));
        if path == "/" || path.contains(':') || path.split('/').any(|part| part == "..") {
            return Err(format!("`{path}` is no place for a volume: {FORM}"));
        }
        let source = match source.split_once('=') {
            Some(("claim", name)) => VolumeSource::Claim(super::name(name)?),
            Some(("device", name)) => VolumeSource::Device(super::name(name)?),
            Some(("host", folder)) if folder.starts_with('/') && !folder.contains("/..") => {
                VolumeSource::Host(folder.into())
            }
            Some(("empty", size)) => VolumeSource::Empty(Some(super::quantity(size)?)),
            Some(("memory", size)) => VolumeSource::Memory(Some(super::quantity(size)?)),
            None if source == "empty" => VolumeSource::Empty(None),
            None if source == "memory" => VolumeSource::Memory(None),
            _ => return Err(FORM.into()),
        };
        Ok(Volume { source, path, is_read_only })
    }

    /// Whether several pods would see the same files.
    pub fn is_shared(&self) -> bool {
        matches!(self.source, VolumeSource::Claim(_) | VolumeSource::Host(_))
    }

    /// Whether it is a device, which is no directory.
    pub fn is_device(&self) -> bool {
        matches!(self.source, VolumeSource::Device(_))
    }

    /// Its entry in `volumes`.
    pub fn entry(&self, name: &str) -> Value {
        match &self.source {
            VolumeSource::Claim(claim) | VolumeSource::Device(claim) => {
                let mut source = json!({"claimName": claim});
                if self.is_read_only {
                    source["readOnly"] = json!(true);
                }
                json!({"name": name, "persistentVolumeClaim": source})
            }
            VolumeSource::Host(path) => {
                json!({"name": name, "hostPath": {"path": path, "type": "Directory"}})
            }
            VolumeSource::Empty(size) => {
                json!({"name": name, "emptyDir": limited(json!({}), size.as_deref())})
            }
            VolumeSource::Memory(size) => {
                json!({"name": name, "emptyDir": limited(json!({"medium": "Memory"}), size.as_deref())})
            }
        }
    }

    /// Its entry in `volumeMounts`, or in `volumeDevices`; `own`: each pod has a directory of its own in it.
    pub fn mount(&self, name: &str, own: bool) -> Value {
        if self.is_device() {
            return json!({"name": name, "devicePath": self.path});
        }
        let mut mount = json!({"name": name, "mountPath": self.path});
        if self.is_read_only {
            mount["readOnly"] = json!(true);
        }
        if own && self.is_shared() && !self.is_read_only {
            mount["subPathExpr"] = json!("$(IODYNO_POD)");
        }
        mount
    }
}

fn limited(mut source: Value, size: Option<&str>) -> Value {
    if let Some(size) = size {
        source["sizeLimit"] = json!(size);
    }
    source
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn volumes_have_a_source_and_a_place() {
        let of = |text: &str| Volume::parsed(text).map(|volume| volume.entry("v").to_string());
        assert!(of("claim=data:/data").unwrap().contains("\"claimName\":\"data\""));
        assert!(of("host=/mnt/a:/data:ro").unwrap().contains("/mnt/a"));
        assert!(of("memory=1Gi:/dev/shm").unwrap().contains("Memory"));
        for wrong in [
            "data",
            "claim=data",
            "claim=Data:/d",
            "claim=:/d",
            "host=x:/d",
            "empty=1GiB:/d",
            "claim=a:/",
            "claim=a:/x/../y",
        ] {
            assert!(of(wrong).is_err(), "{wrong}");
        }
    }
}
