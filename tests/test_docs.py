"""The documentation keeps up with the code: what is not documented fails here."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import stepscope
from stepscope.store import schema
from support.commands import command_names

_ROOT = Path(__file__).parents[1]
_COMMANDS = command_names()
_ROOMS = sorted(
    place.name for place in Path(stepscope.__file__).parent.iterdir() if place.is_dir() and place.name.isidentifier()
)


def _page(name: str) -> str:
    return (_ROOT / name).read_text("utf-8")


def test_the_reference_of_the_tables_is_that_of_the_schema() -> None:
    assert _page("docs/schema.md") == schema.documentation(), "run `make docs`"


@pytest.mark.parametrize("page", ["README.md", "README.zh-CN.md"])
@pytest.mark.parametrize("command", _COMMANDS)
def test_every_command_is_shown(page: str, command: str) -> None:
    assert re.search(rf"\bstepscope {re.escape(command)}\b|`{re.escape(command)}`", _page(page))


@pytest.mark.parametrize("room", [room for room in _ROOMS if not room.startswith("__")])
def test_every_room_is_on_the_map(room: str) -> None:
    assert f"`{room}/`" in _page("docs/architecture.md")


def test_the_pages_in_both_languages_show_the_same_commands() -> None:
    def shown(page: str) -> list[str]:
        blocks = re.findall(r"^```(?:\w*)\n(.*?)^```", _page(page), re.MULTILINE | re.DOTALL)
        return [command for block in blocks for command in re.findall(r"\bstepscope ([a-z-]+)\b", block)]

    assert shown("README.md") == shown("README.zh-CN.md")
    unknown = set(shown("README.md")) - set(_COMMANDS) - {"import"}
    assert unknown == set(), "a command is shown that does not exist"


@pytest.mark.parametrize("page", ["docs/capture/parameters.md", "docs/capture/parameters.zh-CN.md"])
def test_every_parameter_and_key_of_the_config_is_documented(page: str) -> None:
    from stepscope.profiler.dynamic.config import DEFAULTS, NEXT_STEPS, REQUEST
    from stepscope.profiler.settings.profile_settings import Settings

    named = {*vars(Settings()), *DEFAULTS, NEXT_STEPS, REQUEST, "limits", "all"}
    assert [name for name in sorted(named) if f"`{name}`" not in _page(page)] == []


@pytest.mark.parametrize("page", sorted(path.name for path in (_ROOT / "docs/capture").glob("*[!N].md")))
def test_pages_on_recording_are_there_in_both_languages_with_the_same_tables(page: str) -> None:
    def tables(name: str) -> list[int]:
        return [line.count("|") for line in _page(f"docs/capture/{name}").splitlines() if line.startswith("|")]

    assert tables(page) == tables(page.replace(".md", ".zh-CN.md"))


_LINKING = sorted(
    str(path.relative_to(_ROOT))
    for folder in (
        "",
        "docs/",
        "docs/capture/",
        "docs/metrics/",
        "examples/",
        "benchmarks/",
        "benchmarks/planted/",
        "tests/recordings/",
        "web/",
    )
    for path in _ROOT.glob(f"{folder}*.md")
)


def _anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", page.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", _LINKING)
def test_links_to_files_and_headings_lead_somewhere(page: str) -> None:
    for target, anchor in re.findall(r"\]\((?!\w+:)([^)#\s]*)(?:#([^)\s]+))?\)", _page(page)):
        linked = (_ROOT / page).parent / target if target else _ROOT / page
        assert linked.exists(), target
        if anchor and linked.suffix == ".md":
            assert anchor in _anchors(linked), f"{target}#{anchor}"


def test_the_simulator_is_documented_whole() -> None:
    """Each fault, look-alike, scenario and setting has its word on the page."""
    from stepscope.simulate.faults.registry import kinds
    from stepscope.simulate.look_alikes import LOOK_ALIKES
    from stepscope.simulate.scenario import FaultEntry, Scenario
    from stepscope.simulate.scenario_files import names
    from stepscope.simulate.writing import FORMATS

    page = _page("docs/simulate.md")
    parts: list[Any] = [Scenario, FaultEntry, *(type(value) for value in _defaults_of(Scenario))]
    settings = {field for part in parts for field in part.__struct_fields__} - {"faults", "look_alikes"}
    words = {*kinds(), *LOOK_ALIKES, *names(), *FORMATS, *settings}
    assert (
        sorted(word for word in words if not re.search(rf"[`\[]{re.escape(word)}[`\]]|\b{re.escape(word)}\b", page))
        == []
    )
    causes = {cause for kind in kinds().values() for cause in kind.causes if cause}
    assert sorted(cause for cause in causes if cause not in page) == []


def _defaults_of(structure: type) -> list[object]:
    """Default values of a structure's fields that are structures themselves."""
    import msgspec

    fields = msgspec.structs.fields(structure)
    return [field.default for field in fields if isinstance(field.default, msgspec.Struct)]
