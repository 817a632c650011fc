"""A build backend that builds nothing.

It keeps the source that an installer has fetched and unpacked, so that setup.py is not run.
"""

import os
import shutil
import sys
from typing import Any


def keep(*_arguments: Any, **_settings: Any) -> None:
    """Stand in for every hook, and end it."""
    shutil.copytree(os.getcwd(), os.environ["CANARY_KEEP"])
    raise SystemExit("kept")


get_requires_for_build_wheel = prepare_metadata_for_build_wheel = build_wheel = keep
__legacy__ = sys.modules[__name__]
