//! The original and ours on the same input: counts and bytes equal, text equal after masking numbers, speed a ratio.
//!
//! Not there yet: the first original worth comparing with is fio, and its dialect is not built. Until then this
//! refuses, so that nobody takes an empty comparison for a passed one.

/// Refuses, and says when the comparison arrives.
pub fn chore(arguments: &[String]) -> Result<bool, String> {
    let tool = arguments.first().ok_or("against which tool? e.g. `cargo xtask against fio`")?;
    Err(format!(
        "nothing is compared with {tool} yet: this chore arrives with the fio dialect\n hint: `cargo xtask bench` \
         pairs iodyno's engines with an installed fio"
    ))
}

#[cfg(test)]
mod tests {
    #[test]
    fn it_refuses_and_names_the_tool() {
        let error = super::chore(&["fio".to_string()]).unwrap_err();
        assert!(error.contains("with fio yet"), "{error}");
        assert!(super::chore(&[]).is_err());
    }
}
