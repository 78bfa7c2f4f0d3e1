"""The latest of many things, in a dictionary that never grows beyond a stated number. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections import OrderedDict

K = TypeVar("K")
V = TypeVar("V")


def keep_latest(known: OrderedDict[K, V], key: K, value: V, *, most: int) -> None:
    """As the last of it; what nobody has kept for longest leaves."""
    known[key] = value
    known.move_to_end(key)
    while len(known) > most:
        known.popitem(last=False)
