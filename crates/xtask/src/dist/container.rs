//! The container image: the program, glibc and the certificates of public authorities, nothing else; not root; an OCI archive.
//!
//! The archive is written from files, so that no engine is needed to make it: `podman load`, `docker load` and `buildah` read it. The
//! C library and the certificates are Debian's, fetched by apt; where there is no apt, that is a skip.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::archive::{gzip, tar};
use super::contents::{Contents, InstalledEntry, permit, set_times, stage};
use super::elf::Processor;
use super::external::{empty_folder, files, lines_of, read_bytes, sha256, write};
use super::program::ProgramFile;
use super::{Made, Release, Unmade};
use crate::shell;

/// What an image may weigh, unpacked.
const LARGEST: u64 = 40 << 20;
/// A user without rights, as others' minimal images have it.
const USER: u32 = 65_532;
/// Of glibc, what the program is linked with or opens by name.
const LIBRARIES: [&str; 7] = [
    "libc.so.6",
    "libm.so.6",
    "libdl.so.2",
    "libpthread.so.0",
    "librt.so.1",
    "libresolv.so.2",
    "libnss_dns.so.2",
];
const CERTIFICATES: &str = "etc/ssl/certs/ca-certificates.crt";

/// Writes the archive.
///
/// # Errors
/// What could not be fetched (a skip), or written.
pub fn make(release: &Release, program: &ProgramFile, contents: &Contents) -> Made {
    let skipped = |why: String| Unmade::Skipped(format!("container for {}: {why}", program.processor));
    for needed in ["apt-get", "dpkg-deb"] {
        if shell::find(needed).is_none() {
            return Err(skipped(format!("{needed} is not installed")));
        }
    }
    let base = base(release, program.processor).map_err(skipped)?;
    let folder = stage(release, program, "container");
    contents.lay_out(release, &folder, &|path| {
        let is_wanted = path == "bin/iodyno" || path.starts_with("share/doc/");
        is_wanted.then(|| format!("usr/{path}"))
    })?;
    links(contents, &folder)?;
    furnish(&base, program.processor, &folder)?;
    set_times(release, &folder)?;
    // What anybody may write to: its own home, and the place for temporary files.
    for place in ["tmp", "home/iodyno"] {
        permit(&folder.join(place), 0o1777)?;
    }
    let image = release.scratch.join(format!("image-{}", program.processor));
    pack(release, program.processor, &folder, &image)?;
    let path = release.into.join(format!("iodyno-{}-{}-container.tar", release.version, program.processor));
    set_times(release, &image)?;
    tar(release, &image, ".", &path)?;
    Ok(path)
}

/// Tools answer to their names in the image: nobody else's are there.
fn links(contents: &Contents, folder: &Path) -> Result<(), String> {
    for (path, entry) in &contents.entries {
        let (InstalledEntry::Link(_), Some(tool)) = (entry, path.rsplit('/').next()) else { continue };
        let link = folder.join("usr/bin").join(tool);
        std::os::unix::fs::symlink("iodyno", &link)
            .map_err(|error| format!("{}: {error}", link.display()))?;
    }
    Ok(())
}

/// Debian's C library and certificates, unpacked.
fn base(release: &Release, processor: Processor) -> Result<PathBuf, String> {
    let folder = release.scratch.join(format!("base-{processor}"));
    let (fetched, unpacked) = (folder.join("fetched"), folder.join("unpacked"));
    if unpacked.is_dir() {
        return Ok(unpacked);
    }
    empty_folder(&fetched)?;
    let library = if Some(processor) == Processor::here() {
        "libc6".to_string()
    } else {
        format!("libc6-{}-cross", processor.debian())
    };
    lines_of("apt-get", &["-q", "download", &library, "ca-certificates"], &fetched)?;
    let whole = folder.join("unpacking");
    empty_folder(&whole)?;
    for name in files(&fetched)? {
        lines_of("dpkg-deb", &["-x", &name, &whole.display().to_string()], &fetched)?;
    }
    std::fs::rename(&whole, &unpacked).map_err(|error| format!("{}: {error}", unpacked.display()))?;
    Ok(unpacked)
}

