"""How the user's own program ended."""

from __future__ import annotations

import msgspec

from doctor.base.text import one_line
from doctor.repair.failures import telling


class Ending(msgspec.Struct, frozen=True, kw_only=True):
    """How the user's own program ended; `code` is None where it did not end by itself.

    `command` is its command line, perhaps cut.
    """

    code: int | None
    text: str = ""
    command: str = ""

    @property
    def ok(self) -> bool:
        """Return whether the program ended well."""
        return self.code == 0

    @property
    def words(self) -> str:
        """Return how it ended."""
        return "does not end" if self.code is None else f"ends with exit code {self.code}"

    @property
    def last_line(self) -> str:
        """Return the last line that the program wrote, empty where it wrote none."""
        lines = telling([line for line in self.text.splitlines() if line.strip()])
        return one_line(lines[-1], 300) if lines else ""

    def words_beside(self, before: Ending | None) -> str:
        """Return how the program ended before the plan and afterwards."""
        was = "did not end" if before is None or before.code is None else f"{before.code}"
        return f"exit code of `{self.command}`: {was} before, {self.code} afterwards"
