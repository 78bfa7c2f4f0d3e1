"""Runs of benchmarks for tests: small, and the same each time."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from bench.results import Part, Run

if TYPE_CHECKING:
    from bench.row import Row

AT = datetime(2026, 11, 22, 9, 0, tzinfo=UTC)


def run(*rows: Row, part: str = "wire", day: int = 22, machine: str = "two cores") -> Run:
    parts = (Part(name=part, seconds=1.0, load=0.5, rows=rows),)
    at = AT.replace(day=day)
    return Run(at=at, is_quick=False, machine=machine, python="3.11.7", versions={}, parts=parts)
