# cython: language_level=3
"""Where the parts of a JSON text end. Each function takes a place and the end of the text, and gives the place behind what
begins there; NULL if that is not valid JSON, or has no end.
"""

from libc.stdint cimport uint64_t
from libc.string cimport memcmp, memcpy

ctypedef const unsigned char* Text

cdef extern from *:
    int __builtin_ctzll(unsigned long long) noexcept nogil

cdef enum:
    DEEPEST = 60  # nesting; the stack of the processor is not for hostile files


cdef inline bint is_digit(unsigned char letter) noexcept nogil:
    return b"0" <= letter <= b"9"


cdef inline Text behind_space(Text at, Text end) noexcept nogil:
    """The place behind white space."""
    while at < end and at[0] <= b" " and (at[0] == b" " or at[0] == b"\n" or at[0] == b"\r" or at[0] == b"\t"):
        at += 1
    return at


cdef inline Text plain_end(Text at, Text end) noexcept nogil:
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


cdef inline Text name_end(Text at, Text end) noexcept nogil:
    """The closing quote of a name that has nothing to unescape, or NULL."""
    at = plain_end(at, end)
    return at if at < end and at[0] == b'"' else NULL


cdef inline Text value_begin(Text at, Text end) noexcept nogil:
    """Where the value behind a colon begins, or NULL."""
    at = behind_space(at, end)
    if at >= end or at[0] != b":":
        return NULL
    at = behind_space(at + 1, end)
    return at if at < end else NULL


cdef inline Text behind_value(Text at, Text end, int depth) noexcept nogil:
    """The place behind the value that begins here, or NULL if it is not valid, or too deep."""
    cdef unsigned char opening = at[0]
    cdef unsigned char closing
    if opening == b'"':
        return behind_string(at + 1, end)
    if opening != b"{" and opening != b"[":
        return behind_scalar(at, end)
    if depth == DEEPEST:
        return NULL
    closing = opening + 2
    at = behind_space(at + 1, end)
    if at < end and at[0] == closing:
        return at + 1
    while at < end:
        if opening == b"{":
            if at[0] != b'"':
                return NULL
            at = behind_string(at + 1, end)
            if at == NULL:
                return NULL
            at = value_begin(at, end)
            if at == NULL:
                return NULL
        at = behind_value(at, end, depth + 1)
        if at == NULL:
            return NULL
        at = behind_space(at, end)
        if at >= end:
            return NULL
        if at[0] == closing:
            return at + 1
        if at[0] != b",":
            return NULL
        at = behind_space(at + 1, end)
    return NULL


cdef inline Text behind_string(Text at, Text end) noexcept nogil:
    """The place behind the closing quote, or NULL."""
    while True:
        at = plain_end(at, end)
        if at == end:
            return NULL
        if at[0] == b'"':
            return at + 1
        if at[0] != b"\\":
            return NULL
        at = behind_escape(at + 1, end)
        if at == NULL:
            return NULL


cdef inline Text behind_escape(Text at, Text end) noexcept nogil:
    """The place behind the letters that follow a backslash, or NULL. Surrogates are left to the decoder."""
    cdef int place
    if at >= end:
        return NULL
    if at[0] in b'"\\/bfnrt':
        return at + 1
    if at[0] != b"u" or end - at < 5 or ((at[1] == b"d" or at[1] == b"D") and at[2] > b"7"):
        return NULL
    for place in range(1, 5):
        if not (is_digit(at[place]) or b"a" <= at[place] <= b"f" or b"A" <= at[place] <= b"F"):
            return NULL
    return at + 5


cdef inline Text behind_scalar(Text at, Text end) noexcept nogil:
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
    at = behind_digits(at, end)
    if at == first or (first[0] == b"0" and at - first > 1):
        return NULL
    if at < end and at[0] == b".":
        first = at + 1
        at = behind_digits(first, end)
        if at == first:
            return NULL
    if at < end and (at[0] == b"e" or at[0] == b"E"):
        at += 1
        if at < end and (at[0] == b"+" or at[0] == b"-"):
            at += 1
        first = at
        at = behind_digits(first, end)
        if at == first:
            return NULL
    return at


cdef inline Text behind_digits(Text at, Text end) noexcept nogil:
    while at < end and is_digit(at[0]):
        at += 1
    return at
