//! What a store's error codes mean for who asked, and what to do.

/// Why no request can succeed before something is changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Remedy {
    /// What is wrong.
    pub what: &'static str,
    /// What to do.
    pub hint: &'static str,
}

/// What keeps every request of this client from succeeding, by the code of an answer; none: only this request failed.
pub fn remedy(code: &str) -> Option<Remedy> {
    let (what, hint) = match code {
        "InvalidAccessKeyId" => {
            ("the store does not know the access key", "check the access key and the endpoint")
        }
        "SignatureDoesNotMatch" => (
            "the secret key does not belong to the access key",
            "check the secret key; a proxy that changes headers does this too",
        ),
        "RequestTimeTooSkewed" => (
            "the clocks of this machine and of the store differ by more than the store allows",
            "set this machine's clock (NTP)",
        ),
        "ExpiredToken" => ("the session token has expired", "fetch new temporary credentials"),
        "InvalidToken" => {
            ("the session token is not valid", "fetch new temporary credentials, or leave the token out")
        }
        "AuthorizationHeaderMalformed" | "IllegalLocationConstraintException" => (
            "the bucket is in another region than the one that was signed for",
            "set the region of the bucket",
        ),
        "PermanentRedirect" | "TemporaryRedirect" | "Redirect" => {
            ("the bucket is served by another endpoint", "set the endpoint and the region of the bucket")
        }
        "NoSuchBucket" => ("there is no such bucket", "make it first, or check its name and the endpoint"),
        "InvalidBucketName" => ("this is no bucket's name", "3 to 63 small letters, digits and hyphens"),
        "AllAccessDisabled" | "AccountProblem" | "NotSignedUp" => {
            ("the account may not use the store", "see the account's owner")
        }
        _ => return None,
    };
    Some(Remedy { what, hint })
}

/// Whether an answer says that the store is too busy: it is tried again only where that is asked for.
pub fn is_throttled(status: u16, code: &str) -> bool {
    status == 429
        || (status == 503 && code != "NotImplemented")
        || matches!(code, "SlowDown" | "RequestLimitExceeded")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_that_end_a_run_have_a_remedy_and_others_have_none() {
        for code in [
            "InvalidAccessKeyId",
            "SignatureDoesNotMatch",
            "RequestTimeTooSkewed",
            "ExpiredToken",
            "NoSuchBucket",
        ] {
            assert!(remedy(code).is_some_and(|remedy| !remedy.hint.is_empty()), "{code}");
        }
        assert_eq!(remedy("NoSuchKey"), None);
        assert!(
            is_throttled(503, "SlowDown") && is_throttled(429, "") && !is_throttled(500, "InternalError")
        );
    }
}
