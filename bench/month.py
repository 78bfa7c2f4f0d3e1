"""A month of conversations: nothing lost, nothing of others, and no message slower than the first.

Twenty people, half of them Spanish, have fifteen conversations each with an assistant without a
model. They tell facts, change and delete some, ask for them, and talk about the weather. All values
are invented words, each belongs to one person: a value in a reply to anybody else is a leak. After
a third of the time assistant and memory are started again. What each person says depends on the
seed only (`--seed`); replies with a former or deleted value, and missing answers, are printed.
"""

from __future__ import annotations

import asyncio
import os
import random
import re
import sys
import time
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from statistics import median
from typing import TYPE_CHECKING

from bench.raw import Person
from bench.row import Goal, Row, Scale, check
from bench.stage import MAX_PEERS

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from bench.account import Account
    from bench.stage import Child, Stage

CONVERSATIONS = 15
"""Of each person."""
AT_ONCE = 4
SEED = 11
SEED_VARIABLE = "SPADE_LLM_BENCH_SEED"
"""`--seed` says the same."""
FORMER = re.compile(
    r"no longer|used to|before|until|former|\bold\b|\bwas\b|antes|hasta|ya no|anterior|\bera\b",
    re.I,
)
"""A reply with one of these tells an old value as such."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Phrases:
    """How one kind of fact is told and asked for in one language; `{}` is its value."""

    told: str
    changed: str
    asked: str
    asked_before: str
    forgotten: str


ENGLISH = {
    "home": Phrases(
        told="I live in {}",
        changed="I moved to {} last week",
        asked="where do I live?",
        asked_before="where did I live before?",
        forgotten="forget that I live in {}",
    ),
    "job": Phrases(
        told="I work at {}",
        changed="I have a new job, now I work at {}",
        asked="where do I work?",
        asked_before="where did I work before?",
        forgotten="forget where I work",
    ),
    "sister": Phrases(
        told="my sister is called {}",
        changed="sorry, my sister is called {}",
        asked="what is my sister's name?",
        asked_before="",
        forgotten="forget the name of my sister",
    ),
    "phone": Phrases(
        told="my phone number is {}",
        changed="my new phone number is {}",
        asked="what is my phone number?",
        asked_before="what was my old phone number?",
        forgotten="forget my phone number",
    ),
    "dog": Phrases(
        told="we have a dog, his name is {}",
        changed="no, the dog is called {}",
        asked="what is my dog called?",
        asked_before="",
        forgotten="forget what I said about the dog",
    ),
    "food": Phrases(
        told="my favourite dish is {} stew",
        changed="my favourite dish is {} stew now",
        asked="what is my favourite dish?",
        asked_before="what was my favourite dish before?",
        forgotten="forget my favourite dish",
    ),
    "dentist": Phrases(
        told="my dentist is Dr {}",
        changed="I have a new dentist, Dr {}",
        asked="who is my dentist?",
        asked_before="who was my dentist before?",
        forgotten="forget my dentist",
    ),
}
SPANISH = {
    "home": Phrases(
        told="vivo en {}",
        changed="me he mudado a {}",
        asked="¿dónde vivo?",
        asked_before="¿dónde vivía antes?",
        forgotten="olvida que vivo en {}",
    ),
    "job": Phrases(
        told="trabajo en {}",
        changed="tengo un trabajo nuevo, ahora trabajo en {}",
        asked="¿dónde trabajo?",
        asked_before="¿dónde trabajaba antes?",
        forgotten="olvida dónde trabajo",
    ),
    "sister": Phrases(
        told="mi hermana se llama {}",
        changed="perdona, mi hermana se llama {}",
        asked="¿cómo se llama mi hermana?",
        asked_before="",
        forgotten="olvida el nombre de mi hermana",
    ),
    "phone": Phrases(
        told="mi número de teléfono es el {}",
        changed="mi número de teléfono nuevo es el {}",
        asked="¿cuál es mi número de teléfono?",
        asked_before="¿cuál era mi número de teléfono antes?",
        forgotten="olvida mi número de teléfono",
    ),
    "dog": Phrases(
        told="tenemos un perro, se llama {}",
        changed="no, el perro se llama {}",
        asked="¿cómo se llama mi perro?",
        asked_before="",
        forgotten="olvida lo del perro",
    ),
    "food": Phrases(
        told="mi plato favorito es el guiso de {}",
        changed="mi plato favorito ahora es el guiso de {}",
        asked="¿cuál es mi plato favorito?",
        asked_before="¿cuál era mi plato favorito antes?",
        forgotten="olvida mi plato favorito",
    ),
    "dentist": Phrases(
        told="mi dentista es el doctor {}",
        changed="tengo un dentista nuevo, el doctor {}",
        asked="¿quién es mi dentista?",
        asked_before="¿quién era mi dentista antes?",
        forgotten="olvida quién es mi dentista",
    ),
}
SMALL_TALK = {
    "en": (
        *("it rained all day here", "what a long day", "the bus was late again this morning"),
        *("I could not sleep last night", "the neighbours had a party", "we watched a film"),
        *("the queue at the bakery was endless", "the lift is broken again", "so much to do today"),
    ),
    "es": (
        *("ha llovido todo el día", "qué día tan largo", "el autobús llegó tarde otra vez"),
        *("anoche no pude dormir", "los vecinos hicieron una fiesta", "vimos una película"),
        *("había una cola enorme en la panadería", "el ascensor no va", "hoy hay mucho que hacer"),
    ),
}


@dataclass(slots=True, kw_only=True)
class Counts:
    right: int = 0
    asked: int = 0
    former_right: int = 0
    former_asked: int = 0
    stale: int = 0
    """Replies with a changed value as if it held."""
    undeleted: int = 0
    """Replies with a deleted value."""
    leaks: int = 0
    """Replies with a value of another person."""
    times_ms: list[list[float]] = field(default_factory=lambda: [[], [], []])
    """Of all messages, by thirds of the month."""


@dataclass(slots=True, kw_only=True)
class Life:
    """What is true of one person, and what was."""

    language: str
    random: random.Random
    facts: dict[str, str] = field(default_factory=dict)
    former: dict[str, list[str]] = field(default_factory=dict)
    deleted: dict[str, list[str]] = field(default_factory=dict)

    @property
    def phrases(self) -> dict[str, Phrases]:
        return SPANISH if self.language == "es" else ENGLISH

    def owns(self, value: str) -> bool:
        past = [*self.former.values(), *self.deleted.values()]
        return value in self.facts.values() or any(value in values for values in past)


@dataclass(slots=True, kw_only=True)
class Month:
    """The people's lives, and what the assistant made of them."""

    counts: Counts = field(default_factory=Counts)
    values: set[str] = field(default_factory=set)

    def new_value(self, name: str, chance: random.Random) -> str:
        """A word or number that no other fact of anybody has."""
        while True:
            if name == "phone":
                value = f"6{chance.randrange(10**8):08}"
            else:
                vowels = chance.choices("aeiou", k=4)
                syllables = [chance.choice("bdfgklmnprstvz") + vowel for vowel in vowels]
                value = "".join(syllables).capitalize()
            if value not in self.values:
                self.values.add(value)
                return value

    async def converse(self, talk: Talk, number: int) -> None:
        """One conversation: at first facts are told, later they change; the rest is small talk."""
        life, chance = talk.life, talk.life.random
        names = list(life.phrases)
        told = names[2 * number : 2 * number + 2]
        await talk.small_talk(chance)
        for name in told:
            life.facts[name] = self.new_value(name, chance)
            await talk.say(life.phrases[name].told.format(life.facts[name]))
            await talk.small_talk(chance)
        if not told:
            name = chance.choice(names)
            if number % 5 == 4 and name in life.facts:
                await self._delete(talk, name)
            elif name in life.facts:
                life.former.setdefault(name, []).append(life.facts[name])
                life.facts[name] = self.new_value(name, chance)
                await talk.say(life.phrases[name].changed.format(life.facts[name]))
            await talk.small_talk(chance)
        for name in chance.sample(names, 2):
            await self.ask(talk, name)
        await talk.say("/new")

    async def _delete(self, talk: Talk, name: str) -> None:
        value = talk.life.facts.pop(name)
        past = talk.life.former.pop(name, [])
        talk.life.deleted.setdefault(name, []).extend([*past, value])
        await talk.say(talk.life.phrases[name].forgotten.format(value))

    async def ask(self, talk: Talk, name: str) -> None:
        """One fact, and what it was before if it has changed."""
        life, counts, phrases = talk.life, self.counts, talk.life.phrases[name]
        if name not in life.facts and name not in life.deleted:
            return
        reply = await talk.say(phrases.asked)
        former = life.former.get(name, [])
        is_undeleted = any(value in reply for value in life.deleted.get(name, ()))
        is_stale = any(one in reply for one in former) and not FORMER.search(reply)
        is_right = name not in life.facts or life.facts[name] in reply
        counts.leaks += any(value in reply for value in self.values if not life.owns(value))
        counts.undeleted += is_undeleted
        counts.stale += is_stale
        if name in life.facts:
            counts.asked += 1
            counts.right += is_right
        if is_undeleted or is_stale or not is_right:
            talk.print_fault(phrases.asked, reply, f"{name}: {life.facts.get(name)!r}")
        if former and phrases.asked_before:
            counts.former_asked += 1
            # All changes happen on one day, and memories have dates without a time.
            reply = await talk.say(phrases.asked_before)
            is_right = any(value in reply for value in former)
            counts.former_right += is_right
            if not is_right:
                talk.print_fault(phrases.asked_before, reply, f"{name}: {former}")


