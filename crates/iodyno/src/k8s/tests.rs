//! Manifests by their text, and words that Kubernetes would refuse.

use super::*;

fn arguments(words: &[&str]) -> KubernetesArgs {
    KubernetesArgs::try_parse_from(std::iter::once("iodyno k8s").chain(words.iter().copied()))
        .unwrap_or_else(|wrong| panic!("{wrong}"))
}

fn text(words: &[&str], files: &[(&str, &str)]) -> String {
    let arguments = arguments(words);
    let file =
        |(path, text): &(&str, &str)| carried_file(path, text.as_bytes(), &arguments.workdir).expect("text");
    let files: Vec<CarriedFile> = files.iter().map(file).collect();
    let objects = Manifest { name: "test", arguments: &arguments, files: &files }.objects();
    objects.iter().map(yaml::document).collect::<Vec<_>>().join("---\n")
}

#[test]
fn pods_of_an_indexed_job_have_directories_of_their_own() {
    let job = ["--pods", "4", "--volume", "claim=data:/data", "img:1", "--", "fio", "job.fio"];
    let manifest = text(&job, &[("job.fio", "[j]\nrw=read\n")]);
    for part in [
        "kind: ConfigMap\n",
        "  \"0-job.fio\": |\n    [j]\n    rw=read\n",
        "kind: Job\n",
        "  completionMode: Indexed\n",
        "  completions: 4\n",
        "  parallelism: 4\n",
        "  backoffLimit: 0\n",
        "mountPath: /iodyno/job.fio",
        "subPath: \"0-job.fio\"",
        "subPathExpr: \"$(IODYNO_POD)\"",
        "claimName: data",
        "requiredDuringSchedulingIgnoredDuringExecution",
        "        - iodyno\n        - fio\n        - job.fio\n",
        "          capabilities:\n            drop:\n            - ALL\n",
    ] {
        assert!(manifest.contains(part), "{part}\n{manifest}");
    }
    let shared = ["--shared", "--pods", "2", "--volume", "claim=data:/data", "img:1", "--", "fio", "job.fio"];
    assert!(!text(&shared, &[]).contains("subPathExpr"));
}

#[test]
fn ranks_of_an_mpi_job_are_started_by_its_launcher() {
    let job = [
        "--mpi", "--env", "A=b", "--pods", "2", "--ranks", "4", "--cpu", "4", "--memory", "8Gi", "img:1",
        "--", "ior", "-o", "/data/f",
    ];
    let text = text(&job, &[]);
    for part in [
        "apiVersion: kubeflow.org/v2beta1\n",
        "kind: MPIJob\n",
        "  slotsPerWorker: 4\n",
        "    Worker:\n      replicas: 2\n",
        "- mpirun\n",
        "- \"--wdir\"\n",
        "- \"-x\"\n",
        "- \"A=b\"\n",
        "- \"8\"\n",
        "- /usr/sbin/sshd\n",
        "              limits:\n                cpu: \"4\"\n                memory: \"8Gi\"\n",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
}

#[test]
fn hostile_words_stay_words() {
    let hostile = "a: b\n- c\"\\ #x $(IODYNO_POD) '{{'";
    let job = ["--env", "A=yes: no # $(HOME)", "img:1", "--", "fio", hostile, "0x10", "--name=no", "~"];
    let text = text(&job, &[("p/../q\"\n: x", "\ttab: \"\u{1F600}\"\n")]);
    for part in [
        r#"- "a: b\n- c\"\\ #x $(IODYNO_POD) '{{'""#,
        "- \"0x10\"\n",
        "- \"--name=no\"\n",
        "- \"~\"\n",
        "value: \"yes: no # $$(HOME)\"",
        r#"mountPath: "/iodyno/q\"\n: x""#,
        r#""0-q____x": "\ttab: \"\U0001F600\"\n""#,
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
}

#[test]
fn names_are_those_of_the_rfc() {
    assert!(
        name("a-1").is_ok()
            && [&"a".repeat(64), "A", "-a", "a-", "", "a.b", "ä"].into_iter().all(|text| name(text).is_err())
    );
    assert!(["4", "500m", "1.5", "8Gi"].into_iter().all(|text| quantity(text).is_ok()));
    assert!(["", "0", "-1", "1GiB", ".5", "5.", "1e3", "Gi"].into_iter().all(|text| quantity(text).is_err()));
    assert_eq!(default_name("md-workbench"), "iodyno-md-workbench");
    assert!(
        label("a.b/c=d").is_ok() && label("a b=c").is_err() && label("/x=c").is_err() && label("x").is_err()
    );
    assert_eq!(
        toleration("k=v:NoSchedule").unwrap(),
        ("k".into(), Some("v".into()), Some("NoSchedule".into()))
    );
    assert!(toleration("k:Sometimes").is_err() && variable("1A=x").is_err() && capability("sys").is_err());
}

#[test]
fn paths_are_seen_from_the_working_directory() {
    assert_eq!((absolute("./a/../b", "/w"), absolute("/x//y", "/w")), ("/w/b".into(), "/x/y".into()));
    assert!(carried_file("f", &[0xff], "/w").is_err_and(|wrong| wrong.message.contains("no text")));
    assert!(fitting(vec![CarriedFile { path: "/f".into(), text: "x".repeat(MOST_BYTES + 1) }]).is_err());
}
