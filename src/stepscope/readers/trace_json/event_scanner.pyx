# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""Finds events and what is in them in the text of a trace, byte by byte.

Compiled when the package is built, if there is a C compiler; without one the decoder of ``trace_text`` does all the
work, at half the speed. The scanner takes only what it understands without doubt, and leaves the rest to the decoder.
"""

import sys

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from libc.stdint cimport INT64_MIN, int64_t, uint64_t
from libc.stdlib cimport free, realloc
from libc.string cimport memcmp, memset

from stepscope.readers.trace_json.json_numbers cimport integer, nanoseconds
from stepscope.readers.trace_json.json_text cimport Text, behind_space, behind_value, name_end, value_begin
from stepscope.readers.trace_json.known_texts cimport KNOWN, Known, copied, number_of

if sys.byteorder != "little":
    raise ImportError("the scanner reads words of a little-endian machine")

cdef int LONGEST_TEXT = 1 << 30
cdef int MOST_HEAD_PARTS = 8


cdef class Scan:
    """Events of one piece of text."""

    #: Stands where a number is absent, or is a time that only ``exact_time`` can read.
    ABSENT = INT64_MIN
    COLUMNS = tuple(
        "head time duration begin end time_begin time_end duration_begin duration_end id_begin id_end arguments_length"
        " first_member".split()
    )

    cdef readonly bytes text
    cdef readonly list arguments  # as text, empty where there are none
    cdef Found _found

    def __dealloc__(self):
        free(self._found.events)
        free(self._found.members)

    def __len__(self):
        return self._found.event_count

    @property
    def events(self):
        """Rows of COLUMNS, 64 bits each."""
        return PyBytes_FromStringAndSize(<char*>self._found.events, sizeof(Event) * self._found.event_count)

    def integers(self, bytes places, bytes key):
        """The argument of this name as numbers of 64 bits, ABSENT where it is absent, for the events at ``places``
        (64 bits each); None if one of them is no plain integer.
        """
        cdef Py_ssize_t count = len(places) // 8
        cdef bytearray result = bytearray(len(places))
        cdef int64_t* numbers = <int64_t*><char*>result
        cdef const int64_t* place = <const int64_t*>PyBytes_AS_STRING(places)
        cdef Text text = self._found.text
        cdef Member* found
        cdef bint anywhere = self._has(key)
        cdef Py_ssize_t at
        for at in range(count):
            found = self._member(place[at], key) if anywhere else NULL
            numbers[at] = INT64_MIN
            if found != NULL:
                numbers[at] = integer(text + found.begin, text + found.end)
                if numbers[at] == INT64_MIN:
                    return None
        return result

    def texts(self, bytes places, bytes key, codes, bint only_words):
        """Numbers of 64 bits for the texts of the argument of this name, -1 where it is absent.

        ``only_words``: nothing for null and the empty string, and None if one is neither null nor a string.
        """
        cdef Py_ssize_t count = len(places) // 8
        cdef bytearray result = bytearray(len(places))
        cdef int64_t* numbers = <int64_t*><char*>result
        cdef const int64_t* place = <const int64_t*>PyBytes_AS_STRING(places)
        cdef Text text = self._found.text
        cdef Known known[KNOWN]
        cdef Member* found
        cdef bint anywhere = self._has(key)
        cdef Py_ssize_t at
        memset(known, 0, sizeof(known))
        for at in range(count):
            found = self._member(place[at], key) if anywhere else NULL
            numbers[at] = -1
            if found == NULL:
                continue
            if only_words:
                if text[found.begin] == b"n":
                    continue
                if text[found.begin] != b'"':
                    return None
                if found.end - found.begin == 2:
                    continue
            numbers[at] = number_of(known, text + found.begin, text + found.end, codes)
        return result

    def ids(self, bytes places):
        """The ids of the events at ``places`` as text, empty where there are none."""
        cdef const int64_t* place = <const int64_t*>PyBytes_AS_STRING(places)
        cdef list result = []
        cdef Event* event
        cdef Py_ssize_t at
        for at in range(len(places) // 8):
            assert 0 <= place[at] < self._found.event_count
            event = self._found.events + place[at]
            result.append(copied(self._found.text + event.id_begin, self._found.text + event.id_end))
        return result

    cdef bint _has(self, bytes key):
        """Whether some event may have an argument of this name."""
        return (self._found.names & _name_bit(<Text>PyBytes_AS_STRING(key), len(key))) != 0

    cdef Member* _member(self, int64_t place, bytes key) except? NULL:
        """The last argument of this name, as JSON has it; NULL if there is none."""
        assert 0 <= place < self._found.event_count
        cdef Event* event = self._found.events + place
        cdef Member* members = self._found.members
        cdef Text text = self._found.text
        cdef const char* name = PyBytes_AS_STRING(key)
        cdef Py_ssize_t length = len(key)
        cdef int64_t at
        for at in range(event[1].first_member - 1, event[0].first_member - 1, -1):
            if members[at].length == length and memcmp(text + members[at].key, name, length) == 0:
                return members + at
        return NULL


def scan(bytes text, Py_ssize_t begin, Py_ssize_t end, heads):
    """All events of ``text[begin:end]``, which must be whole and have commas between them; None in any doubt.

    ``heads`` gives numbers to what events have in common, as text: phase, category, name, process, thread and binding
    point.
    """
    cdef Scan result = Scan.__new__(Scan)
    cdef Found* found = &result._found
    cdef Known known[KNOWN]
    cdef Event* event
    cdef Text at
    if len(text) > LONGEST_TEXT or not 0 <= begin <= end <= len(text):
        return None
    memset(known, 0, sizeof(known))
    result.text = text
    result.arguments = []
    found.text = <Text>PyBytes_AS_STRING(text)
    found.end = found.text + end
    at = found.text + begin
    while True:
        at = _event(found, at) if _room_for_event(found) else NULL
        if at == NULL:
            return None
        event = found.events + found.event_count
        if found.head_parts == 1 and not _is_flow(found):
            event.head = number_of(known, found.head_begin[0], found.head_end[0], heads)
        else:
            event.head = heads[_head(found)]
        result.arguments.append(copied(found.arguments, found.arguments_end) if found.arguments != NULL else b"")
        found.event_count += 1
        found.events[found.event_count].first_member = found.member_count
        at = behind_space(at, found.end)
        if at == found.end:
            return result
        if at[0] != b",":
            return None
        at = behind_space(at + 1, found.end)


cdef bint _room_for_event(Found* found) noexcept nogil:
    """Room for one more event, and behind it for the number of the argument after its last."""
    return found.event_count + 2 <= found.event_room or _grow(
        <void**>&found.events, &found.event_room, 1024, sizeof(Event)
    )


cdef bint _room_for_argument(Found* found) noexcept nogil:
    return found.member_count + 1 <= found.member_room or _grow(
        <void**>&found.members, &found.member_room, 8192, sizeof(Member)
    )


cdef bint _grow(void** rows, Py_ssize_t* room, Py_ssize_t least, size_t size) noexcept nogil:
    """Twice the room and more; False if there is no memory for it."""
    cdef Py_ssize_t wanted = 2 * room[0] + least
    cdef void* larger = realloc(rows[0], wanted * size)
    if larger == NULL:
        return False
    rows[0] = larger
    room[0] = wanted
    return True


cdef bint _is_flow(Found* found) noexcept nogil:
    """Whether the event has a name that means nothing: Ascend's arrows have one each."""
    cdef Text at = found.name
    if at == NULL or at[0] != b'"' or (found.phase != b"s" and found.phase != b"t" and found.phase != b"f"):
        return False
    while at < found.name_end:
        if at[0] == b"\\" or at[0] > 127:
            return False  # the decoder may object to it
        at += 1
    return True


