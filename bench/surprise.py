"""Surprise over a month: which share of people's episodes and facts are key moments.

Six people, half of them Spanish, talk with an assistant nearly every day, mostly about the weather,
meals and errands. Four of them tell four events of their lives, two of them such as the rules of
importance know and two others; for two people nothing happens. What they tell is stored as an
assistant without a model stores it, and the memory learns from each conversation, with vectors of
the local embedder. The seed is fixed.
"""

from __future__ import annotations

import asyncio
import random
import tempfile
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from bench.embedder import local_embedder
from bench.row import Goal, Row, Scale
from spade_llm.memory import SQLiteMemoryBackend
from spade_llm.memory.contract import MemoryDraft, ObservedMessage
from spade_llm.memory.learning.learner import Learner
from spade_llm.memory.learning.novelty import KEY_MOMENT_SCORE
from spade_llm.search.memory_query import Category, MemoryFilter, Origin
from spade_llm.understanding.statements import read_message

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bench.stage import Stage
    from spade_llm.memory import OwnedMemory
    from spade_llm.memory.contract import MemoryEntry

OWNER = "assistant@localhost"
START = datetime(2026, 3, 2, 18, tzinfo=UTC)
DAYS = 30
TALKS = 0.8
"""Probability of a conversation on a day."""
EVENT_DAYS = (0, 6, 15, 24)
"""Days with an event, for people with events; the first day is one, too."""
SEED = 7

SLOTS = {
    "en": {
        "dish": ["lentils", "pasta", "a salad", "rice", "soup", "fish", "an omelette"],
        "shop": ["the bakery", "the market", "the chemist", "the supermarket", "the post office"],
        "sky": ["cloudy", "sunny", "windy", "grey", "chilly", "warm"],
        "show": ["the news", "a quiz show", "an old film", "a series about cooks", "a match"],
        "chore": ["the laundry", "the dishes", "some ironing", "the bathroom", "the bins"],
    },
    "es": {
        "dish": ["lentejas", "pasta", "una ensalada", "arroz", "sopa", "pescado", "tortilla"],
        "shop": ["la panadería", "el mercado", "la farmacia", "el supermercado", "correos"],
        "sky": ["nublado", "soleado", "con viento", "gris", "fresco", "templado"],
        "show": ["las noticias", "un concurso", "una película antigua", "una serie de cocineros"],
        "chore": ["la colada", "los platos", "la plancha", "el baño", "la basura"],
    },
}
ROUTINE = {
    "en": (
        "It was {sky} again today.", "I had {dish} for lunch.", "I went to {shop} after work.",
        "We watched {show} in the evening.", "I did {chore} before dinner.", "I slept quite well.",
        "The bus was late this morning.", "Work was quiet today.", "I cooked {dish} for dinner.",
        "I am a bit tired.", "There was a queue at {shop}.", "What could I cook tomorrow?",
        "I took a walk in the park.", "Tomorrow it should be {sky}.",
    ),
    "es": (
        "Hoy ha estado {sky} otra vez.", "He comido {dish}.",
        "He pasado por {shop} a las siete.",
        "Hemos visto {show} por la noche.", "He hecho {chore} antes de cenar.", "He dormido bien.",
        "El autobús ha llegado tarde.", "El trabajo ha estado tranquilo.", "He cenado {dish}.",
        "Estoy un poco cansado.", "Había cola en {shop}.", "¿Qué puedo cocinar mañana?",
        "He dado un paseo por el parque.", "Mañana estará {sky}.",
    ),
}  # fmt: skip
EVENTS = {
    "en": (
        ("My sister had a baby last night!", "The baby is called {name}.", "I am an uncle now."),
        ("I got the job at the observatory.", "I start on 3 May.", "I will move to {name} for it."),
        ("My grandfather died on Sunday.", "The funeral is in {name}.", "I miss him."),
        ("I broke my leg on the ski slope.", "I had surgery in {name}.", "Six weeks of crutches."),
        ("We are getting married in September!", "The wedding will be in {name}."),
        ("Our flat was burgled.", "They stole my violin and my passport.", "The police came."),
        ("I was diagnosed with diabetes.", "I need insulin from now on.", "Dr {name} told me."),
        ("I passed my pilot's exam!", "My first flight goes to {name}."),
        ("I got divorced this week.", "I moved into a studio in {name}."),
        ("I adopted a blind dog from the shelter.", "Her name is {name}."),
        ("I won a scholarship for a year in Japan.", "I leave for {name} on 1 October."),
        ("I was laid off today.", "The factory in {name} closes."),
    ),
    "es": (
        ("¡Mi hermana ha tenido un bebé!", "El bebé se llama {name}.", "Ya soy tío."),
        ("Me han dado el trabajo en el observatorio.", "Empiezo el 3 de mayo en {name}."),
        ("Mi abuelo murió el domingo.", "El entierro es en {name}.", "Le echo de menos."),
        ("Me he roto la pierna esquiando.", "Me operaron en {name}.", "Seis semanas de muletas."),
        ("¡Nos casamos en septiembre!", "La boda será en {name}."),
        ("Han entrado a robar en casa.", "Se llevaron mi violín y mi pasaporte."),
        ("Me han diagnosticado diabetes.", "Necesito insulina.", "Me lo dijo la doctora {name}."),
        ("¡He aprobado el examen de piloto!", "Mi primer vuelo es a {name}."),
        ("Me he divorciado esta semana.", "Me he mudado a un estudio en {name}."),
        ("He adoptado una perra ciega.", "Se llama {name}."),
        ("He ganado una beca para un año en Japón.", "Me voy a {name} el 1 de octubre."),
        ("Me han despedido hoy.", "Cierran la fábrica de {name}."),
    ),
}
UNSEEN = {
    "en": (
        ("My father had a stroke this morning.", "He is in intensive care in {name}."),
        ("A publisher accepted my novel!", "It comes out with {name} Press next spring."),
        ("We signed the papers for the farmhouse.", "It stands on a hill above {name}."),
        ("I finished my first marathon.", "The crowd in {name} carried me."),
        ("My best friend stopped talking to me.", "It was about money that I lent for {name}."),
        ("The doctors found a tumour.", "They operate on it in {name}."),
    ),
    "es": (
        ("A mi padre le ha dado un infarto.", "Está en la UCI de {name}."),
        ("Una editorial ha aceptado mi novela.", "Sale en {name} en primavera."),
        ("Hemos firmado la compra de una masía.", "Está en una colina sobre {name}."),
        ("He terminado mi primer maratón.", "El público de {name} me llevó en volandas."),
        ("Mi mejor amiga ya no me habla.", "Fue por un dinero que presté para {name}."),
        ("Los médicos han visto un tumor.", "Me lo quitan en {name}."),
    ),
}
"""Events that the rules of importance were not written for."""
NAMES = ("Orvelle", "Tamrin", "Quillan", "Bestora", "Ludenz", "Mirabor", "Zelkin", "Pelluna")


