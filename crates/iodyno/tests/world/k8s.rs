//! Manifests of `iodyno k8s`, read by validators of others: schemas of Kubernetes from PyPI, the MPIJob's from its Go module.

use std::path::{Path, PathBuf};
use std::process::Command;

use testbed::{Case, Need, Outcome, Skip, python};

use crate::program::{IODYNO, dressed, scratch, told};

const NEEDS: &[Need] = &[Need::Tool("python3")];

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("k8s: what is wrong is said before anything is printed", &[], refusals),
        Case::new("k8s: jobs and config maps fit the schemas of Kubernetes", NEEDS, jobs).against(),
        Case::new(
            "k8s: an MPIJob fits the definition of its operator",
            &[Need::Tool("python3"), Need::Tool("go")],
            mpi_jobs,
        )
        .against(),
    ]
}

const JOB: &str = "; a \"job\"\n[global]\nrw=read\n\n[j: no]\nsize=64k\nfilename=/data/$jobname\n";

/// The manifest of a job file with these options.
fn manifest(home: &Path, options: &[&str]) -> Result<String, std::io::Error> {
    std::fs::write(home.join("job.fio"), JOB)?;
    let rest = [
        "registry.example/iodyno:1",
        "--",
        "fio",
        "job.fio",
        "--output-format=json",
        "--name=x: y #\t\"é\u{1F600}",
    ];
    let command = [&["k8s", "--volume", "claim=data:/data"][..], options, &rest].concat();
    let mut command = dressed(Command::new(IODYNO), command);
    command.current_dir(home);
    let run = told(command);
    run.expect(0, &["kind: ConfigMap"]);
    std::fs::write(home.join("manifest.yaml"), &run.out)?;
    Ok(run.out)
}

fn kept() -> &'static Path {
    Path::new(env!("CARGO_TARGET_TMPDIR"))
}

fn refusals() -> Outcome {
    let refused = |arguments: &[&str], words: &[&str]| {
        let run = told(dressed(Command::new(IODYNO), [&["k8s"][..], arguments].concat()));
        run.expect(2, words);
        assert!(run.out.is_empty(), "{run}");
    };
    refused(&["img", "--", "fio", "--bs=nonsense", "--name=x"], &["nonsense"]);
    refused(&["img", "--", "fio", "--also", "hosts=h1", "--name=x"], &["the pods are the hosts", "hint"]);
    refused(&["img", "--", "kv-cache", "/d", "--hosts", "h1"], &["the pods are the hosts", "hint"]);
    refused(&["img", "--", "kv-cache", "/d", "--trace", "/nowhere/t"], &["/nowhere/t", "hint"]);
    refused(&["img", "--", "sleep", "1"], &["sleep", "fio job.fio"]);
    refused(&["--name", "Bad_Name", "img", "--", "fio"], &["RFC 1123"]);
    refused(&["--volume", "data:/data", "img", "--", "fio"], &["claim=NAME:/PATH"]);
    refused(&["img"], &["COMMAND"]);
    Ok(())
}

