"""Explain what OpenCV reports of pictures, Python of texts and windows, git of what it fetches."""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.analyzers.case import Case, Explanation, Precision
from doctor.analyzers.recipes import LINUX, code, command, variables
from doctor.analyzers.texts import Text, explained
from doctor.model.events import Event
from doctor.model.issues import Action, Recipe
from doctor.model.scales import Severity

_SOUND = " The installation is sound."
_OF_OPENCV = ("picture-empty", "picture-channels", "picture-window")


def explain(case: Case) -> Iterator[Explanation]:
    """Yield what is wrong with a picture, a text, a window or a download."""
    known = {event.at for event in case.of(*_OF_OPENCV)}
    table = _TABLE
    if (text := _not_utf8(case)) is not None:
        table = {**table, "text-encoding": text}
    for one in explained(case, table):
        if one.event.kind == "picture-check" and one.event.at in known:
            continue
        if one.event.kind != "server-refuses" or not _asked_for_a_wheel(case, one.event):
            yield one


_WHEEL = "urlretrieve(wheel_url"
"""How the setup.py of flash-attn, mamba-ssm and causal-conv1d asks whether a ready wheel exists."""
_LONGEST_TRACE = 60


def _asked_for_a_wheel(case: Case, event: Event) -> bool:
    """Say whether a setup.py looked for a ready wheel; without one it compiles."""
    near = case.log.lines[max(0, event.at - _LONGEST_TRACE) : event.at]
    return any(_WHEEL in line[:600] for line in near)


_NOT_UTF8 = re.compile(
    r"'utf-?8' codec can't decode bytes? (?:0x(?P<byte>[0-9a-fA-F]{2}) )?"
    r"in position (?P<at>\d{1,12})"
)
_FIRST = "Python took the bytes for UTF-8, and they are none. "


def _not_utf8(case: Case) -> Text | None:
    """Return what the first byte says that is no UTF-8: another encoding, or no text at all."""
    found = next(
        (match for one in case.of("text-encoding") if (match := _NOT_UTF8.search(one.text))), None
    )
    if found is None:
        return None
    byte, start = (found["byte"] or "").lower(), int(found["at"]) == 0
    if start and byte in ("ff", "fe"):
        return Text(
            "The text file is in UTF-16, and is read as UTF-8",
            _FIRST + "It begins with the mark of UTF-16, which PowerShell writes with >.",
            (_AS_UTF8,),
            precision=Precision.EXACT,
        )
    if start and byte in ("80", "89", "8b"):
        return Text(
            "A binary file is read as if it were a text",
            _FIRST + "0x80 begins a file of pickle or torch, 0x89 a picture (PNG).",
            (_BINARY, _SEE_THE_FILE),
            precision=Precision.EXACT,
        )
    return Text(
        "The file that is read is not in UTF-8",
        _FIRST + "It was saved in the encoding of a system (GBK, Windows-1252, Shift-JIS), it is a "
        "binary file, or it is damaged. Switching Python to UTF-8 changes nothing: it reads UTF-8 "
        "already.",
        (_OTHER_ENCODING, _AS_UTF8),
        precision=Precision.EXACT,
    )


_AS_UTF8 = command(
    "Write the file anew in UTF-8",
    *("{python.executable}", "-c"),
    "import pathlib, sys; p = pathlib.Path(sys.argv[1]); "
    "p.write_text(p.read_text(encoding=sys.argv[2]), encoding='utf-8')",
    *("<file>", "<encoding>"),
    ask={
        "file": "the file that the program reads there; keep a copy of it",
        "encoding": "what it is in: utf-16, gbk, cp1252 or shift_jis",
    },
)
_OTHER_ENCODING = code(
    "Name the encoding that the file is in",
    "the call of open() or read_csv() in the traceback",
    'open(path, encoding="gbk")',
    before="open(path)",
    note="gbk for Chinese, cp1252 for western Windows, shift_jis for Japanese; latin-1 takes any "
    "bytes. A checkpoint or a picture is no text: look at the path that is opened.",
)
_BINARY = code(
    "Open it as bytes, or hand in the path of the text file",
    "the call of open() in the traceback",
    'open(path, "rb")',
    before="open(path)",
    note="A checkpoint is loaded with torch.load(path). Often the option for a list or a config "
    "was given the weights.",
)
_SEE_THE_FILE = command(
    "See what the file is",
    *("{python.executable}", "-c", "import sys; print(open(sys.argv[1], 'rb').read(64))"),
    "<file>",
    ask={"file": "the file that the program reads there"},
    look=True,
)

