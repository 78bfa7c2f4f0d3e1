"""Pairs of statements: does the second end the first?

    python -m bench.memory_exam.pairs            # shares of pairs in which the rules see an end
    python -m bench.memory_exam.pairs --wrong    # … and the pairs that they read wrongly

Written without knowledge of the rules, in the words of people: two thirds of the changes have no
word such as `now` or `moved`. Rules may be improved by the pairs that end nothing (`A`, `U`); those
of the changes (`C`) are for measuring.
"""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from spade_llm.understanding.replacement import replaces
from spade_llm.understanding.statements import read_history, read_message

PAIRS = Path(__file__).with_name("pairs_en.txt")
LABELS = {
    "C": "the second ends or corrects the first",
    "A": "the second adds to the first",
    "U": "the second is about something else",
}


class Pair(NamedTuple):
    """Two messages of one person, and whether the second ends what the first said."""

    label: str
    first: str
    second: str

    @property
    def is_change(self) -> bool:
        return self.label == "C"


def read_pairs(path: Path = PAIRS) -> list[Pair]:
    lines = path.read_text(encoding="utf-8").splitlines()
    return [Pair(*line.split("\t")) for line in lines]


def is_ended(pair: Pair) -> bool:
    """Check whether the rules see that the second message ends a statement of the first."""
    known = read_history([pair.first]).current
    statements = read_message(pair.second, known).statements
    return any(replaces(new, old) for new in statements for old in known)


def main() -> None:
    parser = argparse.ArgumentParser(description="Share of pairs in which the rules see an end.")
    parser.add_argument("--wrong", action="store_true", help="print the pairs read wrongly")
    arguments = parser.parse_args()
    read = [(pair, is_ended(pair)) for pair in read_pairs()]
    count = Counter(pair.label for pair, _ in read)
    ended = Counter(pair.label for pair, found in read if found)
    for label, meaning in LABELS.items():
        share = ended[label] / count[label]
        print(f"{label}  {meaning:40} {ended[label]:3}/{count[label]} ended  {share:4.0%}")
    for pair, found in read if arguments.wrong else ():
        if found != pair.is_change:
            print(f"{pair.label}  {pair.first}\n   {pair.second}")


if __name__ == "__main__":
    main()
