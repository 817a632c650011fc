"""Compiles the catalog into the wheel, so that a check reads data instead of parsing YAML."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CompiledCatalog(BuildHookInterface):  # type: ignore[type-arg]
    """Adds `catalog.msgpack` and the compiled reference tables to `doctor/_bundled/matrices`.

    An editable installation reads the YAML of the checkout instead.
    """

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile into a temporary folder: nothing is written into the checkout."""
        if version == "editable":
            return
        sys.path.insert(0, self.root)
        from doctor.catalog.loading import COMPILED, compiled, load_folder
        from doctor.catalog.reference import compiled_tables

        self._folder = tempfile.TemporaryDirectory(prefix="catalog-")
        matrices = Path(self.root) / "matrices"
        files = {COMPILED: compiled(load_folder(matrices)), **compiled_tables(matrices)}
        for name, data in files.items():
            path = Path(self._folder.name) / name
            path.write_bytes(data)
            build_data["force_include"][str(path)] = f"doctor/_bundled/matrices/{name}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove the temporary folder."""
        if version != "editable":
            self._folder.cleanup()
