//! Who asks: an access key, its secret and a session's token. Where they are found is the caller's business.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use md5::{Digest as _, Md5};
use zeroize::Zeroize;

/// The longest secret or token, bytes: tokens of temporary credentials take about 1 KiB.
const SECRET_BYTES: usize = 4096;

/// A secret in place: it lies wherever its owner lies, is never printed, and is overwritten when it is dropped.
pub struct Secret {
    length: usize,
    /// Counts changes: what was derived from an earlier one is not its own.
    generation: u64,
    bytes: [u8; SECRET_BYTES],
}

impl Secret {
    /// None yet.
    pub const fn empty() -> Secret {
        Secret { length: 0, generation: 0, bytes: [0; SECRET_BYTES] }
    }

    /// Takes a text.
    ///
    /// # Errors
    /// It is longer than any secret.
    pub fn set(&mut self, text: &str) -> Result<(), String> {
        self.bytes.zeroize();
        self.length = 0;
        self.generation += 1;
        let room = self.bytes.get_mut(..text.len()).ok_or("a key or token of more than 4096 bytes")?;
        room.copy_from_slice(text.as_bytes());
        self.length = text.len();
        Ok(())
    }

    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    pub(crate) fn generation(&self) -> u64 {
        self.generation
    }

    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }

    /// It as text; a token is sent.
    pub fn text(&self) -> &str {
        std::str::from_utf8(self.bytes()).unwrap_or("")
    }
}

impl Drop for Secret {
    fn drop(&mut self) {
        self.bytes.zeroize();
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

/// Overwrites a text that held a secret.
pub fn wipe(text: &mut String) {
    text.zeroize();
}

/// Overwrites bytes that held a secret.
pub fn wipe_bytes(bytes: &mut [u8]) {
    bytes.zeroize();
}

/// A key of the user's that the server encrypts objects with and does not keep (SSE-C), as its headers say it.
#[derive(Debug)]
pub struct CustomerKey {
    /// In Base64; empty: there is none.
    key: Secret,
    /// Its MD5 in Base64.
    digest: Secret,
}

/// Bytes of a key for AES256, the one algorithm there is.
const CUSTOMER_KEY_BYTES: usize = 32;

impl CustomerKey {
    pub const fn none() -> CustomerKey {
        CustomerKey { key: Secret::empty(), digest: Secret::empty() }
    }

    /// Takes the key's 32 bytes.
    ///
    /// # Errors
    /// There are not so many.
    pub fn set(&mut self, key: &[u8]) -> Result<(), String> {
        if key.len() != CUSTOMER_KEY_BYTES {
            return Err(format!("a key for AES256 has 32 characters, and this one {}", key.len()));
        }
        let mut text = STANDARD.encode(key);
        let taken = self.key.set(&text);
        text.zeroize();
        let mut digest = STANDARD.encode(digest_of(key));
        let taken = taken.and_then(|()| self.digest.set(&digest));
        digest.zeroize();
        scrub_stack();
        taken
    }

    pub fn is_none(&self) -> bool {
        self.key.is_empty()
    }

    /// The headers that say it.
    pub fn headers(&self) -> [(&'static str, &str); 3] {
        [
            ("x-amz-server-side-encryption-customer-algorithm", "AES256"),
            ("x-amz-server-side-encryption-customer-key", self.key.text()),
            ("x-amz-server-side-encryption-customer-key-md5", self.digest.text()),
        ]
    }
}

/// A frame of its own, which is overwritten afterwards.
#[inline(never)]
fn digest_of(key: &[u8]) -> [u8; 16] {
    Md5::digest(key).into()
}

/// Overwrites what calls before this one left on the stack below: hashes have the key they were given in blocks of their
/// own.
#[inline(never)]
pub(crate) fn scrub_stack() {
    let mut room = [0u8; 16 << 10];
    room.zeroize();
    std::hint::black_box(&room);
}

/// Who asks; without an access key nobody does, and requests are not signed.
#[derive(Debug)]
pub struct Credentials {
    pub access_key: String,
    pub secret: Secret,
    /// Of temporary credentials; empty otherwise.
    pub token: Secret,
}

impl Credentials {
    /// Nobody.
    pub const fn anonymous() -> Credentials {
        Credentials { access_key: String::new(), secret: Secret::empty(), token: Secret::empty() }
    }

    /// Takes others in their place.
    ///
    /// # Errors
    /// One of them is longer than any secret.
    pub fn renew(&mut self, access_key: &str, secret: &str, token: &str) -> Result<(), String> {
        self.access_key.clear();
        self.access_key.push_str(access_key);
        self.secret.set(secret)?;
        self.token.set(token)
    }

    pub fn are_anonymous(&self) -> bool {
        self.access_key.is_empty()
    }

    /// Takes what a profile of a credentials file says (`[default]`, `aws_access_key_id = …`).
    ///
    /// # Errors
    /// The profile is not there, or incomplete.
    pub fn read_profile(&mut self, file: &str, profile: &str) -> Result<(), String> {
        let (mut inside, mut found) = (false, false);
        for line in file.lines().map(str::trim).filter(|line| !line.starts_with(['#', ';'])) {
            if let Some(name) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
                let name = name.trim();
                inside = name.strip_prefix("profile ").unwrap_or(name).trim() == profile;
                found |= inside;
                continue;
            }
            let Some((name, value)) = line.split_once('=').filter(|_| inside) else { continue };
            match (name.trim(), value.trim()) {
                ("aws_access_key_id", value) => self.access_key = value.into(),
                ("aws_secret_access_key", value) => self.secret.set(value)?,
                ("aws_session_token", value) => self.token.set(value)?,
                _ => {}
            }
        }
        match (found, self.are_anonymous() || self.secret.is_empty()) {
            (false, _) => Err(format!("it has no profile [{profile}]")),
            (true, true) => {
                Err(format!("its profile [{profile}] lacks aws_access_key_id or aws_secret_access_key"))
            }
            (true, false) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profile_is_found_and_its_secret_is_never_printed() {
        let file = "[default]\naws_access_key_id = A\naws_secret_access_key = hush\n# x\n[profile other]\n\
                    aws_access_key_id=B\naws_secret_access_key=quiet\naws_session_token=long\n";
        let mut found = Credentials::anonymous();
        found.read_profile(file, "other").unwrap();
        assert_eq!(
            (found.access_key.as_str(), found.secret.text(), found.token.text()),
            ("B", "quiet", "long")
        );
        let printed = format!("{found:?}");
        assert!(
            !printed.contains("quiet") && !printed.contains("long") && printed.contains("***"),
            "{printed}"
        );
        assert!(
            Credentials::anonymous().read_profile(file, "third").unwrap_err().contains("no profile [third]")
        );
        let half = "[a]\naws_access_key_id = A\n";
        assert!(Credentials::anonymous().read_profile(half, "a").unwrap_err().contains("lacks"));
    }
}
