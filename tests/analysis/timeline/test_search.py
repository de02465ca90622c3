"""Search against a twin that reads every name."""

from __future__ import annotations

import random
import re
from collections import Counter
from pathlib import Path

import pytest

from analysis.timeline.runs import KINDS, NAMES, Made, One, random_run
from stepscope.analysis.timeline.search import Cursor, Question, search
from stepscope.errors import UsageError
from support.limits import at_most


def _hits(made: Made, question: Question, ranks: list[int]) -> list[One]:
    pattern = question.text if question.regex else re.escape(question.text)
    pattern = rf"\b(?:{pattern})\b" if question.whole_word else pattern
    flags = 0 if question.match_case else re.IGNORECASE
    found = [
        one
        for one in made.slices
        if one.rank in ranks
        and re.search(pattern, one.name, flags)
        and (not question.kinds or one.kind in question.kinds)
        and (question.min_dur_ns is None or one.dur >= question.min_dur_ns)
        and (question.max_dur_ns is None or one.dur <= question.max_dur_ns)
        and (question.from_ns is None or one.at >= question.from_ns)
        and (question.to_ns is None or one.at < question.to_ns)
    ]
    return sorted(found, key=lambda one: (one.at, one.rank, one.row))


def _questions(dice: random.Random) -> Question:
    text, regex = dice.choice(
        [("mm", False), ("M", False), ("::", False), ("^aten", True), ("m{2}|加", True), ("x", False)]
    )
    return Question(
        text,
        regex,
        dice.random() < 0.5,
        dice.random() < 0.3,
        dice.choice([(), (), dice.sample(KINDS, 2)]),
        dice.choice([None, None, 3]),
        dice.choice([None, None, 500]),
        dice.choice([None, 1_000]),
        dice.choice([None, 30_000]),
    )


@pytest.mark.parametrize("seed", range(10))
def test_search_finds_what_reading_every_name_finds(tmp_path: Path, seed: int) -> None:
    made = random_run(tmp_path, seed, ranks=2)
    view = made.view
    dice = random.Random(seed)
    for _ in range(12):
        question, ranks = _questions(dice), dice.choice([[0], [1], [0, 1]])
        expected = _hits(made, question, ranks)
        at, offset, limit = dice.randrange(made.span), dice.randrange(20), dice.randrange(1, 30)
        found = search(view, question, ranks, Cursor(at_ns=at), offset, limit)
        assert found.total == len(expected)
        assert [(hit.rank, hit.slice) for hit in found.hits] == [
            (one.rank, one.slice) for one in expected[offset : offset + limit]
        ]
        assert {(row.rank, row.track, row.row): row.count for row in found.rows} == Counter(
            (one.rank, one.track, one.row) for one in expected
        )
        assert {name.name: name.count for name in found.names} == Counter(one.name for one in expected)
        assert (sum(found.ticks), len(found.ticks)) == (len(expected), 256)
        later, earlier = [one for one in expected if one.at >= at], [one for one in expected if one.at < at]
        assert (found.next.slice if found.next else None) == (later[0].slice if later else None)
        assert (found.previous.slice if found.previous else None) == (earlier[-1].slice if earlier else None)
        assert found.position == len(earlier)


def test_next_walks_through_all_hits_and_previous_back(tmp_path: Path) -> None:
    made = random_run(tmp_path, 1, ranks=2)
    question = Question("mm")
    expected = [(one.rank, one.slice) for one in _hits(made, question, [0, 1])]
    view = made.view
    found = search(view, question, [0, 1], limit=0)
    walked = []
    while found.next is not None:
        walked.append((found.next.rank, found.next.slice))
        found = search(view, question, [0, 1], Cursor(rank=found.next.rank, slice=found.next.slice), limit=0)
    assert walked == expected
    back = [expected[-1]]
    while found.previous is not None:
        back.append((found.previous.rank, found.previous.slice))
        found = search(view, question, [0, 1], Cursor(rank=found.previous.rank, slice=found.previous.slice), limit=0)
    assert back == expected[::-1]


def test_from_a_slice_that_is_no_hit_search_goes_on_at_its_start(tmp_path: Path) -> None:
    made = random_run(tmp_path, 4)
    other = next(one for one in made.slices if one.name == "MatMul" and one.at > 0)
    expected = [one for one in _hits(made, Question("AllReduce"), [0]) if one.at >= other.at]
    found = search(made.view, Question("AllReduce"), [0], Cursor(rank=0, slice=other.slice))
    assert found.next is not None
    assert found.next.slice == expected[0].slice


@pytest.mark.parametrize("text", [".*", "(", "\\", "[a", "{}", "<script>"])
def test_text_is_taken_literally(tmp_path: Path, text: str) -> None:
    made = random_run(tmp_path, 2)
    assert search(made.view, Question(text)).total == sum(text in one.name for one in made.slices)


@pytest.mark.parametrize("pattern", ["(", "[a", "a{2,1}", "(?P<n", "\\p{Nothing}"])
def test_a_broken_pattern_is_a_clear_error(tmp_path: Path, pattern: str) -> None:
    with pytest.raises(UsageError) as caught:
        search(random_run(tmp_path, 2).view, Question(pattern, regex=True))
    assert caught.value.code == "search_pattern"


def test_a_hostile_pattern_does_not_stall(tmp_path: Path) -> None:
    made = random_run(tmp_path, 2)
    with at_most(5):
        found = search(made.view, Question("(a|a?)+" * 20 + "$", regex=True))
    assert found.total == len(made.slices), "each part may be empty, so every name ends with it"


def test_names_are_given_as_they_are(tmp_path: Path) -> None:
    made = random_run(tmp_path, 3)
    found = search(made.view, Question("<script>", match_case=True), limit=1)
    assert found.hits[0].name == NAMES[6]
