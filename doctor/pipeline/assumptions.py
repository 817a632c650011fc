"""Facts that somebody declares in place of observed ones: `--assume gpu=sm_90,driver=535.104`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from doctor.base.errors import UsageError

_DRIVER = re.compile(r"[0-9]{2,4}(\.[0-9]{1,4}){0,2}")


def parse_assumptions(texts: Sequence[str]) -> Mapping[str, Any]:
    """Return the facts that `gpu=sm_90` and `driver=535.104` declare; commas separate several.

    Raises UsageError for anything else.
    """
    facts: dict[str, Any] = {}
    for item in (part.strip() for text in texts for part in text.split(",")):
        key, _, value = item.partition("=")
        digits = value.removeprefix("sm_").rstrip("af")
        if key == "gpu" and digits.isdigit() and len(digits) >= 2:
            facts["nvidia.capabilities"] = [
                *facts.get("nvidia.capabilities", []),
                f"{digits[:-1]}.{digits[-1]}",
            ]
            facts["gpu.declared"] = True
        elif key == "driver" and _DRIVER.fullmatch(value):
            facts["nvidia.driver_version"] = value
        else:
            raise UsageError(f"--assume {item}: say gpu=sm_90 or driver=535.104")
    return facts
