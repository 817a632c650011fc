"""Explain errors of what a program is given: files, settings, models, checkpoints, tokens.

Each is a note: no installation mends it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.analyzers.case import Case, Explanation
from doctor.analyzers.recipes import LINUX, WINDOWS, code, command
from doctor.analyzers.texts import Text, explained, explanation
from doctor.model.events import Event, Level
from doctor.model.issues import Action, Recipe
from doctor.model.scales import Severity

_LIBRARIES = ("site-packages", "dist-packages", "/opt/", "/usr/lib", ".so", ".dll", "/cuda")
_ONLY_ALONE = {"interrupted", "own-assertion", "file-missing", "permission-denied", "read-only"}
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
    for one in explained(case, table):
        file = one.event.objects.get("file", "")
        if one.event.kind != "file-missing":
            yield one
        elif (text := _of_missing(case, one.event)) is not None:
            started = {"file": file or _started(case, one.event)}
            if (better := explanation(case, one.event, text, started)) is not None:
                yield better
        elif not any(word in file for word in _LIBRARIES):
            yield one  # or else a file of an installation, not of the program


def _of_missing(case: Case, event: Event) -> Text | None:
    """Return what to say of a folder that cannot be made, or a program that is not there."""
    before = " ".join(case.log.lines[max(0, event.at - 3) : event.at])
    if "makedirs" in before or "mkdir" in before:
        return _FOLDER
    return _PROGRAM if _is_program(event) else None


_STARTS = re.compile(
    r"(?:check_\w{4,6}|run|Popen|call)\(\s{0,3}\[?['\"](?P<program>[\w.-]{1,40})[ '\"]"
)


def _started(case: Case, event: Event) -> str:
    """Return the program that the traceback starts; empty where it does not show it."""
    for line in reversed(case.log.lines[max(0, event.at - 30) : event.at]):
        if (match := _STARTS.search(line[:400])) is not None:
            return match["program"]
    return ""


def _is_program(event: Event) -> bool:
    """Say whether the missing file is a program: a bare name, or none under Windows."""
    file = event.objects.get("file", "")
    if not file:
        return "WinError 2]" in event.text
    return file.isidentifier() or file.removesuffix(".exe").isidentifier()


_PROGRAM = Text(
    ("The program {file} was not found", "A program that was to be started was not found"),
    "The failing code starts another program, which is not installed or not on PATH. In a "
    "build this is git, ninja, nvcc or a compiler; the frame above subprocess in the traceback "
    "names it.",
    (
        command("See whether it is found", "which", "{log.file}", use_if=(LINUX,), look=True),
        command(
            "See whether it is found, on Windows",
            "where.exe",
            "{log.file}",
            use_if=(WINDOWS,),
            look=True,
        ),
    ),
    severity=Severity.ERROR,
)
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


_LOGIN = command(
    "Log in to the Hugging Face Hub",
    "hf",
    "auth",
    "login",
    note="Older releases: huggingface-cli login. In a container or job, set HF_TOKEN.",
)
_TABLE: dict[str, Text] = {
    "interrupted": Text(
        "The program was interrupted (Ctrl-C)",
        "Someone pressed Ctrl-C, or a notebook stopped the cell. Nothing failed; where it "
        "stood when it was interrupted says what took so long.",
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
    "read-only": Text(
        "{file} lies on a file system that is read-only",
        "The folder is mounted so that nothing can be written, as in many containers. Caches "
        "have to go to a folder that can be written.",
    ),
    "broken-json": Text(
        "A JSON file or answer is broken: {said}",
        "At column 1 of line 1 the text is empty or no JSON at all: an empty file, an error "
        "page of a server, or a pointer of git-lfs. Elsewhere a comma or quote is wrong.",
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
                "-la",
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
            command(
                "Take the newest transformers",
                "{python.executable}",
                "-m",
                "pip",
                "install",
                "--upgrade",
                "transformers",
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
    "tokenizer-missing": Text(
        "No tokenizer was found for {model}",
        "The name is wrong, a local folder of that name hides the model, or the files of the "
        "tokenizer were not saved beside the model.",
        (
            code(
                "Save the tokenizer beside the model",
                "where the model is saved",
                "tokenizer.save_pretrained(folder)",
            ),
        ),
    ),
    "model-file-missing": Text(
        ("{folder} has no file {file}", "The model has no file {file}"),
        "The folder holds the model in another format, in part only, or not at all: an "
        "adapter, a download that stopped, or the wrong subfolder.",
        (
            command(
                "See what the folder holds",
                "ls",
                "-la",
                "<folder>",
                ask={"folder": "the folder of the model"},
                look=True,
            ),
        ),
    ),
    "not-a-model-name": Text(
        "{name} is neither a folder here nor a model that this account can see on the Hub",
        "The name is misspelt, the folder is elsewhere, or the model is private.",
        (_LOGIN,),
    ),
    "gated-model": Text(
        (
            "The model {model} is gated: its terms have to be accepted first",
            "The model is gated: its terms have to be accepted first ({url})",
            "The model is gated: its terms have to be accepted first",
        ),
        "The author asks everyone to accept terms on the model's page. The token has to belong "
        "to the account that accepted them.",
        (_LOGIN,),
    ),
    "token-refused": Text(
        "The Hugging Face Hub refuses the token, or the model needs one",
        "No token is set, it has expired, or it may not read this model. A misspelt name of a "
        "model gives the same answer.",
        (_LOGIN,),
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
    "not-safetensors": Text(
        "The safetensors file is damaged or is none: {said}",
        "A download that stopped, or a pointer of git-lfs (a small text file) instead of the "
        "weights, looks like this.",
        (
            command(
                "See its size",
                "ls",
                "-lL",
                "<file>",
                ask={"file": "the file of the weights"},
                look=True,
                note="A file of some hundred bytes is a pointer: run git lfs pull, "
                "or download it again.",
            ),
        ),
    ),
    "wrong-magic": Text(
        (
            "The checkpoint cannot be read: {said}",
            "The checkpoint begins with {key}: it is another kind of file",
            "The file is not of the format that the program expects",
        ),
        "The file is damaged, stopped halfway, is a pointer of git-lfs or an error page, or is "
        "of another format (safetensors, GGUF, an older GGML).",
        (command("See its size", "ls", "-lL", "<file>", ask={"file": "the file"}, look=True),),
    ),
    "gguf-architecture": Text(
        "This llama.cpp does not know the architecture {architecture}",
        "The model is newer than this build of llama.cpp, Ollama or LM Studio, or the model "
        "was made for a fork.",
        (),
        severity=Severity.ERROR,
    ),
}
