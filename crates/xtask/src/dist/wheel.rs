//! The wheel: the program as a script of the package, and the typed module of `python/`.
//!
//! Made here rather than by maturin, from a program that is built already; name, description and extras are those of
//! `python/pyproject.toml`. One wheel is for every Python 3 and one processor.

use std::fmt::Write as _;
use std::path::Path;

use super::bill::Bill;
use super::elf::Processor;
use super::external::{empty_folder, files, read, read_bytes, sha256, write};
use super::program::{GLIBC_MINOR, ProgramFile};
use super::zip::{ZipMember, archive};
use super::{Made, Release, licences};

const MODULE: &str = "python/src/iodyno";

/// The tag of the platform in the wheel's name.
fn platform(processor: Processor) -> String {
    format!("manylinux_2_{GLIBC_MINOR}_{processor}")
}

/// Writes the wheel.
///
/// # Errors
/// A file that is missing, or cannot be written.
pub fn make(release: &Release, program: &ProgramFile, bill: &Bill) -> Made {
    let scratch = release.scratch.join("wheel");
    empty_folder(&scratch)?;
    let name = format!("iodyno-{}", release.version);
    let tag = format!("py3-none-{}", platform(program.processor));
    let facts = format!("{name}.dist-info");
    let mut members = module(&release.root)?;
    let plain = |path: String, bytes: Vec<u8>| ZipMember { path, mode: 0o644, bytes };
    members.push(ZipMember {
        path: format!("{name}.data/scripts/iodyno"),
        mode: 0o755,
        bytes: program.bytes.clone(),
    });
    for licence in ["LICENSE-APACHE", "LICENSE-MIT"] {
        members.push(plain(format!("{facts}/licenses/{licence}"), read_bytes(&release.root.join(licence))?));
    }
    let third = licences::text(release, bill)?;
    members.push(plain(format!("{facts}/licenses/{}", licences::NAME), third.into_bytes()));
    members.push(plain(format!("{facts}/METADATA"), metadata(release)?.into_bytes()));
    let wheel = format!("Wheel-Version: 1.0\nGenerator: iodyno xtask\nRoot-Is-Purelib: false\nTag: {tag}\n");
    members.push(plain(format!("{facts}/WHEEL"), wheel.into_bytes()));
    let record = record(&members, &facts, &scratch)?;
    members.push(plain(format!("{facts}/RECORD"), record.into_bytes()));
    let path = release.into.join(format!("{name}-{tag}.whl"));
    write(&path, &archive(&members, &scratch)?)?;
    Ok(path)
}

/// The files of the module.
fn module(root: &Path) -> Result<Vec<ZipMember>, String> {
    let folder = root.join(MODULE);
    let names = files(&folder)?;
    let member = |name: &String| {
        let bytes = read_bytes(&folder.join(name))?;
        Ok(ZipMember { path: format!("iodyno/{name}"), mode: 0o644, bytes })
    };
    names.iter().filter(|name| name.ends_with(".py") || *name == "py.typed").map(member).collect()
}

/// Core metadata 2.4 of what pyproject.toml says.
fn metadata(release: &Release) -> Result<String, String> {
    let text = read(&release.root.join("python/pyproject.toml"))?;
    let project: toml::Table = text.parse().map_err(|error| format!("python/pyproject.toml: {error}"))?;
    let project = &project["project"];
    let said = |key: &str| {
        project.get(key).and_then(toml::Value::as_str).ok_or(format!("python/pyproject.toml: no {key}"))
    };
    let list = |key: &str| {
        let list = project.get(key).and_then(toml::Value::as_array).cloned().unwrap_or_default();
        list.iter().filter_map(|word| word.as_str().map(str::to_string)).collect::<Vec<_>>()
    };
    let mut out = format!(
        "Metadata-Version: 2.4\nName: {}\nVersion: {}\nSummary: {}\nKeywords: {}\nLicense-Expression: {}\n",
        said("name")?,
        release.version,
        said("description")?,
        list("keywords").join(","),
        said("license")?,
    );
    for file in ["LICENSE-APACHE", "LICENSE-MIT", licences::NAME] {
        let _ = writeln!(out, "License-File: {file}");
    }
    for classifier in list("classifiers") {
        let _ = writeln!(out, "Classifier: {classifier}");
    }
    let _ = writeln!(out, "Requires-Python: {}", said("requires-python")?);
    let extras = project.get("optional-dependencies").and_then(toml::Value::as_table);
    for (extra, needs) in extras.into_iter().flatten() {
        let _ = writeln!(out, "Provides-Extra: {extra}");
        for need in needs.as_array().into_iter().flatten().filter_map(toml::Value::as_str) {
            let _ = writeln!(out, "Requires-Dist: {need}; extra == '{extra}'");
        }
    }
    let readme = read(&release.root.join("python").join(said("readme")?))?;
    let _ = write!(out, "Description-Content-Type: text/markdown\n\n{readme}");
    Ok(out)
}

/// The list of all files with their checksums and lengths; of itself it has none.
fn record(members: &[ZipMember], facts: &str, scratch: &Path) -> Result<String, String> {
    let mut out = String::new();
    let hashed = scratch.join("hashed");
    for member in members {
        write(&hashed, &member.bytes)?;
        let digest = url_base64(&from_hexadecimal(&sha256(&hashed)?));
        let _ = writeln!(out, "{},sha256={digest},{}", member.path, member.bytes.len());
    }
    let _ = writeln!(out, "{facts}/RECORD,,");
    Ok(out)
}

fn from_hexadecimal(digits: &str) -> Vec<u8> {
    let digit = |byte: u8| char::from(byte).to_digit(16).unwrap_or(0) as u8;
    digits
        .as_bytes()
        .chunks(2)
        .map(|pair| digit(pair[0]) << 4 | digit(*pair.get(1).unwrap_or(&b'0')))
        .collect()
}

/// Base 64 with the alphabet of addresses and without padding.
fn url_base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut out = String::new();
    for three in bytes.chunks(3) {
        let word = (0..3).fold(0, |word, at| word << 8 | u32::from(*three.get(at).unwrap_or(&0)));
        for at in 0..=three.len() {
            out.push(char::from(ALPHABET[(word >> (18 - 6 * at) & 63) as usize]));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_are_written_as_the_format_has_them() {
        assert_eq!(url_base64(b""), "");
        assert_eq!(url_base64(b"f"), "Zg");
        assert_eq!(url_base64(b"fo"), "Zm8");
        assert_eq!(url_base64(&from_hexadecimal("fbff00")), "-_8A");
    }

    #[test]
    fn the_platform_is_that_of_the_tag() {
        assert_eq!(platform(Processor::Aarch64), "manylinux_2_28_aarch64");
    }
}
