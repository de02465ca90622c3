"""How one general function is made to look like the function of one question, to those who read signatures."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

Result = TypeVar("Result")


def shaped(
    function: Callable[..., Result], name: str, doc: str, parameters: Iterable[inspect.Parameter]
) -> Callable[..., Result]:
    """The same function with a name, a docstring and parameters of its own, as Typer, FastAPI and notebooks see it.

    >>> keyword = inspect.Parameter("by", inspect.Parameter.KEYWORD_ONLY, default="name", annotation=str)
    >>> help_me = shaped(lambda **chosen: chosen, "ask", "Asks.", [keyword])
    >>> inspect.signature(help_me), help_me(by="type")
    (<Signature (*, by: str = 'name')>, {'by': 'type'})
    """

    def looks(**chosen: Any) -> Result:
        return function(**chosen)

    looks.__name__ = looks.__qualname__ = name
    looks.__doc__ = doc
    looks.__signature__ = inspect.Signature(list(parameters))  # type: ignore[attr-defined]
    looks.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return looks
