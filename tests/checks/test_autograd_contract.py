"""Autograd functions that take over another's passes.

What is found in made-up packages, and what is left alone.
"""

from __future__ import annotations

import sys
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from doctor.catalog.check_headers import read_check
from tests.checks.trial import CHECKS, only_result, reasons, run_check
from tests.environments import site_packages

SCRIPT = "canaries/autograd_contract.py"

BASE = """
import torch

class RingFunc(torch.autograd.Function):
    @staticmethod
    def forward(ctx, q, k, scale, group):
        ctx.save_for_backward(q, k)
        ctx.scale = scale
        ctx.group = group
        return q * k

    @staticmethod
    def backward(ctx, grad):
        q, k = ctx.saved_tensors
        grad, group = grad * ctx.scale, ctx.group
        return grad * k, grad * q, None, None

def ring(q, k, scale=1.0, group=None):
    return RingFunc.apply(q, k, scale, group)
"""

MINE = """
from ground.ring import RingFunc

class MyFunc(RingFunc):
    @staticmethod
    def forward(ctx, q, k, scale, group):
        ctx.save_for_backward(q, k)
        {sets}
        return q * k

def mine(q, k, scale, group):
    return MyFunc.apply(q, k, scale, group)
"""


def site(folder: Path, files: dict[str, str]) -> Path:
    """Write packages into a folder; every folder of theirs is a package."""
    for name, source in files.items():
        path = folder / "site" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(dedent(source), encoding="utf-8")
        (path.parent / "__init__.py").touch()
    return folder / "site"


def look(
    folder: Path, files: dict[str, str], python: Path = Path(sys.executable)
) -> dict[str, Any]:
    """Return the result of the check on made-up packages."""
    return only_result(run_check(python, SCRIPT, folder, CANARY_SITE=str(site(folder, files))))


def mine(sets: str) -> dict[str, str]:
    """Return the ground package and one that builds on it and sets what is given."""
    return {"ground/ring.py": BASE, "above/attention.py": MINE.format(sets=sets)}


def test_function_that_keeps_all_that_is_read_passes(tmp_path: Path) -> None:
    result = look(tmp_path, mine("ctx.scale = scale; ctx.group = group"))
    assert (result["verdict"], result["reason"]) == ("passed", "")
    assert set(result["cases"]) == set(read_check(CHECKS / SCRIPT).header.cases)
    assert reasons(result, "skipped") == {"running": "torch is not installed"}


def test_missing_attribute_is_named_with_its_places(tmp_path: Path) -> None:
    result = look(tmp_path, mine("ctx.group = group"))
    assert reasons(result) == {
        "attributes": (
            "MyFunc.forward sets no ctx.scale, which ground's RingFunc.backward reads: to train "
            "(inference is not affected), move above "
            "and ground to releases made for each other; backward() through mine raises "
            "AttributeError "
            "(above/attention.py:6, ground/ring.py:15)"
        )
    }
    assert result["data"]["matters"] == "warning"


