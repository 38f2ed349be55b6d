//! Who may test: tokens that a client encrypts for the server, and the list of users.
//!
//! A token is the user's name, password and the time, encrypted with the server's public key: OAEP (SHA-1), or PKCS#1
//! as before 3.17. It refuses a token that was already shown: the original accepts it again while it is fresh.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rsa::pkcs1::{DecodeRsaPrivateKey, DecodeRsaPublicKey};
use rsa::pkcs8::{DecodePrivateKey, DecodePublicKey};
use rsa::rand_core::{CryptoRng, Error, RngCore};
use rsa::{Oaep, Pkcs1v15Encrypt, RsaPrivateKey, RsaPublicKey};
use sha2::{Digest, Sha256};

use crate::conversation::is_same_secret;

/// How a token is padded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Padding {
    /// OAEP with SHA-1.
    #[default]
    Oaep,
    /// PKCS#1 v1.5.
    Pkcs1,
}

/// Bytes nobody can foretell, from a seed that nobody knows: SHA-256 of the seed and a counter.
pub struct RandomSource {
    seed: [u8; 32],
    turn: u64,
    left: Vec<u8>,
}

impl RandomSource {
    pub fn new(seed: [u8; 32]) -> Self {
        RandomSource { seed, turn: 0, left: Vec::new() }
    }

    /// A cookie: letters and digits that cannot be taken for each other, and a zero at the end.
    pub fn cookie(&mut self) -> [u8; super::state::COOKIE_BYTES] {
        let letters = b"abcdefghijklmnopqrstuvwxyz234567";
        let mut cookie = [0; super::state::COOKIE_BYTES];
        let drawn = cookie.len() - 1;
        self.fill_bytes(&mut cookie[..drawn]);
        cookie[..drawn].iter_mut().for_each(|byte| *byte = letters[usize::from(*byte) % letters.len()]);
        cookie
    }
}

impl RngCore for RandomSource {
    fn next_u32(&mut self) -> u32 {
        self.next_u64() as u32
    }

    fn next_u64(&mut self) -> u64 {
        let mut bytes = [0; 8];
        self.fill_bytes(&mut bytes);
        u64::from_le_bytes(bytes)
    }

    fn fill_bytes(&mut self, bytes: &mut [u8]) {
        for byte in bytes {
            if self.left.is_empty() {
                let mut block = Sha256::new();
                block.update(self.seed);
                block.update(self.turn.to_le_bytes());
                self.turn += 1;
                self.left = block.finalize().to_vec();
            }
            *byte = self.left.pop().unwrap_or_default();
        }
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Error> {
        self.fill_bytes(bytes);
        Ok(())
    }
}

impl CryptoRng for RandomSource {}

/// The client's key.
///
/// # Errors
/// It is no RSA public key.
pub fn public_key(pem: &str) -> Result<RsaPublicKey, String> {
    RsaPublicKey::from_public_key_pem(pem)
        .or_else(|_| RsaPublicKey::from_pkcs1_pem(pem))
        .map_err(|error| format!("no RSA public key: {error}"))
}

/// The server's key.
///
/// # Errors
/// It is no RSA private key, or one with a passphrase.
pub fn private_key(pem: &str) -> Result<RsaPrivateKey, String> {
    RsaPrivateKey::from_pkcs8_pem(pem)
        .or_else(|_| RsaPrivateKey::from_pkcs1_pem(pem))
        .map_err(|error| format!("no RSA private key without a passphrase: {error}"))
}

/// The token of a user at a time, s since 1970.
///
/// # Errors
/// It is too long for the key.
pub fn token(
    user: &str,
    password: &str,
    at_s: u64,
    key: &RsaPublicKey,
    padding: Padding,
    chance: &mut RandomSource,
) -> Result<String, String> {
    let text = format!("user: {user}\npwd:  {password}\nts:   {at_s}");
    let bytes = match padding {
        Padding::Oaep => key.encrypt(chance, Oaep::new::<sha1_of_rsa::Sha1>(), text.as_bytes()),
        Padding::Pkcs1 => key.encrypt(chance, Pkcs1v15Encrypt, text.as_bytes()),
    };
    bytes
        .map(|bytes| STANDARD.encode(bytes))
        .map_err(|error| format!("user and password do not fit the key: {error}"))
}

/// What a server knows of its users.
pub struct Authenticator {
    key: RsaPrivateKey,
    users: Vec<(String, String)>,
    skew_s: u64,
    padding: Padding,
    shown: Vec<(u64, [u8; 32])>,
    chance: RandomSource,
}

impl Authenticator {
    /// From a key, and the lines `user,hash` of the users' file.
    pub fn new(key: RsaPrivateKey, users: &str, skew_s: u64, padding: Padding, chance: RandomSource) -> Self {
        let line = |line: &str| {
            let line = line.trim();
            let (user, hash) = line.split_once(',').filter(|_| !line.starts_with('#'))?;
            Some((user.trim().to_string(), hash.trim().to_ascii_lowercase()))
        };
        Authenticator {
            key,
            users: users.lines().filter_map(line).collect(),
            skew_s,
            padding,
            shown: Vec::new(),
            chance,
        }
    }