cdef bytes _head(Found* found):
    """The fields of the head, as those of an object; with an empty name if it means nothing."""
    cdef bint nameless = _is_flow(found)
    cdef bytes head = b""
    cdef Text begin
    cdef Text end
    cdef int part
    for part in range(found.head_parts):
        begin, end = found.head_begin[part], found.head_end[part]
        if part:
            head += b","
        if nameless and begin < found.name < end:
            head += copied(begin, found.name) + b'""' + copied(found.name_end, end)
        else:
            head += copied(begin, end)
    return head


cdef Text _event(Found* found, Text at) noexcept nogil:
    """The event that begins here; gives the place behind it, or NULL."""
    cdef Event* event = found.events + found.event_count
    cdef Text end = found.end
    cdef Text key
    cdef Text key_end
    cdef Text value
    cdef int seen = 0
    cdef int field
    cdef bint in_head = False
    if at >= end or at[0] != b"{":
        return NULL
    event.first_member = found.member_count
    found.head_parts = 0
    found.phase = 0
    found.name = found.arguments = NULL
    event.begin = at - found.text
    event.time = event.duration = INT64_MIN
    event.arguments_length = 0
    event.time_begin = event.time_end = event.duration_begin = event.duration_end = event.id_begin = event.id_end = 0
    at = behind_space(at + 1, end)
    while True:
        if at >= end or at[0] != b'"':
            return NULL
        key = at + 1
        key_end = name_end(key, end)
        if key_end == NULL:
            return NULL
        value = value_begin(key_end + 1, end)
        if value == NULL:
            return NULL
        field = _field(key, key_end - key)
        at = _arguments(found, value, end) if field == ARGUMENTS else behind_value(value, end, 0)
        if at == NULL or field == UNUSUAL or seen & field:
            return NULL
        if field == HEAD:
            if not in_head:
                if found.head_parts == MOST_HEAD_PARTS:
                    return NULL
                found.head_begin[found.head_parts] = key - 1
                found.head_parts += 1
                in_head = True
            found.head_end[found.head_parts - 1] = at
            if key[0] == b"n":
                found.name, found.name_end = value, at
            elif key[1] == b"h":
                found.phase = value[1] if at - value == 3 else 0
        else:
            in_head = False
            seen |= field
            if field == TIME:
                event.time = nanoseconds(value, at)
                event.time_begin, event.time_end = value - found.text, at - found.text
            elif field == DURATION:
                event.duration = nanoseconds(value, at)
                event.duration_begin, event.duration_end = value - found.text, at - found.text
            elif field == ID:
                event.id_begin, event.id_end = value - found.text, at - found.text
            elif field == ARGUMENTS:
                found.arguments, found.arguments_end = value, at
                event.arguments_length = at - value
        at = behind_space(at, end)
        if at >= end:
            return NULL
        if at[0] == b"}":
            event.end = at + 1 - found.text
            return at + 1
        if at[0] != b",":
            return NULL
        at = behind_space(at + 1, end)