FAULTY = {
    "the other side of a condition": mine(
        "ctx.group = group\n        if scale > 1:\n            ctx.scale = scale\n"
        "        else:\n            ctx.other = 1"
    ),
    "a class of the same package": {
        "one/ring.py": BASE
        + MINE.format(sets="ctx.group = group").replace("from ground.ring import RingFunc", "")
    },
    "an alias, and a package that passes names on": {
        "ground/ring.py": BASE,
        "ground/api.py": "from .ring import *",
        "above/attention.py": MINE.format(sets="ctx.group = group").replace(
            "ground.ring import RingFunc", "ground.api import RingFunc"
        ),
    },
    "an import under a condition": {
        "ground/ring.py": BASE,
        "above/attention.py": MINE.format(sets="ctx.group = group").replace(
            "from ground.ring import RingFunc",
            "import torch\nif torch.cuda.is_available():\n    import ground.ring as r\n"
            "    RingFunc = r.RingFunc\n"
            "else:\n    RingFunc = object",
        ),
    },
    "a grandchild": {
        "ground/ring.py": BASE,
        "between/ring.py": "from ground.ring import RingFunc\nclass Between(RingFunc):\n    pass\n",
        "above/attention.py": MINE.format(sets="ctx.group = group").replace(
            "ground.ring import RingFunc", "between.ring import Between as RingFunc"
        ),
    },
    "a backward pass that is borrowed": {
        "ground/ring.py": BASE,
        "above/attention.py": MINE.format(sets="ctx.group = group")
        .replace("(RingFunc)", "(torch.autograd.Function)")
        .replace("\nclass", "\nimport torch\nclass")
        + "",
    },
    "a backward pass that is called": {
        "ground/ring.py": BASE,
        "above/attention.py": MINE.format(sets="ctx.group = group")
        .replace("(RingFunc)", "(torch.autograd.Function)")
        .replace("\nclass", "\nimport torch\nclass")
        .replace(
            "\ndef mine",
            (
                "\n    @staticmethod\n    def backward(ctx, grad):\n"
                "        return RingFunc.backward(ctx, grad)\n\ndef mine"
            ),
        ),
    },
    "a forward pass in two parts": {
        "ground/ring.py": BASE,
        "above/attention.py": """
            from ground.ring import RingFunc
            class MyFunc(RingFunc):
                @staticmethod
                def forward(q, k, scale, group):
                    return q * k
                @staticmethod
                def setup_context(ctx, inputs, output):
                    q, k, scale, ctx.group = inputs
                    ctx.save_for_backward(q, k)
            def mine(*inputs):
                return MyFunc.apply(*inputs)
        """,
    },
    "a private function that is used": {
        **mine("ctx.group = group"),
        "above/attention.py": MINE.format(sets="ctx.group = group").replace("def mine", "def _mine")
        + "\ndef public(q):\n    return _mine(q, q, 1, None)\n",
    },
    "a name that nobody knows": {
        name.replace("ground", "xyzzy").replace("above", "plugh"): source.replace("ground", "xyzzy")
        .replace("RingFunc", "Frob")
        .replace("MyFunc", "Qux")
        for name, source in mine("ctx.group = group").items()
    },
}
FAULTY["a backward pass that is borrowed"]["above/attention.py"] = FAULTY[
    "a backward pass that is borrowed"
]["above/attention.py"].replace("\ndef mine", "\n    backward = RingFunc.backward\n\ndef mine")


@pytest.mark.parametrize("shape", FAULTY)
def test_attribute_that_is_missing_is_found_in(shape: str, tmp_path: Path) -> None:
    result = look(tmp_path, FAULTY[shape])
    assert set(reasons(result)) == {"attributes"}
    assert "sets no ctx.scale" in result["reason"]


