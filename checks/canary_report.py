"""Write the report of a check script, and prepare torch for its devices (see README.md).

Scripts find this beside their own folder. Each makes a Report of its own: several of them may be
forked from one process.
"""

from __future__ import annotations

import faulthandler
import importlib
import importlib.util
import json
import os
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import ModuleType
from typing import Any

from canary_devices import excused, language, state

CHECKS = os.path.dirname(os.path.abspath(__file__))
PARTS = {
    "torch": {"_C": ModuleType, "Tensor": type, "__version__": str},
    "jax": {"devices": Callable, "numpy": ModuleType},
    "onnxruntime": {"InferenceSession": type, "get_available_providers": Callable},
}
"""What every release of a framework holds once it was imported, and of which type."""


def fault_of(name: str) -> str:
    """Say why an imported package is not what its name says; return nothing if it is.

    Half an uninstall leaves a folder without __init__.py, which Python imports without a word as a
    namespace package (https://peps.python.org/pep-0420/). Tests and documentation builds put a
    stand-in into sys.modules, which has every attribute that it is asked for
    (https://docs.python.org/3/library/unittest.mock.html).
    """
    module: Any = sys.modules[name]
    if not isinstance(module, ModuleType):
        return f"{name} is no module here but a stand-in, {described(module)}"
    file = getattr(module, "__file__", None)
    if file is None and hasattr(module, "__path__"):
        return (
            f"{name} is a folder without __init__.py, and Python imports that as a package with "
            f"nothing in it: {', '.join(module.__path__)}"
        )
    # A module that gives its parts when they are asked for (PEP 562) may hold nothing else.
    if "__getattr__" not in vars(module) and not any(
        not part.startswith("__") for part in vars(module)
    ):
        return f"{name} was imported from {file}, and there is nothing in it"
    parts = PARTS.get(name, {})
    lacks = [part for part in parts if not hasattr(module, part)]
    if lacks:
        return f"{name} was imported from {file} and lacks {', '.join(lacks)}: it is not whole"
    others = [part for part, kind in parts.items() if not isinstance(getattr(module, part), kind)]
    if others:
        part = others[0]
        found = described(getattr(module, part))
        return (
            f"{name} was imported from {file or 'no file'} and is a stand-in: its {part} is {found}"
        )
    return ""


def described(thing: object) -> str:
    """Name the type of an object: `a unittest.mock.MagicMock`."""
    return f"a {type(thing).__module__}.{type(thing).__name__}"


def is_installed(name: str) -> bool:
    """Say whether a module can be found, without importing it."""
    try:
        return importlib.util.find_spec(name) is not None
    except ValueError:
        # sys.modules holds a module without a specification: a stand-in.
        return False


def watch() -> None:
    """Print the stack of this process shortly before its time limit."""
    seconds = float(os.environ.get("CANARY_STACK_AFTER") or 0.0)
    if seconds > 0:
        faulthandler.dump_traceback_later(seconds, file=2)


class CaseEnded(BaseException):
    """Ends a case, or a whole result, before its time.

    `raise CaseEnded("skipped", "no nvcc here")`. It is no Exception, so that no `except Exception`
    between the case and its end takes it for an error of torch (as in pytest's outcomes).
    """


