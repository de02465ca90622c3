"""Times and sizes as people read them: two steps of a small model do not take 0.0 s."""

from __future__ import annotations


def duration(seconds: float) -> str:
    """
    >>> duration(0.0334), duration(0.99951), duration(7.14), duration(135.2)
    ('33 ms', '1.0 s', '7.1 s', '135 s')
    """
    if seconds < 0.9995:
        return f"{seconds * 1e3:.0f} ms"
    return f"{seconds:.1f} s" if seconds < 100 else f"{seconds:.0f} s"


def size(count: int) -> str:
    """
    >>> size(512), size(41_600), size(999_600), size(1_240_000), size(1_500_000_000)
    ('512 B', '42 kB', '1.0 MB', '1.2 MB', '1500 MB')
    """
    if count < 1000:
        return f"{count} B"
    if count < 999_500:
        return f"{count / 1e3:.0f} kB"
    return f"{count / 1e6:.1f} MB" if count < 1e8 else f"{count / 1e6:.0f} MB"
