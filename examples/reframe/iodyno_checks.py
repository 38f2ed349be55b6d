"""ReFrame tests of storage: `IodynoPlan` is a class to inherit from, `SimulatedDisk` one that runs anywhere.

A test's performance variables are the figures of its plan: PHASE.OPERATION.iops, .bandwidth and .p99. Sanity is that the program
ended well, and that no finding says that a figure is not the storage's.
"""

import json
import os

import reframe as rfm
import reframe.utility.sanity as sn
from reframe.core.builtins import run_before, sanity_function, variable


class IodynoPlan(rfm.RunOnlyRegressionTest):
    """A plan as a regression test: set `plan`, and references where there are some."""

    #: The plan file, below the test's resources.
    plan = variable(str)
    #: The program, where it is not on PATH.
    program = variable(str, value=os.environ.get("IODYNO", "iodyno"))
    #: A simulated device that it runs on; "": the plan's own targets.
    simulated = variable(str, value="")
    #: Findings that make the test fail: those of this severity.
    refused = variable(str, value="invalid")

    valid_systems = ["*"]
    valid_prog_environs = ["*"]
    record = "record.json"

    @run_before("run")
    def command(self):
        self.executable = self.program
        self.executable_opts = ["run", "--quiet", "--json", self.record]
        if self.simulated:
            self.executable_opts += ["--on", self.simulated]
        self.executable_opts += [self.plan]
        self.env_vars["IODYNO_HISTORY"] = "off"

    def document(self):
        with open(os.path.join(self.stagedir, self.record)) as file:
            return json.load(file)

    @sanity_function
    def is_measured(self):
        found = [
            finding["sentence"]
            for finding in self.document()["findings"]
            if finding["severity"] == self.refused
        ]
        return sn.all(
            [
                sn.assert_eq(self.job.exitcode, 0, "iodyno ended with {0}"),
                sn.assert_true(self.document()["completed"], "a signal ended it"),
                sn.assert_eq(found, [], "findings: {0}"),
            ]
        )

    @run_before("performance")
    def figures(self):
        self.perf_variables = {}
        for phase in self.document()["phases"]:
            point = "".join(f".{item['parameter']}{item['value']}" for item in phase.get("coordinates", []))
            for job in phase["jobs"]:
                for line in job["lines"]:
                    name = f"{phase['name']}{point}.{line['label']}".replace(" ", "_")
                    self._variable(f"{name}.iops", line["operations_per_second"], "1/s")
                    if line["bytes"]:
                        self._variable(f"{name}.bandwidth", line["bytes_per_second"] / 1e6, "MB/s")
                    for item in line["latency"]["percentiles"]:
                        if item["percent"] == 99.0 and item["ns"] is not None:
                            self._variable(f"{name}.p99", item["ns"] / 1e3, "us")

    def _variable(self, name, value, unit):
        self.perf_variables[name] = sn.make_performance_function(sn.defer(value), unit)


@rfm.simple_test
class SimulatedDisk(IodynoPlan):
    """A disk with a known answer, so that the test itself can be tested: 76 reads a second, within 1 %."""

    descr = "random reads of a simulated disk"
    plan = "plan.toml"
    sourcesdir = "plans"
    reference = {"*": {"random_read.read.iops": (75.9, -0.01, 0.01, "1/s")}}
