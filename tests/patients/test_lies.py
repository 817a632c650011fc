"""What a torch says of itself, its files and what it does contradict each other.

What it does decides.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.command import Said, check
from tests.environments import site_packages
from tests.toolkit import replace

Clone = Callable[..., Path]

SYMBOLIC = "torch/inductor-symbolic-triton-constant"
WRAP = "torch/_higher_order_ops/triton_kernel_wrap.py"
SPECIALIZE = """\
                    combined_args_raw[arg_name] = variable.specialize_symbolic(
                        combined_args_raw[arg_name]
                    )
"""
CALL = "        return self.call_HOP(variable, grids, combined_args_raw, tx)\n"
FIX = """\
        for number in variable.kernel.constexprs:
            name = variable.kernel.arg_names[number]
            if hasattr(combined_args_raw.get(name), "evaluate_expr"):
                number = combined_args_raw[name].evaluate_expr()
                combined_args_raw[name] = variables.ConstantVariable.create(number)
"""


def edit(path: Path, old: str, new: str) -> None:
    """Change a file of a clone; the text that goes must be there."""
    text = path.read_text(encoding="utf-8")
    assert old in text
    replace(path, text.replace(old, new).encode())


def examined(python: Path, folder: Path) -> Said:
    """Run the canary.

    Without a compiler it ends at once but for the case in question, which needs none.
    """
    env = {"CXX": str(folder / "no-compiler")}
    return check("--python", python, "--only", "inductor-compile", cwd=folder, env=env)


def constant(said: Said) -> str:
    """Return how the case in question ended."""
    (outcome,) = said.outcomes("inductor-compile")
    return str(outcome["cases"]["user-triton-constant"]["verdict"])


def advice(said: Said) -> str:
    """Return every word of the fixes of the finding."""
    fixes = said.finding(SYMBOLIC)["fixes"]
    return "\n".join(
        f"{fix['title']} {' '.join(fix['commands'])} {fix['before']} {fix['after']}"
        for fix in fixes
    )


def test_torch_213_that_behaves_as_251_is_red(clone: Clone, tmp_path: Path) -> None:
    python = clone("torch")
    edit(site_packages(python) / WRAP, SPECIALIZE, "                    pass\n")
    said = examined(python, tmp_path)
    assert said.report["facts"]["torch.specializes_symbolic"]["value"] is True
    assert constant(said) == "failed"
    found = said.finding(SYMBOLIC)
    assert (found["severity"], found["confidence"]) == ("error", "medium")
    assert "torch==2.13.0" in advice(said)
    assert "torch==2.6.0" not in advice(said)


def test_torch_251_that_says_213_is_red(clone: Clone, tmp_path: Path) -> None:
    python = clone("torch251")
    site = site_packages(python)
    edit(site / "torch/version.py", "2.5.1+cu124", "2.13.0+cu130")
    edit(site / "torch-2.5.1.dist-info/METADATA", "Version: 2.5.1", "Version: 2.13.0")
    (site / "torch-2.5.1.dist-info").rename(site / "torch-2.13.0.dist-info")
    said = examined(python, tmp_path)
    assert said.report["facts"]["torch.version"]["value"] == "2.13.0+cu130"
    assert constant(said) == "failed"
    assert said.finding(SYMBOLIC)["severity"] == "error"


def test_torch_251_with_the_fix_in_its_files_is_ruled_out(clone: Clone, tmp_path: Path) -> None:
    python = clone("torch251")
    wrap = site_packages(python) / WRAP
    edit(wrap, CALL, f"        from torch._dynamo import variables\n\n{FIX}{CALL}")
    said = examined(python, tmp_path)
    assert said.report["facts"]["torch.specializes_symbolic"]["value"] is False
    assert constant(said) == "passed"
    assert SYMBOLIC not in {finding["id"] for finding in said.report["findings"]}
    assert SYMBOLIC in {out["id"] for out in said.report["ruled_out"]}
