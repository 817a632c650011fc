"""Lists of requirements: pip's files, and conda's environments.

The format is pip's: https://pip.pypa.io/en/stable/reference/requirements-file-format/.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.observe.manifests.pins import CONDA, Pin, Syntax, lines, pin_in

_ITEM = re.compile(r"\s*-\s+['\"]?(?:[\w./-]{1,100}::)?([^'\"#]{1,300})")
_PIP = re.compile(r"\s{0,80}-\s{1,20}pip\s{0,20}:\s{0,80}(?:#|$)")
_SECTION = re.compile(r"\[([^\]]{1,100})\]")
_SETTING = re.compile(r"([\w.-]{1,100})\s{0,20}[=:](.*)")
_KEY = re.compile(r"([\w-]{1,40})\s*:")


def requirements(text: str) -> Iterator[Pin]:
    """Yield what a file of requirements or constraints asks for.

    Options and what it includes are left out.
    """
    for number, line, start in lines(text):
        wanted = line.lstrip()
        for option in ("-e ", "--editable "):
            wanted = wanted.removeprefix(option)
        begin = start + len(line) - len(wanted)
        if wanted and wanted[0] not in "#-" and (pin := pin_in(wanted, number, begin)):
            yield pin


def environment(text: str) -> Iterator[Pin]:
    """Yield what stands under `dependencies:` of a conda environment, pip's part included.

    Channels have the names of packages too.
    """
    key, pip = "", -1
    for number, line, start in lines(text):
        if found := _KEY.match(line):
            key = found[1]
        if key != "dependencies":
            continue
        indent = len(line) - len(line.lstrip())
        if _PIP.match(line):
            pip = indent
            continue
        if pip >= indent:
            pip = -1
        syntax = Syntax.CONDA if pip < 0 else Syntax.PYTHON
        item = _ITEM.match(line)
        if item and (pin := pin_in(item[1], number, start + item.start(1), syntax)):
            yield pin._replace(name=CONDA.get(pin.name, pin.name))


def setup_cfg(text: str) -> Iterator[Pin]:
    """Yield what the lists of setuptools' setup.cfg ask for, one requirement a line or after `;`.

    https://setuptools.pypa.io/en/latest/userguide/declarative_config.html
    """
    section, key = "", ""
    for number, line, start in lines(text):
        if found := _SECTION.match(line):
            section, key = found[1], ""
            continue
        value, begin = line, start
        if line[:1].strip() and (setting := _SETTING.match(line)):
            key, value, begin = setting[1], setting[2], start + setting.start(2)
        listed = section == "options.extras_require" or (
            section == "options" and key == "install_requires"
        )
        if not key or not listed or value.lstrip()[:1] in ("#", ";"):
            continue
        # After `;` stands a marker, or the next requirement.
        end = 0
        for part in value.split(";"):
            if pin := pin_in(part, number, begin + end):
                yield pin
            end += len(part) + 1
