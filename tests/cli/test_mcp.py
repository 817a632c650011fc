"""`doctor mcp`, asked by the client of the package mcp over standard input and output."""

from __future__ import annotations

import json
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from doctor.api import diagnose
from doctor.report.structured.digest import render
from tests.command import environment

_LOG = "ImportError: libcudart.so.12: cannot open shared object file: No such file or directory\n"


def _served(work: Callable[[Any], Awaitable[None]], folder: Path, *arguments: str) -> None:
    """Start the server as an agent does, and talk to it."""
    import anyio
    from mcp.client.client import Client
    from mcp.client.stdio import StdioServerParameters, stdio_client

    started = StdioServerParameters(
        command=sys.executable,
        args=["-m", "canary_doctor", "mcp", *arguments],
        env={**environment({}), "DOCTOR_CACHE_DIR": ""},
        cwd=folder,
    )

    async def talk() -> None:
        with anyio.fail_after(60):
            async with Client(stdio_client(started)) as client:
                await work(client)

    anyio.run(talk)


def _text(result: Any) -> str:
    (content,) = result.content
    return str(content.text)


def test_an_agent_gets_findings_explanations_and_errors_as_text(tmp_path: Path) -> None:
    async def work(client: Any) -> None:
        tools = (await client.list_tools()).tools
        assert {tool.name for tool in tools} == {"check", "diagnose", "explain", "plan"}
        assert all(tool.annotations.read_only_hint for tool in tools)

        answer = json.loads(_text(await client.call_tool("diagnose", {"log": _LOG})))
        assert answer["exit_code"] == 1
        assert "libcudart.so.12" in json.dumps(answer["findings"][0]["evidence"])
        assert answer["findings"][0]["fixes"][0]["steps"]

        known = answer["findings"][0]["id"]
        assert known in _text(await client.call_tool("explain", {"id": known}))

        for tool, arguments, why in (
            ("explain", {"id": "torch/no-kernal-image"}, "did you mean"),
            ("diagnose", {"log": " "}, "the log is empty"),
            ("diagnose", {"log": "x" * 2_000_001}, "2000001 bytes"),
            ("check", {"environment": "/bin/sh"}, "not among the environments"),
            ("plan", {"requirements": ["a @ https://example.org/a.whl"]}, "no address"),
            ("plan", {"requirements": ["--index-url=https://example.org"]}, "is no requirement"),
            ("check", {"canaries": False, "expect": ["a gpu"]}, "no device"),
        ):
            refused = await client.call_tool(tool, arguments)
            assert refused.is_error
            assert why in _text(refused)

        checked = await client.call_tool("check", {"canaries": False, "log": _LOG})
        assert not checked.is_error
        answer = json.loads(_text(checked))
        assert answer["targets"] == [sys.executable]
        assert known in {found["id"] for found in answer["findings"]}

    _served(work, tmp_path, "--python", sys.executable)
    assert list(tmp_path.iterdir()) == []


def test_a_report_of_any_size_is_cut_and_stays_json() -> None:
    lines = [f"ModuleNotFoundError: No module named 'module_{number}'" for number in range(200)]
    report = diagnose(text="\n".join(lines) + "\n" + _LOG * 100)
    text = render(report)
    assert len(text) <= 24_000
    assert json.loads(text)["findings"]


def test_without_the_package_the_command_names_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from doctor.base.errors import UsageError
    from doctor.cli.mcp import mcp

    monkeypatch.delitem(sys.modules, "doctor.cli.mcp_tools", raising=False)
    monkeypatch.setitem(sys.modules, "mcp.server.mcpserver", None)
    with pytest.raises(UsageError, match="extra"):
        mcp()
