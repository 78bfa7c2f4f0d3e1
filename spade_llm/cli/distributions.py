"""Installed distributions that overwrite one another's packages, which pip does not notice."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, distribution
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

CLASHES = (
    ("spade-llm-agents", "spade-llm", "spade_llm"),
    ("slixmpp-multiplatform", "slixmpp", "slixmpp"),
)
"""The one that we need, the one that must not be beside it, and the package that both install."""


def find_clashes() -> list[str]:
    """One sentence for each, with the way out."""
    return [
        f"{ours} and {other} are both installed and overwrite each other's package {package}:"
        f" `pip uninstall {other} {ours}`, then install spade-llm-agents again"
        for ours, other, package in CLASHES
        if is_installed(ours) and is_installed(other)
    ]


def warn_of_clashes(say: Callable[[str], None]) -> None:
    for clash in find_clashes():
        say(f"WARNING     {clash}")


def is_installed(name: str) -> bool:
    try:
        distribution(name)
    except PackageNotFoundError:
        return False
    return True
