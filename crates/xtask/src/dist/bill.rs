//! The bill of materials: every crate that the program is linked with, for all processors of a release, from cargo's own metadata.
//!
//! Written as CycloneDX 1.5. A crate whose licence is not on the list is refused: somebody has to look at it first.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::external::{lines_of, read, write};
use super::{Made, Release};

/// Licences that the program may be passed on under.
const ACCEPTED: &[&str] = &[
    "MIT",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "ISC",
    "Zlib",
    "Unicode-3.0",
    "Unlicense",
    "0BSD",
    "CC0-1.0",
    "BSL-1.0",
    "MPL-2.0",
    "CDLA-Permissive-2.0",
];

/// A crate of somebody else.
pub struct Component {
    pub name: String,
    pub version: String,
    /// SPDX.
    pub licence: String,
    /// Where its source lies on this machine.
    pub folder: PathBuf,
    /// Of the registry's file, from Cargo.lock.
    checksum: Option<String>,
    needs: Vec<String>,
}

impl Component {
    fn reference(&self) -> String {
        format!("pkg:cargo/{}@{}", self.name, self.version)
    }
}

/// All of them, in order of names.
pub struct Bill {
    pub components: Vec<Component>,
}

impl Bill {
    /// Asks cargo.
    ///
    /// # Errors
    /// What cargo said, or a licence that nobody has looked at.
    pub fn of(release: &Release) -> Result<Bill, String> {
        let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".into());
        let mut words = vec!["metadata", "--format-version", "1", "--locked"];
        words.extend(["--manifest-path", "crates/iodyno/Cargo.toml", "--features", "tls"]);
        for target in ["x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu"] {
            words.extend(["--filter-platform", target]);
        }
        let said = lines_of(&cargo, &words, &release.root)?;
        let said = said.iter().find(|line| line.starts_with('{')).ok_or("cargo metadata says nothing")?;
        let facts: Value = serde_json::from_str(said).map_err(|error| format!("cargo metadata: {error}"))?;
        let bill = Bill { components: linked(&facts, &checksums(&release.root)?)? };
        bill.judge()?;
        Ok(bill)
    }

    fn judge(&self) -> Result<(), String> {
        let strange: Vec<String> = self
            .components
            .iter()
            .filter(|component| !is_accepted(&component.licence))
            .map(|component| format!("{} {}: {}", component.name, component.version, component.licence))
            .collect();
        if strange.is_empty() {
            return Ok(());
        }
        Err(format!(
            "licences that are not on the list of crates/xtask/src/dist/bill.rs:\n    {}",
            strange.join("\n    ")
        ))
    }
}

/// Whether an expression can be fulfilled by accepted licences alone: one of each `OR`, all of each `AND`.
fn is_accepted(expression: &str) -> bool {
    let expression = expression.replace('/', " OR ").replace(['(', ')'], "");
    expression.split(" AND ").all(|part| part.split(" OR ").any(|one| ACCEPTED.contains(&one.trim())))
}

/// What the program is linked with: the ways through normal dependencies, without our own crates.
fn linked(facts: &Value, checksums: &BTreeMap<String, String>) -> Result<Vec<Component>, String> {
    let packages: BTreeMap<&str, &Value> = array(&facts["packages"])
        .iter()
        .filter_map(|package| Some((package["id"].as_str()?, package)))
        .collect();
    let nodes: BTreeMap<&str, &Value> = array(&facts["resolve"]["nodes"])
        .iter()
        .filter_map(|node| Some((node["id"].as_str()?, node)))
        .collect();
    let is_program = |(_, package): &(&&str, &&Value)| package["name"] == "iodyno";
    let first = packages.iter().find(is_program).map(|(id, _)| *id).ok_or("cargo metadata has no iodyno")?;
    let (mut seen, mut open) = (BTreeSet::from([first]), vec![first]);
    while let Some(id) = open.pop() {
        for need in nodes.get(id).map(|node| normal(node)).unwrap_or_default() {
            if seen.insert(need) {
                open.push(need);
            }
        }
    }
    let mut components = Vec::new();
    for id in seen {
        let package = packages.get(id).ok_or_else(|| format!("cargo metadata has no {id}"))?;
        if package["source"].is_null() {
            continue;
        }
        let reference = |id: &&str| {
            let package = packages.get(*id)?;
            Some(format!("pkg:cargo/{}@{}", text(&package["name"]), text(&package["version"])))
        };
        let needs = nodes.get(id).map(|node| normal(node)).unwrap_or_default();
        let (name, version) = (text(&package["name"]), text(&package["version"]));
        components.push(Component {
            checksum: checksums.get(&format!("{name} {version}")).cloned(),
            licence: package["license"].as_str().unwrap_or("unknown").to_string(),
            folder: Path::new(&text(&package["manifest_path"]))
                .parent()
                .unwrap_or(Path::new("/"))
                .to_path_buf(),
            needs: needs.iter().filter_map(reference).collect(),
            name,
            version,
        });
    }
    components.sort_by(|one, other| (&one.name, &one.version).cmp(&(&other.name, &other.version)));
    Ok(components)
}

