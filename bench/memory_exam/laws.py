"""Laws: what must hold for every combination of some facts, in English and Spanish.

    python -m bench.memory_exam.laws                  # shares of combinations that break a law
    python -m bench.memory_exam.laws corrections -n 9 # … of one law, with nine of them

Dialogues that people write seldom have the same verb for two beings, or a denial of another thing:
rules that hold for whole classes are tested better by combining templates (`laws.toml`), and facts
of 83 kinds in seven ways each (`kinds_en.toml`, `kinds_es.toml`). Only the rules of the offline
provider are read, without agents. A share above zero is no fault in itself: `Ana's dog` may be the
dog of `my sister`, and some questions are riddles.
"""

from __future__ import annotations

import argparse
import re
import tomllib
from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from itertools import permutations, product
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

from spade_llm.understanding.answers import find_answers, with_closed
from spade_llm.understanding.forgetting import closest, matching, read_forget_request
from spade_llm.understanding.questions import Candidate
from spade_llm.understanding.statements import StatementHistory, read_history

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

TEMPLATES = Path(__file__).with_name("laws.toml")
SEED = 3
PAIRS = 90
"""Pairs of statements of one kind of fact, of two beings."""
OTHER_KINDS = 900
"""Pairs of statements of two kinds of facts of the speaker, of each language."""
LOOSE_PAIRS = 3000
"""Pairs of two of the 83 kinds of facts, of each language."""
_CONTRACTED = re.compile(r"\b(?P<word>de|a) el\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """A statement about a being, with a question for its value."""

    kind: str
    text: str
    value: str
    question: str
    other_texts: tuple[str, ...] = ()
    """The same statement with the other values of its kind."""
    other_values: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()
    """Announcements of the last of the other values."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Broken:
    """A combination that breaks a law."""

    messages: tuple[str, ...]
    seen: str


Outcome = Broken | None


class Language:
    """The templates of a language."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._templates: dict[str, Any] = tomllib.loads(TEMPLATES.read_text("utf-8"))[name]

    def frames(self, name: str) -> list[str]:
        """Frames of statements: `corrections`, `frames`, `unreal`."""
        return list(self._templates[name])

    def own(self) -> list[Fact]:
        """A fact of the speaker for each template."""
        return [fact for kind in self.kinds() for fact in self._own_of(kind)]

    def _own_of(self, kind: str) -> list[Fact]:
        told = self._templates["facts"][kind]
        question, said = told["own_questions"][0], told.get("changes", ())
        return [_fact(kind, one, told["values"], question, said) for one in told["own"]]

    def of_beings(self, kind: str) -> list[list[Fact]]:
        """The facts of one kind: a list for each being, the speaker first."""
        told = self._templates["facts"][kind]
        beings = [self._own_of(kind)]
        for person in self._templates["people"]:
            forms = [one.replace("{p}", person) for one in told.get("of_other", ())]
            said = [one.replace("{p}", person) for one in told.get("other_changes", ())]
            for question in told.get("other_questions", ())[:1]:
                asked = question.replace("{p}", person)
                beings.append([_fact(kind, one, told["values"], asked, said) for one in forms])
        return [one for one in beings if one]

    def kinds(self) -> list[str]:
        return list(self._templates["facts"])


def _fact(
    kind: str, template: str, values: list[str], question: str, changes: Sequence[str] = ()
) -> Fact:
    def filled(text: str, value: str) -> str:
        contracted = {"de": "del", "a": "al"}
        text = text.replace("{v}", value)
        return _CONTRACTED.sub(lambda found: contracted[found["word"]], text)

    return Fact(
        kind=kind,
        text=filled(template, values[0]),
        value=values[0],
        question=filled(question, values[0]),
        other_texts=tuple(filled(template, one) for one in values[1:]),
        other_values=tuple(values[1:]),
        changes=tuple(filled(one, values[-1]) for one in changes),
    )


def answers(history: StatementHistory, question: str) -> list[str]:
    """The answers of the rules to a question, of the current facts only."""
    former = (
        Candidate(text=text, is_closed=True, successor=successor)
        for text, successor in history.former.items()
    )
    current = (Candidate(text=text) for text in history.current)
    found = find_answers(question, with_closed([*former, *current]))
    return [one.text for one in found if not one.is_closed]


def has(text: str, value: str) -> bool:
    """Check whether a text has a value as a word."""
    return re.search(rf"(?<!\w){re.escape(value)}(?!\w)", text, re.IGNORECASE) is not None


def _pairs(language: Language, random: Random) -> Iterator[tuple[Fact, Fact, str]]:
    """Facts of one kind of two beings, and the text of the second with another value."""
    for kind in language.kinds():
        beings = language.of_beings(kind)
        every = [
            (first, second)
            for one, other in product(beings, beings)
            if one is not other
            for first, second in product(one, other)
        ]
        for first, second in random.sample(every, min(PAIRS, len(every))):
            yield first, second, second.other_texts[0]


def beings(language: Language, random: Random) -> Iterator[Outcome]:
    """Facts of two beings are both kept, and each is the answer to its question."""
    for first, second, told in _pairs(language, random):
        history = read_history([first.text, told])
        kept = {one.lower() for one in history.current}
        seen = f"{history.current}"
        is_broken = not {first.text.lower(), told.lower()} <= kept
        for question, value in (
            (first.question, first.value),
            (second.question, second.other_values[0]),
        ):
            found = answers(history, question)
            if not found or not has(found[0], value):
                is_broken, seen = True, f"{question} {found}"
        yield Broken(messages=(first.text, told), seen=seen) if is_broken else None


def unknown(language: Language, random: Random) -> Iterator[Outcome]:
    """A question about a being of which nothing is known has no answer."""
    for first, second, _ in _pairs(language, random):
        found = answers(read_history([first.text]), second.question)
        yield Broken(messages=(first.text, second.question), seen=f"{found}") if found else None


def kinds(language: Language, random: Random) -> Iterator[Outcome]:
    """Facts of two kinds of the speaker are both kept, and each is the answer to its question."""
    every = [pair for pair in product(language.own(), repeat=2) if pair[0].kind != pair[1].kind]
    for first, second in random.sample(every, OTHER_KINDS):
        if {first.kind, second.kind} == {"job", "employer"}:
            continue
        history = read_history([first.text, second.text])
        found = [answers(history, one.question) for one in (first, second)]
        is_right = all(
            texts and has(texts[0], one.value)
            for texts, one in zip(found, (first, second), strict=True)
        )
        is_kept = len(history.current) == len({first.text, second.text})
        yield (
            None
            if is_right and is_kept
            else Broken(messages=(first.text, second.text), seen=f"{history.current} {found}")
        )


def corrections(language: Language, _random: Random) -> Iterator[Outcome]:
    """A correction leaves the new value only, in the statements and in the answer."""
    for fact, frame in product(language.own(), language.frames("corrections")):
        value = fact.other_values[-1]
        said = frame.format(v=value, old=fact.value, s=fact.other_texts[-1])
        history = read_history([fact.text, said])
        found = answers(history, fact.question)
        # "Al marisco" tells "el marisco".
        word = value.split()[-1]
        is_old = any(
            has(one, fact.value) and not re.search(r"\b(?:not?|sino)\b", one, re.IGNORECASE)
            for one in history.current
        )
        is_right = found and has(found[0], word) and not is_old
        yield None if is_right else Broken(messages=(fact.text, said), seen=f"{history.current}")


def changes(language: Language, random: Random) -> Iterator[Outcome]:
    """An announced change of the speaker ends the fact of its kind and no other, whichever was told
    last."""
    every = [
        (fact, other)
        for fact, other in product(language.own(), repeat=2)
        if fact.kind != other.kind and {fact.kind, other.kind} != {"job", "employer"}
    ]
    yield from _changes(every, random)


def other_changes(language: Language, random: Random) -> Iterator[Outcome]:
    """A change of another being ends its fact, and not that of the same kind of the speaker."""
    every = []
    for kind in language.kinds():
        own, *others = language.of_beings(kind)
        mine = [replace(one, text=one.other_texts[0], value=one.other_values[0]) for one in own]
        every += [(one, two) for of_one in others for one in of_one for two in mine]
    yield from _changes(every, random)


def relatives(language: Language, random: Random) -> Iterator[Outcome]:
    """A change of another being ends its fact, and leaves this being's facts of other kinds."""
    of_kinds = {kind: language.of_beings(kind)[1:] for kind in language.kinds()}
    every = [
        (fact, other)
        for kind, other_kind in permutations(of_kinds, 2)
        if {kind, other_kind} != {"job", "employer"}
        for facts, others in zip(of_kinds[kind], of_kinds[other_kind], strict=False)
        for fact, other in product(facts, others)
    ]
    yield from _changes(every, random)


def own_changes(language: Language, _random: Random) -> Iterator[Outcome]:
    """A change of the speaker leaves the fact of another being; of the speaker none is known."""
    now = "{} now" if language.name == "en" else "ahora {}"
    for kind in language.kinds():
        own, *others = language.of_beings(kind)
        said = [*own[0].changes, now.format(own[0].other_texts[-1])]
        for fact, text in ((of_one[0], text) for of_one in others for text in said):
            current = read_history([fact.text, text]).current
            is_kept = fact.text.lower() in (one.lower() for one in current)
            yield None if is_kept else Broken(messages=(fact.text, text), seen=f"{current}")


def _changes(pairs: Sequence[tuple[Fact, Fact]], random: Random) -> Iterator[Outcome]:
    """A change of the first fact of each pair."""
    every = [(fact, other, said) for fact, other in pairs for said in fact.changes]
    every = random.sample(every, min(OTHER_KINDS, len(every)))
    for number, (fact, other, said) in enumerate(every):
        first = [fact.text, other.text] if number % 3 else [other.text, fact.text]
        history = read_history([*first, said])
        found = [answers(history, one.question) for one in (fact, other)]
        values = [fact.other_values[-1].split()[-1], other.value]
        is_right = all(
            texts and has(texts[0], value) for texts, value in zip(found, values, strict=True)
        )
        is_old = any(
            has(one, fact.value) for one in history.current if one.lower() != other.text.lower()
        )
        yield (
            None
            if is_right and not is_old
            else Broken(messages=(*first, said), seen=f"{history.current} {found}")
        )


def frames(language: Language, _random: Random) -> Iterator[Outcome]:
    """Words that say nothing do not change what is understood of a statement."""
    for fact, frame in product(language.own(), language.frames("frames")):
        said = frame.format(s=fact.text)
        expected, found = (read_history([one]).current for one in (fact.text, said))
        is_same = [one.rstrip(".!") for one in found] == expected
        yield None if is_same else Broken(messages=(said,), seen=f"{found}")


def unreal(language: Language, _random: Random) -> Iterator[Outcome]:
    """What is asked, imagined, doubted or translated ends no fact, and does not answer for it."""
    for fact, frame in product(language.own(), language.frames("unreal")):
        said = frame.format(s=fact.other_texts[0])
        history = read_history([fact.text, said])
        found = answers(history, fact.question)
        is_right = found and has(found[0], fact.value)
        yield (
            None
            if is_right
            else Broken(messages=(fact.text, said), seen=f"{history.current} {found}")
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """A kind of fact, and ways to tell it, to ask for it, to change it and to have it forgotten."""

    values: tuple[str, ...]
    tellings: tuple[str, ...]
    questions: tuple[str, ...]
    changes: tuple[str, ...]
    deletions: tuple[str, ...]
    answer: tuple[str, ...] = ()
    """Other forms of the first value (regular expressions)."""

    def said(self, template: str, number: int = 0) -> str:
        """A telling or a change with one of the values."""
        return template.replace("{v}", self.values[number])

    def is_in(self, text: str) -> bool:
        """Check whether a text has the first value, however it is written."""
        is_written = any(re.search(one, text, re.IGNORECASE) for one in self.answer)
        return is_written or has(text, self.values[0])


def told_kinds(language: Language) -> list[Told]:
    """The kinds of a language that `kinds_en.toml` or `kinds_es.toml` has."""
    path = Path(__file__).with_name(f"kinds_{language.name}.toml")
    tables = tomllib.loads(path.read_text("utf-8")).values()
    return [Told(**{key: tuple(value) for key, value in one.items()}) for one in tables]


def tellings(language: Language, _random: Random) -> Iterator[Outcome]:
    """A fact told in any way is the answer to a question for it in any way."""
    for kind in told_kinds(language):
        for told in map(kind.said, kind.tellings):
            history = read_history([told])
            for question in kind.questions:
                found = answers(history, question)
                is_right = found and kind.is_in(found[0])
                yield None if is_right else Broken(messages=(told, question), seen=f"{found}")


def many_facts(language: Language, _random: Random) -> Iterator[Outcome]:
    """A fact is the answer to its question when one fact of each other kind is known, too."""
    told = told_kinds(language)
    history = read_history([one.said(one.tellings[0]) for one in told])
    for kind in told:
        for question in kind.questions:
            found = answers(history, question)
            is_right = found and kind.is_in(found[0])
            yield None if is_right else Broken(messages=(question,), seen=f"{found}")


def loose_changes(language: Language, _random: Random) -> Iterator[Outcome]:
    """A change in the words of a chat ends the former value, and nothing that was told after it."""
    kinds = told_kinds(language)
    for number, kind in enumerate(kinds):
        for way, change in enumerate(kind.changes):
            told, said = kind.said(kind.tellings[way]), kind.said(change, 1)
            other = kinds[(number + 7 * (way + 1)) % len(kinds)]
            between = other.said(other.tellings[0])
            current = read_history([told, between, said]).current
            kept = read_history([between]).current
            rest = [one for one in current if one not in kept]
            is_right = (
                any(has(one, kind.values[1]) for one in rest)
                and not any(has(one, kind.values[0]) for one in rest)
                and set(kept) <= set(current)
            )
            yield None if is_right else Broken(messages=(told, between, said), seen=f"{current}")


def loose_kinds(language: Language, random: Random) -> Iterator[Outcome]:
    """A change in the words of a chat leaves the facts of all other kinds, in whatever words."""
    every = [pair for pair in product(told_kinds(language), repeat=2) if pair[0] is not pair[1]]
    for one, other in random.sample(every, min(LOOSE_PAIRS, len(every))):
        told = one.said(random.choice(one.tellings))
        said = other.said(random.choice(other.changes), 1)
        kept, current = read_history([told]).current, read_history([told, said]).current
        is_right = set(kept) <= set(current)
        yield None if is_right else Broken(messages=(told, said), seen=f"{current}")


def requests(language: Language, _random: Random) -> Iterator[Outcome]:
    """A request to forget means the fact that it names, and no other of three."""
    kinds = told_kinds(language)
    for number, kind in enumerate(kinds):
        for way, text in enumerate(kind.deletions):
            others = [kinds[(number + step * (way + 1)) % len(kinds)] for step in (11, 31)]
            said = [kind.said(kind.tellings[way]), *(one.said(one.tellings[0]) for one in others)]
            told = read_history(said).current
            request = read_forget_request(text)
            found = request and (matching(request.topic, told) or closest(request.topic, told))
            meant = {place for place, one in enumerate(told) if kind.is_in(one)}
            of_others = read_history(said[1:]).current
            seen = [told[place] for place in found or ()]
            is_right = found and meant <= set(found) and not set(seen) & set(of_others)
            yield None if is_right else Broken(messages=(*told, text), seen=f"{seen}")


LAWS: dict[str, Callable[[Language, Random], Iterator[Outcome]]] = {
    law.__name__: law
    for law in (
        beings,
        unknown,
        kinds,
        corrections,
        changes,
        other_changes,
        relatives,
        own_changes,
        frames,
        unreal,
        tellings,
        many_facts,
        loose_changes,
        loose_kinds,
        requests,
    )
}


def main() -> None:
    parser = argparse.ArgumentParser(description="Shares of combinations that break a law.")
    parser.add_argument("law", nargs="?", choices=LAWS, help="this one only")
    parser.add_argument("-n", "--examples", type=int, default=0, help="broken ones to print")
    arguments = parser.parse_args()
    for name, law in LAWS.items():
        if arguments.law not in (None, name):
            continue
        total: Counter[str] = Counter()
        broken: defaultdict[str, list[Broken]] = defaultdict(list)
        for language in map(Language, ("en", "es")):
            for outcome in law(language, Random(SEED)):
                total[language.name] += 1
                broken[language.name] += [outcome] if outcome else []
        shares = ", ".join(f"{one} {len(broken[one])} of {total[one]}" for one in total)
        print(f"{name:13} {shares}")
        for language_name, found in broken.items():
            for one in Random(SEED).sample(found, min(arguments.examples, len(found))):
                print(f"  {language_name} {' | '.join(one.messages)}\n     {one.seen}")


if __name__ == "__main__":
    main()
