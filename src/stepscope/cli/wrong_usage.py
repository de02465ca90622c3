"""What Click objects to, said as our own errors are: in the language of the call, and with what to do."""

from __future__ import annotations

import re
from typing import Any, Final

from typer._click import exceptions as objections  # Typer offers these classes nowhere else
from typer.exceptions import TyperException

from stepscope.errors import UsageError

_EXTRA_WORDS: Final = re.compile(r"unexpected extra argument(?:s|\(s\))? \((.+)\)")
#: Click's name of a type, and what is said where a value is none of it.
_NUMBERS: Final = {
    "int": "not_a_whole_number",
    "int range": "not_a_whole_number",
    "float": "not_a_number",
    "float range": "not_a_number",
}


def asks_for_help(objection: TyperException) -> bool:
    """Whether nothing was given at all: the help is the message then."""
    return isinstance(objection, objections.NoArgsIsHelpError)


def as_usage_error(objection: TyperException) -> UsageError:
    """The same in our words; what Click may think of besides keeps its own."""
    context = getattr(objection, "ctx", None)
    command = "stepscope" if context is None else context.command_path
    extra_words = _EXTRA_WORDS.search(objection.message)
    match objection:
        case objections.NoSuchOption(option_name=option, possibilities=[_, *_] as near):
            return UsageError("mistyped_option", option=option, near=", ".join(sorted(near)), command=command)
        case objections.NoSuchOption(option_name=option):
            return UsageError("unknown_option", option=option, command=command)
        case objections.BadOptionUsage(option_name=option) if "requires" in objection.message:
            return UsageError("option_without_value", option=option)
        case objections.BadOptionUsage(option_name=option):
            return UsageError("option_takes_no_value", option=option)
        case objections.MissingParameter(param=param) if param is not None:
            return UsageError("missing_parameter", name=_name(param), command=command)
        case objections.BadParameter(param=param) if param is not None:
            return _bad_value(param, objection, command)
        case _ if extra_words is not None:
            return UsageError("extra_words", words=extra_words[1], command=command)
    if objection.message == "Missing command.":
        return UsageError("missing_parameter", name="COMMAND", command=command)
    return UsageError("wrong_call", reason=objection.format_message().rstrip("."), command=command)


def _bad_value(param: Any, objection: TyperException, command: str) -> UsageError:
    choices = getattr(param.type, "choices", None)
    if choices is not None:
        return UsageError("not_a_choice", name=_name(param), choices=", ".join(map(str, choices)))
    if param.type.name in _NUMBERS:
        return UsageError(_NUMBERS[param.type.name], name=_name(param), bounds=_bounds(param.type))
    return UsageError("wrong_call", reason=f"{_name(param)}: {objection.message.rstrip('.')}", command=command)


def _bounds(kind: Any) -> str:
    """`` ≥ 1``, or nothing where every number is allowed."""
    least, most = getattr(kind, "min", None), getattr(kind, "max", None)
    return ("" if least is None else f" ≥ {least:g}") + ("" if most is None else f" ≤ {most:g}")


def _name(param: Any) -> str:
    """``--limit``, or the name of an argument as the help shows it."""
    return str(max(param.opts, key=len) if param.param_type_name == "option" else param.human_readable_name)
