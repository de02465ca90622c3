# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""Finds events and what is in them in the text of a trace, byte by byte.

Compiled when the package is built, if there is a C compiler; without one the decoder of ``trace_text`` does all the
work, at half the speed. The scanner takes only what it understands without doubt, and leaves the rest to the decoder.
"""

import sys

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from libc.stdint cimport INT64_MIN, int64_t, uint64_t
from libc.stdlib cimport free, realloc
from libc.string cimport memcmp, memcpy, memset

cdef extern from *:
    int __builtin_ctzll(unsigned long long) noexcept nogil

if sys.byteorder != "little":
    raise ImportError("the scanner reads words of a little-endian machine")

ctypedef const unsigned char* Text

cdef int64_t NO_NUMBER = INT64_MIN
cdef int LONGEST_TEXT = 1 << 30
cdef int MOST_HEAD_PARTS = 8
cdef int DEEPEST = 60  # nesting; the stack of the processor is not for hostile files
cdef int MOST_DIGITS = 15  # of microseconds; one more may exceed the times that are believed
cdef int LONGEST_INTEGER = 18

# What a field of an event is to us.
cdef enum Field:
    OTHER = 0
    HEAD = 1
    TIME = 2
    DURATION = 4
    ARGUMENTS = 8
    ID = 16
    UNUSUAL = 32

# An event: its number for what it shares with others, its times, where it, its times and its id stand, the length of its
# arguments and the number of the first of them.
cdef struct Event:
    int64_t head
    int64_t time
    int64_t duration
    int64_t begin
    int64_t end
    int64_t time_begin
    int64_t time_end
    int64_t duration_begin
    int64_t duration_end
    int64_t id_begin
    int64_t id_end
    int64_t arguments_length
    int64_t first_member

# One argument of an event: where its name and its value stand.
cdef struct Member:
    int key
    int length
    int begin
    int end

# Numbers of texts that were looked up last; a look-up here needs no object.
cdef struct Known:
    Text begin
    Py_ssize_t length
    int64_t number

cdef enum:
    KNOWN = 1024

cdef struct Found:
    Text text
    Text end
    Event* events
    Member* members
    Py_ssize_t event_count
    Py_ssize_t event_room
    Py_ssize_t member_count
    Py_ssize_t member_room
    uint64_t names  # of arguments, as bits: most names that are asked for are nowhere in the text
    # Of the last event: fields of the head, which make a part where they stand side by side, and the arguments.
    Text head_begin[8]
    Text head_end[8]
    int head_parts
    Text name
    Text name_end
    unsigned char phase
    Text arguments
    Text arguments_end


cdef class Scan:
    """Events of one piece of text."""

    #: Stands where a number is absent, or is a time that only ``exact_time`` can read.
    ABSENT = NO_NUMBER
    COLUMNS = (
        "head",
        "time",
        "duration",
        "begin",
        "end",
        "time_begin",
        "time_end",
        "duration_begin",
        "duration_end",
        "id_begin",
        "id_end",
        "arguments_length",
        "first_member",
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
        cdef Py_ssize_t at
        if not self._has(key):
            for at in range(count):
                numbers[at] = NO_NUMBER
            return result
        for at in range(count):
            found = self._member(place[at], key)
            numbers[at] = NO_NUMBER
            if found != NULL:
                numbers[at] = _integer(text + found.begin, text + found.end)
                if numbers[at] == NO_NUMBER:
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
        cdef Py_ssize_t at
        if not self._has(key):
            for at in range(count):
                numbers[at] = -1
            return result
        memset(known, 0, sizeof(known))
        for at in range(count):
            found = self._member(place[at], key)
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
            numbers[at] = _number(known, text + found.begin, text + found.end, codes)
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
            result.append(_text(self._found.text + event.id_begin, self._found.text + event.id_end))
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
    cdef Scan scan = Scan.__new__(Scan)
    cdef Found* found = &scan._found
    cdef Known known[KNOWN]
    cdef Event* event
    cdef Text at
    if len(text) > LONGEST_TEXT or not 0 <= begin <= end <= len(text):
        return None
    memset(known, 0, sizeof(known))
    scan.text = text
    scan.arguments = []
    found.text = <Text>PyBytes_AS_STRING(text)
    found.end = found.text + end
    at = found.text + begin
    while True:
        at = _event(found, at) if _room_for_event(found) else NULL
        if at == NULL:
            return None
        event = found.events + found.event_count
        if _is_flow(found):
            event.head = heads[_flow_head(found)]
        elif found.head_parts == 1:
            event.head = _number(known, found.head_begin[0], found.head_end[0], heads)
        else:
            event.head = heads[_head(found)]
        scan.arguments.append(_text(found.arguments, found.arguments_end) if found.arguments != NULL else b"")
        found.event_count += 1
        found.events[found.event_count].first_member = found.member_count
        at = _space(at, found.end)
        if at == found.end:
            return scan
        if at[0] != b",":
            return None
        at = _space(at + 1, found.end)


cdef bint _room_for_event(Found* found) noexcept nogil:
    """Room for one more event, and behind it for the number of the argument after its last."""
    cdef void* larger
    if found.event_count + 2 > found.event_room:
        found.event_room = 2 * found.event_room + 1024
        larger = realloc(found.events, sizeof(Event) * found.event_room)
        if larger == NULL:
            return False
        found.events = <Event*>larger
    return True


cdef bint _room_for_argument(Found* found) noexcept nogil:
    cdef void* larger
    if found.member_count + 1 > found.member_room:
        found.member_room = 2 * found.member_room + 8192
        larger = realloc(found.members, sizeof(Member) * found.member_room)
        if larger == NULL:
            return False
        found.members = <Member*>larger
    return True


cdef int64_t _number(Known* known, Text begin, Text end, codes) except? -1:
    """The number that ``codes`` has for a text, which must stay where it is as long as ``known`` is used."""
    cdef Known* slot = known + _hash(begin, end) % KNOWN
    if slot.begin == NULL or slot.length != end - begin or memcmp(slot.begin, begin, end - begin) != 0:
        slot.number = codes[_text(begin, end)]
        slot.begin = begin
        slot.length = end - begin
    return slot.number


cdef uint64_t _hash(Text at, Text end) noexcept nogil:
    cdef uint64_t mixed = end - at
    cdef uint64_t word
    while end - at >= 8:
        memcpy(&word, at, 8)
        mixed = (mixed ^ word) * <uint64_t>0x9E3779B97F4A7C15
        mixed ^= mixed >> 29
        at += 8
    while at < end:
        mixed = (mixed ^ at[0]) * <uint64_t>0x9E3779B97F4A7C15
        at += 1
    return mixed >> 40


cdef bytes _text(Text begin, Text end):
    return PyBytes_FromStringAndSize(<const char*>begin, end - begin)


cdef bint _is_flow(Found* found) noexcept nogil:
    """Whether the name means nothing: Ascend's arrows have one each."""
    cdef Text at = found.name
    if found.phase != b"s" and found.phase != b"t" and found.phase != b"f":
        return False
    while at < found.name_end:
        if at[0] == b"\\" or at[0] > 127:
            return False  # the decoder may object to it
        at += 1
    return found.name != NULL and found.name[0] == b'"'


