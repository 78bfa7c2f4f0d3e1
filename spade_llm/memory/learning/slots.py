"""Which facts are about the same thing, and which of them cannot both be true. Pure.

A fact is read again by the template that writes it, so that what a model or a person stored in
these words counts as well.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from spade_llm.memory.learning.fact_rules import LIKES, RULES, Slot
from spade_llm.memory.learning.fact_values import has_form
from spade_llm.memory.learning.topic import topic_of

if TYPE_CHECKING:
    from collections.abc import Collection

    from spade_llm.memory.learning.fact_rules import FactRule


@dataclass(frozen=True, slots=True, kw_only=True)
class Filled:
    """What a fact says of a slot."""

    slot: Slot
    key: frozenset[int]
    """Which of several, for instance whose name or what thing; empty where there is one only."""
    value: frozenset[int]

    def contradicts(self, other: Filled) -> bool:
        """`Lisbon` and `Lisbon, Portugal` do not."""
        if (self.slot, self.key) != (other.slot, other.key):
            return False
        return not (self.value <= other.value or other.value <= self.value)


def filled_by(rule: FactRule, x: str, y: str) -> Filled | None:
    """None if there may be any number of such facts."""
    match rule.slot:
        case None:
            return None
        case Slot.TASTE:
            value = frozenset({int(rule.template in LIKES)})
            return Filled(slot=rule.slot, key=topic_of(x), value=value)
        case Slot.CHOICE:
            return Filled(slot=rule.slot, key=topic_of(x) | topic_of(y), value=topic_of(x))
        case _:
            return Filled(slot=rule.slot, key=topic_of(y), value=topic_of(x))


def read_fact(content: str, names: Collection[str]) -> Filled | None:
    """The slot that this fact about one of `names` fills. None if it is about nobody of these, if
    its value is none of the slot's, or if there may be any number of such facts."""
    text = content.strip().rstrip(".")
    for rule in RULES:
        if rule.slot and (found := _reader(rule).fullmatch(text)) and _is_one(found["who"], names):
            groups = found.groupdict()
            if _is_value(groups["x"], rule):
                return filled_by(rule, groups["x"], groups.get("y") or "")
    return None


def search_words(slot: Slot) -> str:
    """The words of the slot's templates and values in all languages: a fact that contradicts
    another may share no word with it (`is single`, `está casada`)."""
    rules = [rule for rule in RULES if rule.slot is slot]
    templates = (re.sub(r"\{\w+\}(?:'s)?", " ", rule.template) for rule in rules)
    return " ".join([*templates, *(value for rule in rules for value in rule.values)])


def _is_value(x: str, rule: FactRule) -> bool:
    """`{who} is {x}` is a diet only if `x` is one."""
    if rule.values:
        return topic_of(x) in map(topic_of, rule.values)
    return has_form(x, rule, has_capitals=x != x.lower())


def _is_one(who: str, names: Collection[str]) -> bool:
    return who.casefold() in {name.casefold() for name in names}


@cache
def _reader(rule: FactRule) -> re.Pattern[str]:
    pattern = re.escape(rule.template)
    for group, inside in (("who", ".{1,60}?"), ("x", ".+"), ("y", ".+?")):
        pattern = pattern.replace(re.escape(f"{{{group}}}"), f"(?P<{group}>{inside})")
    return re.compile(pattern, re.IGNORECASE | re.DOTALL)
