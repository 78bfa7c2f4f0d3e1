"""Text commands, which cost no model call: which there are, and what a message says. Pure.

Every client can type text; menus (XEP-0050) may be missing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

STOP = "stop"
"""Ends what runs in its conversation, and so cannot wait its turn (services/chat.py)."""
WORDS = frozenset({"help", "memories", "status", "documents", "tools", "usage"})
"""Commands that only show something: they are understood without a slash, too. Gajim, profanity
and Converse.js answer /help themselves, and the first two send no command that they do not know.
What changes something, or is a usual thing to say to a model (why, new), needs the slash."""
_ALIASES = {"ayuda": "help", "recuerdos": "memories"}
_FOR_ROOMS = frozenset({"help", "status", STOP, "new"})
_EVERYTHING = re.compile(r"(?:all|todo)(?P<yes>\s+(?:yes|s[ií]))?[.!]*", re.IGNORECASE)
INTRODUCTION = "I am an assistant in a chat: just write to me. Commands:"
WITHOUT_SLASH = (
    "help, memories, status, documents, tools and usage also work alone, without the slash. If your"
    " client keeps a slash for itself, write two: //new"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    name: str
    argument: str = ""


def parse_command(text: str, names: Collection[str]) -> Command | None:
    """The command of these names that a message is; None for anything else, also for `/me waves`
    and paths. Two slashes are one: some clients send them so, others take one of them away."""
    head, _, rest = text.strip().partition(" ")
    name = _named(head.removeprefix("/").removeprefix("/"))
    if not head.startswith("/") or name not in names:
        return None
    return Command(name=name, argument=rest.strip())


def parse_word(text: str, names: Collection[str] = WORDS) -> Command | None:
    """The command of these names that a message is which says nothing but its name: `help`,
    `Status?`. None for anything else, also for `help me`."""
    name = _named(text.strip().strip("¿?¡!."))
    return Command(name=name) if name in names else None


def _named(word: str) -> str:
    return _ALIASES.get(word.lower(), word.lower())


def is_for_rooms(command: Command) -> bool:
    """Whether it shows nobody what is another's, and takes from nobody what is not theirs."""
    is_forgetting = command.name == "forget" and means_all(command.argument)
    return is_forgetting or command.name in _FOR_ROOMS


def means_all(argument: str) -> bool:
    """Of `/forget`: everything, whether that is confirmed or not."""
    return bool(_EVERYTHING.fullmatch(argument.strip()))


def is_confirmed(argument: str) -> bool:
    """Of `/forget all`: there it says `yes`, too."""
    found = _EVERYTHING.fullmatch(argument.strip())
    return bool(found and found["yes"])


def help_text(lines: Iterable[str]) -> str:
    return "\n".join([INTRODUCTION, *lines, WITHOUT_SLASH])
