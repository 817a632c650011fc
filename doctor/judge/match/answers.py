"""Answer from a log the conditions of fixes that are sentences.

An author writes "the message names cuDNN" or "the traceback ends in speechbrain" for a reader. What
the log itself answers is not asked: a fix that it denies goes, and one that it confirms comes first
without its condition. Of sentences in other forms nothing is known.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import msgspec

from doctor.analyzers.case import Case
from doctor.analyzers.inventory import frame_of, is_library, package_of
from doctor.base.versions import parse
from doctor.facts.conditions import condition_holds
from doctor.judge.match.asked_package import NEVER
from doctor.judge.match.fix_signs import is_shown
from doctor.logs.package_names import KNOWN
from doctor.model.facts import value_of
from doctor.model.findings import Detection
from doctor.model.issues import Recipe

_ABOVE, _BELOW = 60, 3
_LONGEST = 1000
_LITERAL = re.compile(r"[\w./:+#-]{2,60}")
_TELLING = re.compile(r"[A-Z0-9_./]")
_QUOTED = re.compile(r'"([^"]{2,80})"')
_NAMES = re.compile(
    r"the (message|lines?|lines above|log|text|error|traceback|warnings?) (?:names?|says?|shows?|is"
    r"|is about|speaks of) (.{2,120})"
)
_IS = re.compile(
    r"the (?:library|module|package|symbol|header|operator|option|error|codec|signal) is (not )?"
    r"([\w./-]{3,60})"
)
_STANDS = (" stands in the log", " stands in the text", " stands in the message")
_ENDS = re.compile(r"the traceback ends in (.{2,80})")
_THROUGH = re.compile(r"the traceback goes through (.{2,80})")
_PROGRAM = re.compile(r"the program is ([A-Z][\w.+-]{2,30}|vLLM|llama\.cpp|diffusers)")
_FOLDER = re.compile(r"(/[\w./-]{3,60})")
_LIES = ("is installed in /", "stands in /", "lies in /", " is in /", " is there", " exists")
_RELEASE = re.compile(r"([A-Za-z][\w-]{1,40}) is (?:(older than) )?(\d[\w.]{0,12})( or newer)?")
_BUILT = re.compile(r"torch is (?:a build|built) for CUDA (\d{1,2}(?:\.\d)?)")
_MISSING = ("no such file", "not found", "cannot find", "does not exist")
_SIGNS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("the program runs as a job of slurm", ("slurm", "srun ", "sbatch")),
    ("docker run starts it", ("docker run",)),
    ("docker run starts the container", ("docker run",)),
    ("docker compose starts the container", ("docker compose", "docker-compose")),
    ("the model is loaded by transformers or diffusers", ("from_pretrained", "/transformers/")),
    ("torch came from conda", ("conda install pytorch", "conda-bld/pytorch")),
    ("a compose file names it", ("docker compose", "docker-compose")),
    ("a dataloader starts the workers", ("dataloader",)),
    ("the kernel comes from torch.compile", ("torchinductor", "_inductor")),
)
"""Sentences, and what of a log shows that they are true."""
_NATIVE = "error while loading shared libraries"
_LIBRARY_WORDS = ("an installed library", "another package", "a library", "a package")


_IN_CONTAINER = re.compile(r"\b(?:in a container|in Docker|docker run starts)\b")
_CONTAINER = re.compile(
    r"docker|container|podman|kubernetes|kubectl|apptainer|singularity|nvcr\.io|runpod|/workspace/"
    r"|/bin/sh -c|\broot@[0-9a-f]{12}\b|/opt/nvidia/|/app/|compose|\bpod\b"
)
_OFFERED_IMAGE = re.compile(
    r"if you're installing within a container from \S{1,80} only images whose names contain 'devel'"
    r"|container from https://hub\.docker\.com/r/pytorch/pytorch"
)
"""What a program says to everybody, wherever it runs."""
_WORD = re.compile(r"[a-z][\w.+-]{1,40}")
_IN_BRACKETS = re.compile(r"\([^()]{0,200}\)")
_PROGRAMS = """
comfyui ollama llama.cpp pyannote speechbrain horovod ctranslate2 faster-whisper silero_vad slurm
forge poetry pdm pixi proxmox podman singularity apptainer kubernetes nixos
kaolin rasterizer text-embeddings-inference koboldcpp invokeai kohya fooocus isaac colab kaggle
"""
_NAMED = (KNOWN | frozenset(_PROGRAMS.split())) - {"torch", "numpy", "pip", "wheel", "setuptools"}
"""Packages and programs that a log would name where they take part."""


class _View(NamedTuple):
    """What the sentences of one finding are answered from.

    `quoted` are the lines of its evidence and those around them, `frames` the files of the
    traceback above them, the innermost first. Both bodies are in lower case as well.
    """

    body: str
    quoted: str
    frames: tuple[str, ...]
    case: Case

    @property
    def innermost(self) -> str:
        """Return the innermost file that is neither Python's nor of a package that passes on."""
        own = [
            one
            for one in self.frames
            if not one.startswith("<frozen") and (package_of(one) or not is_library(one))
        ]
        return next((one for one in own if package_of(one) not in NEVER - {"torch"}), "")


