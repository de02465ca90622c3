"""One self-contained HTML file: template, style and script lie beside this module, the page's contents go in as JSON.

Nothing of a capture becomes markup: the script puts texts where they belong as texts, and the policy in the file's
head allows this very style and this very script alone, and no request.
"""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path

import msgspec

from stepscope.report.html.sections import Page

_HERE = Path(__file__).parent


def rendered(page: Page) -> str:
    """The file."""
    style, script = (_file(name) for name in ("report.css", "report.js"))
    # In JSON these characters stand in strings alone, where an escape means the same.
    data = msgspec.json.encode(page).decode().replace("<", "\\u003c").replace("\u2028", "\\u2028")
    return (
        _file("template.html")
        .replace("%LANG%", page.lang)
        .replace("%STYLE_HASH%", _hash(style))
        .replace("%SCRIPT_HASH%", _hash(script))
        .replace("%STYLE%", style)
        .replace("%SCRIPT%", script)
        .replace("%DATA%", data)
    )


def _file(name: str) -> str:
    return (_HERE / name).read_text("utf-8")


def _hash(content: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
