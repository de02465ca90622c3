"""Answers for people and programs: terminal tables, CSV, JSON."""
