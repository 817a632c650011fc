"""All pages of the site, by path."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping

from doctor.model.catalog import Catalog
from doctor.model.checks import Check
from doctor.model.vocabulary import FACTS
from doctor.site import checks as checking
from doctor.site import issues, tables
from doctor.site.markdown import between, code, grid, page, prose

_PAGES = (
    "api",
    "architecture",
    "benchmarks",
    "bisect",
    "cargo",
    "fleet",
    "fleet-engines",
    "ci",
    "environments",
    "files",
    "fix",
    "glossary",
    "gpu-day",
    "judging",
    "logs",
    "masking",
    "mcp",
    "paste",
    "plan",
    "processes",
    "reports",
    "settings",
    "slow-tests",
    "static-check",
    "plans",
    "timelines",
    "blind-trial",
)
_DECISIONS = (
    "0001-stages-apart",
    "0002-facts-with-three-states",
    "0003-tables-become-facts",
    "0004-patterns-without-backtracking",
    "0005-fork-server",
    "0006-one-process-per-device",
    "0007-supervisor",
    "0008-reuse-of-passed-checks",
    "0009-cargo-resolution",
    "0010-link-with-built-candle",
    "0011-certain-predictions",
    "0012-names",
    "0013-own-readers",
    "0014-interrupted-runs-report",
    "0015-suppressions-expire",
    "0016-typer",
    "0017-weights",
    "0018-fixes-are-sequences",
    "0019-mechanisms-before-stories",
)

COPIES = {
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "checks/README.md": "check-scripts.md",
    "docs/paste/doctor.js": "paste/doctor.js",
    "docs/paste/page.js": "paste/page.js",
    "docs/paste/stand_ins.py": "paste/stand_ins.py",
    "docs/paste/worker.js": "paste/worker.js",
    "docs/site.css": "site.css",
    "docs/site.js": "site.js",
    "docs/terminal-live.svg": "terminal-live.svg",
    "docs/terminal.svg": "terminal.svg",
    "docs/decisions/README.md": "decisions/index.md",
    "fixtures/cases/README.md": "cases.md",
    "pytest-plugin/README.md": "pytest-plugin.md",
    **{f"docs/{name}.md": f"{name}.md" for name in _PAGES},
    **{f"docs/decisions/{name}.md": f"decisions/{name}.md" for name in _DECISIONS},
}
"""Files of the repository that are part of the site, and where they stand in it."""

_PLACES = {**COPIES, "doctor/model/vocabulary/__init__.py": "facts.md"}
_LINK = re.compile(r"(!?)\[([^\]\n]{0,500})\]\((?!\w+:|#)([^)#\s]{1,500})(#[^)\s]{0,200})?\)")


def site(catalog: Catalog, checks: Mapping[str, Check], texts: Mapping[str, str]) -> dict[str, str]:
    """Return every page by its path in the site.

    `texts` are the files of `COPIES` by their path in the repository.
    """
    pages = {
        COPIES[name]: text
        if name.endswith((".css", ".js", ".py", ".svg"))
        else relinked(name, text)
        for name, text in texts.items()
    }
    pages |= {issues.path(id_): issues.issue_page(id_, catalog, checks) for id_ in catalog.issues}
    pages |= issues.component_pages(catalog)
    pages |= {
        checking.path(id_): checking.check_page(check, catalog) for id_, check in checks.items()
    }
    pages |= {tables.path(id_): tables.table_page(table) for id_, table in catalog.tables.items()}
    return {
        **pages,
        "checks/index.md": checking.index(checks),
        "tables/index.md": tables.index(catalog),
        "facts.md": _facts(),
    }


def relinked(name: str, text: str) -> str:
    """Point the links of a file at pages of the site.

    What the site does not hold is named without a link.
    """

    def point(found: re.Match[str]) -> str:
        target = _PLACES.get(posixpath.normpath(posixpath.join(posixpath.dirname(name), found[3])))
        if target is None:
            return found[2]
        return f"{found[1]}[{found[2]}]({between(COPIES[name], target)}{found[4] or ''})"

    return _LINK.sub(point, text)


def _facts() -> str:
    told = (
        "Names for the conditions of known issues. `*` stands for a name from the environment, "
        "such as that of a package."
    )
    return page(
        "Facts",
        [
            told,
            grid(("fact", "meaning"), [(code(name), prose(FACTS[name])) for name in sorted(FACTS)]),
        ],
    )
