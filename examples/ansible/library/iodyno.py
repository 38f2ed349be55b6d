#!/usr/bin/python
"""Ansible module: runs a plan of iodyno on the managed host and returns its figures as facts."""

import json
import os
import tempfile

from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = r"""
module: iodyno
short_description: Measure storage with iodyno
description:
  - Runs a plan file on the managed host, and returns the figures and what may be wrong with them.
  - What is measured is what the plan names; the module itself writes to a temporary directory only.
options:
  plan:
    description: A plan file (TOML) on the managed host.
    type: path
    required: true
  program:
    description: The program, where it is not on PATH.
    type: str
    default: iodyno
  simulated:
    description: A simulated device that the plan runs on, in virtual time (C(iodyno devices) lists them).
    type: str
  fail_if:
    description: Conditions under which the task fails, such as C(read.p99 > 5ms).
    type: list
    elements: str
    default: []
  invalid_fails:
    description: Whether a finding that makes a figure invalid fails the task.
    type: bool
    default: true
author:
  - iodyno
"""

EXAMPLES = r"""
- name: Measure the data disk
  iodyno:
    plan: /etc/iodyno/data.toml
    fail_if: ["read.p99 > 5ms"]
- ansible.builtin.debug:
    msg: "{{ ansible_facts.iodyno.figures[0].operations_per_second }} reads a second"
"""

RETURN = r"""
ansible_facts:
  description: C(iodyno) with C(figures) (one for each phase, job and operation) and C(findings).
  returned: success
  type: dict
"""


def figures(record):
    """One entry for each operation of each job."""
    found = []
    for phase in record["phases"]:
        point = {item["parameter"]: item["value"] for item in phase.get("coordinates", [])}
        for job in phase["jobs"]:
            for line in job["lines"]:
                percentiles = {}
                for item in (line.get("latency") or {}).get("percentiles", []):
                    if item["ns"] is not None:
                        percentiles["p%g" % item["percent"]] = item["ns"]
                found.append(
                    {
                        "phase": phase["name"],
                        "job": job["name"],
                        "point": point,
                        "operation": line["label"],
                        "operations": line["operations"],
                        "failed": line["failed"],
                        "operations_per_second": line["operations_per_second"],
                        "bytes_per_second": line["bytes_per_second"],
                        "latency_ns": percentiles,
                    }
                )
    return found


def findings(record):
    wanted = ("code", "kind", "severity", "sentence", "advice")
    return [{name: finding.get(name) for name in wanted} for finding in record.get("findings", [])]


def main():
    module = AnsibleModule(
        argument_spec={
            "plan": {"type": "path", "required": True},
            "program": {"type": "str", "default": "iodyno"},
            "simulated": {"type": "str"},
            "fail_if": {"type": "list", "elements": "str", "default": []},
            "invalid_fails": {"type": "bool", "default": True},
        },
        supports_check_mode=True,
    )
    words = module.params
    program = module.get_bin_path(words["program"], required=True)
    if module.check_mode:
        # A plan that is wrong is found without running it.
        status, out, err = module.run_command([program, "plan", words["plan"]])
        if status != 0:
            module.fail_json(msg="the plan is wrong: " + err.strip(), rc=status)
        module.exit_json(changed=False, plan_text=out)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "record.json")
        command = [program, "run", "--quiet", "--json", path]
        for condition in words["fail_if"]:
            command += ["--fail-if", condition]
        if words["simulated"]:
            command += ["--on", words["simulated"]]
        status, out, err = module.run_command(command + [words["plan"]])
        if not os.path.exists(path):
            module.fail_json(msg="nothing was measured: " + err.strip(), rc=status, report=out)
        with open(path) as file:
            record = json.load(file)
    facts = {"figures": figures(record), "findings": findings(record), "name": record["name"]}
    result = {"changed": True, "ansible_facts": {"iodyno": facts}, "report": out, "rc": status}
    if status != 0:
        demands = [line.strip() for line in out.splitlines() if line.strip().startswith("fails ")]
        module.fail_json(msg="iodyno ended with %d: %s" % (status, "; ".join(demands) or err.strip()), **result)
    invalid = [finding["sentence"] for finding in facts["findings"] if finding["severity"] == "invalid"]
    if invalid and words["invalid_fails"]:
        module.fail_json(msg="the figures are not the storage's: " + "; ".join(invalid), **result)
    module.exit_json(**result)


if __name__ == "__main__":
    main()
