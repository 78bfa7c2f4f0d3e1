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
    r"(?:[\w'’-]+ )?list\b(?: (?:of|for) \w+)?|(?:shopping|groceries|packing|to[ -]?do)"
    r"(?: for \w+)?"
    r"|lista\b(?: (?:de|del|para) (?:(?:la|el|los|las|mi) )?\w+)?|compra\b(?: (?:de|del|para) \w+)?"
)
_LIST = LazyPattern(
    rf"^(?:(?:my|the|our|mi|la|nuestra) )?(?P<name>{_NAME})(?: is| has| es| tiene)?:\s*"
    r"(?P<items>.+)$",
    _I,
)
_TASK = LazyPattern(
    r"^(?P<name>(?:i|we) (?:(?:have|need) to (?:buy|get|pick up|pack)"
    r"|(?:must|should) (?:buy|pick up))"
    r"|(?:(?:tengo|tenemos|hay) que|necesito) (?:comprar|coger|meter)) "
    r"(?P<items>[^,.:;]+(?:(?:, [^,.:;]+)*(?:,? (?:and|y|e) [^,.:;]+|, [^,.:;]+))|\w+(?: \w+)?)$",
    _I,
)
"""Things that have to be got, or the rest of them: `I have to buy …`."""
_BEHIND = (
    r"(?: (?:to|on|onto|off|from|a|en|de) (?:the|my|our|la|mi|nuestra|tu)"
    rf" (?P<name>{_NAME}))?(?:,? (?:please|por favor|too|también))?$"
)
_ADD = LazyPattern(
    r"^(?:(?:please|can you|could you|and|also|y|también|puedes) )*"
    r"(?:add|put|(?:a[ñn]ad|apunt|agreg|mete|pon)\w*) (?P<items>.+?)" + _BEHIND,
    _I,
)
_ALSO = LazyPattern(
    r"^(?:(?:i|we) (?:also )?need (?P<en>[^,.]+?),? (?:too|also|as well)"
    r"|(?:tambi[eé]n (?:necesito|necesitamos|(?:me |nos )?(?:hace )?falta|hacen falta|faltan)"
    r" (?P<es>[^,.]+)))$",
    _I,
)
_TAKE = LazyPattern(
    r"^(?:(?:please|can you|could you|and|also|y|ya|puedes|i|we|i['’]ve|we['’]ve|i have|we have"
    r"|just|already|he|hemos) )*"
    r"(?:got|bought|picked up|grabbed|packed|remove|delete|take|cross(?: off| out)?|tick(?: off)?"
    r"|compr(?:é|ado|amos)|cog(?:í|ido|imos)|met(?:í|ido|imos)|quita\w*|borra\w*|tacha\w*|tengo)"
    r" (?P<items>.+?)" + _BEHIND,
    _I,
)
_BETWEEN = LazyPattern(r"\s*,\s*(?:and |y )?|\s+(?:and|y|e)\s+", _I)
_ARTICLE = LazyPattern(r"^(?:the|some|an?|my|el|la|los|las|un|una|unos|unas|off|up)\s+", _I)


def change_of_list(text: str, every: Sequence[str]) -> Statement | None:
    """The list that a clause tells or changes, in the place of its earlier state; None if it does
    neither. `every`: earlier statements of the person, oldest first."""
    if told := _LIST.match(text):
        return _changed(told, _items(told["items"]), _latest(every, told["name"]))
    if also := _ALSO.match(text):
        return _added(also["en"] or also["es"], _latest(every[-MAX_BACK:]))
    if found := _ADD.match(text):
        name = found["name"]
        changed = _added(
            found["items"], _latest(every, name) if name else _latest(every[-MAX_BACK:])
        )
        if changed:
            return changed
    if found := _TAKE.match(text):
        # What is got or bought need not be on the list that was spoken of last.
        name = found["name"] or ""
        return _taken(
            text, found["items"], (not name and _latest(every[-MAX_BACK:])) or _latest(every, name)
        )
    return None


def _added(items: str, earlier: str) -> Statement | None:
    if not (known := _match(earlier)):
        return None
    old = _items(known["items"])
    new = [one for one in _items(items) if not any(_is_same(one, other) for other in old)]
    return _changed(known, [*old, *new], earlier)


def _taken(text: str, items: str, earlier: str) -> Statement | None:
    if not (known := _match(earlier)):
        return None
    old, named = _items(known["items"]), _items(items)
    rest = [one for one in old if not any(_is_same(one, other) for other in named)]
    if not rest and _TASK.match(earlier):
        # Nothing is left to be done: what was done is the news.
        return Statement(text=f"{text[:1].upper()}{text[1:]}", is_change=True, replaced=earlier)
    return _changed(known, rest, earlier) if len(rest) < len(old) else None


def _match(statement: str) -> re.Match[str] | None:
    """The name and the items of a list, or of what has to be got."""
    return _LIST.match(statement) or _TASK.match(statement)


def may_change_list(text: str) -> bool:
    """Check whether a clause has the form of one that changes the items of a list."""
    return any(one.match(text) for one in (_LIST, _ADD, _TAKE))


def _latest(every: Sequence[str], name: str = "") -> str:
    """The latest list, of this name if there is one; empty: none."""
    lists = [(one, found["name"]) for one in reversed(every) if (found := _match(one))]
    named = stems_of(name) - stems_of("list lista")
    same = (one for one, other in lists if named <= stems_of(other))
    return next(same, "")


def _changed(known: re.Match[str], items: Sequence[str], earlier: str) -> Statement:
    name = known["name"]
    is_spanish = name.lower().startswith(("lista", "compra"))
    told = ", ".join(items[:MAX_ITEMS]) or ("vacía" if is_spanish else "empty")
    # "Shopping list: milk", "I have to buy milk": a colon stands behind a name only.
    colon = ":" if _LIST.match(known[0]) else ""
    text = f"{name[:1].upper()}{name[1:]}{colon} {told}"
    return Statement(text=text, is_change=bool(earlier), replaced=earlier)


def _items(text: str) -> list[str]:
    items = (_ARTICLE.sub("", one).strip(" .!") for one in _BETWEEN.split(text))
    return [one for one in items if one and one not in ("empty", "vacía")]


def _is_same(one: str, other: str) -> bool:
    """Check whether two items are the same thing: `eggs`, `a dozen eggs`."""
    return bool(stems_of(one) & stems_of(other))
