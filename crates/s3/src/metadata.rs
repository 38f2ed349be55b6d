//! What the services say that give temporary credentials to an instance or a container.

use std::borrow::Cow;

use serde::Deserialize;

use crate::credentials::Credentials;
use crate::time::UtcTime;

/// The answer, as far as a client needs it. Where a text has no escapes nothing is copied.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct TemporaryCredentials<'a> {
    #[serde(borrow)]
    access_key_id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    secret_access_key: Option<Cow<'a, str>>,
    #[serde(borrow)]
    token: Option<Cow<'a, str>>,
    #[serde(borrow)]
    expiration: Option<Cow<'a, str>>,
    #[serde(borrow)]
    code: Option<Cow<'a, str>>,
}

/// Takes the credentials of an answer; when they expire, where that is said.
///
/// # Errors
/// It has none.
pub fn temporary_credentials(body: &[u8], into: &mut Credentials) -> Result<Option<UtcTime>, String> {
    // Nothing of it is repeated: it holds a secret.
    let found: TemporaryCredentials<'_> = serde_json::from_slice(body)
        .map_err(|error| format!("no credentials in JSON: {:?}", error.classify()))?;
    let text = |part: &Option<Cow<'_, str>>| part.as_deref().unwrap_or_default().to_string();
    match found.code.as_deref() {
        None | Some("Success") => {}
        Some(code) => return Err(format!("it says {code}")),
    }
    let (Some(key), Some(secret)) = (&found.access_key_id, &found.secret_access_key) else {
        return Err("it has no AccessKeyId or no SecretAccessKey".into());
    };
    into.renew(key, secret, found.token.as_deref().unwrap_or_default())?;
    let expiration = text(&found.expiration);
    match expiration.as_str() {
        "" => Ok(None),
        said => UtcTime::parse_iso(said).map(Some).ok_or_else(|| format!("it expires at `{said}`")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_taken_and_what_is_none_is_not_repeated() {
        let mut found = Credentials::anonymous();
        let body = br#"{"Code":"Success","AccessKeyId":"A","SecretAccessKey":"hu\/sh","Token":"t","Expiration":"2024-02-29T12:34:56Z"}"#;
        assert_eq!(temporary_credentials(body, &mut found), Ok(Some(UtcTime { unix: 1_709_210_096 })));
        assert_eq!((found.access_key.as_str(), found.secret.text(), found.token.text()), ("A", "hu/sh", "t"));
        let static_ones = br#"{"AccessKeyId":"B","SecretAccessKey":"s"}"#;
        assert_eq!(temporary_credentials(static_ones, &mut found), Ok(None));
        assert_eq!((found.access_key.as_str(), found.token.is_empty()), ("B", true));
        for (body, word) in [
            (&b"{\"SecretAccessKey\":\"hush\"}"[..], "AccessKeyId"),
            (b"{\"Code\":\"AssumeRoleUnauthorizedAccess\"}", "Unauthorized"),
            (b"hush", "JSON"),
        ] {
            let said = temporary_credentials(body, &mut found).unwrap_err();
            assert!(said.contains(word) && !said.contains("hush"), "{said}");
        }
    }
}
