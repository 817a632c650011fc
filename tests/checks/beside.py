"""Import the modules beside the check scripts, to test what is pure in them."""

from __future__ import annotations

import importlib
import sys
from typing import Any

from tests.checks.trial import CHECKS


def module(name: str) -> Any:
    """Return a module of `checks/`, by the name that a script imports it under."""
    sys.path.insert(0, str(CHECKS))
    try:
        return importlib.import_module(name)
    finally:
        sys.path.remove(str(CHECKS))
