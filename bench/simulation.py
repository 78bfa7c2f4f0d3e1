"""Ten thousand people who chat at once: where queues grow, simulated from what one chat costs.

`python -m bench.simulation`. Each person thinks, says something, and waits for the answer: Prosody,
the assistant (memory beside documents), the model, the assistant, Prosody. What memory learns it
does afterwards, at the same station. Processor times are drawn from exponential distributions with
the measured means (bench/measured.json), so are pauses; a model's times are log-normal.
"""

from __future__ import annotations

import argparse
import math
import random
import sys
from dataclasses import dataclass, replace
from itertools import cycle
from typing import TYPE_CHECKING

from bench import measured
from bench.events import Station, World
from bench.row import Row, check
from spade_llm.providers.retry import ModelLimits

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bench.events import Figures, Step
    from bench.measured import Measured
    from bench.row import Scale
    from bench.stage import Stage

STANZAS = 6
"""Through the server, for each chat: what is said, two questions and two answers, the reply."""
HEADROOM = 0.6
"""How busy a station of a layout that is big enough may be, in the mean."""


@dataclass(frozen=True, slots=True, kw_only=True)
class People:
    """What they do. Not measured: an assumption, said in every table."""

    count: int = 10_000
    think_s: float = 60.0
    """From an answer to the next thing said, in the mean."""
    model_s: float = 2.0
    """Of a model's call, in the mean."""
    model_spread: float = 0.5
    """Standard deviation of its logarithm."""

    @property
    def per_s(self) -> float:
        """What they ask for, if nothing but the model lets them wait."""
        return self.count / (self.think_s + self.model_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """How many of what. A group is an assistant with a memory and documents of its own: people are
    spread over groups by the address that they were given."""

    name: str
    servers: int = 1
    """Prosody, or nodes of a cluster."""
    groups: int = 1
    calls_at_once: int = ModelLimits().max_concurrency
    """Of the model, for each assistant."""
    memory_places: int = 2
    """What one memory works on at once: its embedder has a thread beside the loop."""
    cores: int = 2
    """Of each machine; all groups and servers are spread over `machines`."""
    machines: int = 1

    @property
    def size(self) -> str:
        return f"{self.machines} × {self.cores} cores, {self.groups} × assistant and services"


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    assistant: Station
    calls: Station
    memory: Station
    documents: Station


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    layout: Layout
    figures: list[Figures]
    """Of each kind of station, the busiest; then of the machines' cores."""
    per_s: float
    mean_s: float
    p95_s: float
    """From what is said to its answer."""


def layouts(costs: Measured, people: People) -> list[Layout]:
    """One machine; one that is large; and the smallest that is big enough."""
    calls = math.ceil(people.per_s * people.model_s / HEADROOM)
    small = Layout(name="1 machine, 2 cores: as `spade-llm up` starts it")
    large = replace(small, name="1 machine, 32 cores: one process of each", cores=32)
    more = replace(large, name="… and as many model calls as it takes", calls_at_once=calls)
    return [small, large, more, enough(costs, people)]


def enough(costs: Measured, people: People, *, cores: int = 8) -> Layout:
    """No station busier than HEADROOM."""
    per_s = people.per_s / HEADROOM
    memory_s = costs.seconds("memory") / Layout(name="").memory_places
    dearest_s = max(memory_s, costs.seconds("assistant"), costs.seconds("rag"))
    groups = math.ceil(per_s * dearest_s)
    calls = math.ceil(per_s * people.model_s / groups)
    machines = math.ceil(per_s * sum(costs.processor_ms_per_chat.values()) / 1000 / cores)
    return Layout(
        name=f"machines of {cores} cores and groups, as many as it takes",
        servers=math.ceil(per_s * costs.seconds("prosody")),
        groups=groups,
        calls_at_once=calls,
        cores=cores,
        machines=machines,
    )


class Network:
    """One layout at work."""

    def __init__(self, layout: Layout, costs: Measured, people: People, *, seed: int = 5) -> None:
        self._costs = costs
        self._people = people
        self._random = random.Random(seed)
        self._layout = layout
        self.world = World()
        self._machines = [self._station("cores", layout.cores) for _ in range(layout.machines)]
        where = cycle(self._machines)
        self._servers = [self._station("prosody", on=next(where)) for _ in range(layout.servers)]
        self._groups = [self._group(where) for _ in range(layout.groups)]
        self._waited_s: list[float] = []

    def run(self, *, warm_up_s: float, counted_s: float) -> Outcome:
        for number in range(self._people.count):
            self.world.start(self._life(number))
        self.world.run(warm_up_s)
        for station in self._stations():
            station.reset()
        self._waited_s.clear()
        self.world.run(warm_up_s + counted_s)
        waited_s = sorted(self._waited_s)
        return Outcome(
            layout=self._layout,
            figures=self._busiest(),
            per_s=len(waited_s) / counted_s,
            mean_s=math.fsum(waited_s) / len(waited_s),
            p95_s=waited_s[int(len(waited_s) * 0.95)],
        )

    def _life(self, number: int) -> Iterator[Step]:
        server = self._servers[number % len(self._servers)]
        group = self._groups[number % len(self._groups)]
        while True:
            yield self.world.pause(self._random.expovariate(1 / self._people.think_s))
            began_s = self.world.now_s
            yield from self._chat(server, group)
            self._waited_s.append(self.world.now_s - began_s)
            self.world.start(self._learning(group))

    def _chat(self, server: Station, group: Group) -> Iterator[Step]:
        yield self._stanza(server)
        yield self._work(group.assistant, "assistant", 0.5)
        share = self._costs.memory_share_before_answer
        yield self.world.side_by_side(
            self._asked(server, group.memory, "memory", share),
            self._asked(server, group.documents, "rag", 1.0),
        )
        yield group.calls.serve(self._model_s())
        yield self._work(group.assistant, "assistant", 0.5)
        yield self._stanza(server)

    def _asked(self, server: Station, service: Station, cost: str, share: float) -> Iterator[Step]:
        yield self._stanza(server)
        yield self._work(service, cost, share)
        yield self._stanza(server)

    def _learning(self, group: Group) -> Iterator[Step]:
        yield self._work(group.memory, "memory", 1 - self._costs.memory_share_before_answer)

    def _stanza(self, server: Station) -> Step:
        return self._work(server, "prosody", 1 / STANZAS)

    def _work(self, station: Station, cost: str, share: float) -> Step:
        return station.serve(self._random.expovariate(1 / (self._costs.seconds(cost) * share)))

    def _model_s(self) -> float:
        spread = self._people.model_spread
        return self._random.lognormvariate(math.log(self._people.model_s) - spread**2 / 2, spread)

    def _group(self, where: Iterator[Station]) -> Group:
        layout = self._layout
        return Group(
            assistant=self._station("assistant", on=next(where)),
            calls=self._station("model calls", layout.calls_at_once),
            memory=self._station("memory", layout.memory_places, on=next(where)),
            documents=self._station("rag", on=next(where)),
        )

    def _station(self, name: str, places: int = 1, on: Station | None = None) -> Station:
        return Station(self.world, name, places=places, on=on)

    def _stations(self) -> list[Station]:
        groups = [
            station
            for group in self._groups
            for station in (group.assistant, group.memory, group.documents, group.calls)
        ]
        return [*self._servers, *groups, *self._machines]

    def _busiest(self) -> list[Figures]:
        busiest: dict[str, Figures] = {}
        for figures in (station.figures for station in self._stations()):
            known = busiest.get(figures.name)
            if known is None or figures.mean_wait_s > known.mean_wait_s:
                busiest[figures.name] = figures
        return list(busiest.values())


async def measure(_: Stage, scale: Scale) -> list[Row]:
    people = People(count=scale.of(10_000, quick=2000))
    outcomes = simulated(people, counted_s=scale.of(200, quick=60))
    check(outcomes[-1].per_s > 0.9 * people.per_s, "the layout that is enough is not")
    return [row for outcome in outcomes for row in _rows(outcome, people)]


def simulated(people: People, *, counted_s: float) -> list[Outcome]:
    costs = measured.read()
    return [
        Network(layout, costs, people).run(warm_up_s=counted_s, counted_s=counted_s)
        for layout in layouts(costs, people)
    ]


def _rows(outcome: Outcome, people: People) -> list[Row]:
    worst = max(outcome.figures, key=lambda one: one.mean_wait_s)
    return [
        Row(
            name=f"simulated, {outcome.layout.name}: chats",
            unit="per s",
            ours=outcome.per_s,
            baseline=people.per_s,
            baseline_name="asked for",
            note=f"{outcome.layout.size}; answer after {outcome.mean_s:.1f} s "
            f"(p95 {outcome.p95_s:.1f}); "
            f"longest wait at {worst.name}, {worst.utilisation:.0%} busy",
        )
    ]


def text_of(outcome: Outcome, people: People) -> str:
    """A table in Markdown."""
    lines = [
        f"**{outcome.layout.name}** ({outcome.layout.size}): {outcome.per_s:.0f} chats per s "
        f"of {people.per_s:.0f}, answer after {outcome.mean_s:.1f} s (p95 {outcome.p95_s:.1f})",
        "",
        "| | busy | mean wait | p95 | waiting, mean | longest queue |",
        "|---|---|---|---|---|---|",
        *map(_line, outcome.figures),
    ]
    return "\n".join(lines)


def _line(one: Figures) -> str:
    return (
        f"| {one.name} ({one.places}) | {one.utilisation:.0%} | {_time(one.mean_wait_s)} | "
        f"{_time(one.p95_wait_s)} | {one.mean_queue:.1f} | {one.longest_queue} |"
    )


def _time(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds >= 1 else f"{seconds * 1000:.1f} ms"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.simulation", description=__doc__)
    usual = People()
    parser.add_argument("--people", type=int, default=usual.count)
    parser.add_argument("--think", type=float, default=usual.think_s, help="seconds, mean")
    parser.add_argument("--model", type=float, default=usual.model_s, help="seconds, mean")
    parser.add_argument("--counted", type=float, default=200.0, help="seconds, after as many more")
    given = parser.parse_args()
    people = People(count=given.people, think_s=given.think, model_s=given.model)
    print(f"{people}\n{measured.read()}\n")
    for outcome in simulated(people, counted_s=given.counted):
        print(f"{text_of(outcome, people)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
