"""Calls of all ranks: which belong together, when each rank came to them, and what they cost."""
