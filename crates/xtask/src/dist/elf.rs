//! What a program file says of itself: its processor, and the oldest glibc that it starts with.

use std::fmt;

/// Processors that packages are made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Processor {
    X86_64,
    Aarch64,
}

impl Processor {
    /// By the name that Rust, Python and rpm share.
    ///
    /// # Errors
    /// No package is made for it.
    pub fn named(word: &str) -> Result<Processor, String> {
        match word {
            "x86_64" => Ok(Processor::X86_64),
            "aarch64" => Ok(Processor::Aarch64),
            other => Err(format!("dist: --target {other}: expected x86_64 or aarch64")),
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Processor::X86_64 => "x86_64",
            Processor::Aarch64 => "aarch64",
        }
    }

    /// Debian's and the container registries' name.
    pub fn debian(self) -> &'static str {
        match self {
            Processor::X86_64 => "amd64",
            Processor::Aarch64 => "arm64",
        }
    }

    /// Rust's target.
    pub fn target(self) -> String {
        format!("{}-unknown-linux-gnu", self.name())
    }

    /// That of this machine, if packages are made for it.
    pub fn here() -> Option<Processor> {
        Processor::named(std::env::consts::ARCH).ok()
    }
}

impl fmt::Display for Processor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The processor that a program is for.
///
/// # Errors
/// It is no program of Linux, or one of a processor that no package is made for.
pub fn processor(bytes: &[u8]) -> Result<Processor, String> {
    // e_ident: 64 bits, little-endian; e_machine.
    if bytes.get(..6) != Some(&[0x7f, b'E', b'L', b'F', 2, 1]) {
        return Err("no 64-bit program of Linux (ELF)".into());
    }
    match bytes.get(18..20) {
        Some([0x3e, 0]) => Ok(Processor::X86_64),
        Some([0xb7, 0]) => Ok(Processor::Aarch64),
        _ => Err("a program for another processor than x86_64 and aarch64".into()),
    }
}

/// The minor version of the newest glibc 2 whose symbols a program asks for; none: it names no version.
pub fn newest_glibc(bytes: &[u8]) -> Option<u32> {
    const MARK: &[u8] = b"GLIBC_2.";
    let places = bytes.windows(MARK.len()).enumerate().filter(|(_, window)| *window == MARK);
    let minor = |(at, _): (usize, &[u8])| {
        let digits = bytes[at + MARK.len()..].iter().take_while(|byte| byte.is_ascii_digit());
        digits.fold(None, |minor: Option<u32>, digit| {
            Some(minor.unwrap_or(0).saturating_mul(10).saturating_add(u32::from(digit - b'0')))
        })
    };
    places.filter_map(minor).max()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_tells_the_processor() {
        let mut head = vec![0x7f, b'E', b'L', b'F', 2, 1];
        head.resize(64, 0);
        head[18] = 0xb7;
        assert_eq!(processor(&head), Ok(Processor::Aarch64));
        head[18] = 0x3e;
        assert_eq!(processor(&head), Ok(Processor::X86_64));
        head[18] = 8;
        assert!(processor(&head).unwrap_err().contains("another processor"));
        assert!(processor(b"#!/bin/sh").is_err() && processor(b"").is_err());
    }

    #[test]
    fn the_newest_version_counts() {
        assert_eq!(newest_glibc(b"\0GLIBC_2.2.5\0GLIBC_2.28\0GLIBC_2.17\0"), Some(28));
        assert_eq!(newest_glibc(b"GLIBC_PRIVATE GLIBC_2."), None);
    }
}
