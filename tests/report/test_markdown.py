"""The Markdown report, as a reader of Markdown takes it."""

from __future__ import annotations

import re
import time
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from markdown_it import MarkdownIt
from markdown_it.token import Token

from doctor.logs.environment import environment_facts
from doctor.model.facts import Fact, State, absent, present, unknown
from doctor.model.findings import Place, Suppression
from doctor.model.fixes import Command, Fix, Step
from doctor.model.report import Report
from doctor.model.scales import Severity
from doctor.pipeline.assess import assess
from doctor.pipeline.snapshots import read_observation
from doctor.report.markdown import document as markdown
from doctor.site import generate
from tests import toy
from tests.report import reports
from tests.report.hostile import all_of
from tests.report.test_terminal_hostile import texts

HEALTHY = Path(__file__).parents[2] / "fixtures" / "observations" / "healthy-without-gpu.json"
OURS = re.compile(r"</?(details|summary|code|sub|span)>")
TRICKS = (
    "[x](https://evil.example)",
    "![x](https://evil.example/p.png)",
    "<img src=x onerror=alert(1)>",
    "</details><script>alert(1)</script>",
    "<!-- x",
    "@torvalds and @org/team",
    "fixes #1, GH-2, pytorch/pytorch#3, !4",
    "https://evil.example www.evil.example ada@evil.example",
    ":warning: :b:",
    "costs $1$ or $HOME and $PATH",
    "```\nout of the fence\n```",
    "`````` x `a` ``b``",
    "~~~",
    "a | b || c \\| d",
    "# heading\n## heading",
    "- item\n* item\n1. item",
    "> quote\n> [!CAUTION]",
    "===\n---\n***",
    "**bold** _it_ ~~gone~~ \\*not\\*",
    "[^1] [ref]: https://evil.example",
    "&lt;b&gt; &#64;ada &commat;ada",
    "    indented",
)


def parsed(text: str) -> list[Token]:
    """Read Markdown as GitHub does, tables and inline HTML included."""
    return MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).parse(text)


def inlines(tokens: list[Token]) -> list[Token]:
    """Return what stands inside of paragraphs, headings and cells."""
    return [child for token in tokens for child in token.children or ()]


class _Words(HTMLParser):
    """Collects the text that a site looks at for mentions.

    What stands neither in code nor in a link.
    """

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []
        self._within: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._within.append(tag)

    def handle_endtag(self, tag: str) -> None:
        self._within.remove(tag)

    def handle_data(self, data: str) -> None:
        if not {"code", "pre", "a"} & set(self._within):
            self.texts.append(data)


def words_of(text: str) -> list[str]:
    """Return the pieces of text that a site would search for names, numbers and addresses."""
    reader = _Words()
    reader.feed(
        MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).render(text)
    )
    return reader.texts


def demo() -> Report:
    """Judge the recording of a sick machine with a toy catalog."""
    return assess(read_observation(generate.RECORDING), toy.catalog())


def test_a_sick_report_has_its_findings_with_evidence_and_commands() -> None:
    tokens = parsed(markdown.render(reports.sick()))
    headings = [
        tokens[place + 1].content
        for place, token in enumerate(tokens)
        if token.type == "heading_open"
    ]
    assert headings[0] == "canary-doctor: 1 error, 1 warning, 2 notes"
    assert "❌ error: toyvision was built for another torch" in headings
    fences = {token.info: token.content for token in reversed(tokens) if token.type == "fence"}
    assert "uv pip install" in fences["sh"] or "apt-get install" in fences["sh"]
    assert "- boxes = toyvision.nms(boxes)" in fences["diff"]
    texts_seen = [
        token.content for token in tokens if token.type == "fence" and token.info == "text"
    ]
    assert any(
        "RuntimeError: operator toyvision::nms does not exist  (train.log:41)" in text
        for text in texts_seen
    )
    assert any("the end" in text and "lines before" in text for text in texts_seen)


def test_the_checks_are_a_table() -> None:
    tokens = parsed(markdown.render(reports.sick()))
    rows = [token for token in tokens if token.type == "tr_open"]
    cells = [token.content for token in inlines(tokens)]
    assert len(rows) >= 7
    assert any("crashed by SIGSEGV: no result; signal 11" in cell for cell in cells)


@pytest.mark.parametrize("name", reports.REPORTS)
def test_folds_are_closed_and_nothing_but_our_html_stands_there(name: str) -> None:
    text = markdown.render(reports.REPORTS[name]())
    tokens = parsed(text)
    blocks = [token.content for token in tokens if token.type == "html_block"]
    assert (
        sum("<details>" in block for block in blocks)
        == sum("</details>" in block for block in blocks)
        > 0
    )
    assert all(
        OURS.match(token.content) for token in inlines(tokens) if token.type == "html_inline"
    )
    assert text.endswith("\n")


