"""What the help of a command looks like: Click's layout, with its fixed words in the language of the call."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from stepscope.cli.options import language
from stepscope.texts import entries

#: What Click adds to the help of an option: its default, its bounds, whether it has to be given.
_ADDED: Final = re.compile(r"  \[(.+)\]$")
#: The default of a switch, which everybody expects.
_OFF: Final = "default: no-"


class TranslatedLayout:
    """Beside a Typer class: its usage line, headings and remarks from the texts."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Arguments as everybody writes them: no braces around what is required, dots behind what may be repeated."""
        whole: list[str] = super().collect_usage_pieces(ctx)  # type: ignore[misc]
        command: Any = self
        named = {
            piece: str(param.make_metavar(ctx=ctx)) + ("..." if param.nargs == -1 else "")
            for param in command.get_params(ctx)
            if param.param_type_name == "argument"
            for piece in param.get_usage_pieces(ctx)
        }
        return [named.get(piece, piece) for piece in whole]

    def format_usage(self, ctx: Any, formatter: Any) -> None:
        formatter.write_usage(ctx.command_path, " ".join(self.collect_usage_pieces(ctx)), prefix=_before("usage"))

    def format_options(self, ctx: Any, formatter: Any) -> None:
        command: Any = self
        records: dict[str, list[tuple[str, str]]] = {"argument": [], "option": []}
        for param in command.get_params(ctx):
            record = param.get_help_record(ctx)
            if record is not None:
                names, told = record
                records[param.param_type_name].append((names, _with_remarks(told)))
        for kind, rows in records.items():
            if rows:
                with section(formatter, f"{kind}s"):
                    formatter.write_dl(rows)


@contextmanager
def section(formatter: Any, title: str) -> Iterator[None]:
    """A heading with what stands below it, indented."""
    formatter.write_paragraph()
    formatter.write(f"{_word(title)}\n")
    formatter.indent()
    yield
    formatter.dedent()


def _with_remarks(told: str) -> str:
    match = _ADDED.search(told)
    if match is None:
        return told
    remarks = "; ".join(_remark(each) for each in match[1].split("; ") if not each.startswith(_OFF))
    return told[: match.start()] + (f"  [{remarks}]" if remarks else "")


def _remark(added: str) -> str:
    """``default: 20`` or ``required`` in the language of the call; bounds are the same in all of them."""
    name, colon, value = added.partition(": ")
    if name not in entries("help_word"):
        return added
    return _before(name) + value.strip("()") if colon else _word(name)


def _before(name: str) -> str:
    """A word with what separates it from what follows: a full-width colon holds its own space."""
    word = _word(name)
    return word if word.endswith("：") else f"{word} "


def _word(name: str) -> str:
    return entries("help_word")[name][language()]