/// Puts into a root what a program expects of a system.
fn furnish(base: &Path, processor: Processor, folder: &Path) -> Result<(), String> {
    let name = processor.name();
    let near = base.join(format!("lib/{name}-linux-gnu"));
    let cross = base.join(format!("usr/{name}-linux-gnu/lib"));
    let source = if near.is_dir() { near } else { cross };
    let libraries = format!("lib/{name}-linux-gnu");
    for library in LIBRARIES {
        copy(&source.join(library), &folder.join(&libraries).join(library))?;
    }
    let (loader, place) = match processor {
        Processor::X86_64 => ("ld-linux-x86-64.so.2", "lib64"),
        Processor::Aarch64 => ("ld-linux-aarch64.so.1", "lib"),
    };
    copy(&source.join(loader), &folder.join(place).join(loader))?;
    permit(&folder.join(place).join(loader), 0o755)?;
    let authorities = base.join("usr/share/ca-certificates/mozilla");
    let mut certificates = Vec::new();
    for name in files(&authorities)? {
        certificates.extend(read_bytes(&authorities.join(name))?);
    }
    write(&folder.join(CERTIFICATES), &certificates)?;
    let passwd = format!("root:x:0:0:root:/:/\niodyno:x:{USER}:{USER}:iodyno:/home/iodyno:/\n");
    write(&folder.join("etc/passwd"), passwd.as_bytes())?;
    write(&folder.join("etc/group"), format!("root:x:0:\niodyno:x:{USER}:\n").as_bytes())?;
    write(&folder.join("etc/nsswitch.conf"), b"hosts: files dns\n")?;
    for place in ["tmp", "home/iodyno"] {
        empty_folder(&folder.join(place))?;
    }
    Ok(())
}

/// Copies what a name stands for.
fn copy(from: &Path, to: &Path) -> Result<(), String> {
    write(to, &read_bytes(from)?)
}

/// Makes an image's folder of a root: one layer, its description, and the list of both.
fn pack(release: &Release, processor: Processor, root: &Path, image: &Path) -> Result<(), String> {
    empty_folder(image)?;
    let blobs = image.join("blobs/sha256");
    std::fs::create_dir_all(&blobs).map_err(|error| format!("{}: {error}", blobs.display()))?;
    let layer = release.scratch.join("layer.tar");
    tar(release, root, ".", &layer)?;
    let length = std::fs::metadata(&layer).map_or(0, |facts| facts.len());
    if length > LARGEST {
        return Err(format!("the image has {length} bytes, more than {LARGEST}"));
    }
    let plain = sha256(&layer)?;
    gzip(&layer)?;
    let layer = blob(&blobs, &read_bytes(&layer.with_extension("tar.gz"))?)?;
    let described = blob(&blobs, configuration(release, processor, &plain)?.to_string().as_bytes())?;
    let manifest = json!({
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": descriptor("config.v1+json", &described),
        "layers": [descriptor("layer.v1.tar+gzip", &layer)],
    });
    let mut manifest = descriptor("manifest.v1+json", &blob(&blobs, manifest.to_string().as_bytes())?);
    manifest["annotations"] = json!({ "org.opencontainers.image.ref.name": release.version });
    let index = json!({ "schemaVersion": 2, "manifests": [manifest] });
    write(&image.join("index.json"), index.to_string().as_bytes())?;
    write(&image.join("oci-layout"), br#"{"imageLayoutVersion":"1.0.0"}"#)
}

fn configuration(release: &Release, processor: Processor, layer: &str) -> Result<Value, String> {
    let at = format!("@{}", release.epoch);
    let created = lines_of("date", &["-u", "-d", &at, "+%Y-%m-%dT%H:%M:%SZ"], Path::new("/"))?.join("");
    Ok(json!({
        "created": created,
        "architecture": processor.debian(),
        "os": "linux",
        "config": {
            "User": format!("{USER}:{USER}"),
            "Env": ["PATH=/usr/bin", "HOME=/home/iodyno", format!("SSL_CERT_FILE=/{CERTIFICATES}")],
            "Entrypoint": ["/usr/bin/iodyno"],
            "Cmd": ["--help"],
            "WorkingDir": "/home/iodyno",
            "Labels": {
                "org.opencontainers.image.title": "iodyno",
                "org.opencontainers.image.version": release.version,
                "org.opencontainers.image.licenses": "MIT OR Apache-2.0",
            },
        },
        "rootfs": { "type": "layers", "diff_ids": [format!("sha256:{layer}")] },
        "history": [{ "created": created, "created_by": "cargo xtask dist" }],
    }))
}

/// A piece of an image: its digest and length.
struct Blob {
    digest: String,
    length: usize,
}

fn blob(folder: &Path, bytes: &[u8]) -> Result<Blob, String> {
    let fresh = folder.join("fresh");
    write(&fresh, bytes)?;
    let digest = sha256(&fresh)?;
    std::fs::rename(&fresh, folder.join(&digest))
        .map_err(|error| format!("{}: {error}", folder.display()))?;
    Ok(Blob { digest, length: bytes.len() })
}

fn descriptor(kind: &str, blob: &Blob) -> Value {
    json!({
        "mediaType": format!("application/vnd.oci.image.{kind}"),
        "digest": format!("sha256:{}", blob.digest),
        "size": blob.length,
    })
}