@dataclass(slots=True, kw_only=True)
class Talk:
    """One person's connection to the assistant."""

    person: Person
    assistant: str
    life: Life
    times_ms: list[float]

    async def say(self, text: str) -> str:
        began = time.perf_counter()
        reply = await self.person.say(self.assistant, text)
        self.times_ms.append((time.perf_counter() - began) * 1000)
        return reply

    def print_fault(self, asked: str, reply: str, expected: str) -> None:
        who = self.person.xmpp.boundjid.bare
        print(f"{who}: {asked!r} -> {reply!r}, expected {expected}", file=sys.stderr)

    async def small_talk(self, chance: random.Random) -> None:
        for text in chance.sample(SMALL_TALK[self.life.language], 2):
            await self.say(text)


async def measure(stage: Stage, scale: Scale) -> list[Row]:
    conversations = scale.of(CONVERSATIONS, quick=6)
    accounts = await stage.people(scale.of(MAX_PEERS, quick=4))
    seed = os.environ.get(SEED_VARIABLE) or SEED
    lives = [
        Life(language="es" if at % 2 else "en", random=random.Random(f"{seed} {at}"))
        for at in range(len(accounts))
    ]
    month = Month()
    third = conversations // 3
    async with _agents(stage) as (assistant, _):
        await _days(month, accounts, lives, assistant, range(third), third)
    async with _agents(stage) as (assistant, children):
        await _days(month, accounts, lives, assistant, range(third, 2 * third), third)
        earlier_mb = [await child.resident_mb for child in children]
        await _days(month, accounts, lives, assistant, range(2 * third, conversations), third)
        resident_mb = [await child.resident_mb for child in children]
        await _last_questions(month, accounts, lives, assistant)
    memory = await stage.account("keeper")
    on_disk = sum(file.stat().st_size for file in memory.data.glob("memory.db*"))
    return _rows(month.counts, earlier_mb, resident_mb, on_disk)


