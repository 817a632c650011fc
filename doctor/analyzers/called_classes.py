"""Find the class that a call means where the message says `__init__()` alone, and whose call it is.

Python 3.9 and older leave the class out of "__init__() got an unexpected keyword argument". Then
the source line of the last frame names it, or Hydra does.
"""

from __future__ import annotations

import re

from doctor.analyzers.case import Case, Explanation, Precision, detection
from doctor.analyzers.inventory import frames, is_library, package_of
from doctor.analyzers.recipes import code
from doctor.model.events import Event
from doctor.model.issues import Action, Option, Recipe
from doctor.model.scales import Confidence

_HYDRA = re.compile(r"(?:Error instantiating|Error in call to target) '([A-Za-z][\w.]{1,200})'")
_CALL = re.compile(r"(?:^|[=(,\s])(?:[a-z_]\w{0,60}\.){0,6}([A-Z]\w{2,80})\((?!.{0,400}\bdef )")
_NO_CODE = re.compile(r"^\s{0,80}(?:File |Traceback |\[|---|[~^])|Error:")
_FROM_PRETRAINED = re.compile(r"\b(?:cls|model_class)\(config, \*(?:model_args|inputs)")
_HOOK = re.compile(r"on_[a-z]\w{2,60}$")
_SINCE = {
    "torch_dtype": "4.9",
    "low_cpu_mem_usage": "4.11",
    "device_map": "4.20",
    "load_in_8bit": "4.22",
    "quantization_config": "4.27",
    "use_safetensors": "4.27",
    "load_in_4bit": "4.30",
    "use_flash_attention_2": "4.34",
    "attn_implementation": "4.36",
    "dtype": "4.56",
}
"""Since which transformers from_pretrained takes an argument (modeling_utils.py in the wheels)."""
_ABOVE = 8
_LONGEST = 500


def called_class(case: Case, event: Event) -> tuple[str, str]:
    """Return the class whose `__init__` was called and its package; empty where nobody names it."""
    if quoted := _HYDRA.search(event.text):
        path = quoted[1].split(".")
        return path[-1], path[0]
    for line in reversed(case.log.lines[max(event.at - _ABOVE, 0) : event.at]):
        if not line.strip() or _NO_CODE.search(line[:_LONGEST]):
            continue
        calls = _CALL.findall(line[:_LONGEST])
        return (calls[-1] if calls else ""), ""
    return "", ""


def explain_call(case: Case, event: Event) -> Explanation | None:
    """Explain an argument that a program hands through another package to its callee."""
    function, parameter = event.objects["function"], event.objects["name"]
    above = case.log.lines[max(event.at - _ABOVE, 0) : event.at]
    packages = {name for path in frames(case, event) if (name := package_of(path))}
    if packages <= {"transformers"} and any(
        _FROM_PRETRAINED.search(one[:_LONGEST]) for one in above
    ):
        return _from_pretrained(case, event, parameter)
    if _HOOK.match(function.rpartition(".")[2]):
        return _hook(case, event, function, parameter)
    return None


def _from_pretrained(case: Case, event: Event, parameter: str) -> Explanation:
    """Explain an argument of from_pretrained, which hands what it does not know to the model."""
    if since := _SINCE.get(parameter, ""):
        return _argument_since(event, parameter, since)
    own = next((one for one in frames(case, event) if not is_library(one)), "")
    who = re.split(r"[/\\]", own)[-1] or "The program"
    return Explanation(
        event=event,
        precision=Precision.EXACT,
        detection=detection(
            event,
            f"{who} hands {parameter} to from_pretrained, and the model of the installed "
            "transformers does not take it",
            "from_pretrained gives an argument that it does not know to the model. No release of "
            f"transformers has {parameter} for all models: the program is written for its own "
            "changed copy of transformers, or for a model class of another release.",
            recipes=(
                Recipe(
                    title="Install the copy of transformers that the project brings",
                    use_if=("the project has a folder transformers with a setup.py in it",),
                    steps=(Action(install=("-e", "./transformers"), options=(Option.HOLD_TORCH,)),),
                ),
                Recipe(
                    title="Install the release of transformers that the project names",
                    use_if=("its requirements or README name one",),
                    steps=(
                        Action(install=("transformers==<release>",), options=(Option.HOLD_TORCH,)),
                    ),
                    ask={"release": "the release in the requirements of the project"},
                ),
            ),
            confidence=Confidence.MEDIUM,
            name="argument-not-accepted",
        ),
    )


def _argument_since(event: Event, parameter: str, since: str) -> Explanation:
    """Explain an argument that from_pretrained of an older release hands on to the model."""
    return Explanation(
        event=event,
        precision=Precision.EXACT,
        detection=detection(
            event,
            f"from_pretrained takes {parameter} since transformers {since}, and an older one "
            "is here",
            "An argument that from_pretrained does not know goes on to the model, which "
            "refuses it.",
            recipes=(
                Recipe(
                    title=f"Take transformers {since} or newer",
                    steps=(
                        Action(install=(f"transformers>={since}",), options=(Option.HOLD_TORCH,)),
                    ),
                ),
                code(
                    f"Leave {parameter} out",
                    "the call of from_pretrained",
                    "Model.from_pretrained(name)",
                    before=f"Model.from_pretrained(name, {parameter}=...)",
                ),
            ),
            name="argument-not-accepted",
        ),
    )


def _hook(case: Case, event: Event, function: str, parameter: str) -> Explanation | None:
    """Explain a callback that does not take what the trainer hands in."""
    trainer = next((name for one in frames(case, event) if (name := package_of(one))), "")
    modules = {"transformers": "transformers", "pytorch_lightning": "pytorch_lightning"}
    modules |= {"lightning": "lightning.pytorch", "keras": "keras", "trl": "transformers"}
    if trainer not in modules:
        return None
    module = modules[trainer]
    callback = "TrainerCallback" if module == "transformers" else "callbacks.Callback"
    name = function.rpartition(".")[2]
    return Explanation(
        event=event,
        precision=Precision.EXACT,
        detection=detection(
            event,
            f"A callback of another library, or of an older form, was handed to the trainer of "
            f"{trainer}: its {name}() does not take {parameter}",
            f"{trainer} calls its callbacks with {parameter}. Each library has callbacks of its "
            "own, which have the same names and do not fit the others.",
            recipes=(
                code(
                    f"Hand in callbacks of {trainer} alone",
                    "the program, where the trainer is made",
                    "from transformers import EarlyStoppingCallback\n"
                    "callbacks=[EarlyStoppingCallback(early_stopping_patience=3)]"
                    if module == "transformers"
                    else f"from {module}.callbacks import EarlyStopping, ModelCheckpoint",
                    before="from pytorch_lightning.callbacks import EarlyStopping"
                    if module == "transformers"
                    else "from another_library import EarlyStopping",
                ),
                code(
                    "Let a callback of your own take every argument",
                    "the class of the callback",
                    f"class Mine({callback}):\n    def {name}(self, *args, **kwargs): ...",
                ),
            ),
            name="argument-not-accepted",
        ),
    )