def with_answers(found: Detection, case: Case) -> Detection:
    """Return a finding with the fixes that the log leaves possible, those it confirms first."""
    lines = [one.line for one in found.evidence if one.source == case.log.source and one.line]
    if not lines or not found.recipes:
        return found
    view = _view(case, lines)
    confirmed: list[Recipe] = []
    others: list[Recipe] = []
    for recipe in found.recipes:
        answers = {one: _open_part(one, view) for one in recipe.sentences}
        if None in answers.values():
            continue
        left = tuple(answers[one] if isinstance(one, str) else one for one in recipe.use_if)
        answered = msgspec.structs.replace(recipe, use_if=tuple(one for one in left if one))
        # What a sign of its own confirms has lost its sentences already, and stays in front.
        is_sure = bool(answers) or (bool(recipe.shown) and is_shown(recipe, case.log))
        (confirmed if is_sure and not answered.sentences else others).append(answered)
    if not (confirmed or others):
        return found
    # Wordings leave out the package that they are about: nms_impl says nothing of mmcv.
    subject = f"{found.id} {found.title}".lower()
    foreign = [one for one in others if _is_foreign(one, view, subject)]
    own = [one for one in others if one not in foreign]
    return msgspec.structs.replace(found, recipes=(*confirmed, *own, *foreign))


def _is_foreign(recipe: Recipe, view: _View, subject: str) -> bool:
    """Say whether a recipe is about a package or a program that neither log nor finding names.

    The text of an issue of vLLM comes from vLLM, whether it says so or not. Of the examples in
    brackets one is enough. A binary that the loader cannot start is no program of Python's, and no
    package mends it.
    """
    if _NATIVE in view.quoted and any(one.install for one in recipe.steps):
        return ".py" not in view.body and "site-packages" not in view.body
    if any(_IN_CONTAINER.search(one) for one in recipe.sentences) and not _CONTAINER.search(
        _OFFERED_IMAGE.sub("", view.body)
    ):
        return True
    named: set[str] = set()
    examples: list[set[str]] = []
    for sentence in recipe.sentences:
        named |= _programs_in(_IN_BRACKETS.sub("", sentence))
        examples += [_programs_in(one) for one in _IN_BRACKETS.findall(sentence)]
    named |= {
        one.fact.removeprefix("package.").removesuffix(".version")
        for one in recipe.conditions
        if one.fact.startswith("package.")
        and (one.present or one.range)
        and condition_holds(one, view.case.facts).truth is None
    }
    texts = (view.body, subject)
    return not all(_is_told(one, texts) for one in named) or any(
        among and not any(_is_told(one, texts) for one in among) for among in examples
    )


def _programs_in(sentence: str) -> set[str]:
    return {word for word in _WORD.findall(sentence.lower()) if word in _NAMED}


def _is_told(program: str, texts: tuple[str, str]) -> bool:
    spellings = (program, program.replace("-", "_"), program.replace("-", " "))
    return any(one in text for one in spellings for text in texts)


def _view(case: Case, numbers: Sequence[int]) -> _View:
    lines, log = case.log.lines, case.log
    places = [
        at
        for number in numbers
        if 0 <= (at := bisect_left(log.numbers, number) if log.numbers else number - 1) < len(lines)
    ]
    quoted = [line[:_LONGEST] for at in places for line in lines[max(at - 1, 0) : at + _BELOW]]
    frames = [
        file
        for at in places[:1]
        for line in reversed(lines[max(at - _ABOVE, 0) : at + 1])
        if (file := frame_of(line))
    ]
    return _View("\n".join(lines).lower(), "\n".join(quoted).lower(), tuple(frames), case)


def _open_part(sentence: str, view: _View) -> str | None:
    """Return the parts of a sentence that the log does not confirm; None where it denies one."""
    parts = {part: _answer(part, view) for part in sentence.split(", and ")}
    if False in parts.values():
        return None
    return ", and ".join(part for part, answer in parts.items() if answer is None)


def _answer(sentence: str, view: _View) -> bool | None:
    """Say whether a sentence is true; None where the log does not tell."""
    for form, answer in _FORMS:
        if match := form.fullmatch(sentence):
            return answer(match, view)
    if ending := next((one for one in _STANDS if sentence.endswith(one)), ""):
        return _stands(sentence.removesuffix(ending), view)
    if "/" in sentence:
        return _has_folder(sentence, view)
    signs = next((words for text, words in _SIGNS if text == sentence.lower()), ())
    return True if any(word in view.body for word in signs) else None


