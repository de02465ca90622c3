"""Planted faults, one file per kind, named by the kinds of findings."""

from __future__ import annotations

from stepscope.simulate.faults.planted import Planted

__all__ = ["Planted"]
