"""Limits and answers of the HTTP server: ``server.toml``, which says where each fact comes from, typed."""

from __future__ import annotations

import msgspec

from stepscope.facts import load


class ServerFacts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The whole table."""

    most_upload_bytes: int
    most_sql_rows: int
    most_sql_seconds: int
    most_sql_answer_bytes: int
    most_sql_memory_bytes: int
    sql_threads: int
    sql_at_once: int
    most_sql_waiting: int
    captures_at_once: int
    answers_at_once: int
    most_silent_seconds: int
    keep_uploads_seconds: int
    most_listed_entries: int
    status: dict[str, int]
    headers: dict[str, str]


def server_facts() -> ServerFacts:
    """Limits and answers of the HTTP server."""
    return load("server", ServerFacts)
