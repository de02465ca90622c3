"""The page's own dictionaries hold buttons and labels; a sentence of the catalogue comes from the server."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from stepscope.readers.formats import READERS
from stepscope.texts import IDENTIFIERS, LANGUAGES, catalogue

_DICTIONARIES = Path(__file__).parents[1] / "web/src/i18n"
_ENTRY = re.compile(r"'([\w.]+)':\s*(['\"`])(.*?)(?<!\\)\2,\n", re.DOTALL)
# Shorter texts are labels, such as "Time of each step", of which a page needs its own.
_LEAST_WORDS = {"en": 7, "zh": 8}
# Of the words of both: a sentence that was only polished in one place is still the same sentence.
_ALIKE = 0.65


def _words(sentence: str, language: str) -> frozenset[str]:
    """What a sentence is made of: words, in Chinese pairs of characters; without the places of its values."""
    plain = re.sub(r"\{[^}]*\}", " ", sentence).lower()
    if language == "en":
        return frozenset(re.findall(r"[a-z]+", plain))
    chinese = re.findall(r"[\u4e00-\u9fff]", plain)
    return frozenset(a + b for a, b in pairwise(chinese))


def _page_sentences(language: str) -> Iterator[tuple[str, str]]:
    for file in sorted(_DICTIONARIES.glob(f"*.{language}.ts")):
        for key, _, sentence in _ENTRY.findall(file.read_text("utf-8")):
            yield key, sentence


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_sentence_of_the_catalogue_is_repeated_in_the_page(language: str) -> None:
    if not _DICTIONARIES.is_dir():
        pytest.skip("the page's sources are not here")
    said = {
        f"{section}.{name}": _words(entry[language], language)
        for section, entries in catalogue().items()
        for name, entry in entries.items()
    }
    page = list(_page_sentences(language))
    assert len(page) > 500, "the dictionaries are not read"
    repeated = [
        (key, other)
        for key, sentence in page
        if len(words := _words(sentence, language)) >= _LEAST_WORDS[language]
        for other, known in said.items()
        if len(words & known) > _ALIKE * len(words | known)
    ]
    assert repeated == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_format_has_a_name_on_the_page(language: str) -> None:
    if not _DICTIONARIES.is_dir():
        pytest.skip("the page's sources are not here")
    named = {key.removeprefix("reader.") for key, _ in _page_sentences(language) if key.startswith("reader.")}
    # Those that are called by their own name in every language stand where they are shown.
    proper = re.findall(
        r"^    (\w+): '", (_DICTIONARIES.parent / "pages/overview/Environment.svelte").read_text("utf-8"), re.M
    )
    assert named <= set(READERS)
    assert set(READERS) <= named | set(proper)


def test_a_polished_repetition_is_seen() -> None:
    first = _words("Nothing is held at the end of any step after warm-up.", "en")
    second = _words("Nothing at all is held at the end of any step after warm-up", "en")
    assert len(first & second) > _ALIKE * len(first | second)


def test_the_page_writes_the_same_numbers_with_their_thousands_apart() -> None:
    """A number of ranks is 1,024 in the terminal, the report and the page; a rank is 1024 in all of them."""
    if not _DICTIONARIES.is_dir():
        pytest.skip("the page's sources are not here")
    rule = re.search(
        r"IDENTIFIERS: ReadonlySet<string> = new Set\(\s*'([\w ]+)'",
        (_DICTIONARIES / "language.svelte.ts").read_text("utf-8"),
    )
    assert rule is not None
    assert set(rule[1].split()) >= IDENTIFIERS
