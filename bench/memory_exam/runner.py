"""Memory exam: `python -m bench exam [--half held_out | --folder PATH] [--failures] [WORD …]`.

Each case is a dialogue of a person with an account of their own, over a local network with an
assistant by rules and a memory agent. First all cases are played; then, when the memory has learned
from them, everybody comes back with a new conversation and asks again.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import mean
from typing import TYPE_CHECKING

from bench.embedder import local_embedder
from bench.memory_exam.cases import ASKED_LATER, CHANGING, Case, Group, Half, Kind, Line, load
from bench.memory_exam.judge import fault
from spade_llm import ChatAgent, LLMAgent, LocalNetwork, MemoryAgent, OfflineProvider, Services
from spade_llm.core.errors import SpadeLLMError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

AT_ONCE = 4
ASSISTANT = "assistant@localhost"
SETTLE_S = 4.0
"""The learner begins at most two seconds after a conversation's end."""
SETTLE_AT_MOST_S = 60.0
NAMES = {
    Kind.TOLD: "acknowledged",
    Kind.CHANGED: "change acknowledged",
    Kind.FORGET: "deletion acknowledged",
    Kind.WHICH: "asked which",
    Kind.KNOWN: "known before",
    Kind.ONCE: "right",
    Kind.ASKED: "right",
    Kind.PAST: "old value",
}
WHOLE = "whole cases"


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """One line of a case, what was replied, and what is wrong with that."""

    case: Case
    line: Line
    reply: str
    fault: str
    ms: float
    is_later: bool

    @property
    def is_gone(self) -> bool:
        """Asked after what should be deleted."""
        may_delete = self.case.group in {Group.DELETIONS, Group.CONVERSATIONS}
        return may_delete and self.line.kind is Kind.ASKED and not self.line.wanted

    @property
    def name(self) -> str:
        name = NAMES[self.line.kind]
        if self.is_gone:
            name = "gone"
        elif self.case.group is Group.DELETIONS and self.line.kind is Kind.ASKED:
            name = "kept"
        if self.line.kind not in {*ASKED_LATER, Kind.ONCE}:
            return name
        return f"{name}, {'later' if self.is_later else 'same'} conversation"


@dataclass(slots=True, kw_only=True)
class Room:
    """The network with both agents; people come and go."""

    network: LocalNetwork
    memory: MemoryAgent
    accounts: dict[str, tuple[str, str]]

    @asynccontextmanager
    async def person(self, case: Case) -> AsyncIterator[ChatAgent]:
        name = f"person-{case.id}"
        if name not in self.accounts:
            self.accounts[name] = await self.network.account(name)
        agent = ChatAgent(*self.accounts[name], options=self.network.options(name))
        await agent.start()
        try:
            yield agent
        finally:
            await agent.stop()

    async def settle(self) -> None:
        """Wait until the learner has read every conversation."""
        await asyncio.sleep(SETTLE_S)
        store, ends = self.memory._backend.learning(), time.monotonic() + SETTLE_AT_MOST_S
        while time.monotonic() < ends:
            work = await store.due(ranges=1, episodes=1)
            if not work.episodes and not any(one.is_closed for one in work.ranges):
                return
            await asyncio.sleep(0.5)


@asynccontextmanager
async def open_room(*, by_meaning: bool) -> AsyncIterator[Room]:
    async with AsyncExitStack() as stack:
        network = await stack.enter_async_context(LocalNetwork("embedded"))
        options = network.options("memory")
        data = options.data or Path()
        embedder = await stack.enter_async_context(local_embedder(data)) if by_meaning else None
        memory = MemoryAgent(*await network.account("memory"), embedder=embedder, options=options)
        assistant = LLMAgent(
            *await network.account("assistant"),
            OfflineProvider(),
            services=Services(memory="memory@localhost"),
            options=network.options("assistant"),
        )
        await network.start(memory, assistant)
        yield Room(network=network, memory=memory, accounts={})


async def play(
    cases: Sequence[Case], *, by_meaning: bool = True, is_apart: bool = False
) -> list[Exchange]:
    """All exchanges, in the order of the cases. `is_apart`: each change and each request to forget
    begins a new conversation."""
    turns = asyncio.Semaphore(AT_ONCE)

    async def first(room: Room, case: Case) -> list[Exchange]:
        exchanges: list[Exchange] = []
        async with turns, room.person(case) as person:
            for line in case.lines:
                if is_apart and line.kind in CHANGING:
                    await _say(person, "/new")
                exchanges.append(await _exchange(person, case, line))
            await _say(person, "/new")
        return exchanges

    async def later(room: Room, case: Case) -> list[Exchange]:
        async with turns, room.person(case) as person:
            return [await _exchange(person, case, line, is_later=True) for line in case.later]

    async with open_room(by_meaning=by_meaning) as room:
        played = await asyncio.gather(*(first(room, case) for case in cases))
        await room.settle()
        again = await asyncio.gather(*(later(room, case) for case in cases))
    both = [[*one, *two] for one, two in zip(played, again, strict=True)]
    return [one for case in map(_with_what_was_never_known, both) for one in case]


