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


def test_nothing_is_wrong_in_a_browser(tmp_path: Path) -> None:
    browser = next(filter(None, map(shutil.which, _BROWSERS)), None)
    npm, program = shutil.which("npm"), shutil.which("node")
    if not (browser and npm and program):
        missing("a browser, node and npm")
    subprocess.run(
        [npm, "install", "--silent", "--no-audit", "--no-fund", *_PACKAGES],
        cwd=tmp_path,
        check=True,
        capture_output=True,
    )
    assert generate.main(["site", str(tmp_path / "docs" / "site")]) == 0
    shutil.copy(ROOT / "mkdocs.yml", tmp_path)
    shutil.copytree(ROOT / "docs" / "theme", tmp_path / "docs" / "theme")
    subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet"], cwd=tmp_path, check=True
    )
    site = tmp_path / "build" / "site"
    report = site / "report.html"
    with report.open("wb") as file:
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
