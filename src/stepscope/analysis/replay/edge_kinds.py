"""Kinds of dependencies."""

from __future__ import annotations

#: HOST and HANDOFF are about a thread, FULL_QUEUE and ORIGIN about nothing, the others about a slice.
(
    HOST,
    HANDOFF,
    QUEUE,
    LAUNCH,
    STREAM,
    EVENT,
    SYNC,
    COMPUTE,
    COMMUNICATION,
    COPY,
    UNEXPLAINED,
    FULL_QUEUE,
    DATA,
    MEMBERS,
    ORIGIN,
) = range(15)
