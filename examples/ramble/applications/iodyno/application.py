"""Ramble application: a plan of iodyno as an experiment, its figures as figures of merit.

The figures are taken from InfluxDB's line protocol, which has a line for each phase, job and operation.
"""

from ramble.appkit import *  # noqa: F403


class Iodyno(ExecutableApplication):  # noqa: F405
    """iodyno, the dynamometer for I/O"""

    name = "iodyno"

    tags("io", "storage", "benchmark")  # noqa: F405

    results = "{experiment_run_dir}/iodyno.lp"

    executable(  # noqa: F405
        "run",
        "{iodyno_program} run --quiet --influx {experiment_run_dir}/iodyno.lp --json {experiment_run_dir}/iodyno.json "
        "{iodyno_options} {iodyno_plan}",
        use_mpi=False,
    )
    # Ranks of one plan: iodyno finds the launcher's world by itself.
    executable(  # noqa: F405
        "run_mpi",
        "{iodyno_program} run --quiet --influx {experiment_run_dir}/iodyno.lp --json {experiment_run_dir}/iodyno.json "
        "{iodyno_options} {iodyno_plan}",
        use_mpi=True,
    )

    workload("plan", executables=["run"])  # noqa: F405
    workload("plan_mpi", executables=["run_mpi"])  # noqa: F405

    for_all = ["plan", "plan_mpi"]
    workload_variable(  # noqa: F405
        "iodyno_plan", default="plan.toml", description="The plan file", workloads=for_all
    )
    workload_variable(  # noqa: F405
        "iodyno_program", default="iodyno", description="The program", workloads=for_all
    )
    workload_variable(  # noqa: F405
        "iodyno_options",
        default="",
        description="Further options, such as --on hdd-7200",
        workloads=for_all,
    )

    figure_of_merit_context(  # noqa: F405
        "operation",
        regex=r"iodyno_result,.*phase=(?P<phase>(?:\\.|[^, ])+),.*label=(?P<label>(?:\\.|[^, ])+) ",
        output_format="{phase} {label}",
    )
    figure_of_merit(  # noqa: F405
        "iops",
        log_file=results,
        fom_regex=r"iodyno_result,.*operations_per_second=(?P<iops>[0-9.e+-]+)",
        group_name="iops",
        units="1/s",
        contexts=["operation"],
    )
    figure_of_merit(  # noqa: F405
        "bandwidth",
        log_file=results,
        fom_regex=r"iodyno_result,.*bytes_per_second=(?P<bandwidth>[0-9.e+-]+)",
        group_name="bandwidth",
        units="B/s",
        contexts=["operation"],
    )
    figure_of_merit(  # noqa: F405
        "p99",
        log_file=results,
        fom_regex=r"iodyno_result,.*latency_p99_ns=(?P<p99>[0-9]+)i",
        group_name="p99",
        units="ns",
        contexts=["operation"],
    )

    success_criteria(  # noqa: F405
        "figures were written", mode="string", match=r"iodyno_result,.*", file=results
    )
