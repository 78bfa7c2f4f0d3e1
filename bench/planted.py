"""Conversations with facts planted in them, and questions whose answers are known. Fixed seed.

Two people chat for weeks; one in fifteen turns says something about who says it, in words of which
the question has few. Everybody's facts are of the same kinds, so that one conversation's would do
for another's question, were they not kept apart. Knows no memory and no figures.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from bench.talk import ADVERSARIAL, Conversation, Question, Turn
from bench.words import ENGLISH

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

OUTRIGHT, EXCHANGE = "said outright", "said as an answer"
PEOPLE = (
    *(("Nadia", "Tomas"), ("Ines", "Viktor"), ("Chiara", "Oskar"), ("Leyla", "Bruno")),
    *(("Marta", "Henrik"), ("Aiko", "Felix")),
)
TURNS = 20
"""Of a session."""
TURN_S = 40.0
SEED = 23
FIRST_DAY = datetime(2026, 1, 5, 18, 30, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """Something that may be true of a person."""

    said: str
    asked_first: str
    """What the other one says before, if it is told as an answer."""
    answered: str
    """Then it has few words of the question."""
    question: str
    values: tuple[str, ...]


KINDS = (
    Kind(
        said="We finally adopted a {}, and it already sleeps at the foot of my bed.",
        asked_first="Did you go to the animal shelter in the end?",
        answered="Yes! The {} came home with us the same day.",
        question="What kind of pet did {} take in?",
        values=("greyhound", "one-eyed cat", "tortoise", "ferret", "beagle", "cockatoo"),
    ),
    Kind(
        said="My new job is at the {}, I start on Monday.",
        asked_first="So, where will you be working from next month on?",
        answered="At the {}, they called me yesterday.",
        question="Who is the employer that hired {}?",
        values=("aquarium", "city archive", "shipyard", "observatory", "botanic garden", "mint"),
    ),
    Kind(
        said="I have been practising the {} for an hour every evening.",
        asked_first="Which instrument did you settle on?",
        answered="The {}, my teacher is very patient with me.",
        question="Which musical instrument is {} learning to play?",
        values=("cello", "oboe", "accordion", "harp", "banjo", "clarinet"),
    ),
    Kind(
        said="The doctor says I must not eat {} any more, it gave me a rash.",
        asked_first="Is there anything that I should leave out when I cook for you?",
        answered="Please no {}, I would end up in hospital.",
        question="What food is {} allergic to?",
        values=("peanuts", "shellfish", "sesame", "celery", "hazelnuts", "mustard"),
    ),
    Kind(
        said="We booked the flights, two weeks in {} this summer!",
        asked_first="Any plans for August?",
        answered="{}, we have dreamed of it for years.",
        question="Where is {} going on holiday?",
        values=("Iceland", "Sardinia", "Patagonia", "Estonia", "Madeira", "Hokkaido"),
    ),
    Kind(
        said="I ran the {} on Sunday and my knees still hurt.",
        asked_first="Why are you limping?",
        answered="The {}, and I was not even the last one.",
        question="Which race did {} take part in?",
        values=("harbour marathon", "hill relay", "night ten kilometres", "desert half marathon"),
    ),
    Kind(
        said="My sister named her baby {}, after our grandmother.",
        asked_first="What is your little niece called?",
        answered="{}! Everybody in the family cried.",
        question="What is the name of the niece of {}?",
        values=("Apolonia", "Ottilie", "Zelda", "Ramona", "Philippa", "Euphemia"),
    ),
    Kind(
        said="I painted the whole bedroom {}, it looks twice as large.",
        asked_first="Which colour did you choose for the walls?",
        answered="{}, and I do not regret it.",
        question="In what shade did {} decorate the bedroom?",
        values=("turquoise", "ochre", "lavender", "crimson", "olive", "ivory"),
    ),
    Kind(
        said="The book club reads {} this month, I am half through it.",
        asked_first="What are you reading on the train these days?",
        answered="{}, it is much funnier than I expected.",
        question="What novel is {} reading?",
        values=("Middlemarch", "Don Quixote", "Dead Souls", "Candide", "Moby Dick", "Emma"),
    ),
    Kind(
        said="I bought an old {} and spend every weekend under it with a wrench.",
        asked_first="How do you get to work now?",
        answered="In the {}, when it starts.",
        question="What vehicle does {} own?",
        values=("sidecar", "delivery van", "convertible", "fire engine", "tractor", "moped"),
    ),
    Kind(
        said="I signed up for a course in {}, every Wednesday after work.",
        asked_first="What do you do on Wednesdays?",
        answered="{}, the others in the group are twenty years older.",
        question="What class is {} attending?",
        values=("pottery", "fencing", "calligraphy", "beekeeping", "archery", "bookbinding"),
    ),
    Kind(
        said="They found the leak, the whole {} has to be replaced.",
        asked_first="What did the plumber say about your house?",
        answered="That the {} is done for.",
        question="What has to be renewed in the home of {}?",
        values=("boiler", "bathroom floor", "cellar wall", "roof gutter", "kitchen sink"),
    ),
)
CHATTER = (
    "The {} next to the {} was closed again this morning.",
    "I keep forgetting the {}, one day I will write it down.",
    "Do you remember the {} that we saw near the {}?",
    "My neighbour talks about nothing but the {}.",
    "It rained on the {} the whole afternoon.",
    "Somebody left a {} in front of the {}, nobody knows why.",
    "I dreamed of a {} last night, it was very strange.",
    "Let us meet at the {} some day, and bring the {}.",
    "Ha, that reminds me of the {}.",
    "How was your week? Mine was all {} and {}.",
    "Good to hear from you! I am tired, but well.",
    "Oh no. I hope that it gets better soon.",
    "People who have pets never travel, do they?",
    "Everybody at the office talks about books and races.",
    "A friend of a friend plays in a band, or wants to.",
    "I should paint something, or learn something, or both.",
)


def planted(count: int, *, sessions: int) -> list[Conversation]:
    """At most as many as there are PEOPLE; always the same."""
    return [_conversation(number, sessions) for number in range(count)]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Fact:
    kind: Kind
    value: str
    speaker: str
    is_answer: bool


def _conversation(number: int, sessions: int) -> Conversation:
    rng = random.Random(SEED + number)
    name, people = f"planted-{number}", PEOPLE[number]
    facts = _facts(rng, number, people, sessions)
    turns: list[Turn] = []
    evidence: dict[str, _Fact] = {}
    for session in range(sessions):
        lines = _session(rng, people, facts[session::sessions])
        for place, (speaker, text, fact) in enumerate(lines):
            id = f"{name}/{session}:{place}"
            at = FIRST_DAY + timedelta(days=3 * session, seconds=TURN_S * place)
            turns.append(Turn(id=id, session=name, speaker=speaker, text=text, at=at))
            if fact:
                evidence[id] = fact
    asked = [one for id, fact in evidence.items() for one in _questions(id, fact, people, facts)]
    return Conversation(name=name, turns=tuple(turns), questions=tuple(asked))


def _facts(rng: random.Random, number: int, people: tuple[str, str], sessions: int) -> list[_Fact]:
    """Some kinds of one person, some of both; no value is anybody else's."""
    said = [(kind, speaker) for kind in KINDS for speaker in people]
    rng.shuffle(said)
    return [
        _Fact(
            kind=kind,
            value=kind.values[(2 * number + people.index(speaker)) % len(kind.values)],
            speaker=speaker,
            is_answer=rng.random() < 0.5,
        )
        for kind, speaker in said[: int(1.5 * sessions)]
    ]


