"""The keyword arguments of spade_llm 0.2/0.3's agents: which there are, and that no other is taken.

Type checkers see the TypedDicts; programs that nobody checks get an error that names what is wrong.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


def check_keywords(given: Mapping[str, object], known: type, *, of: str) -> None:
    """Raises TypeError, naming each keyword that a TypedDict has not."""
    names = sorted(known.__annotations__)
    if unknown := sorted(set(given) - set(names)):
        raise TypeError(
            f"{of} takes no {', '.join(unknown)}: remove it, or check its spelling;"
            f" beside its own parameters it takes {', '.join(names)}"
        )
