"""Explain what programs miss of their settings, their models and their own files."""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.analyzers.case import Case, Explanation, Precision
from doctor.analyzers.inventory import frames, package_of
from doctor.analyzers.recipes import LINUX, UNIX, WINDOWS, code, command, variables
from doctor.analyzers.texts import Text, explained, explanation
from doctor.model.issues import Action, Option, Recipe
from doctor.model.scales import Severity

_FIELD = re.compile(r"^\s{0,8}([A-Za-z_]\w{1,60})\s*$")
_OF_SETTINGS = re.compile(r"(?i)validation errors? for \w{0,40}(?:settings|config)\b")
_OF_CHAIN = re.compile(r"validation errors? for (?:LLMChain|\w{0,40}Chain)\b")
_FILE = re.compile(r"\(from line \d{1,6} of ([\w./\\-]{1,160})\)|-r \"([\w./\\-]{1,160})\"")
_ABOVE, _BELOW, _LONGEST = 3, 4, 300


def explain(case: Case) -> Iterator[Explanation]:
    """Yield what a program does not find, and where it is to be put."""
    yield from explained(case, _TABLE)
    yield from _settings(case)
    yield from _merges(case)
    yield from _registries(case)
    for event in case.of("model-path-missing"):
        text = _OWN_NAME if "=" in event.objects["file"] else _NO_MODEL
        if found := explanation(case, event, text):
            yield found


def _settings(case: Case) -> Iterator[Explanation]:
    """Yield the setting that has no value, which stands in the line above."""
    for event in case.of("setting-missing"):
        above = case.log.lines[max(0, event.at - _ABOVE) : event.at]
        field = next((one[1] for line in above[::-1] if (one := _FIELD.search(line))), "")
        if any(_OF_CHAIN.search(line[:_LONGEST]) for line in above):
            text = _NO_LANGUAGE_MODEL
        elif field and any(_OF_SETTINGS.search(line[:_LONGEST]) for line in above):
            text = _NO_SETTING
        else:
            continue
        if found := explanation(case, event, text, {"field": field}):
            yield found


def _merges(case: Case) -> Iterator[Explanation]:
    """Yield the file that git left with both sides of a merge in it."""
    for event in case.of("merge-unfinished"):
        near = case.log.lines[max(0, event.at - _BELOW) : event.at + _BELOW]
        files = [one[1] or one[2] for line in near if (one := _FILE.search(line[:_LONGEST]))]
        if found := explanation(case, event, _MERGE, {"file": files[-1] if files else "<file>"}):
            yield found


def _registries(case: Case) -> Iterator[Explanation]:
    """Yield the class that no imported module registers."""
    for event in case.of("class-not-registered"):
        packages = {package_of(path) for path in frames(case, event)}
        own = sorted(one for one in packages & _OF_MM if one)
        text = _registry(own[0] if own else "")
        if found := explanation(case, event, text):
            yield found


_OF_MM = {"mmdet", "mmseg", "mmdet3d", "mmpose", "mmcls", "mmpretrain", "mmrotate", "mmaction"}


def _registry(package: str) -> Text:
    named = package or "mmdet"
    recipes: list[Recipe] = [
        code(
            "Have the settings import the module that defines it",
            "the configuration file",
            'custom_imports = dict(imports=["projects.my_model"], allow_failed_imports=False)',
            note="Name the module of the file that has the class; older releases (mmcv 1) know "
            "custom_imports since 1.3.",
        ),
        variables(
            "Let Python find the modules of the clone",
            {"PYTHONPATH": "."},
            use_if=("the current folder is the clone",),
            lasting=False,
        ),
    ]
    if package:
        recipes.insert(
            0,
            Recipe(
                title=f"Let the clone's own {named} take the place of the one of the index",
                use_if=(f"the clone has a folder {named} of its own, and is the current folder",),
                steps=(
                    Action(run=("{python.executable}", "-m", "pip", "uninstall", "-y", named)),
                    Action(
                        install=("-e", "."),
                        options=(Option.NO_BUILD_ISOLATION, Option.NO_DEPS),
                    ),
                ),
            ),
        )
    return Text(
        "{name} is registered nowhere: the code that defines it was not imported",
        f"The class is one of the project's own, and {named} of the index does not have it. "
        "A class is known once its module was imported."
        if package
        else "A class is known to the registry once the module that defines it was imported.",
        tuple(recipes),
        severity=Severity.ERROR,
        precision=Precision.EXACT,
    )


