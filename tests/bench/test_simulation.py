"""What the simulation of a network says follows from what it is told."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from bench.measured import Measured, read, refreshed
from bench.results import Part, Run
from bench.row import Row
from bench.simulation import Network, People, enough, layouts

COSTS = Measured(
    at="2026-01-01",
    machine="any",
    processor_ms_per_chat={"prosody": 3.0, "assistant": 10.0, "memory": 30.0, "rag": 8.0},
    memory_share_before_answer=0.2,
)


def test_one_machine_is_as_fast_as_its_cores_and_no_faster() -> None:
    people = People(count=300, think_s=10.0)
    small = layouts(COSTS, people)[0]

    outcome = Network(small, COSTS, people).run(warm_up_s=30, counted_s=60)

    most_per_s = 2 / 0.051  # Cores, and the processor time of a chat.
    assert people.per_s < most_per_s
    assert outcome.per_s == pytest.approx(people.per_s, rel=0.06)
    more = People(count=1200, think_s=10.0)
    crowded = Network(small, COSTS, more).run(warm_up_s=60, counted_s=30)
    assert crowded.per_s < most_per_s
    busy = {one.name: one.utilisation for one in crowded.figures}
    assert max(busy.values()) > 0.98


def test_a_sufficient_layout_keeps_waiting_times_short() -> None:
    people = People(count=500, think_s=10.0)

    outcome = Network(enough(COSTS, people), COSTS, people).run(warm_up_s=20, counted_s=40)

    assert outcome.per_s == pytest.approx(people.per_s, rel=0.07)
    assert outcome.mean_s < people.model_s + 0.5


def test_the_same_seed_gives_the_same_figures() -> None:
    people = People(count=100)
    layout = layouts(COSTS, people)[0]

    first, second = (Network(layout, COSTS, people).run(warm_up_s=30, counted_s=30) for _ in "12")

    assert first == second


def test_costs_are_refreshed_from_a_run_of_the_benchmark() -> None:
    rows = tuple(
        Row(name=name, unit="ms", ours=ms)
        for name, ms in (("processor per chat: memory", 12.3), ("another", 1.0))
    )
    run = Run(
        at=datetime(2026, 11, 22, tzinfo=UTC),
        is_quick=False,
        machine="a new one",
        python="3",
        versions={},
        parts=(Part(name="costs", seconds=1.0, load=0.0, rows=rows),),
    )

    new = refreshed(COSTS, run)

    assert new.processor_ms_per_chat == {**COSTS.processor_ms_per_chat, "memory": 12.3}
    assert (new.at, new.machine) == ("2026-11-22", "a new one")


def test_the_file_of_costs_can_be_read() -> None:
    assert set(read().processor_ms_per_chat) == {"prosody", "assistant", "memory", "rag"}