cdef bytes _flow_head(Found* found):
    """The head with an empty name."""
    cdef bytes head = b""
    cdef int part
    for part in range(found.head_parts):
        if part:
            head += b","
        if found.head_begin[part] < found.name < found.head_end[part]:
            head += _text(found.head_begin[part], found.name) + b'""' + _text(found.name_end, found.head_end[part])
        else:
            head += _text(found.head_begin[part], found.head_end[part])
    return head


cdef bytes _head(Found* found):
    cdef bytes head = _text(found.head_begin[0], found.head_end[0]) if found.head_parts else b""
    cdef int part
    for part in range(1, found.head_parts):
        head += b"," + _text(found.head_begin[part], found.head_end[part])
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
    event.time = event.duration = NO_NUMBER
    event.arguments_length = 0
    event.time_begin = event.time_end = event.duration_begin = event.duration_end = event.id_begin = event.id_end = 0
    at = _space(at + 1, end)
    while True:
        if at >= end or at[0] != b'"':
            return NULL
        key = at + 1
        key_end = _key_end(key, end)
        if key_end == NULL:
            return NULL
        value = _value_begin(key_end + 1, end)
        if value == NULL:
            return NULL
        field = _field(key, key_end - key)
        at = _arguments(found, value, end) if field == ARGUMENTS else _value(value, end, 0)
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
                event.time = _nanoseconds(value, at)
                event.time_begin, event.time_end = value - found.text, at - found.text
            elif field == DURATION:
                event.duration = _nanoseconds(value, at)
                event.duration_begin, event.duration_end = value - found.text, at - found.text
            elif field == ID:
                event.id_begin, event.id_end = value - found.text, at - found.text
            elif field == ARGUMENTS:
                found.arguments, found.arguments_end = value, at
                event.arguments_length = at - value
        at = _space(at, end)
        if at >= end:
            return NULL
        if at[0] == b"}":
            event.end = at + 1 - found.text
            return at + 1
        if at[0] != b",":
            return NULL
        at = _space(at + 1, end)


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
    if length == 5:
        return UNUSUAL if memcmp(key, b"scope", 5) == 0 else OTHER
    if length == 7:
        return UNUSUAL if memcmp(key, b"bind_id", 7) == 0 or memcmp(key, b"flow_in", 7) == 0 else OTHER
    if length == 8:
        return UNUSUAL if memcmp(key, b"flow_out", 8) == 0 else OTHER
    return OTHER