def _is_named(match: re.Match[str], view: _View) -> bool | None:
    where, what = match[1], match[2]
    wanted = list(_literals(what))
    if not wanted:
        return None
    near = view.body if where in ("log", "text", "traceback", "warnings") else view.quoted
    if any(one.lower() in near for one in wanted):
        return True
    return False if not any(one.lower() in view.body for one in wanted) else None


def _is_it(match: re.Match[str], view: _View) -> bool | None:
    wanted = list(_literals(match[2]))
    if not wanted:
        return None
    is_named = wanted[0].lower() in view.quoted
    return is_named != bool(match[1])


def _stands(text: str, view: _View) -> bool | None:
    wanted = list(_literals(text))
    return any(one.lower() in view.body for one in wanted) if wanted else None


def _literals(text: str) -> Iterator[str]:
    """Yield what a program would print of a list such as `cuDNN or "invalid argument"`.

    Nothing where any of it is a description.
    """
    found: list[str] = []
    for part in re.split(r", (?:or )?| or ", text):
        quoted = _QUOTED.fullmatch(part)
        word = quoted[1] if quoted else part
        is_literal = quoted or (
            _LITERAL.fullmatch(word)
            and (_TELLING.search(word) or word in KNOWN)
            and not word.isdigit()
        )
        if not is_literal:
            return
        found.append(word)
    yield from found


def _ends_in(match: re.Match[str], view: _View) -> bool | None:
    what, file = match[1], view.innermost
    if not file:
        return None
    package = package_of(file)
    if what.startswith("a line of the program"):
        return package is None
    if what == "torch itself":
        return package == "torch"
    if what.startswith(_LIBRARY_WORDS):
        return package is not None
    if not _LITERAL.fullmatch(what):
        return None
    return _is_in(what, file)


def _goes_through(match: re.Match[str], view: _View) -> bool | None:
    what = match[1]
    is_there = _LITERAL.fullmatch(what) and any(_is_in(what, file) for file in view.frames)
    return True if is_there else None


def _is_in(what: str, file: str) -> bool:
    path = file.replace("\\", "/").lower()
    name = what.lower().replace("-", "_")
    return f"/{name}/" in path or path.endswith((f"/{name}.py", f"/{name}"))


def _is_own(match: re.Match[str], view: _View) -> bool | None:
    del match
    return package_of(view.innermost) is None if view.innermost else None


def _is_of_package(match: re.Match[str], view: _View) -> bool | None:
    del match
    return package_of(view.innermost) is not None if view.innermost else None


def _is_program(match: re.Match[str], view: _View) -> bool | None:
    return True if match[1].lower() in view.body else None


def _has_folder(sentence: str, view: _View) -> bool | None:
    path = _FOLDER.search(sentence)
    if path is None or not any(words in sentence for words in _LIES):
        return None
    shown = [line for line in view.body.split("\n") if _holds(line, path[1].lower())]
    is_there = any(not any(word in line for word in _MISSING) for line in shown)
    return True if is_there else None


def _holds(line: str, folder: str) -> bool:
    """Say whether a line holds a path of a folder, and not of one whose name goes on."""
    at = line.find(folder)
    return at >= 0 and line[at + len(folder) : at + len(folder) + 1] not in tuple("-.0123456789")


def _is_release(match: re.Match[str], view: _View) -> bool | None:
    name = match[1].lower()
    fact = {"python": "python.version", "torch": "torch.release"}.get(
        name, f"package.{name}.version"
    )
    here, wanted = parse(str(value_of(view.case.facts, fact) or "")), parse(match[3])
    if here is None or wanted is None or not (match[2] or match[4]):
        return None
    return here < wanted if match[2] else here >= wanted


def _is_built(match: re.Match[str], view: _View) -> bool | None:
    here = value_of(view.case.facts, "torch.cuda_version")
    if not isinstance(here, str):
        return None
    return here == match[1] or here.startswith(f"{match[1]}.")


_Answer = Callable[[re.Match[str], _View], "bool | None"]
_FORMS: tuple[tuple[re.Pattern[str], _Answer], ...] = (
    (_ENDS, _ends_in),
    (_THROUGH, _goes_through),
    (re.compile(r"the line is (?:the program's|in your program)"), _is_own),
    (
        re.compile(
            r"the (?:failing )?line (?:in the traceback )?(?:lies in|belongs to) an? "
            r"(?:installed )?package(?:, or cannot be changed)?"
        ),
        _is_of_package,
    ),
    (_NAMES, _is_named),
    (_IS, _is_it),
    (_PROGRAM, _is_program),
    (_RELEASE, _is_release),
    (_BUILT, _is_built),
)