_TABLE: dict[str, Text] = {
    "picture-empty": Text(
        "OpenCV got an empty picture: it was not read before {function}()",
        "imread() and read() give None, without an error, for a file that is not there or cannot "
        "be "
        "read (a wrong path, letters of another script in it on Windows, a damaged file), for a "
        "video past its end, and for a camera that is busy or has another number." + _SOUND,
        (
            code(
                "Check what was read",
                "behind imread() or read()",
                "import os\nassert image is not None, os.path.abspath(path)\n"
                "ok, frame = video.read()\nif not ok:\n    break",
                before="image = cv2.imread(path)",
            ),
        ),
        precision=Precision.EXACT,
    ),
    "picture-channels": Text(
        "OpenCV's {function}() wants a picture of other channels or another type: {said}",
        "The picture is grey where colours are wanted, has an alpha channel (PNG), or is of floats."
        + _SOUND,
        (
            code(
                "Read it as three channels of bytes",
                "where the picture is read",
                "image = cv2.imread(path, cv2.IMREAD_COLOR)",
                before="image = cv2.imread(path, cv2.IMREAD_UNCHANGED)",
                note="A grey one gets colours with cv2.cvtColor(image, cv2.COLOR_GRAY2BGR), and "
                "floats from 0 to 1 bytes with (image * 255).astype('uint8').",
            ),
        ),
        precision=Precision.EXACT,
    ),
    "picture-check": Text(
        (
            "OpenCV's {function}() refuses what it was given: {said}",
            "OpenCV's {function}() refuses what it was given",
        ),
        "It is a check of OpenCV on the arguments. Common causes are points or sizes that are no "
        "whole numbers, an array that is not contiguous, and a picture of floats." + _SOUND,
        (
            code(
                "Hand in whole numbers, and a contiguous array of bytes",
                "the call that stands last in the traceback",
                "point = (int(x), int(y))\nimage = np.ascontiguousarray(image, dtype=np.uint8)",
            ),
        ),
    ),
    "picture-window": Text(
        "This OpenCV is built without windows",
        "opencv-python-headless has no imshow(). Where it is installed beside opencv-python, one "
        "overwrites the other.",
        (
            Recipe(
                title="Keep one OpenCV, with windows",
                steps=(
                    Action(uninstall=("opencv-python-headless", "opencv-python")),
                    Action(install=("opencv-python",)),
                ),
            ),
            code(
                "Write the picture to a file, where there is no screen",
                "the call of imshow()",
                'cv2.imwrite("result.png", image)',
                before='cv2.imshow("result", image)',
            ),
        ),
        severity=Severity.ERROR,
        precision=Precision.EXACT,
    ),
    "text-encoding": Text(
        "Python reads or writes a text in {codec}, which it is not in",
        "open() and print() take the encoding of the system unless one is named: gbk, cp949 or "
        "cp1252 on Windows, ASCII where a container sets no language. The text is in UTF-8, or is "
        "no text at all (a checkpoint, a picture).",
        (
            variables(
                "Let Python take UTF-8",
                {"PYTHONUTF8": "1"},
                note="It counts for setup.py and pip too.",
            ),
            code(
                "Name the encoding",
                "the call of open() in the traceback",
                'open(path, encoding="utf-8")',
                before="open(path)",
            ),
        ),
        precision=Precision.EXACT,
    ),
    "display-missing": Text(
        "The program opens a window, and there is no screen",
        "A server, a container or an SSH session has no display.",
        (
            variables(
                "Let matplotlib draw into files",
                {"MPLBACKEND": "Agg"},
                use_if=("matplotlib opens the window",),
            ),
            command(
                "Run the program under a virtual display",
                "xvfb-run",
                "-a",
                "{python.executable}",
                "<program>",
                use_if=(LINUX,),
                ask={"program": "the program, with its options"},
                note="The package xvfb brings it.",
            ),
        ),
        precision=Precision.EXACT,
    ),
    "server-refuses": Text(
        "The server refuses the download: {status} {said}",
        "404: the file moved, or the address is out of date. 403 and 429: the server wants another "
        "client or fewer requests. 5xx: the server itself fails. No installation changes that.",
        (
            code(
                "Download the file by hand, from the page that the project names today",
                "the program",
                "path = 'downloads/file'  # in place of the address",
                note="A newer release of the package mostly holds the new address.",
            ),
        ),
        precision=Precision.EXACT,
    ),
    "not-json-serializable": Text(
        "json cannot write a {type}",
        "It knows Python's own numbers, texts, lists and dicts alone; values of numpy and torch "
        "have to become such." + _SOUND,
        (
            code(
                "Turn it into a number of Python first",
                "the call of json.dump()",
                "json.dump(data, file, default=float)",
                before="json.dump(data, file)",
                note="Arrays: x.tolist(). A newer release of a package whose code writes it may do "
                "so.",
            ),
        ),
        precision=Precision.EXACT,
    ),
    "yaml-loader": Text(
        "yaml.load() wants a Loader since PyYAML 6",
        "The program was written for PyYAML 5, where it was optional.",
        (
            code(
                "Use the safe loader",
                "the line in the traceback",
                "yaml.safe_load(file)",
                before="yaml.load(file)",
            ),
            Recipe(
                title="Go back to PyYAML 5, where the code cannot be changed",
                steps=(Action(install=("pyyaml<6",)),),
                use_if=("Python is older than 3.12",),
            ),
        ),
        severity=Severity.ERROR,
        precision=Precision.EXACT,
    ),
    "clone-exists": Text(
        "git does not clone into {path}: the folder exists and is not empty",
        "An earlier try left it, or it was downloaded otherwise.",
        (
            command(
                "Bring the clone that is there up to date",
                *("git", "-C", "<folder>", "pull"),
                ask={"folder": "the folder that the message names"},
                use_if=("it is a clone of the same project",),
                note="Otherwise move it away, and clone again.",
            ),
        ),
        precision=Precision.EXACT,
    ),
    "fetch-broke-off": Text(
        "git's download broke off",
        "The connection was cut, by a proxy, a slow line or a large repository.",
        (
            command(
                "Clone the newest state alone",
                *("git", "clone", "--depth", "1", "<address>"),
                ask={"address": "the address of the repository"},
                note="A submodule: git submodule update --init --recursive --depth 1. Behind a "
                "proxy: git config --global http.proxy <address of the proxy>.",
            ),
        ),
        precision=Precision.EXACT,
        severity=Severity.ERROR,
    ),
}