fn jobs() -> Outcome {
    let home = scratch();
    let environment = python::environment(kept(), "kubernetes", &["kubernetes-validate"])?;
    let all = [
        "--pods",
        "4",
        "--cpu",
        "4",
        "--memory",
        "8Gi",
        "--node-selector",
        "disk=nvme",
        "--toleration",
        "k=v:NoSchedule",
        "--user",
        "1000",
        "--group",
        "1000",
        "--seccomp",
        "unconfined",
        "--deadline",
        "600",
        "--keep",
        "60",
        "--pull-policy",
        "missing",
        "--pull-secret",
        "s",
        "--env",
        "A=yes",
        "--volume",
        "device=raw:/dev/xvda",
        "--volume",
        "memory=1Gi:/m",
        "--namespace",
        "n",
        "--capability",
        "SYS_NICE",
        "--spread",
        "strict",
    ];
    for options in
        [&[][..], &all, &["--pods", "2", "--spread", "even", "--privileged", "--volume", "host=/mnt:/h:ro"]]
    {
        let text = manifest(home.path(), options)?;
        let mut validate = Command::new(environment.join("bin/kubernetes-validate"));
        validate.args(["--strict", "manifest.yaml"]).current_dir(home.path());
        let said = validate.output()?;
        assert!(said.status.success(), "{said:?}\n{text}");
        // What YAML keeps of the job file and of the hostile word.
        let read = "import sys, yaml\nm, j = yaml.safe_load_all(open('manifest.yaml'))\n\
            c = j['spec']['template']['spec']['containers'][0]\n\
            assert m['data']['0-job.fio'] == open('job.fio').read(), m\n\
            assert c['command'][-1] == '--name=x: y #\\t\"\\u00e9\\U0001F600', c\n";
        let said = Command::new(environment.join("bin/python"))
            .args(["-c", read])
            .current_dir(home.path())
            .output()?;
        assert!(said.status.success(), "{said:?}\n{text}");
    }
    // A key that is none must be found: the validator is one.
    std::fs::write(
        home.path().join("wrong.yaml"),
        "apiVersion: batch/v1\nkind: Job\nmetadata: {name: x}\nspec: {pods: 1}\n",
    )?;
    let mut validate = Command::new(environment.join("bin/kubernetes-validate"));
    assert!(!validate.args(["--strict", "wrong.yaml"]).current_dir(home.path()).output()?.status.success());
    Ok(())
}

/// The operator's own definition of its resource, from the proxy of Go's modules.
fn definition() -> Result<PathBuf, Skip> {
    const MODULE: &str = "github.com/kubeflow/mpi-operator@v0.6.0";
    let mut fetch = Command::new("go");
    fetch.args(["mod", "download", "-json", MODULE]).current_dir(kept()).env("GOFLAGS", "-mod=mod");
    let said = fetch.output().map_err(|wrong| Skip::new(wrong.to_string()))?;
    let facts: serde_json::Value = serde_json::from_slice(&said.stdout).unwrap_or_default();
    let folder =
        facts["Dir"].as_str().ok_or_else(|| Skip::new(format!("{MODULE} cannot be had: {facts}")))?;
    Ok(Path::new(folder).join("manifests/base/kubeflow.org_mpijobs.yaml"))
}

fn mpi_jobs() -> Outcome {
    let home = scratch();
    let definition = definition()?;
    let environment = python::environment(kept(), "kubernetes-schemas", &["jsonschema", "pyyaml"])?;
    // Fields that the definition does not name are pruned by the server without a word: here they are refused.
    let read = "import sys, yaml, jsonschema\ndef close(s):\n    if isinstance(s, dict):\n        \
        if 'properties' in s and s.get('type') == 'object' and not s.get('x-kubernetes-preserve-unknown-fields'):\n            \
        s.setdefault('additionalProperties', False)\n        [close(v) for v in s.values()]\n    \
        elif isinstance(s, list):\n        [close(v) for v in s]\n\
        v = [v for v in yaml.safe_load(open(sys.argv[1]))['spec']['versions'] if v['name'] == 'v2beta1'][0]\n\
        s = v['schema']['openAPIV3Schema']\ns['properties']['metadata'] = {}\nclose(s)\nm, j = yaml.safe_load_all(open('manifest.yaml'))\n\
        jsonschema.validate(j, s)\nj['spec']['pods'] = 1\ntry:\n    jsonschema.validate(j, s)\n    sys.exit('nothing is refused')\n\
        except jsonschema.ValidationError:\n    pass\n";
    for options in [
        &["--mpi"][..],
        &["--mpi", "--pods", "3", "--ranks", "2", "--user", "1000", "--deadline", "9", "--keep", "1"],
    ] {
        let text = manifest(home.path(), options)?;
        let mut validate = Command::new(environment.join("bin/python"));
        validate.args(["-c", read]).arg(&definition).current_dir(home.path());
        let said = validate.output()?;
        assert!(said.status.success(), "{said:?}\n{text}");
    }
    Ok(())
}