def _with_what_was_never_known(exchanges: list[Exchange]) -> list[Exchange]:
    """What was not taken up is not deleted, although it is not answered."""
    asked = [one for one in exchanges if one.line.kind is Kind.KNOWN]
    told = [one for one in exchanges if one.line.kind is Kind.TOLD]
    is_known = not any(one.fault for one in asked or told)
    if is_known or exchanges[0].case.group is not Group.DELETIONS:
        return exchanges
    never = "was never known"
    return [replace(one, fault=one.fault or never) if one.is_gone else one for one in exchanges]


async def _exchange(
    person: ChatAgent, case: Case, line: Line, *, is_later: bool = False
) -> Exchange:
    began = time.perf_counter()
    reply = await _say(person, line.text)
    return Exchange(
        case=case,
        line=line,
        reply=reply,
        fault=fault(line, reply, case.group),
        ms=(time.perf_counter() - began) * 1000,
        is_later=is_later,
    )


async def _say(person: ChatAgent, text: str) -> str:
    try:
        return (await person.say(ASSISTANT, text)).text
    except SpadeLLMError as error:
        return f"[{type(error).__name__}: {error}]"


def figures(exchanges: Sequence[Exchange]) -> dict[tuple[Group, str], dict[str, tuple[int, int]]]:
    """By group and what was judged: right ones and all, by language and in all."""
    found: dict[tuple[Group, str], dict[str, tuple[int, int]]] = {}

    def count(case: Case, name: str, *, is_right: bool) -> None:
        cells = found.setdefault((case.group, name), {})
        for column in (case.language, "all"):
            right, total = cells.get(column, (0, 0))
            cells[column] = (right + is_right, total + 1)

    whole: dict[str, tuple[Case, bool]] = {}
    for one in exchanges:
        if one.line.kind is Kind.SAID:
            continue
        count(one.case, one.name, is_right=not one.fault)
        _, is_right = whole.get(one.case.id, (one.case, True))
        whole[one.case.id] = (one.case, is_right and not one.fault)
    for case, is_right in whole.values():
        count(case, WHOLE, is_right=is_right)
    return found


def print_figures(exchanges: Sequence[Exchange]) -> None:
    found = figures(exchanges)
    print(f"{'':14}{'':32}{'en':>16}{'es':>16}{'all':>16}")
    for group in Group:
        rows = [(name, cells) for (of, name), cells in found.items() if of is group]
        for name, cells in sorted(rows, key=lambda row: row[0] == WHOLE):
            shown = "".join(_shown(cells.get(column)) for column in ("en", "es", "all"))
            print(f"{group:14}{name:32}{shown}")
    print(f"mean {mean(one.ms for one in exchanges):.1f} ms for each reply")


def _shown(cell: tuple[int, int] | None) -> str:
    if cell is None:
        return f"{'':>16}"
    right, total = cell
    return f"{f'{right}/{total} {right / total:4.0%}':>16}"


def print_failures(exchanges: Sequence[Exchange]) -> None:
    failed = {one.case.id for one in exchanges if one.fault}
    for id in dict.fromkeys(one.case.id for one in exchanges if one.case.id in failed):
        of_case = [one for one in exchanges if one.case.id == id]
        print(f"\n@{id} ({of_case[0].case.group})")
        for one in of_case:
            later = " (later)" if one.is_later else ""
            mark = f"    <- {one.fault}" if one.fault else ""
            print(f"  {one.line.kind}{later} {one.line.text}\n      {one.reply!r}{mark}")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench exam", description=__doc__)
    parser.add_argument("words", nargs="*", metavar="WORD", help="only cases with one in their id")
    parser.add_argument("--half", type=Half, choices=list(Half), default=Half.DEV)
    parser.add_argument("--folder", type=Path, help="cases of your own instead of a half")
    parser.add_argument("--failures", action="store_true", help="the failing cases; of dev only")
    parser.add_argument(
        "--apart", action="store_true", help="each change begins a new conversation"
    )
    parser.add_argument("--keywords", action="store_true", help="a memory without embeddings")
    chosen = parser.parse_args(arguments)
    source = chosen.folder or chosen.half
    if source is Half.HELD_OUT and (chosen.failures or chosen.words):
        parser.error("held_out shows figures only")
    cases = load(source)
    if chosen.words:
        cases = [one for one in cases if any(word in one.id for word in chosen.words)]
    if not cases:
        parser.error("no case has such an id")
    began = time.perf_counter()
    exchanges = asyncio.run(play(cases, by_meaning=not chosen.keywords, is_apart=chosen.apart))
    if chosen.failures:
        print_failures(exchanges)
        print()
    print_figures(exchanges)
    print(f"{len(cases)} cases of {source}, {time.perf_counter() - began:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
