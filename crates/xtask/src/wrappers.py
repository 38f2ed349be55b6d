"""Runs the examples of Ramble and PerfKit with stand-ins for those programs: python3 wrappers.py ramble|perfkit EXAMPLES PROGRAM PLAN

The stand-ins know the directives and calls that the examples use, and nothing else: a name that they lack fails.
"""

import importlib.util
import os
import re
import shlex
import subprocess
import sys
import types


def load(path, name):
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.dont_write_bytecode = True
    spec.loader.exec_module(module)
    return module


def stand_in(name, **members):
    module = types.ModuleType(name)
    module.__dict__.update(members)
    sys.modules[name] = module
    return module


def ramble(examples, program, plan):
    said = {}

    def directive(kind):
        return lambda name, *words, **more: said.setdefault(kind, {}).update({name: (words, more)})

    kinds = ["executable", "workload", "workload_variable", "figure_of_merit", "figure_of_merit_context", "success_criteria"]
    appkit = {kind: directive(kind) for kind in kinds}
    stand_in("ramble")
    stand_in("ramble.appkit", ExecutableApplication=object, tags=lambda *words: None, **appkit)
    load(os.path.join(examples, "ramble/applications/iodyno/application.py"), "application")
    folder = os.getcwd()
    values = {name: more["default"] for name, (_, more) in said["workload_variable"].items()}
    values.update(experiment_run_dir=folder, iodyno_program=program, iodyno_plan=plan)
    workloads = said["workload"]["plan"][1]["executables"]
    for executable in workloads:
        command = said["executable"][executable][0][0].format(**values)
        subprocess.run(shlex.split(command), check=True, stdout=subprocess.DEVNULL)
    for _, (_, more) in said["success_criteria"].items():
        text = open(more["file"].format(**values)).read()
        assert re.search(more["match"], text), "the success criterion does not hold"
    context = said["figure_of_merit_context"]["operation"][1]
    found = re.search(context["regex"], text)
    assert context["output_format"].format(**found.groupdict()) == "random\\ read read", found
    for name, (_, more) in said["figure_of_merit"].items():
        assert more["contexts"] == ["operation"]
        value = float(re.search(more["fom_regex"], text).group(more["group_name"]))
        assert value > 0, name
        print(name, value, more["units"])
        if name == "iops":
            assert abs(value - 75.95) < 0.1, value


class Machine:
    """A virtual machine that is this one."""

    def RemoteCommand(self, command, ignore_failure=False):
        if command.startswith("pip3 "):
            return "", ""
        command = command.replace("~/.local/bin/iodyno", PROGRAM)
        done = subprocess.run(["sh", "-c", command], check=not ignore_failure, capture_output=True, text=True)
        return done.stdout, done.stderr

    def PushFile(self, source, target):
        subprocess.run(["cp", source, target], check=True)

    def Install(self, package):
        assert package == "pip"

    def GetScratchDir(self):
        return os.getcwd()


def perfkit(examples, program, plan):
    global PROGRAM
    PROGRAM = program
    values = {}

    class Setup:
        class InvalidFlagConfigurationError(Exception):
            pass

    def define(name, default, about):
        assert about
        values.setdefault(name, default)

    flags = types.SimpleNamespace(FLAGS=types.SimpleNamespace(), DEFINE_string=define)
    stand_in("absl", flags=flags)
    sample = types.SimpleNamespace(Sample=lambda *words: words)
    configs = types.SimpleNamespace(LoadConfig=lambda text, user, name: (text, user, name))
    stand_in("perfkitbenchmarker", configs=configs, errors=types.SimpleNamespace(Setup=Setup), sample=sample)
    module = load(os.path.join(examples, "perfkit/iodyno_benchmark.py"), "iodyno_benchmark")
    flags.FLAGS.__dict__.update(values)
    try:
        module.CheckPrerequisites(None)
        raise AssertionError("a missing plan is not refused")
    except Setup.InvalidFlagConfigurationError:
        pass
    flags.FLAGS.iodyno_plan = plan
    module.CheckPrerequisites(None)
    assert module.GetConfig({})[2] == module.BENCHMARK_NAME
    specification = types.SimpleNamespace(vms=[Machine()])
    module.Prepare(specification)
    samples = module.Run(specification)
    module.Cleanup(specification)
    assert not os.path.exists(module.RECORD) and not os.path.exists(module.PLAN)
    for metric, value, unit, about in samples:
        assert about["operation"] == "read" and value > 0
        print(metric, value, unit)
    rates = [value for metric, value, _, _ in samples if metric == "iops"]
    assert len(rates) == 1 and abs(rates[0] - 75.95) < 0.1, rates


if __name__ == "__main__":
    {"ramble": ramble, "perfkit": perfkit}[sys.argv[1]](*sys.argv[2:])
