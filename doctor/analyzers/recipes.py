"""Write the recipes of analyzers: a command, a variable or a piece of code each."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from doctor.analyzers.case import Case
from doctor.model.issues import Action, Condition, Option, Recipe, Snippet

LINUX = Condition(fact="host.os", equals="linux")
WINDOWS = Condition(fact="host.os", equals="windows")
MACOS = Condition(fact="host.os", equals="macos")
UNIX = Condition(fact="host.os", one_of=("linux", "macos"))
_SYSTEMS = {"linux", "windows", "macos"}
PIN_TORCH = frozenset({"vllm", "sglang", "lmdeploy", "unsloth", "tensorrt-llm"})
"""Those that name one torch release: beside the torch that is here, an older one would be taken."""


def command(
    title: str,
    *argv: str,
    use_if: tuple[Condition | str, ...] = (),
    note: str = "",
    sudo: bool = False,
    ask: dict[str, str] | None = None,
    env: dict[str, str] | None = None,
    look: bool = False,
) -> Recipe:
    """Return a recipe of one command; `look` is a command that only shows something."""
    return Recipe(
        title=title,
        use_if=use_if,
        note=note,
        steps=(Action(run=argv, sudo=sudo, env=env or {}),),
        ask=ask or {},
        lasting=not look,
    )


def container_with_gpus(title: str) -> Recipe:
    """Return the recipe that starts a container with the GPUs of the machine."""
    return command(
        title,
        "docker",
        "run",
        "--rm",
        "--gpus",
        "all",
        "<image>",
        "nvidia-smi",
        use_if=("the program runs in a container",),
        ask={"image": "the image of the program"},
    )


def more_shared_memory(note: str) -> Recipe:
    """Return the recipe that starts a container with more shared memory."""
    return command(
        "Give the container more shared memory",
        "docker",
        "run",
        "--shm-size=8g",
        "--gpus",
        "all",
        "<image>",
        use_if=("the program runs in Docker",),
        ask={"image": "the image of the program"},
        note=note,
    )


def variables(
    title: str,
    values: dict[str, str],
    *,
    use_if: tuple[Condition | str, ...] = (),
    note: str = "",
    ask: dict[str, str] | None = None,
    lasting: bool = True,
) -> Recipe:
    """Return a recipe that sets variables of the program that failed."""
    return Recipe(
        title=title,
        use_if=use_if,
        note=note,
        steps=(Action(env=values),),
        ask=ask or {},
        lasting=lasting,
    )


def code(
    title: str,
    where: str,
    after: str,
    *,
    before: str = "",
    use_if: tuple[Condition | str, ...] = (),
    note: str = "",
) -> Recipe:
    """Return a recipe that shows what to change in code whose path is not known."""
    return Recipe(
        title=title,
        use_if=use_if,
        note=note,
        snippet=Snippet(where=where, before=before, after=after),
    )


def newest(*packages: str, title: str, use_if: tuple[Condition | str, ...] = ()) -> Recipe:
    """Return a recipe that upgrades packages, and leaves torch where it is."""
    return Recipe(
        title=title,
        use_if=use_if,
        steps=(Action(install=packages, options=(Option.UPGRADE, Option.HOLD_TORCH)),),
    )


def in_fresh_environment(title: str, requirement: str, *, note: str = "") -> Recipe:
    """Return a recipe that installs a package, with its own torch, beside what is here.

    The newest releases serve 3.12; the Python that comes first on PATH may be older.
    """
    folder = f".venv-{re.split('[^a-z0-9-]', requirement)[0]}"
    install = ("uv", "pip", "install", "--python", folder, "--torch-backend=auto", requirement)
    return Recipe(
        title=title,
        note=note,
        steps=(Action(run=("uv", "venv", folder, "--python", "3.12")), Action(run=install)),
    )


def by_system(
    title: str,
    *,
    apt: Sequence[str] = (),
    dnf: Sequence[str] = (),
    use_if: tuple[Condition | str, ...] = (LINUX,),
    note: str = "",
) -> Recipe:
    """Return a recipe that installs packages of the distribution."""
    packages = {name: tuple(each) for name, each in (("apt", apt), ("dnf", dnf)) if each}
    return Recipe(title=title, use_if=use_if, note=note, steps=(Action(system=packages),))


def killed_for_memory(note: str = "") -> Recipe:
    """Return the recipe that shows which processes the kernel killed since memory ran out."""
    return command(
        "See whether the kernel killed it for memory",
        "sh",
        "-c",
        "dmesg -T | grep -i -E 'killed process|out of memory' | tail -5",
        use_if=(LINUX,),
        sudo=True,
        look=True,
        note=note,
    )


def fitting(case: Case, recipes: Iterable[Recipe]) -> tuple[Recipe, ...]:
    """Return the recipes that can apply on the system that the log shows."""
    system = case.context.os
    return tuple(
        recipe
        for recipe in recipes
        if system not in _SYSTEMS
        or all(
            system in (one.equals, *(one.one_of or ()))
            for one in recipe.conditions
            if one.fact == "host.os"
        )
    )


def another_torch(index: str) -> tuple[Action, ...]:
    """Return the steps that put the build of torch from an index in the place of the one here.

    The first removes nothing before the new one is there, and leaves alone what torch asks for;
    the second brings what is missing of that.
    """
    anew = (Option.REINSTALL, Option.NO_DEPS)
    companions = ("torchvision", "torchaudio")
    return (
        Action(install=("torch",), companions=companions, index=index, options=anew),
        Action(install=("torch",), companions=companions, index=index),
    )


def again(requirement: str) -> Recipe:
    """Return the recipe that installs all files of a distribution again, in the same release."""
    named = "==" in requirement
    known = f"{{package.{requirement}.version|<release>}}"
    return Recipe(
        title=f"Install {requirement} again, whole",
        steps=(
            Action(
                # Without a release the newest one would come, and not what it requires.
                install=(requirement if named else f"{requirement}=={known}",),
                options=(Option.REINSTALL, Option.NO_DEPS),
            ),
        ),
        ask={} if named else {"release": f"the release of {requirement} that is installed"},
    )


def program_requirements(what: str) -> tuple[Recipe, ...]:
    """Return what brings a program and its packages to one state."""
    return (
        Recipe(
            title=f"Install {what}",
            use_if=("the program has a requirements.txt",),
            steps=(
                Action(
                    run=("{python.executable}", "-m", "pip", "install", "--upgrade", "-r", "<file>")
                ),
            ),
            ask={"file": "the path of requirements.txt in the program's folder"},
            note="Where it names no release, the README or the date of the last commit tells which "
            "one was current.",
        ),
        command(
            "Bring the program itself up to date",
            "git",
            "pull",
            use_if=("the current folder is the program's clone",),
        ),
    )
