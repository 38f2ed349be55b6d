"""PerfKit Benchmarker: a plan of iodyno on a virtual machine with a data disk.

Copy it into `perfkitbenchmarker/linux_benchmarks/`, and run `pkb.py --benchmarks=iodyno --iodyno_plan=plan.toml`.
"""

import json

from absl import flags
from perfkitbenchmarker import configs, errors, sample

FLAGS = flags.FLAGS
flags.DEFINE_string("iodyno_plan", None, "The plan file, on this machine.")
flags.DEFINE_string("iodyno_simulated", "", "A simulated device that the plan runs on.")
flags.DEFINE_string("iodyno_version", "0.2.0", "The version that is installed from PyPI.")

BENCHMARK_NAME = "iodyno"
BENCHMARK_CONFIG = """
iodyno:
  description: Measure a data disk by a plan of iodyno.
  vm_groups:
    default:
      vm_spec: *default_dual_core
      disk_spec: *default_500_gb
"""
PLAN = "/tmp/iodyno-plan.toml"
RECORD = "/tmp/iodyno-record.json"


def GetConfig(user_config):
    return configs.LoadConfig(BENCHMARK_CONFIG, user_config, BENCHMARK_NAME)


def CheckPrerequisites(benchmark_config):
    del benchmark_config
    if not FLAGS.iodyno_plan:
        raise errors.Setup.InvalidFlagConfigurationError("--iodyno_plan names the plan file")


def Prepare(benchmark_spec):
    vm = benchmark_spec.vms[0]
    vm.Install("pip")
    vm.RemoteCommand("pip3 install --user iodyno==" + FLAGS.iodyno_version)
    vm.PushFile(FLAGS.iodyno_plan, PLAN)


def Run(benchmark_spec):
    vm = benchmark_spec.vms[0]
    command = "cd %s && IODYNO_HISTORY=off ~/.local/bin/iodyno run --quiet --json %s" % (vm.GetScratchDir(), RECORD)
    if FLAGS.iodyno_simulated:
        command += " --on " + FLAGS.iodyno_simulated
    vm.RemoteCommand("rm -f " + RECORD)
    vm.RemoteCommand(command + " " + PLAN)
    text, _ = vm.RemoteCommand("cat " + RECORD)
    return Samples(json.loads(text))


def Samples(record):
    """Rates and latencies of each operation; findings go along, so that no figure is quoted without them."""
    findings = "; ".join(
        "%s [%d] %s" % (finding["severity"], finding["code"], finding["sentence"]) for finding in record["findings"]
    )
    samples = []
    for phase in record["phases"]:
        for job in phase["jobs"]:
            for line in job["lines"]:
                about = {"phase": phase["name"], "job": job["name"], "operation": line["label"], "findings": findings}
                for item in phase.get("coordinates", []):
                    about[item["parameter"]] = item["value"]
                about.update(job["comparable"])
                samples.append(sample.Sample("iops", line["operations_per_second"], "1/s", about))
                if line["bytes"]:
                    samples.append(sample.Sample("bandwidth", line["bytes_per_second"], "bytes/s", about))
                for item in line["latency"]["percentiles"]:
                    if item["ns"] is not None:
                        name = "latency_p%g" % item["percent"]
                        samples.append(sample.Sample(name, item["ns"] / 1e3, "usec", about))
    return samples


def Cleanup(benchmark_spec):
    benchmark_spec.vms[0].RemoteCommand("rm -f %s %s" % (PLAN, RECORD), ignore_failure=True)
