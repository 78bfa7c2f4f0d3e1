"""Documents with planted facts, and questions whose answers are known: the same ones every time.

Many places and ships share their words, and all of a kind are told of in the same sentences, so
that a question's words alone bring many wrong passages too. Nothing in it is true.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.rag.files import write_pdf

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

SEED = 20_261
NOTES = 2000
PAGES = 300
QUESTIONS_ON_NOTES = 20
QUESTIONS_ON_PAGES = 10
PDF = "voyages.pdf"


def _words(text: str) -> list[str]:
    return text.split()


_FIRST = _words(
    "Amber Ash Birch Black Bramble Bright Broad Cedar Clay Clear Cold Copper Crane Dark Deep Dover "
    "East Elder Fair Fern Flint Fox Glass Golden Green Grey Hazel Heather High Hollow Iron Juniper "
    "King Lark Long Maple Mill Moss North Oak Otter Quiet Raven Red Salt Silver South Stone Swan "
    "West"
)
_SECOND = _words(
    "Abbey Bank Bay Beck Bridge Brook Cliff Combe Cove Cross Dale Down Edge End Fell Field Ford "
    "Gate Glen Grove Harbour Haven Heath Hill Holm Hurst Island Lake Lea Marsh Meadow Moor Point "
    "Pool Ridge Rock Shore Vale Water Wood"
)
_GIVEN = _words(
    "Ada Bruno Clara Dario Edith Felix Greta Hugo Irene Jonas Karin Louis Marta Nils Olga"
)
_FAMILY = _words(
    "Abrams Becker Castle Drummond Ekholm Farrow Garland Holt Ingram Jarvis Keller Lindqvist "
    "Marlow Novak Okafor Pettit Quill Rowan Sorensen Tanaka"
)
_ADJECTIVES = _words(
    "Brave Calm Crimson Early Eastern Faithful Gentle Hardy Merry Noble Patient Proud Restless "
    "Silent Steady Swift Wandering Western White Young"
)
_ANIMALS = _words(
    "Badger Cormorant Dolphin Eagle Falcon Gannet Heron Kestrel Linnet Marten Osprey Petrel Seal "
    "Tern Walrus"
)
_GOODS = _words(
    "apples barley bricks candles cork flax glassware honey linen marble oranges paper pepper "
    "pottery rope saffron salt slate tea timber tin turpentine walnuts wax wool"
)
_PORTS = _words(
    "Almera Borrow Calder Dunmoor Esk Farne Gullane Harle Inver Jura Kelso Lorne Mull Nairn Orme "
    "Portree Quay Rona Skerry Tarbet"
)
_COLOURS = _words(
    "blue crimson cream dark-green grey ochre orange purple scarlet violet white yellow"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Planted:
    """A question, and where its answer stands."""

    question: str
    source: str
    """As the loader names it, if the corpus' folder is a document root."""
    sentence: str

    def is_answered_by(self, source: str, text: str) -> bool:
        """`text`: of a passage. Lines of a PDF are broken anywhere."""
        return source == self.source and self.sentence in " ".join(text.split())


@dataclass(frozen=True, slots=True)
class _Fact:
    sentence: str
    question: str


def write_corpus(folder: Path, *, notes: int = NOTES, pages: int = PAGES) -> list[Planted]:
    """Write `voyages.pdf` and `notes/*.md` below the folder; return the questions.

    Fewer notes or pages are the first ones of all; there are at least 30 and 10.
    """
    chance = random.Random(SEED)
    planted = _write_notes(folder / "notes", notes, chance)
    return planted + _write_voyages(folder / PDF, pages, chance)


