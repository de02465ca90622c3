"""Every question as a method of a run: ``run.critical_path(steps=[3])``. For type checkers there is ``methods.pyi``."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from stepscope.analysis.answer import Answer
from stepscope.questions.faces import shaped
from stepscope.questions.registry import QUESTIONS
from stepscope.texts import entries


class QuestionMethods:
    """For classes that have a ``store``."""

    store: Any

    def ask(self, question: str, **chosen: Any) -> Answer[Any]:
        """The answer to a question, with notes on what the data lacks.

        >>> import stepscope
        >>> answer = stepscope.load("traces", progress=False).ask("steps", ranks=[0])
        >>> answer.data.height, [note.code for note in answer.notes]
        (4, ['host_ran_ahead'])
        """
        return QUESTIONS.named(question).ask(self.store, **chosen)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        question = name.replace("_", "-")
        if question not in QUESTIONS:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

        def data(**chosen: Any) -> Any:
            return self.ask(question, **chosen).data

        declared = QUESTIONS[question].signature.parameters.values()
        keywords = [keyword for keyword in declared if keyword.kind is inspect.Parameter.KEYWORD_ONLY]
        return shaped(data, name, entries("question")[question]["en"], keywords)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *(name.replace("-", "_") for name in QUESTIONS)})
