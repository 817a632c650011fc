"""Explain a program that wants to download, where no way leads to the network."""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.analyzers.case import Case, Explanation
from doctor.analyzers.findings import explanation
from doctor.analyzers.inventory import frame_of, is_library
from doctor.analyzers.recipes import LINUX, code, command
from doctor.model.events import Event
from doctor.model.issues import Action, Recipe

_CLUSTER = re.compile(
    r"(?i)slurm|\bsrun\b|\bsbatch\b|/cvmfs/|/lustre|/gpfs|/scratch/|compute ?node|\bqsub\b|\bPBS_"
)
_STATEMENT = re.compile(r"\s{2,12}(?P<text>[A-Za-z_].{3,160})")
_HUB = re.compile(r"huggingface\.co|hf\.co\b|huggingface_hub")
_NEVER = re.compile(r"^(?:main|run|train|launch|app|sys|self|runpy)\b[\w.]{0,30}\(")


def explain(case: Case) -> Iterator[Explanation]:
    """Yield why a program reaches no server; an installer and the Hub are explained elsewhere."""
    if any(True for _ in case.of("connection-failed")):
        return
    event = next(case.of("no-network"), None)
    if event is None or any(
        _HUB.search(line)
        for line in case.log.lines[max(event.first, event.at - 80, 0) : event.at + 1]
    ):
        return
    yield _explanation(case, event)


def _explanation(case: Case, event: Event) -> Explanation:
    cluster = any(_CLUSTER.search(line[:500]) for line in case.log.lines[:5000])
    host, errno = event.objects.get("host", ""), event.objects.get("errno", "")
    where = host or "the server"
    call = _call(case, event)
    refused = errno in ("111", "10061", "61")
    if refused and _HERE.match(host):
        return _own_server(event, host)
    elsewhere = (
        "on the login node, whose home folder the compute nodes share"
        if cluster
        else "on a machine with a network, and copy its cache folder here"
    )
    fetch = code(
        f"Fetch the files once {elsewhere}",
        "a Python there, in the same environment",
        call or "import torch  # then the call that downloads",
        note="Then start the program again: what lies in the cache (~/.cache, or where TORCH_HOME "
        "and HF_HOME point) is not downloaded twice. device='cpu' serves where no GPU is.",
    )
    proxy = Recipe(
        title="Tell the program the proxy",
        use_if=("the network is reached only by a proxy",),
        steps=(Action(env={"HTTPS_PROXY": "<proxy>", "HTTP_PROXY": "<proxy>"}),),
        ask={"proxy": "the address of the proxy, as http://host:port"},
    )
    look = Recipe(
        title="See whether this machine reaches any server",
        steps=(Action(run=("{python.executable}", "-c", _LOOK)),),
        lasting=False,
    )
    return explanation(
        event,
        f"The connection to {where} is refused: nothing answers there"
        if refused
        else f"The program wants to download, and no way leads to {where}: "
        f"{event.objects.get('what', 'no network')}",
        (
            "The address or the port is wrong, the server is down, or a firewall is between."
            if refused
            else "Compute nodes mostly have no way to the internet, and login nodes have one. "
            if cluster
            else "This machine or container has no network, no DNS, or a firewall before it. "
        )
        + " Nothing is wrong with the program and its packages, and trying again does not help.",
        (look, proxy) if refused else (fetch, proxy if not cluster else look),
        name="no-network",
    )


def _own_server(event: Event, host: str) -> Explanation:
    """Return what it means that nothing listens on an address of the machine itself."""
    return explanation(
        event,
        f"No server listens at {host}, which is this machine",
        "The program asks a server that runs here. It has not started yet, has ended with a "
        "failure of its own, or listens on another port: its own log says which.",
        (
            code(
                "Look at the end of the server's own log, and start it again",
                "the terminal or the file in which the server writes",
                "the first error above its end",
                note="Servers of models take minutes to load. Wait until the log says that it "
                "listens.",
            ),
            command(
                "See which ports have a server",
                *("ss", "-ltnp"),
                use_if=(LINUX,),
                look=True,
            ),
        ),
        name="no-network",
        exact=False,
    )


_HERE = re.compile(
    r"^(?:localhost|127\.\d{1,3}\.\d{1,3}\.\d{1,3}|0\.0\.0\.0|\[?::1?\]?)(?::\d{1,5})?$"
)
_LOOK = "import urllib.request as r; print(r.urlopen('https://pypi.org', timeout=9).status)"


def _call(case: Case, event: Event) -> str:
    """Return the statement of the program's own file that led to the download, if it is shown."""
    lines = case.log.lines
    first = event.first if event.first >= 0 else max(event.at - 60, 0)
    for at in range(min(event.at, len(lines)) - 1, first - 1, -1):
        file = frame_of(lines[at])
        if not file or is_library(file) or at + 1 >= len(lines):
            continue
        found = _STATEMENT.fullmatch(lines[at + 1])
        if found and "(" in found["text"] and not _NEVER.search(found["text"]):
            if re.search(r"urlopen|urlretrieve|requests\.|_download\(", found["text"]):
                continue
            return found["text"].strip()
    return ""
