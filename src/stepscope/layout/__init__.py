"""Names and columns of the documented capture directory. Standard library only, Python 3.9 and newer.

The profiler, which writes the directory on a training machine, and ``deliver``, which fills it afterwards, both take
the names from here, so that neither needs the other.
"""