@dataclass(frozen=True, slots=True, kw_only=True)
class Diarist:
    """A person who talks with the assistant."""

    jid: str
    language: str
    events: Mapping[str, Sequence[Sequence[str]]] | None
    """By language; None: nothing happens."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Remembered:
    """A memory about a person."""

    person: Diarist
    entry: MemoryEntry
    is_event: bool
    """It tells an event, at least in part."""

    @property
    def day(self) -> int:
        return (self.entry.created_at - START).days


@dataclass(frozen=True, slots=True, kw_only=True)
class Life:
    """What a memory has of all people."""

    episodes: Sequence[Remembered]
    facts: Sequence[Remembered]


PEOPLE = tuple(
    Diarist(jid=f"person{number}@localhost", language="es" if number % 2 else "en", events=events)
    for number, events in enumerate((EVENTS, EVENTS, UNSEEN, UNSEEN, None, None))
)


def lines_of(person: Diarist, day: int, chance: random.Random) -> tuple[list[str], set[str]]:
    """What a person says on a day, and which of it tells an event."""
    slots = SLOTS[person.language]
    said = [
        text.format(**{name: chance.choice(values) for name, values in slots.items()})
        for text in chance.sample(ROUTINE[person.language], chance.randint(3, 5))
    ]
    if person.events is None or day not in EVENT_DAYS:
        return said, set()
    # Nothing happens twice to a person.
    stories = random.Random(person.jid).sample(person.events[person.language], len(EVENT_DAYS))
    story = stories[EVENT_DAYS.index(day)]
    event = [text.format(name=chance.choice(NAMES)) for text in story]
    return [said[0], *event, *said[1:2]], set(event)


async def live(days: int) -> Life:
    """Let everybody talk for so many days, and return what is remembered."""
    now = START
    with tempfile.TemporaryDirectory(prefix="surprise-") as folder:
        async with (
            local_embedder(Path(folder)) as embedder,
            SQLiteMemoryBackend(
                Path(folder) / "m.db", embedder=embedder, now=lambda: now, is_learned_from=True
            ) as backend,
        ):
            store = backend.for_owner(OWNER)
            learner = Learner(backend.learning(), backend, clock=lambda: now)
            chance, told = random.Random(SEED), set()
            for day in range(days):
                for person in PEOPLE:
                    is_event = person.events is not None and day in EVENT_DAYS
                    if chance.random() >= TALKS and not is_event:
                        continue
                    lines, events = lines_of(person, day, chance)
                    told |= events
                    now = START + timedelta(days=day)
                    await _tell(store, person, day, lines, now)
                    await backend.wait_idle()
                    now += timedelta(hours=2)
                    await learner.learn()
                    await backend.wait_idle()
            return await _remembered(store, told)


async def _tell(
    store: OwnedMemory, person: Diarist, day: int, lines: list[str], at: datetime
) -> None:
    conversation = f"{person.jid}/{day}"
    for number, text in enumerate(lines):
        message = ObservedMessage(
            id=f"{number}", role="user", content=text, at=at + timedelta(minutes=number)
        )
        await store.observe(conversation, [message], subject=person.jid)
        for statement in read_message(text).statements:
            draft = MemoryDraft(
                content=statement.text,
                category=Category.FACT,
                subject=person.jid,
                session=conversation,
            )
            await store.add(draft)


async def _remembered(store: OwnedMemory, told: set[str]) -> Life:
    episodes: list[Remembered] = []
    facts: list[Remembered] = []
    stems = {text.strip(" .!¡") for text in told}
    for person in PEOPLE:
        page = await store.list(MemoryFilter(subject=person.jid, with_invalid=True), limit=1000)
        for entry in reversed(page.entries):
            text = entry.content
            is_event = any(stem in text or text in stem for stem in stems)
            into = episodes if entry.origin is Origin.EPISODE else facts
            into.append(Remembered(person=person, entry=entry, is_event=is_event))
    return Life(episodes=episodes, facts=facts)


async def measure(stage: Stage, scale: Scale) -> list[Row]:
    """The shares; nothing without the weights of the local embedder."""
    with tempfile.TemporaryDirectory(prefix="surprise-") as folder:
        async with local_embedder(Path(folder)) as embedder:
            if embedder is None:
                return []
    found = await live(scale.of(DAYS, quick=8))
    return [*_rows("episodes", found.episodes), *_rows("facts", found.facts)]


def _rows(name: str, entries: Sequence[Remembered]) -> list[Row]:
    eventful = [one for one in entries if one.person.events is not None]
    routine = [one for one in entries if not one.is_event]
    known = [one for one in eventful if one.is_event and one.person.events is EVENTS]
    others = [one for one in eventful if one.is_event and one.person.events is UNSEEN]
    first = [one for one in entries if one.day == 0]
    return [
        _share(f"key moments among {name} of people with events", eventful),
        _share(f"… {name} about an event that the rules know", known),
        _share(f"… {name} about another event", others),
        _share(f"… {name} of the first day", first),
        _share(f"… routine {name}", routine, goal=Goal(limit=0.05)),
    ]


def _share(name: str, entries: Sequence[Remembered], goal: Goal | None = None) -> Row:
    keys = sum((one.entry.surprise or 0.0) >= KEY_MOMENT_SCORE for one in entries)
    return Row(
        name=name,
        unit="",
        ours=keys / max(len(entries), 1),
        goal=goal,
        note=f"{keys} of {len(entries)}",
    )


def main() -> None:
    """Print the shares, and of each kind the surprise of some shares of the entries."""
    found = asyncio.run(live(DAYS))
    for name, entries in (("episodes", found.episodes), ("facts", found.facts)):
        for row in _rows(name, entries):
            print(f"{row.name:60}{row.ours:6.2f}  {row.note}")
        for kind, is_event in (("events", True), ("routine", False)):
            values = sorted(
                one.entry.surprise or 0.0 for one in entries if one.is_event is is_event
            )
            shown = (f"{values[int(at * (len(values) - 1))]:.2f}" for at in QUANTILES)
            print(f"  {kind}: surprise at {QUANTILES}: {', '.join(shown)}")


QUANTILES = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0)

if __name__ == "__main__":
    main()