@pytest.mark.parametrize("trick", TRICKS)
def test_no_text_becomes_markup_a_mention_a_reference_or_an_address(trick: str) -> None:
    text = markdown.render(all_of(trick))
    tokens = parsed(text)
    plain = parsed(markdown.render(all_of("word")))
    assert [(token.type, token.tag) for token in tokens] == [
        (token.type, token.tag) for token in plain
    ]
    html = [token.content for token in tokens if token.type == "html_block"] + [
        token.content for token in inlines(tokens) if token.type == "html_inline"
    ]
    assert all(
        set(re.findall(r"<[^>]*>", piece)) <= {match[0] for match in OURS.finditer(piece)}
        for piece in html
    )
    assert {token.type for token in inlines(tokens)} & {
        "image",
        "link_open",
        "s_open",
        "heading_open",
    } == set()
    for piece in words_of(text):
        assert not re.search(r"@\w|[#!]\d|GH-\d|:[\w+-]+:|://|www\.|\$.*\$", piece)


def test_what_stands_in_backticks_is_code_and_the_rest_is_as_it_was() -> None:
    told = reports.wrong_torch(message="Set `PATH` to `a|b`, not __init__ or x86_64 at 5 * 3.")
    text = markdown.render(reports.report(told))
    assert {"PATH", "a|b"} <= {
        token.content for token in inlines(parsed(text)) if token.type == "code_inline"
    }
    assert any("not __init__ or x86_64 at 5 * 3." in piece for piece in words_of(text))


def test_a_fence_is_longer_than_any_run_of_backticks_within() -> None:
    nasty = "echo ``````x"
    fix = Fix(
        kind="set-env",
        title="Run it",
        steps=(Step(command=Command(argv=("echo", nasty))),),
        verify=Command(argv=("```",)),
    )
    text = markdown.render(reports.report(reports.wrong_torch(fixes=(fix,))))
    contents = [token.content for token in parsed(text) if token.type == "fence"]
    assert f"echo '{nasty}'\n" in contents
    assert "'```'\n" in contents


def test_a_reference_into_github_is_a_link_that_leaves_no_trace_there() -> None:
    addresses = ("https://github.com/pytorch/vision/issues/8985", "https://x.example/a?b=1&c=2")
    tokens = inlines(
        parsed(markdown.render(reports.report(reports.wrong_torch(references=addresses))))
    )
    links = [dict(token.attrs)["href"] for token in tokens if token.type == "link_open"]
    assert links == [
        "https://redirect.github.com/pytorch/vision/issues/8985",
        "https://x.example/a?b=1&c=2",
    ]


@pytest.mark.parametrize(
    "address", ["javascript:alert(1)", "https://x.example/> <b>", "data:text/html,x", "//x.example"]
)
def test_only_addresses_of_the_web_become_links(address: str) -> None:
    tokens = inlines(
        parsed(markdown.render(reports.report(reports.wrong_torch(references=(address,)))))
    )
    assert "link_open" not in {token.type for token in tokens}
    assert address in {token.content for token in tokens if token.type == "code_inline"}


def test_a_note_is_folded_and_what_is_suppressed_does_not_count() -> None:
    quiet = reports.wrong_torch(
        suppressed=Suppression(by="ignore", reason="we do not import it", until="2027-01-31")
    )
    placed = reports.lesser(
        Severity.NOTE,
        "toy/note",
        title="A small thing",
        place=Place(path="pyproject.toml", line=12),
    )
    text = markdown.render(reports.report(quiet, placed))
    assert "## canary-doctor: 1 note\n" in text
    assert "<summary>ℹ️ note: A small thing</summary>" in text
    assert "`pyproject.toml:12`" in text
    assert "(ignore, we do not import it, until 2027-01-31)" in text
    assert "uv pip install" not in text


@pytest.mark.parametrize("length", [10, 400])
def test_a_report_fits_into_an_issue_and_says_what_was_cut(length: int) -> None:
    many = tuple(
        reports.wrong_torch(id=f"toy/number-{number}", message="long " * length)
        for number in range(90)
    )
    text = markdown.render(reports.report(*many, outcomes=reports.PASSED))
    assert len(text) <= 65_536
    assert "`toy/number-0`" in text
    assert "**Cut to fit into an issue.** Left out: finding" in text
    assert "PyTorch version: 2.7.0+cu128" in text


def test_even_one_huge_text_in_every_place_fits() -> None:
    started = time.process_time()
    for piece in ("x", "`", "|", "@a ", ":b:", "\n", "$", "\\", "北", "_"):
        assert len(markdown.render(all_of(piece * 300_000))) <= 65_536
    assert time.process_time() - started < 20