@asynccontextmanager
async def _agents(stage: Stage) -> AsyncIterator[tuple[str, tuple[Child, Child]]]:
    """The assistant's address, and the processes of assistant and memory."""
    rules = (await stage.account("alone")).jid
    async with (
        stage.agent("memory", "keeper") as memory,
        stage.agent("rules", "alone") as assistant,
    ):
        yield rules, (assistant, memory)


async def _days(
    month: Month,
    accounts: list[Account],
    lives: list[Life],
    assistant: str,
    numbers: range,
    third: int,
) -> None:
    places = asyncio.Semaphore(AT_ONCE)

    async def converse(person: Person, life: Life, number: int) -> None:
        times = month.counts.times_ms[min(number // third, 2)]
        async with places:
            talk = Talk(person=person, assistant=assistant, life=life, times_ms=times)
            await month.converse(talk, number)

    async with AsyncExitStack() as stack:
        people = [await stack.enter_async_context(Person(one)) for one in accounts]
        for number in numbers:
            both = zip(people, lives, strict=True)
            await asyncio.gather(*(converse(person, life, number) for person, life in both))


async def _last_questions(
    month: Month, accounts: list[Account], lives: list[Life], assistant: str
) -> None:
    """Everybody asks for everything, in a new conversation."""
    for account, life in zip(accounts, lives, strict=True):
        async with Person(account) as person:
            talk = Talk(person=person, assistant=assistant, life=life, times_ms=[])
            for name in life.phrases:
                await month.ask(talk, name)


def _rows(
    counts: Counts, earlier_mb: list[float], resident_mb: list[float], on_disk: int
) -> list[Row]:
    check(not counts.leaks, f"{counts.leaks} replies told a person a fact of another person")
    messages = sum(map(len, counts.times_ms))
    none = Goal(limit=0)
    return [
        Row(
            name="a month: current facts answered",
            unit="",
            ours=counts.right / counts.asked,
            goal=Goal(limit=0.95, is_least=True),
            note=f"{counts.right} of {counts.asked}, {messages} messages",
        ),
        Row(
            name="… former values answered as former",
            unit="",
            ours=counts.former_right / max(counts.former_asked, 1),
            note=f"{counts.former_right} of {counts.former_asked}",
        ),
        Row(name="… former values as if they held", unit="", ours=counts.stale, goal=none),
        Row(name="… deleted values", unit="", ours=counts.undeleted, goal=none),
        Row(name="… values of others", unit="", ours=counts.leaks, goal=none),
        Row(
            name="… a message in the last third",
            unit="ms",
            ours=median(counts.times_ms[2]),
            baseline=median(counts.times_ms[0]),
            baseline_name="in the first",
            goal=Goal(limit=1.2, is_ratio=True),
        ),
        *(
            Row(
                name=f"… {name} at the end",
                unit="MB",
                ours=now,
                baseline=before,
                baseline_name="after two thirds",
                goal=Goal(limit=1.1, is_ratio=True),
            )
            for name, now, before in zip(
                ("assistant", "memory"), resident_mb, earlier_mb, strict=True
            )
        ),
        Row(name="… memory's file for each message", unit="KB", ours=on_disk / messages / 1000),
    ]
