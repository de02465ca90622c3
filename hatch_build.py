"""The build hook of the package: makes what ``build_steps`` knows how to make, and has it packed."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

# Hatchling loads this file by its path, so its neighbours are not found by themselves.
sys.path.insert(0, str(Path(__file__).parent))
from build_steps.page import add_page
from build_steps.scanner import add_scanner


class StepscopeBuildHook(BuildHookInterface):  # type: ignore[misc,type-arg,unused-ignore]
    """Puts the built page into wheel and sdist, and the compiled scanner into the wheel."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Make what is missing or old, and add it to what is packed."""
        editable = version == "editable"
        add_page(Path(self.root), build_data, editable=editable)
        if self.target_name == "wheel":
            add_scanner(Path(self.root), build_data, editable=editable)
