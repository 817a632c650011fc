"""One process of a collective: rank.py BACKEND DEVICE RANK SIZE FOLDER SEED.

It meets the others through a file in FOLDER and exchanges numbers and bytes with them. What each
process gives is drawn from SEED, so every process can work out in plain Python what it has to get.
It writes `rank-RANK.json` there before and after each step, and ends once its standard input ends:
the process that started it holds the other side.
"""

from __future__ import annotations

import datetime
import json
import os
import random
import sys
import threading
import traceback
from typing import Any

SIZES = (1, 1023, (1 << 18) + 3)
NUMBERS = {"int32": 1 << 20, "float32": 1 << 20, "float16": 1 << 11, "bfloat16": 1 << 8}
"""Up to where each dtype holds every whole number."""
PATIENCE = datetime.timedelta(seconds=60)


class Rank:
    """What this process does, and what it has seen."""

    def __init__(self, argv: list[str]) -> None:
        self.backend, self.device, self.folder, self.seed = argv[0], argv[1], argv[4], argv[5]
        self.rank, self.size = int(argv[2]), int(argv[3])
        self.told: dict[str, Any] = {"cases": {}, "doing": "import torch", "without": {}}
        self.wrong = ""

    def write(self, **told: Any) -> None:
        """Replace the file in one step."""
        self.told.update(told)
        path = os.path.join(self.folder, f"rank-{self.rank}.json")
        with open(path + ".part", "w", encoding="utf-8") as part:
            json.dump(self.told, part)
        os.replace(path + ".part", path)

    def meet(self) -> str:
        """Join the others; give a reason where this torch cannot."""
        self.write()
        import torch
        import torch.distributed as dist

        self.torch, self.dist = torch, dist
        if not dist.is_available():
            return "this torch is built without torch.distributed"
        if self.backend == "nccl" and not dist.is_nccl_available():
            return "this torch is built without NCCL"
        if self.backend == "gloo" and not getattr(dist, "is_gloo_available", lambda: True)():
            return "this torch is built without Gloo"
        self.write(doing=f"start {self.backend}")
        if self.device.startswith("cuda"):
            torch.cuda.set_device(torch.device(self.device))
            self.write(version=".".join(map(str, torch.cuda.nccl.version())))
        store = "file://" + os.path.join(self.folder, "store")
        dist.init_process_group(
            self.backend, init_method=store, rank=self.rank, world_size=self.size, timeout=PATIENCE
        )
        return ""

    def numbers(self, rank: int, what: str, count: int, most: int) -> list[int]:
        """Draw what a process gives: whole numbers whose sums over all processes are exact."""
        bound = most // self.size
        return random.Random(f"{self.seed} {rank} {what}").choices(
            range(-bound, bound + 1), k=count
        )

    def drawn(self, rank: int, what: str, count: int) -> bytes:
        """Draw the bytes that a process gives."""
        return (
            random.Random(f"{self.seed} {rank} {what}")
            .getrandbits(8 * count)
            .to_bytes(count, "little")
        )

    def tensor(self, values: Any, dtype: str) -> Any:
        """Bring numbers to the device."""
        return self.torch.tensor(list(values), dtype=getattr(self.torch, dtype)).to(self.device)

    def same(self, got: Any, want: Any, what: str) -> None:
        """Compare every element.

        Keep the first difference and go on, since the other processes do not know of it.
        """
        found, expected = got.cpu().flatten().tolist(), list(want)
        wrong = [
            place for place, (value, right) in enumerate(zip(found, expected)) if value != right
        ]
        if wrong and not self.wrong:
            place = wrong[0]
            said = (
                f"{len(wrong)} of {len(expected)} elements differ, element {place} is "
                f"{found[place]:g}, expected {expected[place]:g}"
            )
            self.wrong = f"{what}: {said}"

    def all_reduce(self) -> None:
        """Add what all processes give."""
        for dtype, most in NUMBERS.items():
            for count in SIZES:
                what = f"{dtype}, {count} elements"
                parts = [self.numbers(rank, what, count, most) for rank in range(self.size)]
                mine = self.tensor(parts[self.rank], dtype)
                try:
                    self.dist.all_reduce(mine)
                except RuntimeError as error:
                    if self.backend != "gloo" or "scalar type" not in str(error):
                        raise
                    self.told["without"][dtype] = str(error).splitlines()[
                        0
                    ]  # an older Gloo has no bfloat16
                    break
                self.same(mine, map(sum, zip(*parts)), f"the sum on rank {self.rank}, {what}")

    def broadcast(self) -> None:
        """Hand the bytes of each process to all others."""
        for root in range(self.size):
            for count in SIZES:
                want = self.drawn(root, f"broadcast {count}", count)
                there = self.tensor(
                    want if root == self.rank else bytes(value ^ 0xFF for value in want), "uint8"
                )
                self.dist.broadcast(there, root)
                self.same(there, want, f"{count} bytes of rank {root} on rank {self.rank}")

    def send_and_receive(self) -> None:
        """Send bytes to each other process and receive its own, all at once for each distance."""
        for distance in range(1, self.size):
            to, source = (self.rank + distance) % self.size, (self.rank - distance) % self.size
            for count in SIZES:
                want = self.drawn(source, f"to {self.rank} {count}", count)
                there = self.tensor((value ^ 0xFF for value in want), "uint8")
                here = self.tensor(self.drawn(self.rank, f"to {to} {count}", count), "uint8")
                both = [
                    self.dist.P2POp(self.dist.isend, here, to),
                    self.dist.P2POp(self.dist.irecv, there, source),
                ]
                for waiting in self.dist.batch_isend_irecv(both):
                    waiting.wait()
                if self.device.startswith("cuda"):
                    self.torch.cuda.synchronize()
                self.same(there, want, f"{count} bytes from rank {source} to rank {self.rank}")

    def perform(self) -> None:
        """Meet the others, and do everything with them."""
        why = self.meet()
        if why:
            self.write(skipped=why)
            return
        for name, case in (
            ("all-reduce", self.all_reduce),
            ("broadcast", self.broadcast),
            ("send-and-receive", self.send_and_receive),
        ):
            self.wrong = ""
            self.write(doing=name)
            case()
            self.told["cases"][name] = self.wrong
        self.write(doing="end")
        self.dist.destroy_process_group()
        self.write(doing=None)


def end_with_parent() -> None:
    """End once the other side of standard input is closed."""
    while sys.stdin.buffer.read(4096):
        pass
    os._exit(1)


def main() -> None:
    """Be one of the processes."""
    threading.Thread(target=end_with_parent, daemon=True).start()
    rank = Rank(sys.argv[1:])
    code = 0
    try:
        rank.perform()
    except BaseException as error:
        traceback.print_exc()
        rank.write(error=" ".join(f"{type(error).__name__}: {error}".split())[:600])
        code = 1
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)  # a communicator that is out of order may wait for the others for ever


if __name__ == "__main__":
    main()
