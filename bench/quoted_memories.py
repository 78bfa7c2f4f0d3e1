"""Memories of a person that are quoted to a model: coverage of what a question needs, and noise.

Two people, one of them Spanish, talk with an assistant for two weeks (bench/quoted/), and ask
afterwards: for a fact, for advice that depends on one, or for something that needs no memory. The
turns are those of an assistant with a model that calls no tools; what recall selects for the model
is compared with what the question needs. Each life is run twice: nothing is learned yet, as within
half an hour of a conversation; and all conversations are learned from, and all questions were asked
before and not answered.
"""

from __future__ import annotations

import asyncio
import re
import tempfile
import tomllib
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import islice, product
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import BaseModel

from bench.embedder import local_embedder
from bench.row import Goal, Row
from spade_llm.assistant.turn.fact_revision import FactRevision, SaidMessage
from spade_llm.assistant.turn.memory_selection import select_memories
from spade_llm.assistant.turn.recall import Recall
from spade_llm.memory import SQLiteMemoryBackend
from spade_llm.memory.contract import ObservedMessage
from spade_llm.memory.learning.learner import Learner

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bench.row import Scale
    from bench.stage import Stage
    from spade_llm.memory import OwnedMemory
    from spade_llm.memory.contract import ScoredMemory
    from spade_llm.providers import MiniLmEmbedder

LIVES = ("family", "teacher", "student", "retired")
OWNER, PERSON = "assistant@localhost", "you@localhost"
START = datetime(2026, 11, 1, 9, tzinfo=UTC)
ASKED_BEFORE_DAY = 20
ASKED_DAY = 25
IDLE = timedelta(hours=4)
"""A conversation has ended, and is learned from."""
UNKNOWN = "Sorry, I do not know that."
RECALL_S = 30.0


class Talk(BaseModel):
    """A conversation: `U: …` and `A: …` in turn."""

    day: int
    lines: list[str]


class Asked(BaseModel):
    """A question, and patterns of what has to be quoted for it."""

    text: str
    needs: list[str]
    ended: list[str] = []
    """Patterns of what no longer holds."""


class Life(BaseModel):
    """The conversations of a person, and the questions that are asked afterwards."""

    conversation: list[Talk]
    question: list[Asked]


@dataclass
class Quoted:
    """Counts over all questions of a run."""

    counts: Counter[str] = field(default_factory=Counter[str])
    missed: list[str] = field(default_factory=list)

    def add(self, asked: Asked, memories: Sequence[ScoredMemory]) -> None:
        valid = "\n".join(one.entry.content for one in memories if one.entry.invalid_at is None)
        every = "\n".join(one.entry.content for one in memories)
        found = [bool(re.search(one, every, re.IGNORECASE)) for one in asked.needs]
        kind = "relevant" if asked.needs else "idle"
        self.counts.update(
            {
                "needed": len(found),
                "found": sum(found),
                "ended": sum(bool(re.search(one, valid)) for one in asked.ended),
                f"{kind} questions": 1,
                f"{kind} memories": len(memories),
            }
        )
        if not all(found):
            self.missed.append(asked.text)


class Clock:
    """The time of the life that is lived."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> datetime:
        return self.now


def read_life(name: str) -> Life:
    path = Path(__file__).parent / "quoted" / f"{name}.toml"
    return Life.model_validate(tomllib.loads(path.read_text("utf-8")))


async def live(name: str, embedder: MiniLmEmbedder, *, is_learned: bool) -> Quoted:
    """Live one life, and ask. `is_learned`: with learning, and with the questions asked before."""
    life, clock = read_life(name), Clock()
    talks = list(life.conversation)
    if is_learned:
        talks += [
            Talk(day=ASKED_BEFORE_DAY, lines=[f"U: {one.text}", f"A: {UNKNOWN}"])
            for one in life.question
        ]
    with tempfile.TemporaryDirectory(prefix="quoted-") as folder:
        path = Path(folder) / "memory.db"
        async with SQLiteMemoryBackend(
            path, embedder=embedder, now=clock, is_learned_from=is_learned
        ) as backend:
            memory = backend.for_owner(OWNER)
            learner = Learner(backend.learning(), backend, clock=clock)
            for number, talk in enumerate(talks):
                await _talk(memory, talk, f"c{number}", clock)
                await backend.wait_idle()
                if is_learned:
                    clock.now += IDLE
                    await learner.learn()
                    await backend.wait_idle()
            clock.now = START + timedelta(days=ASKED_DAY)
            recall = Recall(memory=memory, retriever=None, deadline_s=RECALL_S)
            quoted = Quoted()
            for asked in life.question:
                found = await recall.about(asked.text, subject=PERSON)
                quoted.add(asked, select_memories(found.memories, said=()))
            return quoted


async def _talk(memory: OwnedMemory, talk: Talk, conversation: str, clock: Clock) -> None:
    clock.now = START + timedelta(days=talk.day)
    revision = FactRevision(memory)
    before: list[str] = []
    for number, line in enumerate(talk.lines):
        clock.now += timedelta(minutes=1)
        speaker, _, text = line.partition(": ")
        role = "user" if speaker == "U" else "assistant"
        message = ObservedMessage(
            id=f"{conversation}-{number}", role=role, content=text, at=clock.now
        )
        if role == "user":
            said = SaidMessage(
                text=text, conversation=conversation, said_before=tuple(before), at=clock.now
            )
            found = await revision.compare(said, subject=PERSON)
            await revision.close(found)
            await revision.keep(found)
            before.append(text)
        await memory.observe(conversation, [message], subject=PERSON)


async def measure(_stage: Stage, scale: Scale) -> list[Row]:
    """Coverage and noise; nothing without the weights of the local embedder. Quickly: one life,
    nothing learned."""
    with tempfile.TemporaryDirectory(prefix="quoted-") as folder:
        async with local_embedder(Path(folder)) as embedder:
            if embedder is None:
                return []
            runs = product(LIVES, (False, True))
            chosen = islice(runs, scale.of(len(LIVES) * 2, quick=1))
            return [
                row
                for name, is_learned in chosen
                for row in await _rows(name, embedder, is_learned=is_learned)
            ]


async def _rows(name: str, embedder: MiniLmEmbedder, *, is_learned: bool) -> list[Row]:
    quoted = await live(name, embedder, is_learned=is_learned)
    of = quoted.counts
    run = f"quoted to a model, {name}, {'asked before' if is_learned else 'just told'}"
    return [
        Row(
            name=f"{run}: what a question needs",
            unit="",
            ours=of["found"] / of["needed"],
            goal=Goal(limit=0.85, is_least=True),
            note=f"{of['found']} of {of['needed']}; not: {', '.join(quoted.missed)}",
        ),
        Row(name=f"{run}: what no longer holds", unit="", ours=of["ended"], goal=Goal(limit=0)),
        Row(
            name=f"{run}: memories for a question that needs none",
            unit="",
            ours=of["idle memories"] / of["idle questions"],
            note=f"{of['relevant memories'] / of['relevant questions']:.1f} for others",
        ),
    ]


async def _main() -> None:
    with tempfile.TemporaryDirectory(prefix="quoted-") as folder:
        async with local_embedder(Path(folder)) as embedder:
            assert embedder is not None, "the weights of the local embedder are not installed"
            for name, is_learned in product(LIVES, (False, True)):
                for row in await _rows(name, embedder, is_learned=is_learned):
                    print(f"{row.name:75}{row.ours:6.2f}  {row.note}")


if __name__ == "__main__":
    asyncio.run(_main())
