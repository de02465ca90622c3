"""A generator of allocations with known truth: patterns of leaks and of what only looks like one, at random.

Each draw is one site. Steps are a millisecond long; a block is (step of birth, step of death or None, bytes). Blocks
are born in the middle of a step; one that dies in a later step dies at its beginning, one that dies in its own at its
end.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

import polars as pl

STEP_NS = 1_000_000
FIRST_STEP = 1  # steps are numbered from here

Block = tuple[int, int | None, int]
Pattern = Callable[[random.Random, int], list[Block]]


def append(chance: random.Random, steps: int) -> list[Block]:
    size = _size(chance)
    return [(step, None, size) for step in range(steps)]


def append_small(chance: random.Random, steps: int) -> list[Block]:
    return [(step, None, 256) for step in range(steps)]


def append_every_third(chance: random.Random, steps: int) -> list[Block]:
    size, phase = _size(chance), chance.randrange(3)
    return [(step, None, size) for step in range(phase, steps, 3)]


def kept_graph(chance: random.Random, steps: int) -> list[Block]:
    size = _size(chance)
    kept: list[Block] = [(step, None, small) for step in range(steps) for small in (4, size)]
    return kept + [(step, step, 2 * size) for step in range(steps)]


def cycles_never_collected(chance: random.Random, steps: int) -> list[Block]:
    size = _size(chance)
    return [(step, None, size) for step in range(steps) for _ in range(chance.randint(1, 3))]


def growing_buffer(chance: random.Random, steps: int) -> list[Block]:
    size, first = _size(chance), _size(chance)
    return [(step, step + 1 if step + 1 < steps else None, first + step * size) for step in range(steps)]


def append_from_late_on(chance: random.Random, steps: int) -> list[Block]:
    size, start = _size(chance), chance.randint(2, steps // 2)
    return [(step, None, size) for step in range(start, steps)]


def half_of_the_blocks_stay(chance: random.Random, steps: int) -> list[Block]:
    size = _size(chance)
    return [(step, None if chance.random() < 0.5 else step, size) for step in range(steps)]


def append_under_noise(chance: random.Random, steps: int) -> list[Block]:
    size = _size(chance)
    noise: list[Block] = [
        (step, step + 1 if step + 1 < steps else None, chance.randint(1, 5 * size)) for step in range(steps)
    ]
    return [(step, None, size) for step in range(steps)] + noise


def state_of_first_step(chance: random.Random, steps: int) -> list[Block]:
    return [(chance.randrange(2), None, _size(chance)) for _ in range(chance.randint(1, 20))]


def ring(chance: random.Random, steps: int) -> list[Block]:
    return _living(_size(chance), chance.randint(2, 5), steps)


def cache_in_order(chance: random.Random, steps: int) -> list[Block]:
    return [(step, None, _size(chance)) for step in range(chance.randint(3, 6))]


def one_off(chance: random.Random, steps: int) -> list[Block]:
    return [(chance.randint(2, steps - 2), None, _size(chance))]


def fill_and_clear(chance: random.Random, steps: int) -> list[Block]:
    size, most, phase = _size(chance), chance.randint(3, 6), chance.randrange(4)
    clears = [step for step in range(steps + most) if (step + phase) % most == 0]
    return [(step, _before(next(clear for clear in clears if clear > step), steps), size) for step in range(steps)]


def prefetch(chance: random.Random, steps: int) -> list[Block]:
    return _living(_size(chance), chance.randint(2, 4), steps)


def replaced_each_step(chance: random.Random, steps: int) -> list[Block]:
    return _living(_size(chance), 1, steps)


def replaced_every_second_step(chance: random.Random, steps: int) -> list[Block]:
    size, every = _size(chance), chance.randint(2, 4)
    return [(step, _before(step + every, steps), size) for step in range(chance.randrange(every), steps, every)]


def temporary(chance: random.Random, steps: int) -> list[Block]:
    size = _size(chance)
    return [(step, step, size) for step in range(steps) for _ in range(chance.randint(1, 4))]


def cache_in_random_order(chance: random.Random, steps: int) -> list[Block]:
    shapes = chance.sample(range(1, 1000), chance.randint(3, 8))
    return _first_seen([chance.choice(shapes) * 512 for _ in range(steps)])


def cache_of_equal_sizes(chance: random.Random, steps: int) -> list[Block]:
    size, keys = _size(chance), chance.randint(3, 6)
    return [(step, None, size) for step, _, _ in _first_seen([chance.randrange(keys) for _ in range(steps)])]


def variable_sizes(chance: random.Random, steps: int) -> list[Block]:
    return [(step, _before(step + 1, steps), _size(chance)) for step in range(steps)]


def evaluation_now_and_then(chance: random.Random, steps: int) -> list[Block]:
    size, every = _size(chance), chance.randint(4, 6)
    lives = chance.choice([1, every])
    return [(step, _before(step + lives, steps), size) for step in range(chance.randrange(every), steps, every)]


def gradients_of_a_late_window(chance: random.Random, steps: int) -> list[Block]:
    sizes = [_size(chance) for _ in range(chance.randint(1, 6))]
    return [(step, _before(step + 1, steps), size) for step in range(steps) for size in sizes]


LEAKS: tuple[Pattern, ...] = (
    append,
    append_small,
    append_every_third,
    kept_graph,
    cycles_never_collected,
    growing_buffer,
    append_from_late_on,
    half_of_the_blocks_stay,
    append_under_noise,
)
NOT_LEAKS: tuple[Pattern, ...] = (
    state_of_first_step,
    ring,
    cache_in_order,
    one_off,
    fill_and_clear,
    prefetch,
    replaced_each_step,
    replaced_every_second_step,
    temporary,
    cache_in_random_order,
    cache_of_equal_sizes,
    variable_sizes,
    evaluation_now_and_then,
    gradients_of_a_late_window,
)


@dataclass
class Generated:
    """Tables of a run, and of which pattern each stack is."""

    allocations: pl.DataFrame
    stacks: pl.DataFrame
    steps: pl.DataFrame
    pattern: dict[str, str] = field(default_factory=dict)  # by frame


def generate(seed: int, steps: int, draws: int, patterns: tuple[Pattern, ...] = LEAKS + NOT_LEAKS) -> Generated:
    """``draws`` sites of each pattern in one run; addresses are never used twice."""
    chance = random.Random(seed)
    rows: list[tuple[int, int, int | None, int]] = []
    frames: list[str] = []
    pattern_of: dict[str, str] = {}
    for pattern in patterns:
        for draw in range(draws):
            frame = f"{pattern.__name__}.py({draw + 1}): {pattern.__name__}"
            pattern_of[frame] = pattern.__name__
            for born, died, size in pattern(chance, steps):
                free = None if died is None else died * STEP_NS + (900_000 if died == born else 100_000)
                rows.append((len(frames), born * STEP_NS + 500_000, free, size))
            frames.append("job.py(1): <module>\njob.py(9): train\n" + frame)
    chance.shuffle(rows)
    allocations = pl.DataFrame(rows, schema=["stack", "alloc_ns", "free_ns", "bytes"], orient="row").with_columns(
        device=pl.lit("cuda:0"),
        operator=pl.lit("aten::empty"),
        address=pl.int_range(pl.len()) * 10_000_000 + 512,
        before_window=pl.lit(False),
        lost_free=pl.lit(False),
    )
    numbers = pl.int_range(steps, eager=True)
    marks = pl.DataFrame(
        {
            "step": numbers + FIRST_STEP,
            "host_start_ns": numbers * STEP_NS,
            "host_end_ns": (numbers + 1) * STEP_NS,
            "marks_from": ["profiler_step"] * steps,
        }
    )
    stacks = pl.DataFrame({"stack": range(len(frames)), "frames": frames})
    return Generated(allocations, stacks, marks, pattern_of)


def _size(chance: random.Random) -> int:
    return 512 * chance.randint(1, 8000)


def _before(step: int, steps: int) -> int | None:
    return step if step < steps else None


def _living(size: int, lives: int, steps: int) -> list[Block]:
    return [(step, _before(step + lives, steps), size) for step in range(steps)]


def _first_seen(keys: list[int]) -> list[Block]:
    return [(step, None, key) for step, key in enumerate(keys) if key not in keys[:step]]
