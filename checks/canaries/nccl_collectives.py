# /// script
# requires-python = ">=3.8"
# dependencies = ["torch"]
#
# [tool.doctor]
# kind = "canary"
# summary = "Lets all GPUs add and exchange numbers through NCCL (Gloo on the CPU), bit for bit"
# needs = ["torch"]
# tier = "deep"
# timeout = 420
# devices = "host"
# peers = true
# cases = ["all-reduce", "broadcast", "send-and-receive"]
# ///
"""What the processes of one machine exchange through torch.distributed arrives bit for bit.

NCCL between GPUs, Gloo on the CPU.

A failure on `cuda` means that training on several GPUs of this machine starts with an error, waits
for ever, or adds wrong numbers without an error. `NCCL_P2P_DISABLE=1` tells whether direct access
between the boards is to blame. A failure on `cpu` means that torch.distributed itself does not work
between two processes here.

Each GPU has a process of its own, as with `torchrun`; they meet through a file and talk over the
loopback interface. All-reduce adds whole numbers that every dtype holds exactly, whatever the order
of the sum; the oracle is a sum in plain Python. Broadcast and send/receive carry random bytes
between every two processes, into memory that held their complement. How NCCL carried them (P2P,
SHM, NET, NVLS) is read from its own log and told.
"""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
import sys
import time
from collections import Counter
from contextlib import suppress
from typing import Any

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from canary_report import CHECKS, CaseEnded, Report, devices

REPORT = Report()
CASES = ("all-reduce", "broadcast", "send-and-receive")
BOUND = 180.0
"""Seconds for one set of processes, the import of torch included."""
AFTER = 10.0
"""Seconds that the others have once one process has failed; then they wait for it in vain."""
LOOPBACK = {"darwin": "lo0"}.get(sys.platform, "lo")
VIA = re.compile(r" via ((?:P2P|SHM|NET|COLLNET|DIRECT)\S*)")
NVLS = re.compile(r"[1-9]\d* nvls channels|Connected NVLS tree")
WARNED = re.compile(r"NCCL WARN (.*)")


class Ranks:
    """Processes, one for each device, that exchange numbers."""

    def __init__(self, backend: str, places: list[str], seed: int) -> None:
        self.backend, self.places, self.seed = backend, places, seed
        self.folder = os.path.abspath(backend)
        os.makedirs(self.folder)
        self.late: set[int] = set()
        self.running = [self.start(rank, place) for rank, place in enumerate(places)]

    def start(self, rank: int, place: str) -> Any:
        """Start one process.

        It ends when this one does, since it reads the pipe that this one holds.
        """
        program = os.path.join(CHECKS, "collectives", "rank.py")
        argv = [
            sys.executable,
            program,
            self.backend,
            place,
            str(rank),
            str(len(self.places)),
            self.folder,
            str(self.seed),
        ]
        settings = {
            "GLOO_SOCKET_IFNAME": LOOPBACK,
            "NCCL_SOCKET_IFNAME": LOOPBACK,
            "NCCL_DEBUG": "INFO",
            "OMP_NUM_THREADS": "1",
        }
        settings["NCCL_DEBUG_FILE"] = os.path.join(self.folder, f"nccl-{rank}.log")
        environment = {
            name: value
            for name, value in os.environ.items()
            if name not in ("CANARY_RESULT", "NCCL_DEBUG_SUBSYS")
        }
        with open(os.path.join(self.folder, f"log-{rank}"), "wb") as log:
            return subprocess.Popen(
                argv, stdin=subprocess.PIPE, stdout=log, stderr=log, env={**environment, **settings}
            )

    def wait(self) -> None:
        """Wait for all, not for ever, and end whatever is left."""
        limit = time.monotonic() + BOUND
        while (
            None in (codes := [process.poll() for process in self.running])
            and time.monotonic() < limit
        ):
            if any(codes):
                limit = min(limit, time.monotonic() + AFTER)
            time.sleep(0.05)
        self.close()

    def close(self) -> None:
        """End whatever is left."""
        for rank, process in enumerate(self.running):
            with suppress(OSError):
                process.stdin.close()
            if process.poll() is None:
                self.late.add(rank)
                process.kill()
            process.wait()

    def report_of(self, rank: int) -> dict[str, Any]:
        """Return what one process has written."""
        try:
            with open(os.path.join(self.folder, f"rank-{rank}.json"), encoding="utf-8") as file:
                found: dict[str, Any] = json.load(file)
        except (OSError, ValueError):
            found = {"cases": {}, "doing": "start", "without": {}}
        return found

    def text(self, name: str) -> str:
        """Give a log of one process."""
        try:
            with open(os.path.join(self.folder, name), encoding="utf-8", errors="replace") as file:
                return file.read()
        except OSError:
            return ""