cdef Text _arguments(Found* found, Text at, Text end) noexcept nogil:
    """The arguments that begin here; gives the place behind them, or NULL if they are no object."""
    cdef Member* member
    cdef Text key
    if at[0] != b"{":
        return NULL
    at = _space(at + 1, end)
    if at < end and at[0] == b"}":
        return at + 1
    while True:
        if at >= end or at[0] != b'"':
            return NULL
        key = at + 1
        at = _key_end(key, end)
        if at == NULL:
            return NULL
        if not _room_for_argument(found):
            return NULL
        member = found.members + found.member_count
        found.member_count += 1
        member.key = key - found.text
        member.length = at - key
        found.names |= _name_bit(key, at - key)
        at = _value_begin(at + 1, end)
        if at == NULL:
            return NULL
        member.begin = at - found.text
        at = _value(at, end, 1)
        if at == NULL:
            return NULL
        member.end = at - found.text
        at = _space(at, end)
        if at >= end:
            return NULL
        if at[0] == b"}":
            return at + 1
        if at[0] != b",":
            return NULL
        at = _space(at + 1, end)


cdef inline uint64_t _name_bit(Text name, Py_ssize_t length) noexcept nogil:
    """One bit for a name; others may share it."""
    cdef uint64_t mixed = length
    if length:
        mixed = mixed * 7 + name[0] * 13 + name[length - 1] * 29
    return <uint64_t>1 << (mixed & 63)


# --- numbers --------------------------------------------------------------------------------------------------------


cdef int64_t _integer(Text at, Text end) noexcept nogil:
    """A plain integer that surely fits, else NO_NUMBER."""
    cdef bint negative = at[0] == b"-"
    cdef int64_t number = 0
    if negative:
        at += 1
    if end - at > LONGEST_INTEGER:
        return NO_NUMBER
    while at < end:
        if not _is_digit(at[0]):
            return NO_NUMBER
        number = number * 10 + (at[0] - c"0")
        at += 1
    return -number if negative else number


cdef int64_t _nanoseconds(Text at, Text end) noexcept nogil:
    """Microseconds, plain or in quotes, to the nearest nanosecond, ties to even; NO_NUMBER if it is written otherwise."""
    cdef int64_t number = 0
    cdef int decimals = 0
    cdef bint up
    cdef bint tie
    cdef Text first
    if at[0] == b'"' and end - at > 2:
        at += 1
        end -= 1
    first = at
    at = _digits(at, end)
    if at == first or at - first > MOST_DIGITS + 1 or (at - first > MOST_DIGITS and first[0] > b"3"):
        return NO_NUMBER
    while first < at:
        number = number * 10 + (first[0] - c"0")
        first += 1
    if at < end:
        if at[0] != b".":
            return NO_NUMBER
        first = at + 1
        at = _digits(first, end)
        if at < end:
            return NO_NUMBER
        while first < end and decimals < 3:
            number = number * 10 + (first[0] - c"0")
            decimals += 1
            first += 1
        if first < end:
            up = first[0] >= b"5"
            tie = first[0] == b"5"
            first += 1
            while tie and first < end:
                tie = first[0] == b"0"
                first += 1
            if up and (not tie or number % 2):
                number += 1
    while decimals < 3:
        number *= 10
        decimals += 1
    return number


# --- JSON -----------------------------------------------------------------------------------------------------------


cdef inline bint _is_digit(unsigned char letter) noexcept nogil:
    return b"0" <= letter <= b"9"


cdef inline Text _space(Text at, Text end) noexcept nogil:
    """The place behind white space."""
    while at < end and at[0] <= b" " and (at[0] == b" " or at[0] == b"\n" or at[0] == b"\r" or at[0] == b"\t"):
        at += 1
    return at


