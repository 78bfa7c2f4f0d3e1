"""Lists that a person keeps (`shopping list: milk, eggs`), and messages that change their items."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from spade_llm.core.text import LazyPattern
from spade_llm.understanding.replacement import Statement
from spade_llm.understanding.vocabulary import stems_of

if TYPE_CHECKING:
    from collections.abc import Sequence

_I = re.IGNORECASE

MAX_ITEMS = 50
"""Maximum number of items of a list; further ones are ignored."""
MAX_BACK = 3
"""Number of earlier statements in which a list is looked for that is not named (`add butter`)."""
_NAME = (
    r"(?:[\w'’-]+ )?list\b(?: of \w+)?|lista\b(?: (?:de|del|para) (?:(?:la|el|los|las|mi) )?\w+)?"
)
_LIST = LazyPattern(
    rf"^(?:(?:my|the|our|mi|la|nuestra) )?(?P<name>{_NAME})(?: is| has| es| tiene)?:\s*"
    r"(?P<items>.+)$",
    _I,
)
_BEHIND = (
    r"(?: (?:to|on|onto|off|from|a|en|de) (?:the|my|our|la|mi|nuestra|tu)"
    rf" (?P<name>{_NAME}))?(?:,? (?:please|por favor|too|también))?$"
)
_ADD = LazyPattern(
    r"^(?:(?:please|can you|could you|and|also|y|también|puedes) )*"
    r"(?:add|put|(?:a[ñn]ad|apunt|agreg|mete|pon)\w*) (?P<items>.+?)" + _BEHIND,
    _I,
)
_TAKE = LazyPattern(
    r"^(?:(?:please|can you|could you|and|also|y|ya|puedes|i|we|i['’]ve|we['’]ve|i have|we have"
    r"|just|already|he|hemos) )*"
    r"(?:got|bought|picked up|grabbed|remove|delete|take|cross(?: off| out)?|tick(?: off)?"
    r"|compr(?:é|ado|amos)|cog(?:í|ido|imos)|quita\w*|borra\w*|tacha\w*|tengo) (?P<items>.+?)"
    + _BEHIND,
    _I,
)
_BETWEEN = LazyPattern(r"\s*,\s*(?:and |y )?|\s+(?:and|y|e)\s+", _I)
_ARTICLE = LazyPattern(r"^(?:the|some|an?|my|el|la|los|las|un|una|unos|unas|off|up)\s+", _I)


def change_of_list(text: str, every: Sequence[str]) -> Statement | None:
    """The list that a clause tells or changes, in the place of its earlier state; None if it does
    neither. `every`: earlier statements of the person, oldest first."""
    if told := _LIST.match(text):
        return _changed(told["name"], _items(told["items"]), _latest(every, told["name"]))
    for pattern in (_ADD, _TAKE):
        if not (found := pattern.match(text)):
            continue
        earlier = _latest(every, found["name"]) if found["name"] else _latest(every[-MAX_BACK:])
        if pattern is _TAKE:
            # What is got or bought need not be on the list that was spoken of last.
            earlier = earlier or _latest(every)
        known = _LIST.match(earlier)
        if not known:
            continue
        items, named = _items(known["items"]), _items(found["items"])
        if pattern is _ADD:
            added = [one for one in named if not any(_is_same(one, other) for other in items)]
            return _changed(known["name"], [*items, *added], earlier)
        rest = [one for one in items if not any(_is_same(one, other) for other in named)]
        if len(rest) < len(items):
            return _changed(known["name"], rest, earlier)
    return None


def may_change_list(text: str) -> bool:
    """Check whether a clause has the form of one that changes the items of a list."""
    return any(one.match(text) for one in (_LIST, _ADD, _TAKE))


def _latest(every: Sequence[str], name: str = "") -> str:
    """The latest list, of this name if there is one; empty: none."""
    lists = [(one, found["name"]) for one in reversed(every) if (found := _LIST.match(one))]
    same = (one for one, other in lists if stems_of(name) <= stems_of(other))
    return next(same, "")


def _changed(name: str, items: Sequence[str], earlier: str) -> Statement:
    is_spanish = name.lower().startswith("lista")
    told = ", ".join(items[:MAX_ITEMS]) or ("vacía" if is_spanish else "empty")
    text = f"{name[:1].upper()}{name[1:]}: {told}"
    return Statement(text=text, is_change=bool(earlier), replaced=earlier)


def _items(text: str) -> list[str]:
    items = (_ARTICLE.sub("", one).strip(" .!") for one in _BETWEEN.split(text))
    return [one for one in items if one and one not in ("empty", "vacía")]


def _is_same(one: str, other: str) -> bool:
    """Check whether two items are the same thing: `eggs`, `a dozen eggs`."""
    return bool(stems_of(one) & stems_of(other))
