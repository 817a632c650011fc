"""Drive a Ray cluster: a program for the Python that has Ray, which need not be doctor's.

A driver must have the Python and the Ray of its cluster. It gets its orders as JSON in the file
that its argument names, and prints lines that begin with `doctor-ray`, and packets of nodes. When
it ends, Ray ends its tasks, and no others. See https://docs.ray.io/en/latest/ray-core/scheduling/.
"""

import contextlib
import ctypes
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

_MARK = b"doctor-packet-1 "
_LAST_SECONDS = 15.0
_CLEAN_SECONDS = 30.0
"""A busy node takes long to start the worker that removes what another one left."""
_RUN = "DOCTOR_FLEET_RUN"
"""By this variable the processes of a run are known, also those whose worker is gone."""
_LONGEST_LINE = 4096
_MOST_BYTES = 16 << 20
"""Bytes of packets of one node."""


def main() -> int:
    """Connect to the cluster, then list its nodes or run the command on them."""
    import ray

    orders = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        ray.init(
            address=orders["address"] or "auto",
            namespace="doctor",
            log_to_driver=False,
            logging_level="ERROR",
        )
    except Exception as error:  # noqa: BLE001 - whatever Ray raises becomes one line
        _say({"error": f"{type(error).__name__}: {error}"})
        return 3
    nodes = _nodes()
    if orders["command"]:
        _place(orders, {node["name"]: node for node in nodes})
    else:
        _say({"nodes": nodes})
    ray.shutdown()
    return 0


def _nodes() -> "list[dict[str, Any]]":
    """Return name, id and life of each node; nodes of one name get a piece of their id behind it.

    A node that came back is listed with its former lives too; the one that lives counts.
    """
    import ray

    rows = sorted(ray.nodes(), key=lambda row: not row["Alive"])
    hosts = [row["NodeManagerHostname"] or row["NodeManagerAddress"] for row in rows]
    alive = [host for host, row in zip(hosts, rows) if row["Alive"]]  # noqa: B905 - Python 3.9
    nodes = []
    for host, row in zip(hosts, rows):  # noqa: B905
        if row["Alive"] or host not in alive:
            name = host if alive.count(host) < 2 else f"{host}-{row['NodeID'][:8]}"
            node = {"name": name, "id": row["NodeID"], "address": row["NodeManagerAddress"]}
            nodes.append({**node, "alive": row["Alive"]})
    return nodes


def _place(orders: "dict[str, Any]", nodes: "dict[str, dict[str, Any]]") -> None:
    import ray

    task = ray.remote(_run_on_node)
    archive = ray.put(Path(orders["archive"]).read_bytes()) if orders["archive"] else None
    waiting, unclean = {}, set()
    for name in orders["nodes"]:
        node = nodes.get(name)
        if node is None or not node["alive"]:
            _say({"node": name, "how": "refused", "why": "Ray says that this node is dead"})
            continue
        waiting[_pinned(task, node).remote(archive, orders, name)] = name
    deadline = time.monotonic() + orders["timeout"] + orders["grace"]
    try:
        while waiting and time.monotonic() < deadline:
            done, _ = ray.wait(list(waiting), num_returns=1, timeout=1.0)
            for reference in done:
                name = waiting.pop(reference)
                if not _pass_on(name, reference):
                    unclean.add(name)
    finally:
        # doctor ends this driver as soon as it has all answers; what follows is bounded.
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        for reference in waiting:
            ray.cancel(reference)
        if waiting:
            ray.wait(list(waiting), num_returns=len(waiting), timeout=_LAST_SECONDS / 3)
        for reference in waiting:
            with contextlib.suppress(Exception):
                ray.cancel(reference, force=True)
        _clean(orders, [nodes[name] for name in {*unclean, *waiting.values()}])
    for name in waiting.values():
        why = f"Ray has no result of it after {orders['timeout']:g} s"
        _say({"node": name, "how": "silent", "why": why})


def _pinned(task: Any, node: "dict[str, Any]", retries: int = 0) -> Any:
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    return task.options(
        num_cpus=0,
        max_retries=retries,
        scheduling_strategy=NodeAffinitySchedulingStrategy(node["id"], soft=False),
    )


def _clean(orders: "dict[str, Any]", nodes: "list[dict[str, Any]]") -> None:
    """End and remove what killed workers left on nodes; a dead node cannot hold this up."""
    import ray

    task = ray.remote(_clean_on_node)
    # Again, where it was given to the very worker that is being killed.
    cleaning = [_pinned(task, node, retries=2).remote(orders, node["name"]) for node in nodes]
    if cleaning:
        ray.wait(cleaning, num_returns=len(cleaning), timeout=_CLEAN_SECONDS)