cdef inline Text _plain_end(Text at, Text end) noexcept nogil:
    """The place of the next quote, backslash or control character, or the end; eight bytes at a time."""
    cdef uint64_t word
    cdef uint64_t quotes
    cdef uint64_t backslashes
    cdef uint64_t found
    while end - at >= 8:
        memcpy(&word, at, 8)
        quotes = word ^ <uint64_t>0x2222222222222222
        backslashes = word ^ <uint64_t>0x5C5C5C5C5C5C5C5C
        # Subtracting sets the upper bit of bytes that were 0, or less than a space; the lowest of them is right.
        found = (quotes - <uint64_t>0x0101010101010101) & ~quotes
        found |= (backslashes - <uint64_t>0x0101010101010101) & ~backslashes
        found |= (word - <uint64_t>0x2020202020202020) & ~word
        found &= <uint64_t>0x8080808080808080
        if found:
            return at + (__builtin_ctzll(found) >> 3)
        at += 8
    while at < end and at[0] != b'"' and at[0] != b"\\" and at[0] >= b" ":
        at += 1
    return at


cdef inline Text _key_end(Text at, Text end) noexcept nogil:
    """The closing quote of a name that has nothing to unescape, or NULL."""
    at = _plain_end(at, end)
    return at if at < end and at[0] == b'"' else NULL


cdef inline Text _value_begin(Text at, Text end) noexcept nogil:
    """Where the value behind a colon begins, or NULL."""
    at = _space(at, end)
    if at >= end or at[0] != b":":
        return NULL
    at = _space(at + 1, end)
    return at if at < end else NULL


cdef Text _value(Text at, Text end, int depth) noexcept nogil:
    """The place behind the value that begins here, or NULL if it is not valid, or too deep."""
    cdef unsigned char opening = at[0]
    cdef unsigned char closing
    if opening == b'"':
        return _string(at + 1, end)
    if opening != b"{" and opening != b"[":
        return _scalar(at, end)
    if depth == DEEPEST:
        return NULL
    closing = opening + 2
    at = _space(at + 1, end)
    if at < end and at[0] == closing:
        return at + 1
    while at < end:
        if opening == b"{":
            if at[0] != b'"':
                return NULL
            at = _string(at + 1, end)
            if at == NULL:
                return NULL
            at = _value_begin(at, end)
            if at == NULL:
                return NULL
        at = _value(at, end, depth + 1)
        if at == NULL:
            return NULL
        at = _space(at, end)
        if at >= end:
            return NULL
        if at[0] == closing:
            return at + 1
        if at[0] != b",":
            return NULL
        at = _space(at + 1, end)
    return NULL


cdef inline Text _string(Text at, Text end) noexcept nogil:
    """The place behind the closing quote, or NULL."""
    while True:
        at = _plain_end(at, end)
        if at == end:
            return NULL
        if at[0] == b'"':
            return at + 1
        if at[0] != b"\\":
            return NULL
        at = _escape(at + 1, end)
        if at == NULL:
            return NULL


cdef Text _escape(Text at, Text end) noexcept nogil:
    """The place behind the letters that follow a backslash, or NULL. Surrogates are left to the decoder."""
    cdef int place
    if at >= end:
        return NULL
    if at[0] in b'"\\/bfnrt':
        return at + 1
    if at[0] != b"u" or end - at < 5 or ((at[1] == b"d" or at[1] == b"D") and at[2] > b"7"):
        return NULL
    for place in range(1, 5):
        if not (_is_digit(at[place]) or b"a" <= at[place] <= b"f" or b"A" <= at[place] <= b"F"):
            return NULL
    return at + 5


cdef Text _scalar(Text at, Text end) noexcept nogil:
    """The place behind a number, true, false or null, or NULL."""
    cdef Text first
    if at[0] == b"t":
        return at + 4 if end - at >= 4 and memcmp(at, b"true", 4) == 0 else NULL
    if at[0] == b"f":
        return at + 5 if end - at >= 5 and memcmp(at, b"false", 5) == 0 else NULL
    if at[0] == b"n":
        return at + 4 if end - at >= 4 and memcmp(at, b"null", 4) == 0 else NULL
    if at[0] == b"-":
        at += 1
    first = at
    at = _digits(at, end)
    if at == first or (first[0] == b"0" and at - first > 1):
        return NULL
    if at < end and at[0] == b".":
        first = at + 1
        at = _digits(first, end)
        if at == first:
            return NULL
    if at < end and (at[0] == b"e" or at[0] == b"E"):
        at += 1
        if at < end and (at[0] == b"+" or at[0] == b"-"):
            at += 1
        first = at
        at = _digits(first, end)
        if at == first:
            return NULL
    return at


cdef inline Text _digits(Text at, Text end) noexcept nogil:
    while at < end and _is_digit(at[0]):
        at += 1
    return at
