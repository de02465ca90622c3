"""All questions that can be asked of a run, whichever room answers them; every face asks through this list."""

from __future__ import annotations

from stepscope.questions.registry import QUESTIONS

__all__ = ["QUESTIONS"]
