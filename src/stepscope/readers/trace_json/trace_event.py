"""One event of a Chrome trace, as the decoder makes it."""

from __future__ import annotations

from typing import Final

import msgspec

#: What a field is that an event does not have; always this object, so that counting it compares nothing.
ABSENT: Final = msgspec.Raw()


class Event(msgspec.Struct, gc=False):
    """One element of ``traceEvents``; numbers keep their text, so that no digit is lost."""

    ph: str | None = None
    cat: str | None = None
    name: str | None = None
    pid: int | str | float | None = None
    tid: int | str | float | None = None
    ts: msgspec.Raw = ABSENT
    dur: msgspec.Raw = ABSENT
    args: msgspec.Raw = ABSENT
    id: msgspec.Raw = ABSENT
    # Few writers use these.
    id2: msgspec.Raw = ABSENT
    scope: msgspec.Raw = ABSENT
    bp: msgspec.Raw = ABSENT
    bind_id: msgspec.Raw = ABSENT
    flow_in: msgspec.Raw = ABSENT
    flow_out: msgspec.Raw = ABSENT
    sf: msgspec.Raw = ABSENT


EVENTS: Final = msgspec.json.Decoder(list[Event])
EVENT: Final = msgspec.json.Decoder(Event)
FAULTS: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
