"""A command as a line that can be pasted."""

from __future__ import annotations

import shutil
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from doctor.fixes.shell import Shell, line
from doctor.model.fixes import Command


@pytest.mark.parametrize(
    ("command", "home", "expected"),
    [
        (Command(argv=("pip", "install", "torch>=2.6")), "", "pip install 'torch>=2.6'"),
        (
            Command(argv=("make",), env={"MAX_JOBS": "4"}, cwd="/a b"),
            "",
            "cd '/a b' && MAX_JOBS=4 make",
        ),
        (
            Command(argv=(), env={"CUDA_HOME": "/usr/local/cuda"}),
            "",
            "export CUDA_HOME=/usr/local/cuda",
        ),
        (
            Command(argv=(), env={"LIBRARY_PATH": "/x:$LIBRARY_PATH"}),
            "",
            'export LIBRARY_PATH=/x:"$LIBRARY_PATH"',
        ),
        (
            Command(argv=(), env={"CUDA_HOME": "$CONDA_PREFIX"}),
            "",
            'export CUDA_HOME="$CONDA_PREFIX"',
        ),
        (
            Command(argv=("/home/al/v/bin/python", "/home/alx")),
            "/home/al",
            "$HOME/v/bin/python /home/alx",
        ),
        (
            Command(argv=("/home/al/my venv/bin/python",)),
            "/home/al",
            "\"$HOME\"'/my venv/bin/python'",
        ),
        (Command(argv=("$HOME/v/bin/python",)), "", '"$HOME"/v/bin/python'),
        (Command(argv=("usermod", "-aG", "video", "$USER")), "", 'usermod -aG video "$USER"'),
        (
            Command(argv=("sh", "-c", r"printf 'blacklist nouveau\n' > /etc/x")),
            "",
            "sh -c \"printf 'blacklist nouveau\\n' > /etc/x\"",
        ),
        (Command(argv=("echo", "it's $5")), "", """echo 'it'"'"'s $5'"""),
    ],
)
def test_lines_for_a_posix_shell(command: Command, home: str, expected: str) -> None:
    assert line(command, home=home) == expected


@pytest.mark.parametrize(
    ("command", "powershell", "cmd"),
    [
        (
            Command(argv=("py", "a b"), env={"A": "1"}),
            "$env:A = '1'; py 'a b'",
            'set "A=1" && py "a b"',
        ),
        (
            Command(argv=("python", "-m", "pip", "install", "torch>=2.3", "numpy<2")),
            "python -m pip install 'torch>=2.3' 'numpy<2'",
            'python -m pip install "torch>=2.3" "numpy<2"',
        ),
        (
            Command(argv=("C:\\a b\\python.exe", "-c", "import torch; print(1)")),
            "& 'C:\\a b\\python.exe' -c 'import torch; print(1)'",
            '"C:\\a b\\python.exe" -c "import torch; print(1)"',
        ),
        (Command(argv=("x", "it's", "$HOME")), "x 'it''s' '$HOME'", "x it's $HOME"),
        (Command(argv=("x", "-a.b", "-c:d")), "x '-a.b' '-c:d'", "x -a.b -c:d"),
        (Command(argv=("x", 'say "a&b"')), 'x --% "say \\"a&b\\""', 'x "say \\"a^&b\\""'),
        (
            Command(argv=("x", ""), cwd="C:\\p"),
            "Set-Location -LiteralPath 'C:\\p'; x '\"\"'",
            'cd /d "C:\\p" && x ""',
        ),
        (Command(argv=(), env={"X": "Y"}), "$env:X = 'Y'", 'set "X=Y"'),
    ],
)
def test_lines_for_windows(command: Command, powershell: str, cmd: str) -> None:
    assert line(command, Shell.POWERSHELL) == powershell
    assert line(command, Shell.CMD) == cmd


@settings(max_examples=30, deadline=None)
@given(
    st.lists(
        st.text(st.characters(exclude_characters="\x00", codec="utf-8"), min_size=1),
        min_size=1,
        max_size=4,
    )
)
def test_a_shell_hears_what_was_said_and_runs_nothing_else(words: list[str]) -> None:
    harmless = [word for word in words if "$" not in word]
    said = line(Command(argv=("printf", "%s\\0", *harmless)))
    shell = shutil.which("sh")
    assert shell
    heard = subprocess.run([shell, "-c", said], capture_output=True, check=True).stdout
    assert heard.decode("utf-8").split("\0")[:-1] == (harmless or [""])


def test_other_dollars_are_not_expanded() -> None:
    assert line(Command(argv=("echo", "$(id) $SHELL `id`"))) == "echo '$(id) $SHELL `id`'"
