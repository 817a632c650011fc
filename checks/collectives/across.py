"""One rank of an all-reduce across nodes: joins a group, adds numbers of all ranks, checks the sum.

`doctor fleet --all-reduce` starts it on each node, in the target's interpreter. Its settings are
environment variables: CANARY_RANK, CANARY_WORLD, CANARY_ADDRESS and CANARY_PORT of rank 0,
CANARY_PEER (the host towards which the path is told), CANARY_SECONDS, CANARY_BACKEND (gloo, nccl,
or auto: nccl where there is a GPU). It prints one document of JSON. `local` is true where the rank
failed before it needed another one.
"""

from __future__ import annotations

import datetime
import json
import os
import socket
import struct
import sys
import time
from typing import Any

COUNT = 1 << 20
"""Elements: 4 MiB of float32, more than any eager message of a transport."""


def main() -> None:
    """Print what came of this rank."""
    began = time.monotonic()
    found: dict[str, Any] = {"ok": False, "local": True, "error": "", **path()}
    try:
        found.update(reduce())
    except BaseException as error:
        found["error"] = " ".join(f"{type(error).__name__}: {error}".split())[:400]
        found["local"] = found["local"] and not isinstance(error, Late)
    found["seconds"] = round(time.monotonic() - began, 3)
    print("\ndoctor-all-reduce " + json.dumps(found), flush=True)
    # The threads of a backend whose peer is gone would hold up the end.
    os._exit(0)


class Late(Exception):
    """The rank failed while it needed others."""


def reduce() -> dict[str, Any]:
    """Join the group, and add numbers of all ranks."""
    import torch
    from torch import distributed

    rank, world = int(os.environ["CANARY_RANK"]), int(os.environ["CANARY_WORLD"])
    backend = os.environ.get("CANARY_BACKEND", "auto")
    if backend == "auto":
        usable = torch.cuda.is_available() and distributed.is_nccl_available()
        backend = "nccl" if usable else "gloo"
    device = "cuda:0" if backend == "nccl" else "cpu"
    os.environ.setdefault("NCCL_DEBUG", "INFO")
    # Integers below 2**24 are exact in float32 in any order of the sum: up to 15,000 ranks.
    mine = (torch.arange(COUNT, device=device) % 1000 + rank % 100).float()
    if backend == "gloo":
        # A group of one opens the interface that the real group will use.
        alone(distributed)
    name = os.environ["CANARY_ADDRESS"]
    try:
        socket.getaddrinfo(name, None)
    except OSError as error:
        raise OSError(f"the name {name} does not resolve: {error}") from None
    try:
        distributed.init_process_group(
            backend,
            init_method=f"tcp://{name}:{os.environ['CANARY_PORT']}",
            rank=rank,
            world_size=world,
            timeout=datetime.timedelta(seconds=float(os.environ["CANARY_SECONDS"])),
        )
        distributed.all_reduce(mine)
        got = mine.cpu()
    except BaseException as error:
        raise Late(f"{type(error).__name__}: {error}") from None
    others = sum(each % 100 for each in range(world))
    want = (torch.arange(COUNT) % 1000 * world + others).float()
    wrong = int((got != want).sum())
    if wrong:
        raise Late(f"{wrong} of {COUNT} sums are wrong")
    found = {"ok": True, "local": False, "backend": backend}
    if backend == "gloo":
        # NCCL says at its start which transport it takes.
        found["transport"] = os.environ.get("GLOO_DEVICE_TRANSPORT", "tcp").lower()
    return found


def alone(distributed: Any) -> None:
    """Make a group of this rank alone, and leave it."""
    store = distributed.HashStore()
    seconds = datetime.timedelta(seconds=10)
    distributed.init_process_group("gloo", store=store, rank=0, world_size=1, timeout=seconds)
    distributed.destroy_process_group()


def path() -> dict[str, Any]:
    """Return the interface towards the peer, its address and its MTU, if known."""
    try:
        target = socket.getaddrinfo(os.environ["CANARY_PEER"], 9, type=socket.SOCK_DGRAM)[0]
        with socket.socket(target[0], socket.SOCK_DGRAM) as probe:
            probe.connect(target[4])  # of a datagram socket: no packet is sent
            address = probe.getsockname()[0]
        name = interface_of(address)
        return {"address": address, "interface": name, "mtu": mtu_of(name)}
    except (OSError, ValueError, KeyError):
        return {}


def interface_of(address: str) -> str:
    """Return the interface that has an IPv4 address (netdevice(7), SIOCGIFADDR)."""
    import fcntl

    for _, name in socket.if_nameindex():
        request = struct.pack("256s", name.encode()[:15])
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            try:
                answer = fcntl.ioctl(probe.fileno(), 0x8915, request)
            except OSError:
                continue
        if socket.inet_ntoa(answer[20:24]) == address:
            return name
    raise OSError("no interface has this address")


def mtu_of(name: str) -> int:
    """Return the MTU of an interface (netdevice(7), SIOCGIFMTU); /sys may be that of the host."""
    import fcntl

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        answer = fcntl.ioctl(probe.fileno(), 0x8921, struct.pack("256s", name.encode()[:15]))
    return int(struct.unpack_from("i", answer, 16)[0])


if __name__ == "__main__":
    sys.stdout.flush()
    main()
