# cython: language_level=3
"""Numbers of texts that were looked up last; a look-up here needs no object."""

from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memcmp, memcpy

from stepscope.readers.trace_json.json_text cimport Text

cdef enum:
    KNOWN = 1024

cdef struct Known:
    Text begin
    Py_ssize_t length
    int64_t number


cdef inline int64_t number_of(Known* known, Text begin, Text end, codes) except? -1:
    """The number that ``codes`` has for a text, which must stay where it is as long as ``known`` is used."""
    cdef Known* slot = known + hash_of(begin, end) % KNOWN
    if slot.begin == NULL or slot.length != end - begin or memcmp(slot.begin, begin, end - begin) != 0:
        slot.number = codes[copied(begin, end)]
        slot.begin = begin
        slot.length = end - begin
    return slot.number


cdef inline uint64_t hash_of(Text at, Text end) noexcept nogil:
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


cdef inline bytes copied(Text begin, Text end):
    return PyBytes_FromStringAndSize(<const char*>begin, end - begin)
