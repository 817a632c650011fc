"""Explain where Open MPI cannot start its daemons or place its processes.

| event | what is said of it |
| --- | --- |
| mpi-daemon-missing | the other node, or its shell without a login, does not find Open MPI |
| mpi-unreachable | no network that both processes may use; one name for two machines |
| mpi-mapping-differs | a setting outside of the command asks for another placement |
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.analyzers.case import Case, Explanation, Precision
from doctor.analyzers.findings import explanation
from doctor.analyzers.recipes import LINUX, command, variables
from doctor.analyzers.texts import Text, explained
from doctor.model.events import Event
from doctor.model.scales import Severity


def explain(case: Case) -> Iterator[Explanation]:
    """Yield why mpirun does not start the processes."""
    yield from explained(case, _TABLE)
    for event in list(case.of("mpi-unreachable"))[:1]:
        yield _unreachable(case, event)


def _unreachable(case: Case, event: Event) -> Explanation:
    """Explain two processes without a way to each other: the lines below name their hosts."""
    below = case.log.lines[event.at : event.at + _BELOW]
    hosts = [found[1] for line in below if (found := _HOST.search(line[:_LONGEST]))]
    twice = len(hosts) > 1 and len(set(hosts)) == 1
    several = _several_addresses(case)
    title = "Open MPI finds no network between two processes"
    cause = (
        "Open MPI takes addresses of one network for reachable, and leaves others out. Bridges of "
        "containers, VPNs and firewalls are in the way."
    )
    if twice and several:
        title = f"Both machines call themselves {hosts[0]}, so Open MPI takes them for one"
        cause = (
            "Open MPI tells machines apart by their names. Processes of one machine speak through "
            "shared memory, and these two have none in common."
        )
    rename = command(
        "Give each machine a name of its own",
        *("hostnamectl", "set-hostname", "<name>"),
        use_if=(LINUX,) if twice else (LINUX, "hostname prints the same on two machines"),
        sudo=True,
        ask={"name": "a name that no other machine of the run has, such as node2"},
        note="In containers: docker run --hostname. The names belong in /etc/hosts of each.",
    )
    network = command(
        "Name the network that all machines share",
        *("mpirun", "--mca", "btl_tcp_if_include", "<network>"),
        *("--mca", "oob_tcp_if_include", "<network>", "-np", "<processes>", "<program>"),
        use_if=("the processes run on several machines",) if not several else (),
        ask={
            "network": "the interface or network, as ip -br addr shows it: eth1 or 10.0.0.0/24",
            "processes": "the number of processes",
            "program": "the program with its arguments",
        },
        note='horovodrun takes them as --mpi-args="--mca btl_tcp_if_include <network>".',
    )
    gloo = command(
        "Do without MPI",
        *("horovodrun", "--gloo", "-np", "<processes>", "-H", "<hosts>", "<program>"),
        use_if=("Horovod was built with Gloo",),
        ask={
            "processes": "the number of processes",
            "hosts": "the nodes with their processes, such as node1:2,node2:2",
            "program": "the program with its arguments",
        },
    )
    horovod = any("horovod" in line[:_LONGEST] for line in case.log.lines[:_MOST])
    recipes = (rename, network) if twice and several else (network, rename)
    return explanation(
        event,
        title,
        cause,
        (*recipes, gloo) if horovod else recipes,
        exact=twice and several,
        contradicts=("nccl/*",),
    )


def _several_addresses(case: Case) -> bool:
    """Say whether the log gives the run more than one machine, by their addresses."""
    found = {
        address for line in case.log.lines[:_MOST] for address in _ADDRESS.findall(line[:_LONGEST])
    }
    return len(found - {"127.0.0.1"}) > 1


_BELOW, _LONGEST, _MOST = 12, 400, 4000
_HOST = re.compile(r"Process \d{1,6} \(.{1,60}\) is on host: (\S{1,120})")
_ADDRESS = re.compile(r"\b(\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}):\d{1,3}\b")


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