def _pass_on(name: str, reference: Any) -> bool:
    """Print what a task gave back; return whether it ended by itself, and so left no file."""
    import ray

    try:
        how, why, lines = ray.get(reference, timeout=30)
    except Exception as error:  # noqa: BLE001 - RayError has many children
        words = " ".join(str(error).split())
        _say({"node": name, "how": "lost", "why": f"{type(error).__name__}: {words[:300]}"})
        return False
    for line in lines:
        sys.stdout.buffer.write(line + b"\n")
    _say({"node": name, "how": how, "why": why})
    return str(how) != "silent"


def _say(words: "dict[str, Any]") -> None:
    sys.stdout.buffer.write(b"doctor-ray " + json.dumps(words).encode() + b"\n")
    sys.stdout.buffer.flush()


def _interrupt(_number: int, _frame: object) -> None:
    raise KeyboardInterrupt


def _run_on_node(
    archive: bytes | None, orders: dict[str, Any], name: str
) -> tuple[str, str, list[bytes]]:
    """Run the command on this node; return how it ended, why, and the lines of its packets."""
    command, title = list(orders["command"]), f"doctor-{orders['run']}"
    folder = Path(tempfile.mkdtemp(prefix=f"{title}-"))
    try:
        if archive is not None:
            command[1] = str(folder / f"{title}.pyz")
            Path(command[1]).write_bytes(archive)
        return _follow(command, _environment(orders, name), orders)
    finally:
        shutil.rmtree(str(folder), ignore_errors=True)


def _clean_on_node(orders: dict[str, Any], name: str) -> None:
    """End the command that a killed worker started, and remove the folders of the run."""
    marks = {f"{_RUN}={orders['run']}".encode(), f"{orders['variable']}={name}".encode()}
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if marks <= {*(entry / "environ").read_bytes().split(b"\0")}:
                os.kill(int(entry.name), signal.SIGKILL)
    for path in Path(tempfile.gettempdir()).glob(f"doctor-{orders['run']}-*"):
        if path.is_dir():
            shutil.rmtree(str(path), ignore_errors=True)
        else:
            path.unlink()


def _environment(orders: dict[str, Any], name: str) -> dict[str, str]:
    """Return the environment of the node, in which the GPUs are not hidden.

    Ray hides them from a task that asked for none; its parent process has the node's own value.
    """
    environment = {**os.environ, **orders["environment"], orders["variable"]: name}
    environment[_RUN] = orders["run"]
    try:
        entries = Path(f"/proc/{os.getppid()}/environ").read_bytes().split(b"\0")
    except OSError:
        entries = []
    given = dict(os.fsdecode(entry).split("=", 1) for entry in entries if b"=" in entry)
    for variable in ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"):
        environment.pop(variable, None)
        if variable in given:
            environment[variable] = given[variable]
    return environment


def _follow(
    command: list[str], environment: dict[str, str], orders: dict[str, Any]
) -> tuple[str, str, list[bytes]]:
    try:
        child = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=environment,
            preexec_fn=_end_with_worker,  # noqa: PLW1509 - prctl and setsid take no lock
        )
    except OSError as error:
        return "refused", f"{command[0]} does not start there: {error.strerror}", []
    kept: list[bytes] = []
    words: list[bytes] = []
    thread = threading.Thread(target=_read, args=(child.stdout, kept, words), daemon=True)
    thread.start()
    try:
        code = child.wait(orders["timeout"] + orders["grace"] / 2)
    except subprocess.TimeoutExpired:
        return "silent", f"no report within {orders['timeout']:g} s", kept
    finally:
        _end(child)
    thread.join(5)
    last = b"; ".join(words[-1:]).decode("utf-8", "replace").strip()
    why = f"exit code {code}; {last}" if last else f"exit code {code}"
    return ("refused" if code in (126, 127) else "lost"), why, kept


def _read(pipe: Any, kept: list[bytes], words: list[bytes]) -> None:
    size = 0
    for line in pipe:
        if _MARK not in line:
            words[:] = [line[:300]] if line.strip() else words
        elif len(line) < _LONGEST_LINE and size < _MOST_BYTES:
            size += len(line)
            kept.append(line.rstrip(b"\n"))


def _end_with_worker() -> None:
    """Lead a session, and get SIGTERM when the worker dies: Ray kills workers without a word."""
    os.setsid()
    ctypes.CDLL(None).prctl(1, signal.SIGTERM.value)  # PR_SET_PDEATHSIG, prctl(2)


def _end(child: "subprocess.Popen[bytes]") -> None:
    if child.poll() is not None:
        return
    child.terminate()
    try:
        child.wait(_LAST_SECONDS / 2)
    except subprocess.TimeoutExpired:
        with contextlib.suppress(OSError):
            os.killpg(child.pid, signal.SIGKILL)
        child.wait(_LAST_SECONDS / 2)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
