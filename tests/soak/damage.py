"""Damage to the bytes of a file: cuts, swaps and insertions, by dice."""

from __future__ import annotations

import random

PIECES = (
    *(b"{", b"}", b"[", b"]", b'"', b",", b"\\", b"\0", b"\n", b"\r", b";", b":", b"'", b" "),
    *(b"\xff", b"\xff\xfe", b"\xef\xbb\xbf", b"\xed\xa0\x80", b"\\ud800", b"\x1b[31m", b"\x1f\x8b"),
    *(b"null", b"true", b"NaN", b"N/A", b"1e999", b"-1", b"}, {", b"[[[]]]", b"{}", b'""', b"[[0, 1]]"),
    *(b"2147483648", b"4294967296", b"9223372036854775808", b"-9223372036854775809", b"1" * 40, b"0x" + b"f" * 40),
)


def damaged(content: bytes, dice: random.Random) -> tuple[bytes, bool]:
    """The content after some cuts, swaps and insertions; and whether its end was cut off and nothing else."""
    if dice.random() < 0.2:
        return content[: dice.randrange(len(content) + 1)], True
    data = bytearray(content)
    for _ in range(dice.randint(1, 6)):
        at = dice.randrange(len(data) + 1)
        match dice.randrange(7):
            case 0:
                del data[at : at + dice.randint(1, 200)]
            case 1:
                data[at:at] = dice.choice(PIECES)
            case 2:
                data[at : at + 1] = bytes([dice.randrange(256)])
            case 3:
                data[at:at] = data[: dice.randint(0, 300)]
            case 4:
                _replace_number(data, at, dice)
            case 5:
                _replace_text(data, at, dice)
            case _:
                other = dice.randrange(len(data) + 1)
                data[at : at + 20], data[other : other + 20] = data[other : other + 20], data[at : at + 20]
    return bytes(data), False


def _replace_number(data: bytearray, at: int, dice: random.Random) -> None:
    """The next number by one that is odd; structure stays, so that it gets far."""
    while at < len(data) and not 48 <= data[at] <= 57:
        at += 1
    end = at
    while end < len(data) and data[end] in b"0123456789.eE+-":
        end += 1
    data[at:end] = dice.choice(PIECES[-16:])


def _replace_text(data: bytearray, at: int, dice: random.Random) -> None:
    """The next quoted text by another value."""
    begin = data.find(b'"', at)
    end = data.find(b'"', begin + 1)
    if 0 <= begin < end:
        data[begin : end + 1] = dice.choice((b"null", b"7", b"[]", b"{}", b'""', b'"\\ud800"', b"[[0, 1]]", b"-1.5"))
