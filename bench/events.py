"""A small discrete-event simulation: a clock, stations with queues, and work that goes through.


Knows no agent. A step is told what to do when it is over; work is an iterator of steps.
"""

from __future__ import annotations

import heapq
import math
from array import array
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count

Then = Callable[[], None]
Step = Callable[[Then], None]
"""Begins, and calls what it is given once it is over."""


class World:
    """The clock, and what is to happen."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self._events: list[tuple[float, int, Then]] = []
        self._numbers = count()

    def after(self, seconds: float, then: Then) -> None:
        heapq.heappush(self._events, (self.now_s + seconds, next(self._numbers), then))

    def run(self, until_s: float) -> None:
        while self._events and self._events[0][0] <= until_s:
            self.now_s, _, then = heapq.heappop(self._events)
            then()
        self.now_s = until_s

    def start(self, work: Iterator[Step], then: Then = lambda: None) -> None:
        """One step after the other."""

        def go_on() -> None:
            step = next(work, None)
            if step is None:
                then()
            else:
                step(go_on)

        go_on()

    def pause(self, seconds: float) -> Step:
        return lambda then: self.after(seconds, then)

    def side_by_side(self, *works: Iterator[Step]) -> Step:
        """Over when the last of them is."""

        def begin(then: Then) -> None:
            left = len(works)

            def ended() -> None:
                nonlocal left
                left -= 1
                if not left:
                    then()

            for work in works:
                self.start(work, ended)

        return begin


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """Of one station since the last `reset`."""

    name: str
    places: int
    served_per_s: float
    utilisation: float
    """Of its places, in the mean."""
    mean_wait_s: float
    p95_wait_s: float
    mean_queue: float
    """Over time."""
    longest_queue: int


class Station:
    """So many places, and one queue before them: first come, first served."""

    def __init__(
        self, world: World, name: str, *, places: int = 1, on: Station | None = None
    ) -> None:
        """`on`: what a place needs to work, for instance one core of a machine."""
        self.name = name
        self._world = world
        self._places = places
        self._on = on
        self._queue: deque[tuple[float, float, Then]] = deque()
        self._busy = 0
        self.reset()

    def serve(self, seconds: float) -> Step:
        return lambda then: self._enter(seconds, then)

    def reset(self) -> None:
        """Count from here on."""
        self._since_s = self._at_s = self._world.now_s
        self._busy_s = self._queued_s = 0.0
        self._longest = len(self._queue)
        self._waits_s = array("d")

    @property
    def figures(self) -> Figures:
        self._note()
        lasted_s, waits_s = self._at_s - self._since_s, sorted(self._waits_s)
        served = len(waits_s)
        return Figures(
            name=self.name,
            places=self._places,
            served_per_s=served / lasted_s,
            utilisation=self._busy_s / self._places / lasted_s,
            mean_wait_s=math.fsum(waits_s) / served if served else 0.0,
            p95_wait_s=waits_s[int(served * 0.95)] if served else 0.0,
            mean_queue=self._queued_s / lasted_s,
            longest_queue=self._longest,
        )

    def _enter(self, seconds: float, then: Then) -> None:
        self._note()
        if self._busy < self._places:
            self._begin(self._world.now_s, seconds, then)
            return
        self._queue.append((self._world.now_s, seconds, then))
        self._longest = max(self._longest, len(self._queue))

    def _begin(self, came_s: float, seconds: float, then: Then) -> None:
        self._busy += 1
        self._waits_s.append(self._world.now_s - came_s)
        work = self._world.pause(seconds) if self._on is None else self._on.serve(seconds)
        work(lambda: self._end(then))

    def _end(self, then: Then) -> None:
        self._note()
        self._busy -= 1
        if self._queue:
            self._begin(*self._queue.popleft())
        then()

    def _note(self) -> None:
        """How long it was as it is, before it changes."""
        passed_s = self._world.now_s - self._at_s
        self._busy_s += self._busy * passed_s
        self._queued_s += len(self._queue) * passed_s
        self._at_s = self._world.now_s


def erlang_c(places: int, offered: float) -> float:
    """The chance to wait in M/M/c; `offered`: arrivals per second times seconds of service."""
    blocked = 1.0
    for number in range(1, places + 1):  # Erlang B, by its recursion.
        blocked = offered * blocked / (number + offered * blocked)
    return blocked / (1 - offered / places * (1 - blocked))
