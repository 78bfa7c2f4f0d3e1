"""Rows as a table for people and as JSON for comparing two runs. Knows no benchmark."""

from __future__ import annotations

import json
import os
import platform
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from bench.row import figure

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from bench.row import Row

HEAD = ("", "ours", "spread", "baseline", "ratio", "goal", "", "")
RESULTS = Path(__file__).parent / "results"
LIBRARIES = ("spade", "slixmpp_multiplatform", "openai", "pydantic", "aiosqlite", "chromadb")
VERDICTS = {True: "met", False: "MISSED", None: ""}


def print_table(rows: Sequence[Row]) -> None:
    lines = [HEAD, *map(_cells, rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for cells in lines:
        print("  ".join(_aligned(cells, widths)).rstrip())


def write_json(rows: Iterable[Row], *, is_quick: bool) -> Path:
    """One file per run, in bench/results."""
    now = datetime.now(UTC)
    run = {
        "at": now.isoformat(timespec="seconds"),
        "is_quick": is_quick,
        "python": platform.python_version(),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
        "load": os.getloadavg(),
        "versions": {name: version(name) for name in LIBRARIES},
        "rows": [{**asdict(row), "ratio": row.ratio, "is_met": row.is_met} for row in rows],
    }
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{now:%Y-%m-%dT%H-%M-%S}.json"
    path.write_text(json.dumps(run, indent=1, ensure_ascii=False), encoding="utf-8")
    return path


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


def _aligned(cells: Sequence[str], widths: Sequence[int]) -> list[str]:
    """Names and notes to the left, figures to the right."""
    last = len(cells) - 1
    return [
        cell.ljust(width) if place in (0, last) else cell.rjust(width)
        for place, (cell, width) in enumerate(zip(cells, widths, strict=True))
    ]
