"""Explain errors that a package raises in its own code, or that its caller's code provokes.

| event | what is read |
| --- | --- |
| a name that is not defined, in a package's own file | the package that has the name, since when |
| an attribute that settings of another class have | the class that has it |
| any other lookup that fails between two packages | the two packages |
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.analyzers.case import Case, Explanation, Precision, detection
from doctor.analyzers.inventory import NAME, Caller, distinct, frames, owners_of, package_of
from doctor.analyzers.python_names import is_passing
from doctor.analyzers.recipes import PIN_TORCH, code, command, in_fresh_environment, newest
from doctor.model.events import Event
from doctor.model.issues import Action, Option, Recipe
from doctor.model.scales import Confidence, Severity
from doctor.timelines import names

_NOT_DEFINED = re.compile(r"\bNameError: name '([A-Za-z_]\w{2,60})' is not defined")
_LOOKUP = re.compile(r"\b(?:AttributeError|TypeError|NameError|UnboundLocalError|KeyError): ")
_SETTINGS = re.compile(r"'TrainingArguments' object has no attribute '(\w{2,60})'")
_OF_TRL = tuple(f"{one}Config" for one in ("SFT", "DPO", "GRPO", "PPO", "Reward", "KTO", "ORPO"))
_MOST = 4
_KINDS = ("exception", "object-attribute-missing", "own-assertion")
_ENGINES = {
    "vllm": "vllm",
    "sglang": "sglang",
    "lmdeploy": "lmdeploy",
    "unsloth": "unsloth",
    "unsloth_zoo": "unsloth",
    "deepspeed": "deepspeed",
    "mlx_lm": "mlx-lm",
    "mlx_vlm": "mlx-vlm",
    "flashinfer": "flashinfer-python",
    "xinference": "xinference",
    "airllm": "airllm",
    "tensorrt_llm": "tensorrt-llm",
}
"""Programs that run models, by their import names: they change every week."""
_SOURCES = re.compile(r"[/\\](sglang|vllm|lmdeploy|unsloth)(?:_compiled_cache)?[/\\]")
_ADDON = re.compile(r"[/\\](custom_nodes)[/\\]([^/\\]{1,100})[/\\]")
_FAULT = re.compile(
    r"\b(?:AttributeError|TypeError|NameError|UnboundLocalError|KeyError|IndexError"
    r"|AssertionError|ValueError|FileNotFoundError|NotImplementedError)\b"
)
NEVER = frozenset(
    {"torch", "numpy", "pandas", "PIL", "scipy", "click", "typer", "pydantic", "pydantic_core"}
    | {"uvicorn", "starlette", "fastapi", "uvloop", "gradio", "ray", "anyio", "asyncio", "pip"}
    | {"setuptools", "wheel", "_pytest", "pluggy", "IPython", "tqdm", "requests", "urllib3"}
)
"""Packages that fail for what their callers hand in, or that only pass a call on."""


def explain(case: Case) -> Iterator[Explanation]:
    """Yield what does not fit between packages, by the frames of a traceback."""
    for event in distinct(case, *_KINDS, most=_MOST):
        if is_passing(event):
            continue
        found = (
            _undefined(case, event)
            or _settings(event)
            or _addon(case, event)
            or _between(case, event)
            or _engine(case, event)
        )
        if found is not None:
            yield found


def is_of_package(case: Case, event: Event) -> bool:
    """Say whether an event is a fault in the code of an engine or of an add-on."""
    return bool(_addon(case, event) or _engine(case, event))


def explain_addon(event: Event, module: str, caller: Caller) -> Explanation:
    """Explain a module of an add-on's own that is not there."""
    name = caller.name
    folder = "extensions" if "extensions" in caller.path else "custom_nodes"
    recipes: tuple[Recipe, ...] = ()
    if NAME.fullmatch(name):
        recipes = (
            command(
                f"Bring the files of {name} up to date",
                "git",
                "-C",
                f"{folder}/{name}",
                "pull",
                use_if=("the current folder holds the add-ons' folder",),
                note="Where git refuses since files were changed, move the folder away and install "
                "the add-on again. If its newest state has the fault itself, go back to an older "
                "one: git log names them.",
            ),
        )
    return Explanation(
        event=event,
        precision=Precision.EXACT,
        detection=detection(
            event,
            f"The add-on {name} lacks its own module {module.partition('.')[2]}",
            "The module belongs to the add-on itself: its files are not whole, or of two states. "
            "No package of the index brings it.",
            recipes=recipes,
            name="addon-incomplete",
        ),
    )


def _undefined(case: Case, event: Event) -> Explanation | None:
    """Explain a name that a package's own file uses and never got."""
    missing = _NOT_DEFINED.search(event.text)
    inner = next(iter(owners_of(case, event)), "")
    if missing is None or not inner:
        return None
    name, asking = missing[1], names.distribution_of(inner) or inner
    found = [
        one
        for one in names.functions(name)
        if one.name == name and one.distribution != asking and not one.history.always
    ]
    since = {(one.distribution, one.history.first) for one in found if one.history.first}
    if len(since) != 1:
        return None
    distribution, first = since.pop()
    minor = ".".join((first or "").split(".")[:2])
    return Explanation(
        event=event,
        precision=Precision.EXACT,
        detection=detection(
            event,
            f"{inner} uses {name} of {distribution}, which came with {distribution} {minor}",
            f"{inner} takes the name where {distribution} is new enough, and uses it in any case. "
            f"The installed {distribution} is older, or missing.",
            recipes=(
                Recipe(
                    title=f"Take {distribution} {minor} or newer",
                    steps=(
                        Action(install=(f"{distribution}>={minor}",), options=(Option.HOLD_TORCH,)),
                    ),
                ),
            ),
            name="name-not-in-release",
        ),
    )


