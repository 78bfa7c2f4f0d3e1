"""Two runs side by side."""

from __future__ import annotations

import sys
from subprocess import run as execute
from typing import TYPE_CHECKING

import pytest

from bench.compare import lines_of
from bench.results import write
from bench.row import Goal, Row, Spread
from tests.bench.runs import run

if TYPE_CHECKING:
    from pathlib import Path


def trip(ours: float, baseline: float | None = None, spread: Spread | None = None) -> Row:
    limit = Goal(limit=2.0)
    return Row(name="trip", unit="ms", ours=ours, baseline=baseline, spread=spread, goal=limit)


def test_a_slower_machine_is_taken_out_where_both_have_a_baseline() -> None:
    (line,) = lines_of(run(trip(1.0, baseline=0.5)), run(trip(2.0, baseline=1.0)))

    assert line == ("wire: trip", "1 ms", "2 ms", "2.00 x", "2.00 x", "1.00 x", "")


@pytest.mark.parametrize(("ours", "verdict"), [(2.0, "more, worse"), (0.5, "less, better")])
def test_a_row_is_judged_by_its_goal(ours: float, verdict: str) -> None:
    (line,) = lines_of(run(trip(1.0)), run(trip(ours)))

    assert line[-1] == verdict


def test_more_is_better_where_the_goal_is_a_least() -> None:
    rates = [
        Row(name="rate", unit="per s", ours=ours, goal=Goal(limit=1, is_least=True))
        for ours in (1, 2)
    ]
    (line,) = lines_of(run(rates[0]), run(rates[1]))

    assert line[-1] == "more, better"


def test_a_difference_within_both_spreads_is_not_a_change() -> None:
    wide = Spread(fastest=0.5, p95=3.0, count=100)
    (line,) = lines_of(run(trip(1.0, spread=wide)), run(trip(1.4, spread=wide)))

    assert line[-1] == ""


def test_rows_that_only_one_has_come_last() -> None:
    here, there = run(trip(1.0), part="wire"), run(trip(1.0), part="chat")

    assert [line[2] for line in lines_of(here, there)] == ["only in A", "only in B"]


def test_the_program_prints_both_and_names_what_it_cannot_read(tmp_path: Path) -> None:
    path = write(run(trip(1.0)), tmp_path)
    command = [sys.executable, "-m", "bench.compare", str(path)]

    both = execute([*command, str(path)], capture_output=True, text=True)
    none = execute([*command, str(tmp_path / "none")], capture_output=True, text=True)

    assert both.returncode == 0 and "wire: trip" in both.stdout
    assert none.returncode == 2 and "No such file" in none.stderr