cdef int _field(Text key, Py_ssize_t length) noexcept nogil:
    if length == 2:
        if memcmp(key, b"ph", 2) == 0 or memcmp(key, b"bp", 2) == 0:
            return HEAD
        if memcmp(key, b"ts", 2) == 0:
            return TIME
        if memcmp(key, b"id", 2) == 0:
            return ID
        return UNUSUAL if memcmp(key, b"sf", 2) == 0 else OTHER
    if length == 3:
        if memcmp(key, b"cat", 3) == 0 or memcmp(key, b"pid", 3) == 0 or memcmp(key, b"tid", 3) == 0:
            return HEAD
        if memcmp(key, b"dur", 3) == 0:
            return DURATION
        return UNUSUAL if memcmp(key, b"id2", 3) == 0 else OTHER
    if length == 4:
        if memcmp(key, b"name", 4) == 0:
            return HEAD
        return ARGUMENTS if memcmp(key, b"args", 4) == 0 else OTHER
    if (
        (length == 5 and memcmp(key, b"scope", 5) == 0)
        or (length == 7 and (memcmp(key, b"bind_id", 7) == 0 or memcmp(key, b"flow_in", 7) == 0))
        or (length == 8 and memcmp(key, b"flow_out", 8) == 0)
    ):
        return UNUSUAL
    return OTHER


cdef Text _arguments(Found* found, Text at, Text end) noexcept nogil:
    """The arguments that begin here; gives the place behind them, or NULL if they are no object."""
    cdef Member* member
    cdef Text key
    if at[0] != b"{":
        return NULL
    at = behind_space(at + 1, end)
    if at < end and at[0] == b"}":
        return at + 1
    while True:
        if at >= end or at[0] != b'"':
            return NULL
        key = at + 1
        at = name_end(key, end)
        if at == NULL or not _room_for_argument(found):
            return NULL
        member = found.members + found.member_count
        found.member_count += 1
        member.key = key - found.text
        member.length = at - key
        found.names |= _name_bit(key, at - key)
        at = value_begin(at + 1, end)
        if at == NULL:
            return NULL
        member.begin = at - found.text
        at = behind_value(at, end, 1)
        if at == NULL:
            return NULL
        member.end = at - found.text
        at = behind_space(at, end)
        if at >= end:
            return NULL
        if at[0] == b"}":
            return at + 1
        if at[0] != b",":
            return NULL
        at = behind_space(at + 1, end)


cdef inline uint64_t _name_bit(Text name, Py_ssize_t length) noexcept nogil:
    """One bit for a name; others may share it."""
    cdef uint64_t mixed = length
    if length:
        mixed = mixed * 7 + name[0] * 13 + name[length - 1] * 29
    return <uint64_t>1 << (mixed & 63)
