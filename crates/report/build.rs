//! Takes the chart library out of the crate that ships it, and compresses it for the page.
//!
//! The crate `charming` carries the script of Apache ECharts as a file, which nothing of its own code gives away without a
//! JavaScript engine; so the file is looked for where cargo keeps the crate. It refuses to download anything.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::{env, fs};

use flate2::Compression;
use flate2::write::GzEncoder;

/// Where the script lies in the crate.
const FOLDER: &str = "src/asset";

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed=IODYNO_ECHARTS");
    let script = script().unwrap_or_else(|| {
        panic!("the chart library was not found: name a file echarts-VERSION.min.js in IODYNO_ECHARTS")
    });
    let text = fs::read(&script).unwrap_or_else(|error| panic!("{}: {error}", script.display()));
    let mut packed = GzEncoder::new(Vec::new(), Compression::best());
    packed.write_all(&text).expect("memory can be written to");
    let packed = base64(&packed.finish().expect("memory can be written to"));
    let folder = env::var_os("OUT_DIR").expect("cargo sets it");
    fs::write(Path::new(&folder).join("echarts.txt"), packed)
        .expect("cargo's own directory can be written to");
    println!("cargo:rustc-env=IODYNO_ECHARTS_VERSION={}", version(&script));
}

/// The script: the one that was named, or the crate's.
fn script() -> Option<PathBuf> {
    if let Some(named) = env::var_os("IODYNO_ECHARTS") {
        return Some(named.into());
    }
    folders().iter().find_map(|folder| {
        let files = fs::read_dir(folder.join(FOLDER)).ok()?;
        let mut paths = files.filter_map(|file| Some(file.ok()?.path()));
        paths.find(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("echarts-")))
    })
}

/// Where the crate may lie: in cargo's store, or in a directory of vendored crates beside the workspace.
fn folders() -> Vec<PathBuf> {
    let home = env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| env::home_dir().map(|home| home.join(".cargo")));
    let stores = home.map(|home| home.join("registry/src"));
    let stores = stores.and_then(|stores| fs::read_dir(stores).ok()).into_iter().flatten();
    let stores = stores.filter_map(|store| Some(store.ok()?.path()));
    let vendored = env::var_os("CARGO_MANIFEST_DIR").map(|here| Path::new(&here).join("../../vendor"));
    let mut folders: Vec<PathBuf> = stores.chain(vendored).flat_map(|store| crates(&store)).collect();
    folders.sort();
    folders
}

fn crates(store: &Path) -> Vec<PathBuf> {
    // The very version that Cargo.toml asks for, so that the same sources make the same page.
    ["charming-0.6.0", "charming"].iter().map(|name| store.join(name)).collect()
}

/// `5.5.1` of `echarts-5.5.1.min.js`.
fn version(script: &Path) -> String {
    let name = script.file_name().unwrap_or_default().to_string_lossy().into_owned();
    name.trim_start_matches("echarts-").trim_end_matches(".js").trim_end_matches(".min").into()
}

fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len() / 3 * 4 + 4);
    for group in bytes.chunks(3) {
        let word =
            group.iter().fold(0u32, |word, byte| word << 8 | u32::from(*byte)) << (8 * (3 - group.len()));
        for place in 0..4 {
            let letter = LETTERS[(word >> (18 - 6 * place) & 63) as usize];
            text.push(if place <= group.len() { letter as char } else { '=' });
        }
    }
    text
}