def _write_notes(folder: Path, count: int, chance: random.Random) -> list[Planted]:
    folder.mkdir(parents=True, exist_ok=True)
    places = [f"{first} {second}" for first in _FIRST for second in _SECOND]
    chance.shuffle(places)
    asked = set(random.Random(SEED).sample(range(count), QUESTIONS_ON_NOTES))
    planted = []
    for number, place in enumerate(places[:count]):
        kind, facts_of = _KINDS[number % len(_KINDS)]
        facts = facts_of(f"the {place} {kind}", chance)
        name = f"{number:04d}-{place.lower().replace(' ', '-')}-{kind}.md"
        (folder / name).write_text(_note(f"{place} {kind}", facts, chance), encoding="utf-8")
        if number in asked:
            fact = facts[number // len(_KINDS) % len(facts)]
            source = f"notes/{name}"
            planted.append(Planted(question=fact.question, source=source, sentence=fact.sentence))
    return planted


def _note(title: str, facts: Sequence[_Fact], chance: random.Random) -> str:
    told = [fact.sentence for fact in facts]
    half = len(told) // 2
    return "\n".join(
        [
            f"# {title.title()}\n",
            f"{' '.join(told[:half])} {chance.choice(_REMARKS)}\n",
            "## More about it\n",
            f"{chance.choice(_REMARKS)} {' '.join(told[half:])}",
            "",
        ]
    )


def _write_voyages(path: Path, count: int, chance: random.Random) -> list[Planted]:
    ships = [f"{adjective} {animal}" for adjective in _ADJECTIVES for animal in _ANIMALS]
    chance.shuffle(ships)
    told = [_voyage(f"the {ship}", chance) for ship in ships[:count]]
    pages = [_page(ship, facts, chance) for ship, facts in zip(ships, told, strict=False)]
    chapters = {page: f"Voyages, part {page // 25 + 1}" for page in range(0, count, 25)}
    write_pdf(path, pages, headings=chapters, title="Three hundred voyages")
    asked = random.Random(SEED + 1).sample(range(count), QUESTIONS_ON_PAGES)
    facts = [told[page][page % len(told[page])] for page in sorted(asked)]
    return [Planted(question=fact.question, source=PDF, sentence=fact.sentence) for fact in facts]


def _page(ship: str, facts: Sequence[_Fact], chance: random.Random) -> str:
    lines = [fact.sentence for fact in facts]
    weather = chance.sample(_WEATHER, 6)
    text = " ".join(f"{line} {remark}" for line, remark in zip(lines, weather, strict=False))
    return f"The voyage of the {ship}\n\n{text}\n\n{' '.join(chance.sample(_WEATHER, 6))}"


def _person(chance: random.Random) -> str:
    return f"{chance.choice(_GIVEN)} {chance.choice(_FAMILY)}"


def _year(chance: random.Random) -> int:
    return chance.randint(1701, 1989)


def _lighthouse(it: str, chance: random.Random) -> list[_Fact]:
    person, colour = _person(chance), chance.choice(_COLOURS)
    steps, seconds = chance.randint(60, 290), chance.randint(4, 40)
    return [
        _Fact(
            f"The lamp of {it} was first lit by {person} in {_year(chance)}.",
            f"Who lit the lamp of {it} for the first time?",
        ),
        _Fact(
            f"A spiral stair of {steps} steps leads to the top of {it}.",
            f"How many steps does one climb inside {it}?",
        ),
        _Fact(
            f"Sailors know {it} by a beam that turns once in {seconds} seconds.",
            f"How long does the light of {it} take for one turn?",
        ),
        _Fact(
            f"Since the last storm the door of {it} is painted {colour}.",
            f"What colour is the door of {it}?",
        ),
    ]


def _library(it: str, chance: random.Random) -> list[_Fact]:
    person, giver = _person(chance), _person(chance)
    books, goods = chance.randint(2_000, 90_000), chance.choice(_GOODS)
    return [
        _Fact(
            f"Some {books} volumes stand on the shelves of {it}.",
            f"How many books does {it} have?",
        ),
        _Fact(
            f"The reading room of {it} was paid for by {giver}, who traded in {goods}.",
            f"Who paid for the reading room of {it}?",
        ),
        _Fact(
            f"For many years {person} looked after the catalogue of {it}.",
            f"Who was in charge of the catalogue at {it}?",
        ),
        _Fact(
            f"Readers at {it} may keep a book for {chance.randint(6, 60)} days.",
            f"For how many days can one borrow a book at {it}?",
        ),
    ]


def _ferry(it: str, chance: random.Random) -> list[_Fact]:
    port, person = chance.choice(_PORTS), _person(chance)
    return [
        _Fact(
            f"Every morning {it} leaves for {port} with the mail.",
            f"Where does {it} take the mail?",
        ),
        _Fact(
            f"No more than {chance.randint(12, 95)} passengers may board {it}.",
            f"How many passengers can {it} carry?",
        ),
        _Fact(
            f"The hull of {it} was designed by {person}.",
            f"Who designed the hull of {it}?",
        ),
        _Fact(
            f"A crossing with {it} costs {chance.randint(3, 48)} crowns.",
            f"What is the price of a crossing with {it}?",
        ),
    ]


def _orchard(it: str, chance: random.Random) -> list[_Fact]:
    person, colour = _person(chance), chance.choice(_COLOURS)
    return [
        _Fact(
            f"In {_year(chance)} {person} planted the oldest trees of {it}.",
            f"Who planted the oldest trees at {it}?",
        ),
        _Fact(
            f"Hail destroyed the whole harvest of {it} in {_year(chance)}.",
            f"In which year did hail ruin the harvest of {it}?",
        ),
        _Fact(
            f"Pears from {it} are sold in {colour} boxes.",
            f"In what kind of boxes are the pears of {it} sold?",
        ),
        _Fact(
            f"Bees for {it} come from the hives of {_person(chance)}.",
            f"Whose bees visit {it}?",
        ),
    ]


def _observatory(it: str, chance: random.Random) -> list[_Fact]:
    person = _person(chance)
    return [
        _Fact(
            f"The mirror of {it} measures {chance.randint(31, 420)} centimetres across.",
            f"What is the diameter of the mirror at {it}?",
        ),
        _Fact(
            f"A comet was discovered from {it} by {person} in {_year(chance)}.",
            f"Who found a comet at {it}?",
        ),
        _Fact(
            f"Visitors are admitted to {it} on {chance.randint(8, 90)} nights of the year.",
            f"On how many nights a year can the public visit {it}?",
        ),
        _Fact(
            f"The dome of {it} is turned by a motor from {chance.choice(_PORTS)}.",
            f"Where was the motor of the dome of {it} made?",
        ),
    ]


_KINDS: tuple[tuple[str, Callable[[str, random.Random], list[_Fact]]], ...] = (
    ("lighthouse", _lighthouse),
    ("library", _library),
    ("ferry", _ferry),
    ("orchard", _orchard),
    ("observatory", _observatory),
)

_REMARKS = (
    "Few visitors find the way on their first attempt.",
    "The council has spoken of repairs for as long as anybody can remember.",
    "Children from the village draw it every spring.",
    "A postcard of it can be bought at the station.",
    "Its keeper is said to be fond of long walks.",
    "On foggy days one hears it mentioned on the radio.",
    "An old photograph of it hangs in the town hall.",
    "Nobody agrees on how its name should be written.",
)

_WEATHER = (
    "The wind blew from the north for most of the week, and the crew mended sails.",
    "On the third evening a thick fog came down, and the bell was rung every quarter of an hour.",
    "There was little to report but the price of bread in every harbour.",
    "A passenger complained about the cook, and was invited to take his place.",
    "The log has a drawing of a whale here, with a remark on its temper.",
    "Rain fell without a pause, so that the deck needed no washing.",
    "Letters were handed to a passing boat, and nobody knows what became of them.",
    "The stars were clear enough to steer by, and two of the crew learned their names.",
    "At noon the ship lay still, and a boy caught nine fish from the stern.",
    "An argument about a game of cards was settled before supper.",
    "The pilot came aboard late and left early, and asked for coffee both times.",
    "A barrel of water was found to leak, and was moved below.",
    "Snow covered the ropes on the last morning, and hands were cold.",
    "The harbour master counted everything twice and then a third time.",
)


def _voyage(it: str, chance: random.Random) -> list[_Fact]:
    port, goal = chance.sample(_PORTS, 2)
    first, second = chance.sample(_GOODS, 2)
    year = _year(chance)
    return [
        _Fact(
            f"In {year} {it} sailed from {port} to {goal} under {_person(chance)}.",
            f"Who commanded {it} in {year}?",
        ),
        _Fact(
            f"The hold of {it} was filled with {first} and {second}.",
            f"What cargo did {it} carry?",
        ),
        _Fact(
            f"A fire in the galley of {it} was put out by {_person(chance)}.",
            f"Who put out the fire aboard {it}?",
        ),
        _Fact(
            f"The anchor of {it} was lost near {chance.choice(_PORTS)} and never found.",
            f"Where did {it} lose her anchor?",
        ),
        _Fact(
            f"All told, {it} was at sea for {chance.randint(9, 200)} days.",
            f"How many days did the voyage of {it} take?",
        ),
    ]
