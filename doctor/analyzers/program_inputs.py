"""Explain errors of what a program is given: files, settings, models, checkpoints, tokens.

Each is a note: no installation mends it.
"""

from __future__ import annotations

from collections.abc import Iterator

from doctor.analyzers.case import Case, Explanation
from doctor.analyzers.inside_packages import is_of_package
from doctor.analyzers.programs import is_folder, missing_program
from doctor.analyzers.recipes import LINUX, code, command, newest
from doctor.analyzers.texts import Text, explained, explanation
from doctor.model.events import Level
from doctor.model.issues import Action, Recipe
from doctor.model.scales import Severity

_LIBRARIES = ("site-packages", "dist-packages", "/opt/", "/usr/lib", ".so", ".dll", "/cuda")
_ONLY_ALONE = {"interrupted", "own-assertion", "file-missing", "permission-denied"}
"""Kinds that count only where nothing more specific failed."""


def explain(case: Case) -> Iterator[Explanation]:
    """Yield what is wrong with the files, the settings or the model of the program."""
    table = _TABLE
    others = any(
        event.level is Level.FAILURE and not event.general and event.kind not in _ONLY_ALONE
        for event in case.events
    )
    if others:
        table = {kind: text for kind, text in table.items() if kind not in _ONLY_ALONE}
    written = {event.at for event in case.of("no-permission", "file-locked")}
    for one in explained(case, table):
        if one.event.kind == "permission-denied" and one.event.at in written:
            continue  # a folder of packages or of caches, which disk_writes explains
        if one.event.kind == "own-assertion" and is_of_package(case, one.event):
            continue  # the check is that of an engine or an add-on, which inside_packages explains
        if one.event.kind != "file-missing":
            yield one
        elif is_folder(case, one.event):
            yield from filter(None, [explanation(case, one.event, _FOLDER)])
        elif missing_program(case, one.event) is None and not any(
            word in one.event.objects.get("file", "") for word in _LIBRARIES
        ):
            yield one  # or else a program, or a file of an installation


_FOLDER = Text(
    "The folder {file} cannot be made",
    "The folder above it does not exist or cannot be written, or HOME names none. Caches of "
    "compiled kernels and of models go there.",
    (
        Recipe(
            title="Keep caches in a folder that can be written",
            steps=(
                Action(
                    env={
                        "TORCHINDUCTOR_CACHE_DIR": "<folder>/inductor",
                        "TRITON_CACHE_DIR": "<folder>/triton",
                        "HF_HOME": "<folder>/huggingface",
                    }
                ),
            ),
            ask={"folder": "a folder that you can write to, on a local disk"},
        ),
    ),
    severity=Severity.ERROR,
)


_TABLE: dict[str, Text] = {
    "interrupted": Text(
        "The program was interrupted (Ctrl-C)",
        "Someone pressed Ctrl-C, or a notebook stopped the cell, which is no failure. Where it "
        "stood then says what took so long; what went wrong before that stands above it.",
    ),
    "file-missing": Text(
        ("The file {file} does not exist", "A file that the program opens does not exist"),
        "The path is wrong, is relative to another folder than the current one, or the file "
        "was never downloaded or mounted into the container.",
        (
            command(
                "See the folder that the program runs in",
                "sh",
                "-c",
                "pwd; ls -la",
                use_if=(LINUX,),
                look=True,
            ),
        ),
    ),
    "permission-denied": Text(
        "This user may not open or write {file}",
        "The file or folder belongs to another user, often to root after a run with sudo or in "
        "a container.",
        (
            command(
                "See to whom it belongs", "sh", "-c", "id; ls -ld .", use_if=(LINUX,), look=True
            ),
        ),
    ),
    "broken-json": Text(
        "A JSON file or answer is broken: {said}",
        "At column 1 of line 1 the text is empty or no JSON at all: an empty file, an error "
        "page of a server, or a pointer of git-lfs. Elsewhere a comma or quote is wrong.",
        (
            command(
                "See where the file stops being JSON",
                "{python.executable}",
                "-m",
                "json.tool",
                "<file>",
                ask={"file": "the file that the traceback opens"},
                look=True,
            ),
        ),
    ),
    "broken-yaml": Text(
        ("A YAML file is broken: {said}", "A YAML file is broken"),
        "The lines after the message name the file, the line and the column. Tabs and wrong "
        "indentation are the usual causes.",
    ),
    "too-deep": Text(
        "A function calls itself without an end",
        "Python ended the program after a thousand nested calls.",
    ),
    "own-assertion": Text(
        ("The program's own check failed: {said}", "A check of the program failed"),
        "The line above the error in the traceback is the condition that does not hold. It is "
        "a check of the program, not of the installation.",
    ),
    "model-unknown": Text(
        "{model} holds no model that transformers knows: its config.json names no model_type",
        "The folder has no config.json of a transformers model, or one of another library. A "
        "folder of an adapter (LoRA), of a checkpoint step or of GGUF files is none.",
        (
            command(
                "See what the folder holds",
                "ls",
                "<folder>",
                ask={"folder": "the folder in the message"},
                look=True,
            ),
        ),
    ),
    "model-type-unknown": Text(
        "This transformers does not know the architecture {type}",
        "The model is newer than transformers, or brings code of its own.",
        (
            newest(
                "transformers",
                title="Take the newest transformers",
                use_if=("no other package pins transformers",),
            ),
            code(
                "Allow the code of the model",
                "the call that loads the model",
                "trust_remote_code=True",
                use_if=("the model's page says so, and you trust its author",),
            ),
        ),
        severity=Severity.ERROR,
    ),
    "model-file-missing": Text(
        ("{folder} has no file {file}", "The model has no file {file}"),
        "The folder holds the model in another format, in part only, or not at all: an "
        "adapter, a download that stopped, or the wrong subfolder.",
        (
            command(
                "See what the folder holds",
                "ls",
                "<folder>",
                ask={"folder": "the folder of the model"},
                look=True,
            ),
        ),
    ),
    "pad-token-missing": Text(
        "The tokenizer has no padding token, and a batch needs one",
        "Models such as Llama and GPT-2 define none.",
        (
            code(
                "Use the end token",
                "after the tokenizer is loaded",
                "tokenizer.pad_token = tokenizer.eos_token\n"
                "model.config.pad_token_id = tokenizer.pad_token_id",
            ),
        ),
    ),
    "wrong-magic": Text(
        "The file is not of the format that the program expects",
        "The file is damaged, stopped halfway, is a pointer of git-lfs or an error page, or is "
        "of another format (safetensors, GGUF, an older GGML).",
        (command("See its size", "ls", "-lL", "<file>", ask={"file": "the file"}, look=True),),
    ),
}
