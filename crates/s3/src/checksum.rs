//! Checksums that travel beside an object's bytes (`x-amz-checksum-*`), in base64 of their big-endian value; and the hash
//! that is signed.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use crc_fast::CrcAlgorithm;
use sha2::{Digest, Sha256};

use crate::request::UNSIGNED_PAYLOAD;
use crate::sign::hex_of;

/// Bytes that are summed by one and then by the other: what the first has read is in the second-level cache.
const SLICE_BYTES: usize = 64 << 10;

/// What is said of a body beside it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BodySums {
    pub bytes: u64,
    /// What is signed of it.
    pub payload_hash: Cow<'static, str>,
    pub checksum: Option<(Checksum, String)>,
}

impl BodySums {
    /// Of a body whose hash is signed or not, by one pass over its bytes.
    pub fn of(body: &[u8], is_signed: bool, checksum: Option<Checksum>) -> BodySums {
        let crc = match checksum {
            Some(Checksum::Crc32c) => Some(CrcAlgorithm::Crc32Iscsi),
            Some(Checksum::Crc64Nvme) => Some(CrcAlgorithm::Crc64Nvme),
            Some(Checksum::Sha256) | None => None,
        };
        let (mut hash, mut crc) = (Sha256::new(), crc.map(crc_fast::Digest::new));
        let hashes = is_signed || checksum == Some(Checksum::Sha256);
        for slice in body.chunks(SLICE_BYTES) {
            if let Some(crc) = &mut crc {
                crc.update(slice);
            }
            if hashes {
                hash.update(slice);
            }
        }
        let hash = hash.finalize();
        let crc = crc.map_or(0, |crc| crc.finalize());
        let said = |checksum| match checksum {
            Checksum::Crc32c => STANDARD.encode((crc as u32).to_be_bytes()),
            Checksum::Crc64Nvme => STANDARD.encode(crc.to_be_bytes()),
            Checksum::Sha256 => STANDARD.encode(hash),
        };
        BodySums {
            bytes: body.len() as u64,
            payload_hash: if is_signed { hex_of(&hash).into() } else { UNSIGNED_PAYLOAD.into() },
            checksum: checksum.map(|checksum| (checksum, said(checksum))),
        }
    }

    /// The checksum as a part of an upload names it.
    pub fn of_part(&self) -> Option<(&'static str, String)> {
        self.checksum.as_ref().map(|(checksum, value)| (checksum.algorithm(), value.clone()))
    }
}

/// A checksum of S3.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Checksum {
    Crc32c,
    Crc64Nvme,
    Sha256,
}

impl Checksum {
    pub const ALL: [Checksum; 3] = [Checksum::Crc32c, Checksum::Crc64Nvme, Checksum::Sha256];

    /// As settings say it.
    pub fn name(self) -> &'static str {
        match self {
            Checksum::Crc32c => "crc32c",
            Checksum::Crc64Nvme => "crc64nvme",
            Checksum::Sha256 => "sha256",
        }
    }

    /// As multipart uploads say it.
    pub fn algorithm(self) -> &'static str {
        match self {
            Checksum::Crc32c => "CRC32C",
            Checksum::Crc64Nvme => "CRC64NVME",
            Checksum::Sha256 => "SHA256",
        }
    }

    /// The header that carries it.
    pub fn header(self) -> &'static str {
        match self {
            Checksum::Crc32c => "x-amz-checksum-crc32c",
            Checksum::Crc64Nvme => "x-amz-checksum-crc64nvme",
            Checksum::Sha256 => "x-amz-checksum-sha256",
        }
    }

    /// Of bytes, as the header has it.
    pub fn of(self, bytes: &[u8]) -> String {
        match self {
            Checksum::Crc32c => {
                let value = crc_fast::checksum(CrcAlgorithm::Crc32Iscsi, bytes) as u32;
                STANDARD.encode(value.to_be_bytes())
            }
            Checksum::Crc64Nvme => {
                STANDARD.encode(crc_fast::checksum(CrcAlgorithm::Crc64Nvme, bytes).to_be_bytes())
            }
            Checksum::Sha256 => STANDARD.encode(Sha256::digest(bytes)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_check_values_of_the_catalogues_are_met() {
        // 0xE3069283 and 0xAE8B14860A799888 are the catalogue's values of "123456789".
        assert_eq!(Checksum::Crc32c.of(b"123456789"), STANDARD.encode(0xE306_9283u32.to_be_bytes()));
        assert_eq!(
            Checksum::Crc64Nvme.of(b"123456789"),
            STANDARD.encode(0xAE8B_1486_0A79_9888u64.to_be_bytes())
        );
        assert_eq!(Checksum::Sha256.of(b""), "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=");
    }

    #[test]
    fn one_pass_says_what_each_says_alone() {
        let body: Vec<u8> = (0..SLICE_BYTES * 2 + 5).map(|byte| (byte * 7 % 251) as u8).collect();
        for body in [&body[..], &body[..SLICE_BYTES], b""] {
            for checksum in Checksum::ALL.map(Some).into_iter().chain([None]) {
                for is_signed in [true, false] {
                    let sums = BodySums::of(body, is_signed, checksum);
                    let hash =
                        if is_signed { crate::sign::sha256_hex(body) } else { "UNSIGNED-PAYLOAD".into() };
                    assert_eq!((sums.bytes, sums.payload_hash.as_ref()), (body.len() as u64, &*hash));
                    assert_eq!(sums.checksum, checksum.map(|checksum| (checksum, checksum.of(body))));
                }
            }
        }
    }
}
