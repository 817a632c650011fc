"""Explain where Open MPI cannot start its daemons or place its processes.

| event | what is said of it |
| --- | --- |
| mpi-daemon-missing | the other node, or its shell without a login, does not find Open MPI |
| mpi-mapping-differs | a setting outside of the command asks for another placement |
"""

from __future__ import annotations

from collections.abc import Iterator

from doctor.analyzers.case import Case, Explanation, Precision
from doctor.analyzers.recipes import LINUX, command, variables
from doctor.analyzers.texts import Text, explained
from doctor.model.scales import Severity


def explain(case: Case) -> Iterator[Explanation]:
    """Yield why mpirun does not start the processes."""
    yield from explained(case, _TABLE)


_TABLE: dict[str, Text] = {
    "mpi-daemon-missing": Text(
        "A node does not find {daemon}, the daemon of Open MPI",
        "mpirun starts {daemon} on every node by ssh. That shell is no login shell, so it does not "
        "read the file that sets PATH and LD_LIBRARY_PATH, or Open MPI lies elsewhere on that "
        "node. A name for the own machine that ssh has to resolve counts as another node.",
        (
            command(
                "Name the folder of Open MPI, for all nodes",
                *("mpirun", "--prefix", "<folder>", "-np", "<processes>", "-H", "<hosts>"),
                "<program>",
                ask={
                    "folder": "the folder of Open MPI, above bin/mpirun; the same on each node",
                    "processes": "the number of processes",
                    "hosts": "the nodes with their processes, such as node1:4,node2:4",
                    "program": "the program with its arguments",
                },
                note='horovodrun takes it as --mpi-args="--prefix <folder>".',
            ),
            command(
                "On this machine alone, use its name without ssh",
                *("horovodrun", "-np", "<processes>", "-H", "localhost:<processes>", "<program>"),
                use_if=("all processes run on this machine",),
                ask={
                    "processes": "the number of processes",
                    "program": "the program with its arguments",
                },
            ),
        ),
        severity=Severity.ERROR,
        precision=Precision.EXACT,
    ),
    "mpi-mapping-differs": Text(
        (
            "Open MPI is set to a {mapping} mapping, which wants one entry for each process",
            "Two settings of Open MPI ask for different placements ({what})",
        ),
        "The command asks for one placement, and a setting outside of it for another: a variable "
        "OMPI_MCA_rmaps_base_mapping_policy, a file openmpi-mca-params.conf, or a batch system.",
        (
            variables(
                "Set the placement for this program",
                {"OMPI_MCA_rmaps_base_mapping_policy": "slot", "OMPI_MCA_rmaps": "^seq"},
                lasting=False,
            ),
            command(
                "See which settings count, and from where",
                "sh",
                "-c",
                "env | grep OMPI_MCA; ompi_info --all --parsable | grep -E 'rmaps.*source'",
                use_if=(LINUX,),
                look=True,
            ),
        ),
        severity=Severity.ERROR,
        precision=Precision.EXACT,
    ),
}
