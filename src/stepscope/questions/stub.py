"""The types of the methods that a run has, for type checkers: ``python -m stepscope.questions.stub``."""

from __future__ import annotations

from typing import Any, get_args

from stepscope.analysis.foundation.question import RANKS, STEPS, Parameter, Question
from stepscope.questions.registry import QUESTIONS
from stepscope.texts import entries

_HEAD = '''\
"""Made from the declarations of the questions; do not edit by hand (`make docs`)."""

from collections.abc import Sequence
from typing import Any, Literal

import polars as pl

{imports}

class QuestionMethods:
    def ask(self, question: str, **chosen: Any) -> Answer[Any]: ...
'''


def stub() -> str:
    """The text of ``methods.pyi``."""
    questions = [QUESTIONS[name] for name in QUESTIONS]
    imported = {("stepscope.analysis.answer", "Answer"), *(_home(each) for each in questions if each.rows is None)}
    imports = "\n".join(f"from {module} import {name}" for module, name in sorted(imported))
    return _HEAD.format(imports=imports) + "".join(_method(each) for each in questions)


def _home(question: Question) -> tuple[str, str]:
    kind = get_args(question.type)[0] if question.many else question.type
    return kind.__module__, kind.__name__


def _method(question: Question) -> str:
    shared = [name for name in (RANKS, STEPS) if name in question.signature.parameters]
    lines = [f"{name}: Sequence[int] | None = None" for name in shared]
    lines += [f"{each.name}: {_type(each)} = {_literal(each.default)}" for each in question.parameters]
    keywords = "".join(f"        {line},\n" for line in lines)
    name = question.name.replace("-", "_")
    doc = entries("question")[question.name]["en"]
    answer = _answer_type(question)
    return f'    def {name}(\n        self,\n        *,\n{keywords}    ) -> {answer}:\n        """{doc}"""\n'


def _type(parameter: Parameter) -> str:
    if parameter.words:
        return f"Sequence[{parameter.type.__name__}]"
    choices = ", ".join(map(_literal, parameter.choices))
    kind = f"Literal[{choices}]" if choices else parameter.type.__name__
    return f"{kind} | None" if parameter.default is None else kind


def _answer_type(question: Question) -> str:
    if question.rows is not None:
        return "pl.DataFrame"
    _, name = _home(question)
    return f"list[{name}]" if question.many else name


def _literal(value: Any) -> str:
    return f'"{value}"' if isinstance(value, str) else repr(value)


if __name__ == "__main__":
    print(stub(), end="")
