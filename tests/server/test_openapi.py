"""The OpenAPI document describes the whole surface, and nothing it allows makes the server fail."""

from __future__ import annotations

import json
import re
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from server.running import real_server, served
from stepscope.analysis.foundation.units import Count, Nanoseconds
from stepscope.questions import QUESTIONS
from stepscope.server.documentation import AnswerTypes
from support.limits import HANGS_AFTER_S
from support.mini_trace import write_capture, write_rank

_CHECKS = [not_a_server_error, content_type_conformance, response_schema_conformance, status_code_conformance]


_KNOWN: dict[str, list[Any]] = {
    "question": [*QUESTIONS, "nothing"],
    "field": ["free_us", "rank", "start_ns", "nothing"],
    "rank": [0, 1, 7],
    "slice": [0, 1, 2, 4_000_000_000],
    "number": [0, 1, 5, 4_000_000_000],
    "track": [0, 1, 2, 3, 4, 99],
    "block": [-1, 0, 1, 9],
    "query": ["SELECT * FROM slices", "SELECT rank, step FROM steps", "SELECT 1/0 AS x, NULL AS y", "DROP VIEW slices"],
}


def _narrow(holder: dict[str, Any], name: str, known: dict[str, list[Any]]) -> None:
    """Let a field take values that exist, a list of it too."""
    if name in known:
        part = holder["schema"]
        lists = [option for option in part.get("anyOf", [part]) if option.get("type") == "array"]
        for option in lists:
            option["items"] = {"enum": known[name]}
        if not lists:
            part.clear()
            part["enum"] = known[name]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    place = tmp_path_factory.mktemp("openapi")
    with real_server(str(write_capture(place / "capture", [0, 1])), "--store", str(place / "store")) as base:
        yield base


def _get(url: str) -> Any:
    with urllib.request.urlopen(url, timeout=HANGS_AFTER_S) as answer:
        return json.loads(answer.read())


@pytest.fixture(scope="module")
def api_schema(server: str) -> Any:
    """The document, with the ids of things that exist: random ones would only ever be unknown."""
    while not (runs := _get(f"{server}api/runs")["runs"]) or runs[0]["state"] != "ready":
        time.sleep(0.05)
    document = _get(f"{server}api/openapi.json")
    known = _KNOWN | {"run_id": [runs[0]["id"]]}
    for operation in (operation for path in document["paths"].values() for operation in path.values()):
        for parameter in operation.get("parameters", []):
            _narrow(parameter, parameter["name"], known)
    bodies = document["components"]["schemas"]
    for name in (name for name in bodies if name.endswith("Request")):
        for field, part in bodies[name]["properties"].items():
            _narrow({"schema": part}, field, known)
    bodies["FlowsRequest"]["required"] = ["from_ns", "to_ns", "rows"]
    schema = schemathesis.openapi.from_dict(document)
    schema.config.update(base_url=server.rstrip("/"), request_timeout=HANGS_AFTER_S)
    return schema.exclude(method="DELETE")


@pytest.mark.parametrize("examples", [8, pytest.param(150, marks=pytest.mark.soak)])
def test_no_request_makes_the_server_fail(api_schema: Any, examples: int) -> None:
    operations = [found.ok() for found in api_schema.get_all_operations()]
    assert len(operations) > 20

    for operation in operations:

        @given(case=operation.as_strategy())
        @settings(max_examples=examples, deadline=None, suppress_health_check=list(HealthCheck), database=None)
        def ask(case: Any) -> None:
            case.call_and_validate(checks=_CHECKS)

        ask()


def test_every_answer_has_a_type_and_every_reference_leads_somewhere(tmp_path: Path) -> None:
    with served(write_rank(tmp_path / "trace.json")) as server:
        document = server.client.get("/api/openapi.json").json()
    text = json.dumps(document)
    for reference in set(re.findall(r'"\$ref": "([^"]+)"', text)):
        place: Any = document
        for part in reference.removeprefix("#/").split("/"):
            place = place[part]
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            good = [code for code in operation["responses"] if code.startswith("2")]
            assert len(good) == 1, (path, method)
            content = operation["responses"][good[0]].get("content", {})
            schemas = [entry["schema"] for entry in content.values()]
            assert schemas != [{}], (path, method)
            assert operation["responses"]["422"]["content"]["application/json"]["schema"]["$ref"].endswith("/Fault")
    assert {f"/api/run/{{run_id}}/{name}" for name in QUESTIONS} <= set(document["paths"])


def test_types_of_one_name_are_told_apart_by_plain_names() -> None:
    answers = AnswerTypes()
    kinds = []
    for module in ("launches.gaps", "timeline.range_stats"):
        kind = msgspec.defstruct("Gap", [(module.replace(".", "_"), int)], module=f"stepscope.analysis.{module}")
        kinds.append(answers.json(kind)[200]["content"]["application/json"]["schema"])
    found = answers.resolve({"paths": kinds})
    assert [kind["$ref"].rsplit("/", 1)[1] for kind in found["paths"]] == ["LaunchesGapsGap", "TimelineRangeStatsGap"]
    assert {"LaunchesGapsGap", "TimelineRangeStatsGap"} <= set(found["components"]["schemas"])


def test_nanoseconds_of_documents_may_be_text_also_in_lists() -> None:
    answers = AnswerTypes()
    fields = [
        ("at_ns", Nanoseconds),
        ("times_ns", list[Nanoseconds]),
        ("maybe_ns", Nanoseconds | None),
        ("curve_ns", list[Nanoseconds] | None),
        ("count", Count),
    ]
    answers.document(msgspec.defstruct("Curve", fields))
    plain = answers.resolve({"paths": {}})["components"]["schemas"]["Curve"]["properties"]
    number, text, null = (
        {"type": "integer", "x-unit": "ns"},
        {"type": "string", "pattern": "^-?[0-9]+$"},
        {"type": "null"},
    )
    assert plain["at_ns"] == {"anyOf": [number, text]}
    assert plain["times_ns"]["items"] == {"anyOf": [number, text]}
    assert len(plain["maybe_ns"]["anyOf"]) == 3
    assert all(option in plain["maybe_ns"]["anyOf"] for option in (number, text, null))
    assert {"type": "array", "items": {"anyOf": [number, text]}} in plain["curve_ns"]["anyOf"]
    assert plain["count"] == {"type": "integer", "x-unit": "count"}
