"""The HTML reports and the site in a real browser: on a desk, on a phone, in the dark, by keyboard.

axe-core looks for what shuts people out (https://github.com/dequelabs/axe-core). DOCTOR_PICTURES
names a folder for screenshots.
"""

from __future__ import annotations

import contextlib
import functools
import http.server
import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from doctor.model.fleet import NodeAnswer, NodeState
from doctor.report.fleet import html as fleet_html
from doctor.site import generate
from integrations import browser_runtime
from tests.conftest import missing
from tests.fleet.reports import answered, gpus, merged, report
from tests.promises.sources import ROOT

pytestmark = pytest.mark.dear

_PACKAGES = ("playwright-core@1.65.1", "axe-core@4.14.1")
_BROWSERS = ("chromium", "chromium-browser", "google-chrome")
_PAGES = (
    "",
    "issues/",
    "issues/torch/",
    "issues/torchvision/other-torch/",
    "ci/",
    "paste/",
    "?search=operator%20torchvision%20nms%20does%20not%20exist",
)


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        """Print nothing."""


@contextlib.contextmanager
def _served(folder: Path) -> Iterator[str]:
    handler = functools.partial(_Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("localhost", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://localhost:{server.server_address[1]}/"
        server.shutdown()


def _fleet() -> str:
    """Return the page of a fleet in which one node differs, and one does not answer."""
    equal = [
        answered(f"gpu{number:03}", report(facts={"nvidia.gpus": gpus(8, number)}))
        for number in range(1, 40)
    ]
    odd = answered("gpu041", report(facts={"nvidia.driver_version": "570.86.15"}))
    silent = NodeAnswer(name="gpu042", state=NodeState.SILENT, reason="No answer in time")
    return fleet_html.render(merged(*equal, odd, silent))


def _installed(folder: Path) -> tuple[str, str]:
    """Bring the packages of npm into a folder; return the browser and node."""
    browser = next(filter(None, map(shutil.which, _BROWSERS)), None)
    npm, program = shutil.which("npm"), shutil.which("node")
    if not (browser and npm and program):
        missing("a browser, node and npm")
    subprocess.run(
        [npm, "install", "--silent", "--no-audit", "--no-fund", *_PACKAGES],
        cwd=folder,
        check=True,
        capture_output=True,
    )
    return browser, program


def _built(folder: Path, *, runtime: bool = False) -> Path:
    """Return the folder of the built site; `runtime` is what the page for a pasted error loads."""
    pages = folder / "docs" / "site"
    assert generate.main(["site", str(pages)]) == 0
    if runtime:
        browser_runtime.bring(pages / "paste")
    shutil.copy(ROOT / "mkdocs.yml", folder)
    shutil.copytree(ROOT / "docs" / "theme", folder / "docs" / "theme")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet"]
    subprocess.run(command, cwd=folder, check=True)
    return folder / "build" / "site"


def test_nothing_is_wrong_in_a_browser(tmp_path: Path) -> None:
    browser, program = _installed(tmp_path)
    site = _built(tmp_path)
    with (site / "report.html").open("wb") as file:
        demo = [sys.executable, "-m", "doctor", "demo", "--format", "html"]
        subprocess.run(demo, stdout=file, check=True)
    (site / "fleet.html").write_text(_fleet(), encoding="utf-8")
    pictures = os.environ.get("DOCTOR_PICTURES", "-")
    with _served(site) as address:
        pages = [address + page for page in ("report.html", "fleet.html", *_PAGES)]
        ran = subprocess.run(
            [program, str(ROOT / "tests" / "site" / "browser.mjs"), browser, pictures, *pages],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
            timeout=900,
        )
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout) == []


def test_a_pasted_error_is_explained_without_a_server(tmp_path: Path) -> None:
    browser, program = _installed(tmp_path)
    site = _built(tmp_path, runtime=True)
    texts = ("RuntimeError: operator torchvision::nms does not exist", "hello")
    with _served(site) as address:
        ran = subprocess.run(
            [program, str(ROOT / "tests/site/paste.mjs"), browser, f"{address}paste/", *texts],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
            timeout=590,
        )
    assert ran.returncode == 0, ran.stderr
    told = json.loads(ran.stdout)
    assert told["elsewhere"] == []
    known, unknown = told["answers"]
    assert known["summary"] == "1 finding."
    assert "torchvision/other-torch" in known["report"]
    assert "pip install --upgrade torch torchvision" in known["report"]
    assert unknown["summary"] == "Nothing recognised."