    /// The user of a token, who may.
    ///
    /// # Errors
    /// Why not, for the server's own eyes.
    pub fn admit(&mut self, token: &str, now_s: u64) -> Result<String, String> {
        let bytes = STANDARD.decode(token.trim()).map_err(|_| "the token is no base64")?;
        let text = match self.padding {
            Padding::Oaep => {
                self.key.decrypt_blinded(&mut self.chance, Oaep::new::<sha1_of_rsa::Sha1>(), &bytes)
            }
            Padding::Pkcs1 => self.key.decrypt_blinded(&mut self.chance, Pkcs1v15Encrypt, &bytes),
        };
        let text = text.map_err(|_| "the token is not for this key, or padded otherwise")?;
        let text = String::from_utf8(text).map_err(|_| "the token is no text")?;
        let (user, password, at_s) = fields(&text).ok_or("the token names no user, password and time")?;
        if at_s.abs_diff(now_s) > self.skew_s {
            return Err(format!("the token is {} s off", at_s.abs_diff(now_s)));
        }
        let digest: [u8; 32] = Sha256::digest(&bytes).into();
        self.shown.retain(|(at_s, _)| at_s.abs_diff(now_s) <= self.skew_s);
        if self.shown.iter().any(|(_, seen)| *seen == digest) {
            return Err("the token was shown before".into());
        }
        let hash = hash(user, password);
        let known = self.users.iter().filter(|(name, _)| name == user);
        let fits = known.fold(false, |fits, (_, expected)| fits | is_same_secret(expected, &hash));
        if !fits {
            return Err(format!("user `{user}` or the password is wrong"));
        }
        // Only of users that may: nobody else can fill this list.
        self.shown.push((at_s, digest));
        Ok(user.to_string())
    }
}

/// SHA-256 of `{user}password`, as the users' file has it.
pub fn hash(user: &str, password: &str) -> String {
    let digest = Sha256::digest(format!("{{{user}}}{password}").as_bytes());
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn fields(text: &str) -> Option<(&str, &str, u64)> {
    let rest = text.strip_prefix("user: ")?;
    let (user, rest) = rest.split_once("\npwd:  ")?;
    let (password, at_s) = rest.rsplit_once("\nts:   ")?;
    Some((user, password, at_s.trim_end_matches('\0').trim().parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Made for these tests, used nowhere.
    const PRIVATE: &str = include_str!("testing/private.pem");
    const PUBLIC: &str = include_str!("testing/public.pem");

    fn gate(padding: Padding) -> Authenticator {
        let users = format!("# who may\nmario,{}\n\nbad line\n", hash("mario", "rossi"));
        Authenticator::new(private_key(PRIVATE).unwrap(), &users, 10, padding, RandomSource::new([7; 32]))
    }

    fn made(user: &str, password: &str, at_s: u64, padding: Padding, seed: u8) -> String {
        token(user, password, at_s, &public_key(PUBLIC).unwrap(), padding, &mut RandomSource::new([seed; 32]))
            .unwrap()
    }

    #[test]
    fn the_right_ones_come_in_once() {
        assert_eq!(
            hash("mario", "rossi"),
            "bf7a49a846d44b454a5d11e7acfaf13d138bbe0b7483aa3e050879700572709b"
        );
        for padding in [Padding::Oaep, Padding::Pkcs1] {
            let mut gate = gate(padding);
            let token = made("mario", "rossi", 1000, padding, 1);
            assert_eq!(gate.admit(&token, 1005).as_deref(), Ok("mario"));
            assert_eq!(gate.admit(&token, 1006), Err("the token was shown before".into()));
            assert_eq!(gate.admit(&made("mario", "rossi", 1000, padding, 2), 1005).as_deref(), Ok("mario"));
        }
    }

    #[test]
    fn nobody_else_does() {
        let mut gate = gate(Padding::Oaep);
        let mut refused = |token: &str, now_s| gate.admit(token, now_s).unwrap_err();
        assert!(refused(&made("mario", "verdi", 1000, Padding::Oaep, 1), 1000).contains("wrong"));
        assert!(refused(&made("luigi", "rossi", 1000, Padding::Oaep, 1), 1000).contains("wrong"));
        assert!(refused(&made("mario", "rossi", 1000, Padding::Oaep, 1), 1011).contains("11 s off"));
        assert!(refused(&made("mario", "rossi", 1000, Padding::Pkcs1, 1), 1000).contains("padded"));
        assert!(refused("*", 0).contains("base64"));
        assert!(refused("", 0).contains("not for this key"));
        assert!(refused(&STANDARD.encode([0; 4096]), 0).contains("not for this key"));
    }

    #[test]
    fn keys_that_are_none() {
        assert!(public_key("x").is_err() && private_key(PUBLIC).is_err());
    }

    #[test]
    fn cookies_are_drawn() {
        let mut chance = RandomSource::new([1; 32]);
        let (one, other) = (chance.cookie(), chance.cookie());
        assert!(
            one != other
                && one[36] == 0
                && one[..36].iter().all(|b| b"abcdefghijklmnopqrstuvwxyz234567".contains(b))
        );
    }
}
