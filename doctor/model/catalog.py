"""The whole of what is known, loaded."""

from __future__ import annotations

import msgspec

from doctor.model.compat import Table
from doctor.model.issues import KnownIssue


class Catalog(msgspec.Struct, frozen=True, kw_only=True):
    """Known issues and compatibility tables by id.

    `digest` names this very content, `newest_source` is an ISO date.
    """

    issues: dict[str, KnownIssue]
    tables: dict[str, Table]
    digest: str
    newest_source: str
