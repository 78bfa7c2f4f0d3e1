"""The simulation's stations keep to the theory of queues, and to its own arithmetic."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

from bench.events import Station, World, erlang_c

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bench.events import Figures, Step

SERVICE_S = 1.0


def arrivals(world: World, station: Station, per_s: float, seed: int) -> Iterator[Step]:
    """Exponential pauses and services: M/M/c."""
    chance = random.Random(seed)
    while True:
        yield world.pause(chance.expovariate(per_s))
        world.start(iter([station.serve(chance.expovariate(1 / SERVICE_S))]))


def measured(*, places: int, busy: float, lasts_s: float = 40_000) -> Figures:
    world = World()
    station = Station(world, "station", places=places)
    world.start(arrivals(world, station, busy * places / SERVICE_S, seed=7))
    world.run(1000)
    station.reset()
    world.run(1000 + lasts_s)
    return station.figures


@pytest.mark.parametrize(("places", "busy"), [(1, 0.5), (1, 0.8), (3, 0.7), (8, 0.85)])
def test_a_station_waits_as_erlang_says(places: int, busy: float) -> None:
    figures = measured(places=places, busy=busy, lasts_s=120_000 / places)

    wait_s = erlang_c(places, busy * places) * SERVICE_S / (places * (1 - busy))
    assert figures.utilisation == pytest.approx(busy, rel=0.03)
    assert figures.mean_wait_s == pytest.approx(wait_s, rel=0.1)


def test_the_queue_is_as_long_as_little_s_law_says() -> None:
    figures = measured(places=2, busy=0.8)

    assert figures.mean_queue == pytest.approx(figures.served_per_s * figures.mean_wait_s, rel=0.01)


@pytest.mark.parametrize(
    ("places", "offered", "chance"), [(1, 0.6, 0.6), (2, 1.0, 1 / 3), (5, 4.0, 0.5541)]
)
def test_erlang_s_formula_gives_what_its_tables_do(
    places: int, offered: float, chance: float
) -> None:
    assert erlang_c(places, offered) == pytest.approx(chance, abs=1e-4)


def test_requests_are_served_in_order_and_parallel_work_ends_with_its_last() -> None:
    world, ended = World(), list[tuple[str, float]]()
    station = Station(world, "station")

    def work(name: str, *seconds: float) -> None:
        steps = iter([station.serve(each) for each in seconds])
        world.start(steps, lambda: ended.append((name, world.now_s)))

    work("first", 1.0)
    work("second", 2.0)
    both = world.side_by_side(iter([world.pause(5.0)]), iter([world.pause(4.0)]))
    world.start(iter([both]), lambda: ended.append(("both", world.now_s)))
    world.run(10.0)

    assert ended == [("first", 1.0), ("second", 3.0), ("both", 5.0)]
    assert station.figures.longest_queue == 1


def test_a_process_waits_for_a_core_that_another_uses() -> None:
    world = World()
    cores = Station(world, "cores")
    one, other = (Station(world, name, on=cores) for name in ("one", "other"))

    for station in (one, other):
        world.start(iter([station.serve(2.0)]))
    world.run(10.0)

    assert cores.figures.longest_queue == 1
    assert (one.figures.utilisation, other.figures.utilisation) == (0.2, 0.4)