/// Dependencies that are linked: neither a build script's nor a test's, and no macro's.
fn normal(node: &Value) -> Vec<&str> {
    let is_normal = |need: &&Value| array(&need["dep_kinds"]).iter().any(|kind| kind["kind"].is_null());
    array(&node["deps"]).iter().filter(is_normal).filter_map(|need| need["pkg"].as_str()).collect()
}

fn array(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_string()
}

/// The registry's checksum of each crate, by name and version.
fn checksums(root: &Path) -> Result<BTreeMap<String, String>, String> {
    let lock: toml::Table =
        read(&root.join("Cargo.lock"))?.parse().map_err(|error| format!("Cargo.lock: {error}"))?;
    let packages = lock.get("package").and_then(toml::Value::as_array).cloned().unwrap_or_default();
    let entry = |package: &toml::Value| {
        let field = |name: &str| package.get(name).and_then(toml::Value::as_str);
        Some((format!("{} {}", field("name")?, field("version")?), field("checksum")?.to_string()))
    };
    Ok(packages.iter().filter_map(entry).collect())
}

/// `iodyno-VERSION.cdx.json`.
///
/// # Errors
/// It cannot be written.
pub fn make(release: &Release, bill: &Bill) -> Made {
    let path = release.into.join(format!("iodyno-{}.cdx.json", release.version));
    let document = document(release, bill);
    let text = serde_json::to_string_pretty(&document).map_err(|error| error.to_string())?;
    write(&path, (text + "\n").as_bytes())?;
    Ok(path)
}

fn document(release: &Release, bill: &Bill) -> Value {
    let own = format!("pkg:cargo/iodyno@{}", release.version);
    let component = |component: &Component| {
        let mut entry = json!({
            "type": "library",
            "bom-ref": component.reference(),
            "name": component.name,
            "version": component.version,
            "purl": component.reference(),
            "licenses": [{ "expression": component.licence.replace('/', " OR ") }],
        });
        if let Some(checksum) = &component.checksum {
            entry["hashes"] = json!([{ "alg": "SHA-256", "content": checksum }]);
        }
        entry
    };
    let needs = |component: &Component| json!({ "ref": component.reference(), "dependsOn": component.needs });
    json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "bom-ref": own,
                "name": "iodyno",
                "version": release.version,
                "purl": own,
                "licenses": [{ "expression": "MIT OR Apache-2.0" }],
            },
        },
        "components": bill.components.iter().map(component).collect::<Vec<_>>(),
        "dependencies": bill.components.iter().map(needs).collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expression_is_accepted_where_a_choice_of_it_is() {
        for good in ["MIT", "MIT/Apache-2.0", "GPL-3.0 OR MIT", "(MIT OR Apache-2.0) AND Unicode-3.0"] {
            assert!(is_accepted(good), "{good}");
        }
        for bad in ["GPL-3.0", "MIT AND GPL-3.0", "unknown", ""] {
            assert!(!is_accepted(bad), "{bad}");
        }
    }

    #[test]
    fn what_is_linked_is_followed_and_what_only_builds_is_not() {
        let package = |name: &str, source: Value| {
            json!({ "id": name, "name": name, "version": "1.0.0", "source": source, "license": "MIT",
                    "manifest_path": format!("/r/{name}/Cargo.toml") })
        };
        let need = |name: &str, kind: Value| json!({ "pkg": name, "dep_kinds": [{ "kind": kind }] });
        let node = |name: &str, deps: Value| json!({ "id": name, "deps": deps });
        let registry = json!("registry+x");
        let facts = json!({
            "packages": [package("iodyno", Value::Null), package("ours", Value::Null), package("a", registry.clone()),
                         package("b", registry.clone()), package("cc", registry)],
            "resolve": { "nodes": [
                node("iodyno", json!([need("ours", Value::Null), need("cc", json!("build"))])),
                node("ours", json!([need("a", Value::Null)])),
                node("a", json!([need("b", Value::Null), need("cc", json!("dev"))])),
            ] },
        });
        let checksums = BTreeMap::from([("a 1.0.0".to_string(), "ab".to_string())]);
        let found = linked(&facts, &checksums).expect("it has iodyno");
        let names: Vec<&str> = found.iter().map(|component| component.name.as_str()).collect();
        assert_eq!(names, ["a", "b"]);
        assert_eq!(found[0].needs, ["pkg:cargo/b@1.0.0"]);
        assert_eq!((found[0].checksum.as_deref(), found[1].checksum.as_deref()), (Some("ab"), None));
    }
}
