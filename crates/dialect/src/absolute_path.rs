//! Paths as they are told from the root, without asking the file system.

/// A path from the root, without `.` and `..`.
pub fn absolute(path: &str, here: &str) -> String {
    let whole = if path.starts_with('/') { path.to_string() } else { format!("{here}/{path}") };
    let mut parts: Vec<&str> = Vec::new();
    for part in whole.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    format!("/{}", parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::absolute;

    #[test]
    fn paths_are_told_from_the_root() {
        assert_eq!(absolute("./out", "/home/me"), "/home/me/out");
        assert_eq!(
            (absolute("../a//b/.", "/home/me"), absolute("/x/../y", "")),
            ("/home/a/b".into(), "/y".into())
        );
    }
}
