"""Runs of the benchmarks as files."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from bench.report import markdown
from bench.results import FORMAT, UnreadableRun, merged, read, write
from bench.row import Goal, Row, Spread
from tests.bench.runs import run

if TYPE_CHECKING:
    from pathlib import Path

TRIP = Row(
    name="round trip",
    unit="ms",
    ours=1.2,
    spread=Spread(fastest=1.0, p95=2.0, count=20),
    baseline=1.0,
    baseline_name="slixmpp",
    goal=Goal(limit=1.2, is_ratio=True),
)
RATE = Row(name="rate", unit="per s", ours=80, goal=Goal(limit=90, is_least=True))


def test_a_written_run_is_read_as_it_was(tmp_path: Path) -> None:
    written = run(TRIP, RATE)

    assert read(write(written, tmp_path)) == written


def test_a_goal_is_met_from_above_or_from_below() -> None:
    assert TRIP.is_met
    assert RATE.is_met is False


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("", "the whole file: Invalid JSON"),
        ('{"is_quick": 1}', "at: Field required"),
        ("[1]", "the whole file: Input should be an object"),
    ],
)
def test_a_file_that_is_no_run_is_named_with_what_is_wrong(
    tmp_path: Path, content: str, complaint: str
) -> None:
    path = tmp_path / "run.json"
    path.write_text(content)

    with pytest.raises(UnreadableRun, match=f"run.json: {complaint}"):
        read(path)


def test_a_missing_file_and_a_newer_one_are_told(tmp_path: Path) -> None:
    with pytest.raises(UnreadableRun, match="No such file"):
        read(tmp_path / "none.json")
    newer = run(TRIP).model_copy(update={"format": FORMAT + 1})

    with pytest.raises(UnreadableRun, match="is newer"):
        read(write(newer, tmp_path))


def test_pieces_of_a_run_are_one_and_the_later_counts() -> None:
    earlier, chat = run(TRIP), run(RATE, part="chat")
    later = run(RATE, day=23)

    assert merged([later, chat, earlier]).rows == {"wire: rate": RATE, "chat: rate": RATE}


def test_pieces_of_two_machines_are_no_run() -> None:
    with pytest.raises(UnreadableRun, match="two machines"):
        merged([run(TRIP), run(TRIP, day=23, machine="four cores")])


def test_the_page_has_every_figure_with_its_goal() -> None:
    page = markdown(run(TRIP, RATE))

    assert "Of 2 goals 1 are met." in page
    assert "| round trip | 1.2 ms | 1 – 2, n 20 | 1 slixmpp | 1.20 x | ≤ 1.2 x | met |" in page
    assert "| rate | 80 per s |  |  |  | ≥ 90 | missed |" in page


def test_two_rows_of_one_name_are_refused() -> None:
    with pytest.raises(ValueError, match="two rows of one name"):
        run(TRIP, TRIP)
