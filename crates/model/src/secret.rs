//! What stands for a secret in words, plans, records and messages. The secret itself is nowhere here.

use crate::reflect::Reflect;

/// What a secret is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Reflect)]
pub enum SecretKind {
    /// The name of a key, which is sent with every request.
    AccessKey,
    /// The key that requests are signed with.
    SecretKey,
    /// Of temporary credentials.
    SessionToken,
    /// A key of the user's that the server encrypts objects with.
    CustomerKey,
    /// Nothing here needs it.
    Other,
}

/// The text in the place of a secret.
pub const STAND_IN: &str = "***";

/// The text for the secret of a kind with this number: `***` for 0, then `***2`, `***3` …
pub fn stand_in(number: u32) -> String {
    match number {
        0 => STAND_IN.into(),
        number => format!("{STAND_IN}{}", u64::from(number) + 1),
    }
}

/// The number of the secret that a text stands for; none: it is no such text.
pub fn stand_in_number(text: &str) -> Option<u32> {
    match text.strip_prefix(STAND_IN)? {
        "" => Some(0),
        digits if !digits.starts_with('0') && digits.bytes().all(|byte| byte.is_ascii_digit()) => {
            digits.parse::<u32>().ok().filter(|number| *number > 1).map(|number| number - 1)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stand_in_has_a_number() {
        for number in [0, 1, 8, 41] {
            assert_eq!(stand_in_number(&stand_in(number)), Some(number));
        }
        assert_eq!((stand_in(0).as_str(), stand_in(1).as_str()), ("***", "***2"));
        for text in ["", "**", "***1", "***0", "***02", "***x", "AKIA", "***99999999999"] {
            assert_eq!(stand_in_number(text), None, "{text}");
        }
    }
}