HEALTHY = {
    "what a function that is handed ctx sets": {
        **mine("keep(ctx, scale, group)"),
        "above/attention.py": MINE.format(sets="keep(ctx, scale, group)")
        + "\ndef keep(c, scale, group):\n    c.scale, c.group = scale, group\n",
    },
    "what the inherited forward pass sets": mine(
        "super(MyFunc, MyFunc).forward(ctx, q, k, scale, group)"
    ),
    "a function that cannot be found": mine("from elsewhere import keep; keep(ctx)"),
    "setattr": mine("setattr(ctx, 'scale', scale); ctx.group = group"),
    "a loop over names": mine(
        "for name in 'scale', 'group':\n            setattr(ctx, name, locals()[name])"
    ),
    "the two sides of a condition": mine(
        "ctx.group = group\n        if scale > 1:\n            ctx.scale = scale\n"
        "        else:\n            ctx.scale = 1"
    ),
    "a side that raises": mine(
        "ctx.group = group\n        if scale > 1:\n            ctx.scale = scale\n"
        "        else:\n            raise ValueError"
    ),
    "a condition without another side": mine(
        "ctx.group = group\n        if scale > 1:\n            ctx.scale = scale"
    ),
    "a return without gradients": mine(
        "ctx.group = group\n        if not q.requires_grad:\n            return q * k\n"
        "        ctx.scale = scale"
    ),
    "a class that nothing applies": {
        **mine(""),
        "above/attention.py": MINE.format(sets="ctx.group = group").partition("def mine")[0],
    },
    "a private function that nothing uses": {
        **mine(""),
        "above/attention.py": MINE.format(sets="ctx.group = group").replace("def mine", "def _mine")
        + "\ndef _other(q):\n    return _mine(q, q, 1, None)\n",
    },
    "a program": {
        **mine(""),
        "above/attention.py": MINE.format(sets="ctx.group = group").replace(
            "def mine(q, k, scale, group):", "if __name__ == '__main__':"
        ),
    },
    "tests": {
        "ground/ring.py": BASE,
        "above/tests/attention.py": MINE.format(sets="ctx.group = group"),
    },
    "a forward pass that keeps nothing for a backward pass": {
        **mine(""),
        "above/attention.py": MINE.format(sets="ctx.group = group").replace(
            "ctx.save_for_backward(q, k)", "pass"
        ),
    },
    "reads that are guarded": {
        "ground/ring.py": BASE.replace("* ctx.scale,", "* getattr(ctx, 'scale', 1),"),
        "above/attention.py": MINE.format(sets="ctx.group = group"),
    },
    "reads after hasattr": {
        "ground/ring.py": BASE.replace(
            "* ctx.scale,", "* (ctx.scale if hasattr(ctx, 'scale') else 1),"
        ),
        "above/attention.py": MINE.format(sets="ctx.group = group"),
    },
    "reads on one side": {
        "ground/ring.py": BASE.replace(
            "grad, group = grad * ctx.scale, ctx.group",
            "grad = grad * ctx.scale if ctx.group else grad",
        ),
        "above/attention.py": MINE.format(sets="ctx.group = group"),
    },
    "a decorator that may do anything": {
        "ground/ring.py": BASE,
        "above/attention.py": MINE.format(sets="ctx.group = group").replace(
            "    def forward", "    @elsewhere.fill\n    def forward"
        ),
    },
    "classes that inherit from each other": {
        "one/a.py": (
            "from one.b import B\nclass A(B):\n    @staticmethod\n    def forward(ctx, x):\n"
            "        return x\n"
        ),
        "one/b.py": (
            "from one.a import A\nclass B(A):\n    @staticmethod\n    def backward(ctx, g):\n"
            "        return g * ctx.x\n"
        ),
        **mine("ctx.scale = scale; ctx.group = group"),
    },
    "two classes of one name": {
        **mine(""),
        "above/attention.py": "try:\n    import q\nexcept ImportError:\n    q = None\n"
        + 2 * MINE.format(sets="ctx.group = group"),
        "more/attention.py": MINE.format(sets="ctx.scale = scale; ctx.group = group"),
    },
    "a fault within one class": {
        "ground/ring.py": BASE.replace("        ctx.scale = scale\n", ""),
        "above/attention.py": (
            "from ground.ring import RingFunc\nclass Other(RingFunc):\n    @staticmethod\n"
            "    def once(): ...\n"
        ),
    },
}


@pytest.mark.parametrize("shape", HEALTHY)
def test_no_fault_is_seen_in(shape: str, tmp_path: Path) -> None:
    result = look(tmp_path, HEALTHY[shape])
    assert not reasons(result)


