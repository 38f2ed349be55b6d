//! Checksums that travel beside an object's bytes (`x-amz-checksum-*`), in base64 of their big-endian value.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use crc_fast::CrcAlgorithm;
use sha2::{Digest, Sha256};

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
}
