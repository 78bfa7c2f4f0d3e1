"""Documents with facts planted in them, and questions whose answers are known. Fixed seed.

Each is about one machine and tells a few things of it; others name the same machine and tell
nothing, and all machines have facts of the same kinds. So neither the name nor the kind is enough.
Every fact is asked for twice: in its own words, and in others. Knows no library and no figures.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from itertools import product

from bench.words import ENGLISH

OWN_WORDS, OTHER_WORDS = "in its own words", "in other words"
SEED = 31
PARAGRAPHS, SENTENCES = 8, 7
FACTS = 3
"""Of a document."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    sentence: str
    questions: tuple[tuple[str, str], ...]
    """The way it is asked, and the question."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlantedDocument:
    source: str
    text: str
    facts: tuple[Fact, ...]


MAKERS = ("Halvorsen", "Okafor", "Brandt", "Ueda", "Castellan", "Ivarsson", "Moreau", "Petrov")
MACHINES = ("loom", "kiln", "centrifuge", "press", "turbine", "lathe", "dredger", "winch")
KINDS = (
    (
        "The {} must be flushed with clean water every {} days.",
        "After how many days must the {} be flushed with clean water?",
        "How often does somebody have to rinse the {}?",
        ("nine", "twelve", "forty", "sixty"),
    ),
    (
        "The {} was bought second hand from a {} in spring.",
        "From whom was the {} bought second hand?",
        "Who owned the {} before us?",
        ("bankrupt shipyard", "retired farmer", "paper mill", "film studio"),
    ),
    (
        "Only {} may switch on the {} without supervision.",
        "Who may switch on the {} without supervision?",
        "Which staff are allowed to start the {} on their own?",
        ("the night foreman", "licensed welders", "the two apprentices", "Mrs. Abara"),
    ),
    (
        "The {} stops by itself when the oil is hotter than {} degrees.",
        "When how hot is the oil does the {} stop by itself?",
        "What temperature makes the {} shut down?",
        ("eighty", "ninety-five", "one hundred and ten", "seventy"),
    ),
    (
        "Spare belts for the {} are kept in the {}.",
        "Where are the spare belts for the {} kept?",
        "In which place would I look for a replacement strap of the {}?",
        ("green cabinet", "loft above the office", "container outside", "old darkroom"),
    ),
    (
        "A full inspection of the {} costs {} crowns.",
        "How many crowns does a full inspection of the {} cost?",
        "What price do we pay for having the {} examined?",
        ("four hundred", "two thousand", "nine hundred", "six thousand"),
    ),
    (
        "The {} is so loud that the neighbours agreed to {} only.",
        "To what did the neighbours agree because the {} is so loud?",
        "At what times are we permitted to make the noise of the {}?",
        ("mornings", "weekdays before six", "two hours a day", "market days"),
    ),
    (
        "The last accident with the {} was caused by {}.",
        "What caused the last accident with the {}?",
        "Why did somebody get hurt at the {}?",
        ("a loose sleeve", "a frozen valve", "a missing guard", "a mislabelled switch"),
    ),
)
CHATTER = (
    "The {machine} was shown to visitors, who asked about the {a} and the {b}.",
    "Nothing new about the {machine} this week, and the {a} is still late.",
    "The meeting talked about the {a}, the {b} and the {c}.",
    "Somebody should move the {a} away from the {b}.",
    "We thank everybody who helped with the {a} on Saturday.",
    "The report about the {a} will be printed together with the one about the {b}.",
    "Costs, temperatures and inspections are written down in the book near the {a}.",
    "Spare parts, belts and oil are bought once a year, as is the {a}.",
    "Water came through the roof again and reached the {a}.",
    "The apprentices painted the {a}, and the foreman liked the {b}.",
)


def planted_documents(count: int) -> list[PlantedDocument]:
    """At most 64, one for each machine; always the same."""
    machines = [f"{maker} {machine}" for maker, machine in product(MAKERS, MACHINES)]
    random.Random(SEED).shuffle(machines)
    return [_document(number, machines[:count]) for number in range(count)]


def _document(number: int, machines: list[str]) -> PlantedDocument:
    rng = random.Random(SEED + number)
    facts = [_fact(rng, machines[number], kind) for kind in rng.sample(KINDS, FACTS)]
    paragraphs = [_paragraph(rng, machines) for _ in range(PARAGRAPHS)]
    for fact, paragraph in zip(facts, rng.sample(paragraphs, FACTS), strict=True):
        paragraph.insert(rng.randrange(len(paragraph)), fact.sentence)
    return PlantedDocument(
        source=f"{number}.txt",
        text="\n\n".join(" ".join(paragraph) for paragraph in paragraphs),
        facts=tuple(facts),
    )


def _fact(rng: random.Random, machine: str, kind: tuple[str, str, str, tuple[str, ...]]) -> Fact:
    said, own_words, other_words, values = kind
    value = rng.choice(values)
    value_first = said.startswith("Only")
    return Fact(
        sentence=said.format(*((value, machine) if value_first else (machine, value))),
        questions=(
            (OWN_WORDS, own_words.format(machine)),
            (OTHER_WORDS, other_words.format(machine)),
        ),
    )


def _paragraph(rng: random.Random, machines: list[str]) -> list[str]:
    return [
        rng.choice(CHATTER).format(
            machine=rng.choice(machines), **dict(zip("abc", rng.sample(ENGLISH, 3), strict=True))
        )
        for _ in range(SENTENCES)
    ]