@pytest.mark.parametrize(
    ("inputs", "red"),
    [
        ("q, k, scale, group", False),
        ("q, k, scale, group, k", True),
        ("*q", False),
        ("q, k, scale", False),
    ],
)
def test_gradients_are_counted_against_what_apply_is_given(
    inputs: str, red: bool, tmp_path: Path
) -> None:
    above = MINE.format(sets="ctx.scale = scale; ctx.group = group").replace(
        "scale, group):\n        ctx", "scale=1, group=None, more=None):\n        ctx"
    )
    result = look(
        tmp_path,
        {
            "ground/ring.py": BASE,
            "above/attention.py": above.replace("apply(q, k, scale, group)", f"apply({inputs})"),
        },
    )
    assert set(reasons(result)) == ({"gradient-count"} if red else set())
    if red:
        assert (
            "MyFunc is given 5 inputs, and ground's RingFunc.backward returns 4: "
            in result["reason"]
        )
        assert "(above/attention.py:12, ground/ring.py:13)" in result["reason"]


def test_files_that_are_no_sources_break_nothing(tmp_path: Path) -> None:
    folder = site(tmp_path, mine("ctx.group = group")) / "hostile"
    folder.mkdir()
    marks = b"@staticmethod\ndef forward(ctx"
    for name, content in {
        "syntax.py": b"class A(B):\n    @staticmethod\n    def forward(ctx\n",
        "zero.py": marks + b"\0" * 4096,
        "binary.py": b"\xff\xfe\x00" + marks,
        "deep.py": marks + b"): return " + b"(" * 5000 + b")" * 5000,
        "dots.py": marks + b"): return x" + b".x" * 20000,
        "coding.py": b"# -*- coding: nonsense -*-\n" + marks,
        "large.py": b"#" * (3 << 20) + marks,
    }.items():
        (folder / name).write_bytes(content)
    (folder / "loop.py").symlink_to(folder / "loop.py")
    (folder / "again").symlink_to(folder)
    result = only_result(
        run_check(Path(sys.executable), SCRIPT, tmp_path, CANARY_SITE=str(folder.parent))
    )
    assert set(reasons(result)) == {"attributes"}


def test_names_that_lead_everywhere_take_no_time(tmp_path: Path) -> None:
    stars = {
        f"maze/m{n}.py": "".join(f"from .m{other} import *\n" for other in range(30))
        for n in range(30)
    }
    helpers = (
        "".join(f"def keep{n}(ctx):\n" + f"    keep{n + 1}(ctx)\n" * 9 for n in range(11))
        + "def keep11(ctx):\n    ctx.scale = 1\n"
    )
    more = mine("keep0(ctx); ctx.group = group")
    more["above/attention.py"] = (
        f"from maze.m0 import Nowhere\n{more['above/attention.py']}\n{helpers}\n"
        "class Lost(Nowhere):\n    pass\n"
    )
    result = look(tmp_path, {**stars, **more})
    assert not reasons(result)
    assert result["seconds"] < 20


def test_environment_without_autograd_functions_is_a_skip(tmp_path: Path) -> None:
    result = look(tmp_path, {"plain/module.py": "def forward(x): return x\n"})
    assert (result["verdict"], result["cases"]) == ("skipped", {})


def test_torch_itself_is_left_alone(torch_python: Path, tmp_path: Path) -> None:
    result = only_result(
        run_check(torch_python, SCRIPT, tmp_path, CANARY_SITE=str(site_packages(torch_python)))
    )
    assert not reasons(result)
    assert result["data"]["unclear"] == 0


def test_class_that_gives_gradients_is_run(torch_python: Path, tmp_path: Path) -> None:
    result = look(tmp_path, mine("ctx.scale = 2.0; ctx.group = helper()"), torch_python)
    assert (result["verdict"], result["data"]["ran"]) == ("passed", {"MyFunc": "passed"})


def test_class_that_gives_none_says_so_when_it_is_run(torch_python: Path, tmp_path: Path) -> None:
    result = look(tmp_path, mine("ctx.group = group"), torch_python)
    assert set(reasons(result)) == {"attributes", "running"}
    assert reasons(result)["running"].startswith(
        "AttributeError: 'MyFuncBackward' object has no attribute 'scale' (what MyFunc calls"
    )
