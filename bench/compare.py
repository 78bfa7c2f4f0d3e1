"""Two runs side by side: `python -m bench.compare A.json B.json` (`make bench-compare A B`).

B against A, and again with the machine's own speed taken out where both runs measured a baseline.
A difference that lies within the spread of both is none.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from bench.report import print_aligned
from bench.results import UnreadableRun, read
from bench.row import figure

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from bench.results import Run
    from bench.row import Row

HEAD = ("", "A", "B", "B / A", "baselines", "B / A, both against theirs", "")
NOISE = 0.1
"""What the median of a row without a spread may differ by."""


def lines_of(a: Run, b: Run) -> Iterator[tuple[str, ...]]:
    """A line for each row that both have, then one for each that only one has."""
    ours, theirs = a.rows, b.rows
    for name in ours:
        if name in theirs:
            yield _line(name, ours[name], theirs[name])
    yield from _lonely("only in A", ours, theirs)
    yield from _lonely("only in B", theirs, ours)


def _line(name: str, a: Row, b: Row) -> tuple[str, ...]:
    change = b.ours / a.ours if a.ours else None
    fair = b.ratio / a.ratio if a.ratio and b.ratio else None
    machine = b.baseline / a.baseline if a.baseline and b.baseline else None
    return (
        name,
        f"{figure(a.ours)} {a.unit}",
        f"{figure(b.ours)} {b.unit}",
        _times(change),
        _times(machine),
        _times(fair),
        _verdict(a, b, fair or change),
    )


def _verdict(a: Row, b: Row, change: float | None) -> str:
    """By which factor it is more or less; whether that is good, the row's goal knows."""
    if change is None or _is_noise(a, b, change):
        return ""
    direction = "more" if change > 1 else "less"
    if a.goal is None:
        return direction
    return f"{direction}, {'better' if (change > 1) == a.goal.is_least else 'worse'}"


def _is_noise(a: Row, b: Row, change: float) -> bool:
    if a.spread is None or b.spread is None:
        return abs(change - 1) < NOISE
    within = a.spread.fastest <= b.ours <= a.spread.p95
    return within and b.spread.fastest <= a.ours <= b.spread.p95


def _lonely(
    where: str, rows: Mapping[str, Row], others: Mapping[str, Row]
) -> Iterator[tuple[str, ...]]:
    for name, row in rows.items():
        if name not in others:
            yield (name, f"{figure(row.ours)} {row.unit}", where, "", "", "", "")


def _times(factor: float | None) -> str:
    return "" if factor is None else f"{factor:.2f} x"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.compare", description=__doc__)
    parser.add_argument("a", type=Path, metavar="A", help="a file of bench/results/")
    parser.add_argument("b", type=Path, metavar="B", help="a later one")
    arguments = parser.parse_args()
    try:
        a, b = read(arguments.a), read(arguments.b)
    except UnreadableRun as error:
        print(error, file=sys.stderr)
        return 2
    for name, run in (("A", a), ("B", b)):
        print(f"{name}: {run.at:%Y-%m-%d %H:%M}, {run.machine}{', quick' * run.is_quick}")
    print_aligned([HEAD, *lines_of(a, b)], texts={0, 6})
    return 0


if __name__ == "__main__":
    sys.exit(main())