def judged(ranks: Ranks, seconds: float) -> dict[str, tuple[str, str]]:
    """Say of each case how it ended and why, out of what the processes wrote."""
    told = [ranks.report_of(rank) for rank in range(len(ranks.places))]
    skipped = next((each["skipped"] for each in told if "skipped" in each), None)
    if skipped:
        raise CaseEnded("skipped", skipped)
    found: dict[str, tuple[str, str]] = {}
    for name in CASES:
        wrong = [each["cases"][name] for each in told if each["cases"].get(name)]
        if wrong:
            found[name] = ("failed", "; ".join(wrong[:3]))
        elif all(name in each["cases"] for each in told):
            found[name] = ("passed", "")
    broken = stopped(ranks, told, seconds)
    if broken:
        place = next((name for name in CASES if name not in found), None)
        if place is None or not any(
            name in each["cases"] or each["doing"] == name for each in told for name in CASES
        ):
            raise CaseEnded("failed", broken)
        found[place] = ("failed", broken)
    for name in CASES:
        found.setdefault(name, ("skipped", "the processes had ended before"))
    return found


def stopped(ranks: Ranks, told: list[dict[str, Any]], seconds: float) -> str:
    """Say which process did not come to its end; empty where all did."""
    said = []
    for rank, each in enumerate(told):
        code = ranks.running[rank].returncode
        if each["doing"] is None and code == 0:
            continue
        who = f"rank {rank} ({ranks.places[rank]})"
        if "error" in each:
            said.insert(0, f"{who} in {each['doing']}: {each['error']}")
        else:
            said.append(
                f"{who} in {each['doing']}: "
                + ("still running" if rank in ranks.late else f"ended with code {code}")
            )
    warned = [
        line for rank in range(len(told)) for line in WARNED.findall(ranks.text(f"nccl-{rank}.log"))
    ]
    if said and warned:
        said.append(f"NCCL warns: {warned[0]}")
    return f"after {seconds:.0f} s: {'; '.join(said)}"[:900] if said else ""


def transports(ranks: Ranks) -> list[str]:
    """Tell how NCCL carried the data between the GPUs."""
    text = "".join(ranks.text(f"nccl-{rank}.log") for rank in range(len(ranks.places)))
    ways = Counter(VIA.findall(text))
    version = ranks.report_of(0).get("version")
    told = (
        [
            f"NCCL {version}: "
            + ", ".join(f"{way} ({count} channels)" for way, count in ways.most_common())
        ]
        if ways
        else []
    )
    return told + ["NCCL uses NVLS, the multicast of NVSwitch"] * bool(NVLS.search(text))


def exchange(device: str, backend: str, places: list[str]) -> None:
    """Give one result: what the processes exchanged on these devices."""
    with REPORT.result(device) as data:
        if len(places) < 2:
            raise CaseEnded("skipped", "needs two GPUs")
        data["seed"] = random.SystemRandom().getrandbits(32)
        data["processes"] = places
        began = time.monotonic()
        with REPORT.act():
            ranks = Ranks(backend, places, data["seed"])
            try:
                ranks.wait()
            finally:
                ranks.close()
        for rank in range(len(places)):
            print(
                f"--- rank {rank} ({places[rank]}) ---",
                ranks.text(f"log-{rank}"),
                ranks.text(f"nccl-{rank}.log"),
                sep="\n",
                flush=True,
            )
        without = {
            name: why
            for rank in range(len(places))
            for name, why in ranks.report_of(rank)["without"].items()
        }
        data["told"] = transports(ranks) + [
            f"without {name}: {why}" for name, why in without.items()
        ]
        found = judged(ranks, time.monotonic() - began)
        with REPORT.case("all-reduce"):
            conclude(*found["all-reduce"])
        with REPORT.case("broadcast"):
            conclude(*found["broadcast"])
        with REPORT.case("send-and-receive"):
            conclude(*found["send-and-receive"])


def conclude(verdict: str, reason: str) -> None:
    """End a case as the processes did."""
    if verdict != "passed":
        raise CaseEnded(verdict, reason)


def gpus() -> list[str]:
    """Name the GPUs that answered."""
    told = os.environ.get("CANARY_PEERS")
    found = devices(REPORT.load("torch")) if told is None else told.split(",")
    return [device for device in found if device.startswith("cuda:")]


def main() -> None:
    """Let two processes on the CPU exchange through Gloo, then one for each GPU through NCCL."""
    exchange("cpu", "gloo", ["cpu", "cpu"])
    exchange("cuda", "nccl", gpus())


if __name__ == "__main__":
    REPORT.run(main)