@pytest.mark.parametrize(
    "text",
    ["::error file=x::y", "  ::set-output name=a::b", "x\n::stop-commands::t", "##[error]no"],
)
def test_no_line_is_a_command_to_the_runner_of_a_workflow(text: str) -> None:
    for line in markdown.render(all_of(text)).splitlines():
        assert not line.lstrip().startswith("::")
        assert "##[" not in line


@given(text=texts)
@settings(max_examples=150, deadline=None)
def test_whatever_comes_keeps_the_page_whole(text: str) -> None:
    shown = markdown.render(all_of(text))
    assert not re.search(
        r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u202a-\u202e\u2028\u2029\ud800-\udfff]", shown
    )
    kinds = [token.type for token in parsed(shown)]
    assert kinds.count("heading_open") == 4
    assert {token.type for token in inlines(parsed(shown))} & {"image", "link_open"} == set()


# The environment, read back.

_KINDLY = {"compiler.cxx_major", "compiler.cuda_host_major"}
"""Numbers here, text where they are read out of a report."""
_OWN = {"package.torch.installer"}
"""What a report of pip's packages makes a reader think."""


@pytest.mark.parametrize(
    "report",
    [
        demo,
        lambda: assess(read_observation(HEALTHY), toy.catalog()),
    ],
)
def test_the_environment_is_read_back_as_it_was_seen(report: Any) -> None:
    seen = report()
    facts = seen.observation.facts
    read = environment_facts(markdown.render(seen).split("\n"))
    names = (
        "torch.version",
        "torch.cuda_version",
        "python.version",
        "host.glibc",
        "host.wsl",
        "package.triton.version",
        "build.cmake",
    )
    assert [read[name].value for name in names] == [facts[name].value for name in names]
    assert read["nvidia.driver_version"].state is State.ABSENT
    for name, fact in read.items():
        if fact.state is State.PRESENT and name not in _OWN:
            assert (
                str(fact.value) == str(facts[name].value)
                if name in _KINDLY
                else fact.value == facts[name].value
            ), name


def test_gpus_and_conda_are_read_back() -> None:
    names = {"numpy": "2.1.0", "torch": "2.7.0"}
    seen = reports.facts(
        packages=names,
        host__kernel="6.8.0",
        **{"package.numpy.version": "2.1.0", "package.numpy.installer": "conda"},
    )
    text = markdown.render(reports.report(facts=seen))
    assert "GPU 1: NVIDIA H100 80GB HBM3" in text
    assert "[conda] numpy 2.1.0" in text
    read = environment_facts(text.split("\n"))
    assert (read["nvidia.gpu_count"].value, read["package.numpy.version"].value) == (2, "2.1.0")


_READ = (
    "torch.version",
    "torch.cuda_version",
    "torch.hip_version",
    "host.os",
    "host.glibc",
    "python.version",
    "nvidia.driver_version",
    "cuda.nvcc_version",
    "host.wsl",
    "torch.cuda_available",
    "compiler.cxx_version",
    "build.cmake",
    "nvidia.gpus",
)


@pytest.mark.parametrize("unseen", _READ)
@pytest.mark.parametrize("made", [unknown("nobody looked"), None], ids=["unknown", "never seen"])
def test_what_is_not_known_is_not_made_up(unseen: str, made: Fact | None) -> None:
    facts = {**demo().observation.facts, unseen: made or unknown("")}
    if made is None:
        del facts[unseen]
    read = environment_facts(markdown.render(reports.report(facts=facts)).split("\n"))
    named = {"nvidia.gpus": "nvidia.gpu_names"}.get(unseen, unseen)
    if unseen == "host.os":
        assert read["host.os"].value == "linux"  # the name of the distribution says as much
    else:
        assert named not in read or read[named].state is State.UNKNOWN


def test_a_kernel_that_does_not_say_so_is_that_of_wsl_all_the_same() -> None:
    facts = {
        "host.os": present("linux", "t"),
        "host.wsl": present(True, "t"),
        "torch.version": present("2.7.0", "t"),
        "torch.cuda_version": absent("t"),
    }
    assert (
        environment_facts(markdown.render(reports.report(facts=facts)).split("\n"))[
            "host.wsl"
        ].value
        is True
    )


def test_a_recording_and_an_interrupted_run_say_so() -> None:
    assert "**A recording**" in markdown.render(reports.sick())
    assert "**Interrupted**" in markdown.render(reports.cargo())
    nothing = msgspec.structs.replace(reports.empty(), exit_code=4)
    assert "Nothing to judge" in markdown.render(nothing)


def test_what_no_check_reached_is_said_where_nothing_is_found() -> None:
    text = markdown.render(reports.no_gpu())
    assert text.startswith("## canary-doctor: nothing found\n")
    assert text.index("no check ran on cuda") < text.index("### Checks")