_NO_MODEL = Text(
    "There is no model file at {file}",
    "A path without a drive or a slash in front counts from the folder in which the program was "
    "started. The value mostly comes from a file .env or a configuration.",
    (
        code(
            "Write the whole path of the file",
            "the setting that names the model",
            "/home/me/models/model.gguf",
            before="{log.file}",
        ),
        command(
            "See which files are there",
            *("ls", "-l", "models"),
            use_if=(UNIX, "the current folder is the program's"),
            look=True,
        ),
    ),
    precision=Precision.EXACT,
)
_OWN_NAME = Text(
    "The setting holds its own name: {file} is taken for a path",
    "In the file .env each line has one name, one sign of equality and the value. Here the value "
    "begins with a second name.",
    (
        code(
            "Leave the name out of the value",
            ".env, in the program's folder",
            "NAME=C:/models/model.bin",
            before="NAME={log.file}",
        ),
    ),
    precision=Precision.EXACT,
)
_NO_SETTING = Text(
    "The setting {field} has no value",
    "The program reads it from the environment or from a file .env in its folder, and neither has "
    "it. Clones bring an example of that file under another name.",
    (
        command(
            "Make the file .env from the example, then write the values in it",
            *("cp", "example.env", ".env"),
            use_if=(UNIX, "the current folder has a file example.env"),
            note="It may be called .env.example too.",
        ),
        command(
            "Make the file .env from the example, then write the values in it",
            *("copy", "example.env", ".env"),
            use_if=(WINDOWS, "the current folder has a file example.env"),
            note="It may be called .env.example too. Start the program in that folder.",
        ),
        code(
            "Give the setting a value",
            "the file .env, in the folder in which the program is started",
            "{log.field}=value",
            note="Names there are mostly written in capitals.",
        ),
    ),
    severity=Severity.ERROR,
    precision=Precision.EXACT,
)
_NO_LANGUAGE_MODEL = Text(
    "The chain was given no model: loading it failed before, and gave None",
    "LangChain only sees that the model is missing. Programs such as localGPT catch the error of "
    "the loader and go on: llama-cpp-python is not installed, is older than the file's format, or "
    "the file is not there.",
    (
        command(
            "See whether llama-cpp-python can be loaded, and in which release",
            "{python.executable}",
            "-c",
            "import llama_cpp; print(llama_cpp.__version__)",
            look=True,
            note="GGUF files need 0.1.79 or newer, GGML files 0.1.78 or older.",
        ),
        Recipe(
            title="Take the newest llama-cpp-python, which reads GGUF files",
            use_if=("the model is a .gguf file",),
            steps=(Action(install=("llama-cpp-python",), options=(Option.UPGRADE,)),),
        ),
    ),
    severity=Severity.ERROR,
)
_MERGE = Text(
    "git left an unfinished merge in {file}",
    "A line <<<<<<< begins the two sides of a conflict: the file was changed here, and in the "
    "project too. Programs that read it stop at that line.",
    (
        Recipe(
            title="Take the file as the project has it",
            use_if=("the current folder is the clone", "nothing of your own in it is needed"),
            steps=(Action(run=("git", "checkout", "HEAD", "--", "{log.file}")),),
            note="git stash list shows what was set aside. Then start the program again.",
            safe=False,
        ),
        command(
            "See which files are in that state",
            *("git", "status", "--short"),
            use_if=("the current folder is the clone",),
            look=True,
            note="UU stands before them.",
        ),
    ),
    severity=Severity.ERROR,
    precision=Precision.EXACT,
    contradicts=("stable-diffusion-webui/package-not-installed",),
)
_TABLE: dict[str, Text] = {
    "ggml-format-old": Text(
        "The model file is in an old format (GGML) that this llama.cpp no longer reads",
        "llama.cpp reads GGUF files alone since August 2023, and changed GGML three times before.",
        (
            command(
                "Download the model as a GGUF file",
                *("hf", "download", "<repository>", "--include", "*Q4_K_M.gguf"),
                ask={"repository": "the model with GGUF in its name on the Hub, as owner/name"},
                note="Then name that file in the program's setting, and take the newest "
                "llama-cpp-python.",
            ),
            Recipe(
                title="Go back to the last release that reads GGML files",
                use_if=("the program itself has to stay as it is, and the file is of June 2023",),
                steps=(Action(install=("llama-cpp-python==0.1.78",)),),
            ),
        ),
        severity=Severity.ERROR,
        precision=Precision.EXACT,
    ),
    "tf-kernel-missing": Text(
        "TensorFlow sees no GPU, and has no code of {operation} for the processor",
        "The program uses the layout NCHW, which runs on a GPU alone. That the GPU is not seen is "
        "the cause: its libraries of CUDA and cuDNN are missing, or the GPU is newer than they.",
        (
            command(
                "See whether TensorFlow has a GPU, and what it says of it",
                "{python.executable}",
                "-c",
                "from tensorflow.python.client import device_lib; "
                "print(device_lib.list_local_devices())",
                look=True,
                note="A line with Could not load dynamic library names what is missing.",
            ),
            Recipe(
                title="Take NVIDIA's build of TensorFlow 1",
                use_if=(
                    LINUX,
                    "the program needs TensorFlow 1, and the card is an RTX 30 or 40",
                ),
                shown=(r"RTX ?[34]0\d0",),
                steps=(
                    Action(
                        run=(
                            *("docker", "run", "--gpus", "all", "-it", "--rm"),
                            "nvcr.io/nvidia/tensorflow:23.03-tf1-py3",
                        )
                    ),
                ),
                note="Official builds of TensorFlow 1 end before these cards.",
            ),
            code(
                "Use the layout that the processor has",
                "the layers, or the settings of the program",
                'data_format="channels_last"',
                before='data_format="channels_first"',
                use_if=("no GPU shall be used",),
            ),
        ),
        severity=Severity.ERROR,
        precision=Precision.EXACT,
    ),
    "checkpoint-kind-unknown": Text(
        "The chosen file is no checkpoint of a kind that this program loads",
        "It recognises a model by the names inside of the file, and found none that it knows. A "
        "LoRA, a VAE or an embedding is no checkpoint. Fooocus loads SDXL alone, and nothing made "
        "for Stable Diffusion 1.5.",
        (
            code(
                "Choose a checkpoint that the program is made for",
                "the setting of the base model",
                "a checkpoint of SDXL, of 6 GB and more",
                before="a file of Stable Diffusion 1.5 (2 to 4 GB), or a LoRA (below 1 GB)",
                note="A LoRA belongs into models/loras, a VAE into models/vae, an embedding into "
                "models/embeddings. For Stable Diffusion 1.5 take another program.",
            ),
        ),
        precision=Precision.EXACT,
    ),
    "base-model-unfit": Text(
        "The base model is no full checkpoint of the kind that the script loads",
        "The file has no {key}. It is a LoRA, a VAE or a file in the form of diffusers, its "
        "download is not whole, or it is of another generation than the script is told.",
        (
            code(
                "Choose a full checkpoint of the script's generation",
                "the setting pretrained_model_name_or_path",
                "stable-diffusion-v1-5/stable-diffusion-v1-5, or a full checkpoint (2 GB and more)",
                before="the file that was chosen",
                note="Stable Diffusion 2 wants --v2. SDXL wants the scripts whose names begin with "
                "sdxl_, Flux and SD3 those of their names.",
            ),
        ),
        precision=Precision.EXACT,
    ),
    "configuration-key-missing": Text(
        "The configuration refers to {key}, which none of its files has",
        "Hydra and OmegaConf fill such places from the other files. fairseq is made for hydra-core "
        "1.0 and omegaconf 2.0, and its files changed with each release.",
        (
            Recipe(
                title="Take the releases that fairseq is made for",
                use_if=("the program is fairseq, or uses it",),
                shown=("fairseq",),
                steps=(
                    Action(install=("pip<24.1",)),
                    Action(install=("hydra-core>=1.0.7,<1.1", "omegaconf<2.1")),
                ),
                note="pip 24.1 and newer refuses that omegaconf.",
            ),
            code(
                "Give the key in the command",
                "the end of the command",
                "+{log.key}=false",
                note="The value has to be of the kind that the program expects.",
            ),
        ),
        severity=Severity.ERROR,
    ),
    "data-settings-missing": Text(
        "Ultralytics does not find {file}",
        "A name without a folder counts from the folder in which Python was started, which is not "
        "that of the notebook or script. On Windows a \\\\ in a text needs an r in front.",
        (
            code(
                "Give the whole path",
                "the call of train() or val()",
                'model.train(data=r"C:\\Users\\me\\data\\data.yaml")',
                before='model.train(data="data.yaml")',
            ),
        ),
        precision=Precision.EXACT,
    ),
}
