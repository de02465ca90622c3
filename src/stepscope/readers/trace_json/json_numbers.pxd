# cython: language_level=3
"""Numbers in a JSON text."""

from libc.stdint cimport INT64_MIN, int64_t

from stepscope.readers.trace_json.json_text cimport Text, behind_digits, is_digit

cdef enum:
    MOST_DIGITS = 15  # of microseconds; one more may exceed the times that are believed
    LONGEST_INTEGER = 18


cdef inline int64_t integer(Text at, Text end) noexcept nogil:
    """A plain integer that surely fits, else INT64_MIN."""
    cdef bint negative = at[0] == b"-"
    cdef int64_t number = 0
    if negative:
        at += 1
    if end - at > LONGEST_INTEGER:
        return INT64_MIN
    while at < end:
        if not is_digit(at[0]):
            return INT64_MIN
        number = number * 10 + (at[0] - c"0")
        at += 1
    return -number if negative else number


cdef inline int64_t nanoseconds(Text at, Text end) noexcept nogil:
    """Microseconds, plain or in quotes, to the nearest nanosecond, ties to even; INT64_MIN if it is written otherwise."""
    cdef int64_t number = 0
    cdef int decimals = 0
    cdef bint up
    cdef bint tie
    cdef Text first
    if at[0] == b'"' and end - at > 2:
        at += 1
        end -= 1
    first = at
    at = behind_digits(at, end)
    if at == first or at - first > MOST_DIGITS + 1 or (at - first > MOST_DIGITS and first[0] > b"3"):
        return INT64_MIN
    while first < at:
        number = number * 10 + (first[0] - c"0")
        first += 1
    if at < end:
        if at[0] != b".":
            return INT64_MIN
        first = at + 1
        at = behind_digits(first, end)
        if at < end:
            return INT64_MIN
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