class Report:
    """What was seen and what is being done, on disk before and after every risky step."""

    def __init__(self) -> None:
        # The folder of these modules must not hide a module of the environment of the same name.
        if CHECKS in sys.path:
            sys.path.remove(CHECKS)
        watch()
        self.facts: dict[str, Any] = {}
        self.results: list[dict[str, Any]] = []
        self.doing: dict[str, Any] = {"device": None, "case": "", "act": False}
        self.lost: dict[str, str] = {}

    def run(self, main: Callable[[], None]) -> None:
        """Run the main function of a script, and record that it came to its end.

        A CaseEnded that is raised outside every result becomes a result about the machine.
        """
        try:
            main()
        except CaseEnded as end:
            with self.result(None):
                raise end from None
        self.write(doing=None)
        faulthandler.cancel_dump_traceback_later()

    def write(self, doing: dict[str, Any] | None) -> None:
        """Replace the file in one step.

        Where none is asked for, print the document once it is done.
        """
        document = {"contract": 1, "facts": self.facts, "results": self.results, "doing": doing}
        text, path = json.dumps(document, indent=1), os.environ.get("CANARY_RESULT")
        if path:
            with open(path + ".part", "w", encoding="utf-8") as part:
                part.write(text)
            os.replace(path + ".part", path)
        elif doing is None:
            print(text)

    @contextmanager
    def act(self) -> Iterator[None]:
        """Hold what is under test.

        What it raises is a failure, and how it dies is the patient's.
        """
        kind = str(self.doing["device"]).partition(":")[0]
        if kind in self.lost:
            raise CaseEnded("skipped", self.lost[kind])
        self.write({**self.doing, "act": True})
        try:
            yield
        except Exception as error:
            traceback.print_exc()
            raise self.ended(f"{type(error).__name__}: {error}") from error
        self.write(self.doing)

    def ended(self, text: str) -> CaseEnded:
        """Say how an error ends what was tried.

        A device that is full or held by another process is no failure of this stack.
        """
        text, torch, device = (
            " ".join(text.split())[:400],
            sys.modules.get("torch"),
            self.doing["device"],
        )
        if torch is None or device is None:
            return CaseEnded("failed", text)
        found, words = state(torch, device, text)
        data = self.results[-1]["data"]
        if found in ("full", "busy"):
            data["state"] = found
            return CaseEnded("skipped", f"{words}: {text}")
        if found == "lost":
            data["sticky"] = True
            where = f"case {self.doing['case']}" if self.doing["case"] else "its first steps"
            self.lost[device.partition(":")[0]] = (
                f"the process lost {language(torch, device)} in {where}"
            )
        return CaseEnded("failed", f"{text} ({words})" if words else text)

    @contextmanager
    def result(self, device: str | None) -> Iterator[dict[str, Any]]:
        """Hold what a device gives (None: the machine): failed with any case, skipped with all."""
        entry: dict[str, Any] = {"device": device, "cases": {}, "data": {}}
        self.results.append(entry)
        started = time.monotonic()
        with self.case("", entry):
            yield entry["data"]
            for verdict in "failed", "skipped":
                said = [
                    f"{name}: {case['reason']}"
                    for name, case in entry["cases"].items()
                    if case["verdict"] == verdict
                ]
                if said and (verdict == "failed" or len(said) == len(entry["cases"])):
                    raise CaseEnded(verdict, "; ".join(said))
        entry["seconds"] = round(time.monotonic() - started, 3)

    @contextmanager
    def case(self, name: str, entry: dict[str, Any] | None = None) -> Iterator[None]:
        """Hold a case of the last result, listed once it has ended.

        Without a name, the result itself.
        """
        entry = {} if entry is None else entry
        entry.update(verdict="running", reason="")
        self.doing.update(device=self.results[-1]["device"], case=name)
        self.write(self.doing)
        try:
            yield
            entry["verdict"] = "passed"
        except CaseEnded as end:
            entry["verdict"], entry["reason"] = end.args
        if name:
            self.results[-1]["cases"][name] = entry
        self.doing["case"] = ""
        self.write(self.doing)

    def load(self, module: str) -> Any:
        """Import a module of the patient; where that fails, or gives half of it, say so and end."""
        with self.result(None):
            self.doing["case"] = f"import {module}"
            with self.act():
                try:
                    loaded = importlib.import_module(module)
                except ModuleNotFoundError as error:
                    if error.name == module:
                        raise CaseEnded("skipped", f"{module} is not installed") from None
                    raise
                if fault := fault_of(module):
                    raise CaseEnded("failed", fault)
        if self.results[-1]["verdict"] != "passed":
            self.write(doing=None)
            sys.exit()
        self.results.pop()
        # What was on disk said that something passed. Whoever dies from here on has passed nothing.
        self.write(self.doing)
        return loaded

    def dtypes(
        self, torch: Any, device: str, names: Sequence[str], attempt: Callable[[str], object]
    ) -> None:
        """List the dtypes that an attempt works with here, float32 always.

        One left out for a good reason is told, any other fails.
        """
        found, broken = ["float32"], []
        self.results[-1]["data"]["dtypes"] = found
        for name in names:
            if name == "float32" or self.lost:
                continue
            with self.act():
                try:
                    attempt(name)
                    found.append(name)
                except (RuntimeError, TypeError) as error:
                    text = f"{name}: {type(error).__name__}: {' '.join(str(error).split())}"[:300]
                    if excused(torch, device, name, text):
                        self.results[-1]["data"].setdefault("told", []).append(f"without {text}")
                        continue
                    traceback.print_exc()
                    broken.append(self.ended(text))
        for end in sorted(broken, key=lambda end: end.args[0] != "failed"):
            raise CaseEnded(
                end.args[0],
                "; ".join(other.args[1] for other in broken if other.args[0] == end.args[0]),
            )

    def reach(self, torch: Any, device: str) -> None:
        """Skip a device that does not answer.

        To say why is the business of torch-runtime, once for all.
        """
        with self.act():
            try:
                torch.ones(2, device=device).add(1).tolist()
            except Exception as error:
                raise CaseEnded(
                    "skipped",
                    (
                        f"{device} does not answer: {type(error).__name__}: "
                        f"{str(error).splitlines()[0]}"
                    ),
                ) from error


def devices(torch: Any) -> list[str]:
    """Name the devices to try.

    Those asked for, or the processor and every accelerator torch sees.
    """
    if os.environ.get("CANARY_DEVICES"):
        return os.environ["CANARY_DEVICES"].split(",")
    found = ["cpu"]
    for kind in "cuda", "xpu":
        backend = getattr(torch, kind, None)
        if backend is not None and backend.is_available():
            found += [f"{kind}:{index}" for index in range(backend.device_count())]
    mps = getattr(torch.backends, "mps", None)
    return [*found, "mps"] if mps is not None and mps.is_available() else found
