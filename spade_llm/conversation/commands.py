"""Text commands, which cost no model call: which there are, and what a message says. Pure.

Every client can type text; menus (XEP-0050) may be missing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

STOP = "stop"
"""Ends what runs in its conversation, and so cannot wait its turn (services/chat.py)."""
_FOR_ROOMS = frozenset({"help", "status", STOP, "new"})
INTRODUCTION = "I am an assistant in a chat: just write to me. Commands:"


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    name: str
    argument: str = ""


def parse_command(text: str, names: Collection[str]) -> Command | None:
    """The command of these names that a message is; None for anything else, also for `/me waves`
    and paths."""
    head, _, rest = text.strip().partition(" ")
    name = head[1:].lower()
    if not head.startswith("/") or name not in names:
        return None
    return Command(name=name, argument=rest.strip())


def is_for_rooms(command: Command) -> bool:
    """Whether it shows nobody what is another's, and takes from nobody what is not theirs."""
    is_forgetting = command.name == "forget" and command.argument.lower() == "all"
    return is_forgetting or command.name in _FOR_ROOMS


def help_text(lines: Iterable[str]) -> str:
    return "\n".join([INTRODUCTION, *lines])
