//! The objects of Kubernetes that a command becomes: a config map, and an Indexed Job or an MPIJob.
//!
//! Field names are those of `batch/v1` and of `kubeflow.org/v2beta1`. It asks no cluster anything.

use serde_json::{Map, Value, json};

use super::volume::Volume;
use super::{KubernetesArgs, PodSpread, Seccomp};

/// A file that the command reads: where it lies in the pods, and what is in it.
pub struct CarriedFile {
    /// Absolute.
    pub path: String,
    pub text: String,
}

/// Where the config map's entries lie in a pod's list of volumes.
const FILES: &str = "files";
const WORK: &str = "work";

/// What stands in all of the objects.
pub struct Manifest<'a> {
    pub name: &'a str,
    pub arguments: &'a KubernetesArgs,
    pub files: &'a [CarriedFile],
}

impl Manifest<'_> {
    /// The objects, in the order in which they are applied.
    pub fn objects(&self) -> Vec<Value> {
        let job = if self.arguments.mpi { self.mpi_job() } else { self.indexed_job() };
        self.config_map().into_iter().chain([job]).collect()
    }

    fn metadata(&self, name: &str) -> Value {
        let mut metadata = json!({"name": name, "labels": self.labels()});
        if let Some(space) = &self.arguments.namespace {
            metadata["namespace"] = json!(space);
        }
        metadata
    }

    fn labels(&self) -> Value {
        json!({"app.kubernetes.io/name": "iodyno", "app.kubernetes.io/instance": self.name})
    }

    fn files_name(&self) -> String {
        format!("{}-files", self.name)
    }

    fn config_map(&self) -> Option<Value> {
        let entries: Map<String, Value> =
            self.files.iter().enumerate().map(|(at, file)| (key(at, &file.path), json!(file.text))).collect();
        let metadata = self.metadata(&self.files_name());
        (!entries.is_empty())
            .then(|| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": entries}))
    }

    fn indexed_job(&self) -> Value {
        let pods = self.arguments.pods;
        let mut spec = json!({
            "completionMode": "Indexed",
            "completions": pods,
            "parallelism": pods,
            // A measurement that failed is looked at, and not made again.
            "backoffLimit": self.arguments.retries,
            "template": self.template(self.container("iodyno", &self.arguments.words()), "Never"),
        });
        self.limit(&mut spec);
        json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": self.metadata(self.name), "spec": spec})
    }

    fn limit(&self, spec: &mut Value) {
        if let Some(seconds) = self.arguments.deadline {
            spec["activeDeadlineSeconds"] = json!(seconds);
        }
        if let Some(seconds) = self.arguments.keep {
            spec["ttlSecondsAfterFinished"] = json!(seconds);
        }
    }

    /// The launcher is `mpirun` in a pod of its own; the workers' pods run sshd, and the ranks.
    fn mpi_job(&self) -> Value {
        let (pods, ranks) = (self.arguments.pods, self.arguments.ranks);
        let count = (u64::from(pods) * u64::from(ranks)).to_string();
        let mut words: Vec<String> =
            ["mpirun", "--allow-run-as-root", "--bind-to", "none", "-n", &count].map(String::from).to_vec();
        // Sessions of sshd have neither the container's directory nor its variables.
        words.extend(["--wdir".into(), self.arguments.workdir.clone()]);
        let variables = self.arguments.env.iter();
        words.extend(variables.flat_map(|(name, value)| ["-x".into(), format!("{name}={value}")]));
        words.extend(self.arguments.words());
        let mut launcher = json!({"name": "launcher", "image": self.arguments.image, "command": words});
        self.pull(&mut launcher);
        launcher["securityContext"] = self.security();
        let mut worker = self.container("worker", &[]);
        worker["command"] = json!(["/usr/sbin/sshd", "-De"]);
        let mut policy = json!({"cleanPodPolicy": "Running", "backoffLimit": self.arguments.retries});
        self.limit(&mut policy);
        let mut launcher = self.pod(launcher, "Never");
        launcher["metadata"] = json!({"labels": self.labels()});
        let mut spec = json!({
            "slotsPerWorker": ranks,
            "mpiImplementation": "OpenMPI",
            "launcherCreationPolicy": "WaitForWorkersReady",
            "runPolicy": policy,
            "mpiReplicaSpecs": {
                "Launcher": {"replicas": 1, "template": launcher},
                "Worker": {"replicas": pods, "template": self.template(worker, "Never")},
            },
        });
        if self.arguments.user.is_some() {
            spec["sshAuthMountPath"] = json!("/home/mpiuser/.ssh");
        }
        json!({"apiVersion": "kubeflow.org/v2beta1", "kind": "MPIJob", "metadata": self.metadata(self.name), "spec": spec})
    }

    /// The pods that touch the storage, with its volumes, on nodes of their own.
    fn template(&self, container: Value, restart: &str) -> Value {
        let mut template = self.pod(container, restart);
        let mut labels = self.labels();
        labels["iodyno/role"] = json!("worker");
        template["metadata"] = json!({"labels": labels});
        let mut volumes: Vec<Value> = self.volumes().map(|(name, volume)| volume.entry(&name)).collect();
        volumes.push(json!({"name": WORK, "emptyDir": {}}));
        if !self.files.is_empty() {
            volumes.push(json!({"name": FILES, "configMap": {"name": self.files_name()}}));
        }
        template["spec"]["volumes"] = json!(volumes);
        self.place(&mut template["spec"], &labels);
        template
    }

    fn pod(&self, container: Value, restart: &str) -> Value {
        let mut spec = json!({"restartPolicy": restart, "containers": [container]});
        if let Some(account) = &self.arguments.service_account {
            spec["serviceAccountName"] = json!(account);
        }
        spec["automountServiceAccountToken"] = json!(false);
        if !self.arguments.pull_secret.is_empty() {
            let secrets = self.arguments.pull_secret.iter().map(|name| json!({"name": name}));
            spec["imagePullSecrets"] = secrets.collect();
        }
        let mut security = json!({"seccompProfile": {"type": self.arguments.seccomp.name()}});
        for (field, value) in [
            ("runAsUser", self.arguments.user),
            ("runAsGroup", self.arguments.group),
            ("fsGroup", self.arguments.group),
        ] {
            if let Some(value) = value {
                security[field] = json!(value);
            }
        }
        if self.arguments.user.is_some_and(|user| user > 0) {
            security["runAsNonRoot"] = json!(true);
        }
        spec["securityContext"] = security;
        json!({"spec": spec})
    }

    fn volumes(&self) -> impl Iterator<Item = (String, &Volume)> {
        self.arguments.volume.iter().enumerate().map(|(at, volume)| (format!("volume-{at}"), volume))
    }

    /// The container that runs the command.
    fn container(&self, name: &str, words: &[String]) -> Value {
        let arguments = self.arguments;
        let mut container = json!({"name": name, "image": arguments.image, "workingDir": arguments.workdir});
        if !words.is_empty() {
            container["command"] = json!(words);
        }
        self.pull(&mut container);
        let own = !arguments.mpi && !arguments.shared && arguments.pods > 1;
        let mut variables: Vec<Value> =
            arguments.env.iter().map(|(name, value)| json!({"name": name, "value": value})).collect();
        if own && arguments.volume.iter().any(Volume::is_shared) {
            let path = "metadata.annotations['batch.kubernetes.io/job-completion-index']";
            variables
                .insert(0, json!({"name": "IODYNO_POD", "valueFrom": {"fieldRef": {"fieldPath": path}}}));
        }
        if !variables.is_empty() {
            container["env"] = json!(variables);
        }
        let (devices, mounts): (Vec<_>, Vec<_>) = self.volumes().partition(|(_, volume)| volume.is_device());
        let listed = |list: Vec<(String, &Volume)>| -> Vec<Value> {
            list.iter().map(|(name, volume)| volume.mount(name, own)).collect()
        };
        let mut mounts = listed(mounts);
        mounts.push(json!({"name": WORK, "mountPath": arguments.workdir}));
        mounts.extend(self.files.iter().enumerate().map(|(at, file)| {
            json!({"name": FILES, "mountPath": file.path, "subPath": key(at, &file.path), "readOnly": true})
        }));
        container["volumeMounts"] = json!(mounts);
        if !devices.is_empty() {
            container["volumeDevices"] = json!(listed(devices));
        }
        container["resources"] = self.resources();
        container["securityContext"] = self.security();
        container
    }

    fn pull(&self, container: &mut Value) {
        if let Some(policy) = &self.arguments.pull_policy {
            container["imagePullPolicy"] = json!(policy.name());
        }
    }

    /// Requests equal limits, so that the pod is of the class Guaranteed and its processors are its own.
    fn resources(&self) -> Value {
        let mut amounts = Map::new();
        for (name, amount) in [("cpu", &self.arguments.cpu), ("memory", &self.arguments.memory)] {
            if let Some(amount) = amount {
                amounts.insert(name.into(), json!(amount));
            }
        }
        match amounts.is_empty() {
            true => json!({}),
            false => json!({"requests": amounts.clone(), "limits": amounts}),
        }
    }

    /// sshd of an MPIJob that runs as root changes its user, which takes the usual capabilities.
    fn security(&self) -> Value {
        let arguments = self.arguments;
        if arguments.privileged {
            return json!({"privileged": true});
        }
        let keeps = arguments.mpi && arguments.user.is_none_or(|user| user == 0);
        let mut capabilities = if keeps { json!({}) } else { json!({"drop": ["ALL"]}) };
        if !arguments.capability.is_empty() {
            capabilities["add"] = json!(arguments.capability);
        }
        match keeps {
            true => json!({"capabilities": capabilities}),
            false => json!({"allowPrivilegeEscalation": false, "capabilities": capabilities}),
        }
    }

    /// Which nodes: chosen, tolerated, and each for one pod.
    fn place(&self, spec: &mut Value, labels: &Value) {
        let arguments = self.arguments;
        if !arguments.node_selector.is_empty() {
            let pairs = arguments.node_selector.iter().map(|(name, value)| (name.clone(), json!(value)));
            spec["nodeSelector"] = Value::Object(pairs.collect());
        }
        if !arguments.toleration.is_empty() {
            spec["tolerations"] = arguments.toleration.iter().map(super::toleration_object).collect();
        }
        let selector = json!({"matchLabels": labels});
        match arguments.spread {
            PodSpread::None => {}
            _ if arguments.pods < 2 => {}
            PodSpread::Strict => {
                spec["affinity"] = json!({"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
                    {"labelSelector": selector, "topologyKey": "kubernetes.io/hostname"}]}});
            }
            PodSpread::Even => {
                spec["topologySpreadConstraints"] = json!([{"labelSelector": selector, "maxSkew": 1,
                    "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": "ScheduleAnyway"}]);
            }
        }
    }
}

impl Seccomp {
    fn name(self) -> &'static str {
        match self {
            Seccomp::Runtime => "RuntimeDefault",
            Seccomp::Unconfined => "Unconfined",
        }
    }
}

/// A file's key in the config map: digits, letters, `-`, `_` and `.` only.
fn key(at: usize, path: &str) -> String {
    let name = path.rsplit('/').next().unwrap_or(path);
    let fits = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
    let name: String = name.chars().map(|letter| if fits(letter) { letter } else { '_' }).take(200).collect();
    format!("{at}-{name}")
}
