//! The personalities that come with the program, written by us from what their names are known to model.
//!
//! A file of the same name that the user has goes first. Refuses nothing.

macro_rules! personalities {
    ($($name:literal)*) => {
        &[$((
            concat!($name, ".f"),
            include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/suites/filebench/", $name, ".f")),
        )),*]
    };
}

/// Their file names and texts: each file of suites/filebench.
pub const LIBRARY: &[(&str, &str)] = personalities! {
    "copyfiles" "createfiles" "deletefiles" "dss" "fileserver" "listdirs" "makedirs" "mongo"
    "multistreamread" "multistreamwrite" "oltp" "randomread" "randomrw" "randomwrite"
    "singlestreamread" "singlestreamwrite" "smallfiles-git" "smallfiles-mail" "varmail"
    "videoserver" "webproxy" "webserver"
};

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
