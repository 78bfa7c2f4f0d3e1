"""A run as a table, for a terminal and for docs/benchmarks.md. Knows no benchmark."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench.row import figure

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import TextIO

    from bench.results import Part, Run
    from bench.row import Row

HEAD = ("", "ours", "spread", "baseline", "ratio", "goal", "", "")
VERDICTS = {True: "met", False: "MISSED", None: ""}
TEXT_COLUMNS = {0, len(HEAD) - 1}


def print_table(parts: Iterable[Part]) -> None:
    lines: list[Sequence[str]] = [HEAD]
    for part in parts:
        lines += [(f"-- {part.name} (load {part.load:.1f})", *[""] * (len(HEAD) - 1))]
        lines += map(_cells, part.rows)
    print_aligned(lines, texts=TEXT_COLUMNS)


def print_row(row: Row, *, file: TextIO) -> None:
    print("  ".join(filter(None, _cells(row))), file=file, flush=True)


def print_aligned(lines: Sequence[Sequence[str]], *, texts: set[int]) -> None:
    """Columns of texts to the left, figures to the right."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for cells in lines:
        print("  ".join(_aligned(cells, widths, texts)).rstrip())


def markdown(run: Run) -> str:
    """What docs/benchmarks.md keeps of a run."""
    versions = ", ".join(f"{name} {told}" for name, told in run.versions.items())
    met = [row.is_met for part in run.parts for row in part.rows]
    lines = [
        f"Run of {run.at:%Y-%m-%d %H:%M} UTC. {run.machine}; Python {run.python}; {versions}.",
        f"Of {met.count(True) + met.count(False)} goals {met.count(True)} are met.",
        "The spread is from the fastest to the one that 95 of 100 are below, of n.",
    ]
    for part in run.parts:
        lines += ["", f"**{part.name}**, {part.seconds:.0f} s, load before it {part.load:.1f}", ""]
        lines += [
            "| | ours | spread | baseline | ratio | goal | |",
            "|---|---|---|---|---|---|---|",
        ]
        lines += [_markdown_row(row) for row in part.rows]
    return "\n".join(lines)


def _cells(row: Row) -> tuple[str, ...]:
    baseline = f"{figure(row.baseline)} {row.baseline_name}" if row.baseline else ""
    return (
        row.name,
        f"{figure(row.ours)} {row.unit}",
        str(row.spread or ""),
        baseline,
        f"{row.ratio:.2f} x" if row.ratio else "",
        str(row.goal or ""),
        VERDICTS[row.is_met],
        row.note,
    )


def _markdown_row(row: Row) -> str:
    *cells, verdict, note = _cells(row)
    last = f"{verdict.lower()}{': ' if verdict and note else ''}{note}"
    return f"| {' | '.join(cell.replace('|', '/') for cell in (*cells, last))} |"


def _aligned(cells: Sequence[str], widths: Sequence[int], texts: set[int]) -> list[str]:
    return [
        cell.ljust(width) if place in texts else cell.rjust(width)
        for place, (cell, width) in enumerate(zip(cells, widths, strict=True))
    ]
