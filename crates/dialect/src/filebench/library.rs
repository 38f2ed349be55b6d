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