def _session(
    rng: random.Random, people: tuple[str, str], facts: Sequence[_Fact]
) -> list[tuple[str, str, _Fact | None]]:
    """Who says what, and which fact it is."""
    lines: list[tuple[str, str, _Fact | None]] = []
    for _ in range(TURNS):
        lines.append((people[len(lines) % 2], _chatter(rng), None))
    for fact in facts:
        other = people[1 - people.index(fact.speaker)]
        at = rng.randrange(len(lines))
        text = (fact.kind.answered if fact.is_answer else fact.kind.said).format(fact.value)
        before = fact.kind.asked_first if fact.is_answer else _chatter(rng)
        lines[at:at] = [(other, before, None), (fact.speaker, text, fact)]
    return lines


def _chatter(rng: random.Random) -> str:
    return rng.choice(CHATTER).format(*rng.sample(ENGLISH, 2))


def _questions(
    id: str, fact: _Fact, people: tuple[str, str], facts: Sequence[_Fact]
) -> Iterator[Question]:
    yield Question(
        text=fact.kind.question.format(fact.speaker),
        category=EXCHANGE if fact.is_answer else OUTRIGHT,
        evidence=frozenset({id}),
    )
    other = people[1 - people.index(fact.speaker)]
    if not any(one.kind is fact.kind and one.speaker == other for one in facts):
        yield Question(
            text=fact.kind.question.format(other),
            category=ADVERSARIAL,
            evidence=frozenset({id}),
        )