def _settings(event: Event) -> Explanation | None:
    """Explain settings of transformers where a trainer of trl wants its own."""
    missing = _SETTINGS.search(event.text)
    if missing is None:
        return None
    wanted = [
        one
        for one in _OF_TRL
        if any(
            (history := each.attributes.get(missing[1])) is not None and history.present
            for each in names.class_attributes(one, "trl")
        )
    ]
    if not wanted:
        return None
    own = wanted[0]
    return Explanation(
        event=event,
        precision=Precision.EXACT,
        detection=detection(
            event,
            f"The trainer of trl wants {own}, and was given TrainingArguments",
            f"{missing[1]} is a setting of {own}. Since 0.9 the trainers of trl read their "
            "settings from their own class, and no longer from arguments of the trainer.",
            recipes=(
                code(
                    f"Give the trainer {own}",
                    "the program",
                    f"from trl import {own}\nargs = {own}(output_dir=..., ...)",
                    before="args = TrainingArguments(output_dir=..., ...)",
                ),
                Recipe(
                    title="Go back to a trl that takes TrainingArguments",
                    steps=(Action(install=("trl<0.9",), options=(Option.HOLD_TORCH,)),),
                ),
            ),
            name="settings-of-other-class",
            severity=Severity.NOTE,
        ),
    )


def _addon(case: Case, event: Event) -> Explanation | None:
    """Explain a fault inside an add-on of ComfyUI, where its own file raised it."""
    inner = next(frames(case, event), "")
    found = _ADDON.search(inner)
    if found is None or not _FAULT.search(event.text) or not NAME.fullmatch(found[2]):
        return None
    name = found[2]
    return _guess(
        event,
        f"The add-on {name} fails in its own code: {event.text.strip()[:120]}",
        "ComfyUI calls it, and its code does not go together with this ComfyUI, with another "
        "add-on, or with what it was given.",
        "addon-fails",
        Recipe(
            title=f"Bring {name} up to date, and ComfyUI with it",
            use_if=("the current folder is ComfyUI's",),
            steps=(
                Action(run=("git", "-C", f"custom_nodes/{name}", "pull")),
                Action(run=("git", "pull")),
            ),
            note="For the portable edition update\\update_comfyui.bat is the second step.",
        ),
        command(
            "See whether it works without add-ons",
            *("{python.executable}", "main.py", "--disable-all-custom-nodes"),
            use_if=("the current folder is ComfyUI's",),
            look=True,
        ),
    )


def _engine(case: Case, event: Event) -> Explanation | None:
    """Explain a fault that an engine raises in its own code."""
    if not _FAULT.search(event.text):
        return None
    inner = next(frames(case, event), "")
    source = _SOURCES.search(inner)
    package = package_of(inner) or (source[1] if source else "")
    if package not in _ENGINES:
        return None
    named = _ENGINES[package]
    at = inner.replace("\\", "/").rpartition("/")[2]
    return _guess(
        event,
        f"{package} stops in its own code, in {at}: {event.text.strip()[:100]}",
        f"That is all that this log shows: the cause may be this release of {package}, the "
        "model, or an option. Lines above the traceback, and the command, tell more.",
        "engine-fails",
        in_fresh_environment(
            f"Take the newest {named}, in an environment of its own",
            named,
            note="Images have a newer tag. Where the newest release fails alike, start it "
            "with as few options as possible.",
        )
        if named in PIN_TORCH
        else newest(
            named,
            title=f"Take the newest {named}",
            use_if=("it is not here yet, and no other package here pins it",),
        ),
    )


def _between(case: Case, event: Event) -> Explanation | None:
    """Explain a lookup that fails where one package calls another one."""
    if not _LOOKUP.search(event.text):
        return None
    owners = owners_of(case, event)
    if len(owners) < 2 or not owners[0] or not owners[1]:
        return None
    inner, outer = (names.distribution_of(one) or one for one in owners[:2])
    if {owners[0], owners[1]} & NEVER or not NAME.fullmatch(inner) or not NAME.fullmatch(outer):
        return None
    return _guess(
        event,
        f"{outer} calls {inner}, which fails: {event.text.strip()[:160]}",
        "That is all that this log shows. Where it ran before, either of the two is newer "
        "than the other one was written for; else the program hands in something that they "
        "do not expect.",
        "packages-do-not-fit",
        _of_one_time(inner, outer),
        command(
            "See whether the installed releases fit each other by what they declare",
            *("{python.executable}", "-m", "pip", "check"),
            look=True,
            note=f"Compare {outer} and {inner} with what the program's requirements name.",
        ),
    )


def _of_one_time(inner: str, outer: str) -> Recipe:
    """Return the recipe that brings two packages to releases that know each other."""
    if outer in PIN_TORCH:
        return in_fresh_environment(
            f"Take the newest {outer} with the {inner} that it asks for, in a fresh environment",
            outer,
            note=f"Where {outer} has to stay, take the {inner} of the months before its release.",
        )
    return Recipe(
        title=f"Bring {outer} and {inner} to releases of one time",
        use_if=("nothing holds one of them at its release",),
        steps=(Action(install=(outer, inner), options=(Option.UPGRADE, Option.HOLD_TORCH)),),
        note=f"Where {outer} has to stay, take the {inner} of the months before its release.",
    )


def _guess(event: Event, title: str, cause: str, name: str, *recipes: Recipe) -> Explanation:
    """Return an explanation that says where the fault arises, and no more."""
    return Explanation(
        event=event,
        precision=Precision.GUESS,
        detection=detection(
            event,
            title,
            cause,
            recipes=recipes,
            name=name,
            severity=Severity.NOTE,
            confidence=Confidence.LOW,
        ),
    )
