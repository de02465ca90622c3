# cython: language_level=3
"""What a scan keeps of the events."""

from libc.stdint cimport int64_t, uint64_t

from stepscope.readers.trace_json.json_text cimport Text

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
