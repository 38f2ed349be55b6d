//! The personalities that come with the program, written by us from what their names are known to model.
//!
//! A file of the same name that the user has goes first. Refuses nothing.

/// Their file names and texts.
pub const LIBRARY: &[(&str, &str)] = &[
    // One row for each file of suites/filebench.
    ("copyfiles.f", include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../suites/filebench/copyfiles.f"))),
    (
        "createfiles.f",
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../suites/filebench/createfiles.f")),
    ),
    (
        "deletefiles.f",
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../suites/filebench/deletefiles.f")),
    ),
    ("dss.f", include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../suites/filebench/dss.f"))),
    (
        "fileserver.f",
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../suites/filebench/fileserver.f")),
    ),
    ("listdirs.f", include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../suites/filebench/listdirs.f"))),
    ("makedirs.f", include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../suites/filebench/makedirs.f"))),
    ("mongo.f", include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../suites/filebench/mongo.f"))),
    (
        "multistreamread.f",
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../suites/filebench/multistreamread.f")),
    ),
    (
        "multistreamwrite.f",
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../suites/filebench/multistreamwrite.f")),
    ),
    ("oltp.f", include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../suites/filebench/oltp.f"))),
    (
        "randomread.f",
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../suites/filebench/randomread.f")),
    ),
    ("randomrw.f", include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../suites/filebench/randomrw.f"))),
    (
        "randomwrite.f",
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../suites/filebench/randomwrite.f")),
    ),
    (
        "singlestreamread.f",
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../suites/filebench/singlestreamread.f")),
    ),
    (
        "singlestreamwrite.f",
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../suites/filebench/singlestreamwrite.f")),
    ),
    (
        "smallfiles-git.f",
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../suites/filebench/smallfiles-git.f")),
    ),
    (
        "smallfiles-mail.f",
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../suites/filebench/smallfiles-mail.f")),
    ),
    ("varmail.f", include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../suites/filebench/varmail.f"))),
    (
        "videoserver.f",
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../suites/filebench/videoserver.f")),
    ),
    ("webproxy.f", include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../suites/filebench/webproxy.f"))),
    ("webserver.f", include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../suites/filebench/webserver.f"))),
];

/// The personality of a file name, with or without `.f`, whatever directory stands before it.
pub fn find(path: &str) -> Option<&'static str> {
    let name = path.rsplit('/').next().unwrap_or(path);
    let name = name.strip_suffix(".f").unwrap_or(name);
    let found = LIBRARY.iter().find(|(known, _)| known.strip_suffix(".f") == Some(name));
    found.map(|(_, text)| *text)
}

/// Personalities whose names are near that of a file that is not there.
pub fn hint(path: &str) -> String {
    let name = path.rsplit('/').next().unwrap_or(path).to_lowercase();
    let name = name.strip_suffix(".f").unwrap_or(&name);
    let known = LIBRARY.iter().filter_map(|(known, _)| known.strip_suffix(".f"));
    let mut near: Vec<(usize, &str)> = known
        .filter_map(|known| {
            let distance = strsim::damerau_levenshtein(known, name);
            let within = name.len() > 2 && (known.contains(name) || name.contains(known));
            (within || distance <= 3.min(known.len() / 3)).then_some((distance, known))
        })
        .collect();
    near.sort_unstable();
    match near.as_slice() {
        [] => "name a script, or one of the personalities: filebench -h".into(),
        near => {
            let names: Vec<&str> = near.iter().take(4).map(|(_, name)| *name).collect();
            format!("did you mean the personality {}? filebench -h lists all", names.join(" or "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hint_names_what_is_near() {
        for (asked, told) in [
            ("varmial.f", "personality varmail?"),
            ("/x/web.f", "webproxy or webserver"),
            ("Randomreads", "personality randomread?"),
        ] {
            assert!(hint(asked).contains(told), "{asked}: {}", hint(asked));
        }
        assert!(hint("nothere.f").contains("filebench -h"));
        assert!(!hint("x").contains("mean"));
    }
}
