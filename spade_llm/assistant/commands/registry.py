"""Command registry: parses slash commands, finds the handler, help text, rules for rooms."""

from __future__ import annotations

import logging
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from spade_llm.assistant.chat.notices import RoomNotice, room_notice
from spade_llm.core.errors import RequestError, ServiceError
from spade_llm.messaging import Encoding, bare

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from spade_llm.assistant.chat.service import ChatTurnInput

STOP = "stop"
"""Ends what runs in its conversation, and so cannot wait its turn (assistant/chat/service.py)."""
COMMAND_WORDS = frozenset({"help", "memories", "status", "documents", "tools", "usage"})
"""Commands that only show something: they are understood without a slash, too. Gajim, profanity
and Converse.js answer /help themselves, and the first two send no command that they do not know.
What changes something, or is a usual thing to say to a model (why, new), needs the slash."""
_ALIASES = {"ayuda": "help", "recuerdos": "memories"}
_ROOM_COMMANDS = frozenset({"help", "status", STOP, "new"})
_EVERYTHING = re.compile(r"(?:all|todo)(?P<yes>\s+(?:yes|s[ií]))?[.!]*", re.IGNORECASE)
INTRODUCTION = "I am an assistant in a chat: just write to me. Commands:"
PLAIN_WORD_HINT = (
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


def parse_plain_word(text: str, names: Collection[str] = COMMAND_WORDS) -> Command | None:
    """The command of these names that a message is which says nothing but its name: `help`,
    `Status?`. None for anything else, also for `help me`."""
    name = _named(text.strip().strip("¿?¡!."))
    return Command(name=name) if name in names else None


def _named(word: str) -> str:
    return _ALIASES.get(word.lower(), word.lower())


def is_allowed_in_rooms(command: Command) -> bool:
    """True if a command is safe in a room: it neither shows nor deletes data of other people."""
    is_forgetting = command.name == "forget" and means_all(command.argument)
    return is_forgetting or command.name in _ROOM_COMMANDS


def means_all(argument: str) -> bool:
    """True if the argument of `/forget` means everything, confirmed or not."""
    return bool(_EVERYTHING.fullmatch(argument.strip()))


def is_confirmed(argument: str) -> bool:
    """True if the argument of `/forget all` includes the confirmation `yes`."""
    found = _EVERYTHING.fullmatch(argument.strip())
    return bool(found and found["yes"])


def help_text(lines: Iterable[str]) -> str:
    return "\n".join([INTRODUCTION, *lines, PLAIN_WORD_HINT])


logger = logging.getLogger(__name__)

CommandHandler = Callable[[str, "ChatTurnInput"], Awaitable[str]]
"""Command handler: takes the argument and the turn's input, and returns the answer."""


class CommandRegistry:
    def __init__(self) -> None:
        self._handlers: dict[str, CommandHandler] = {"help": self._help}
        self._lines = ["/help – this list"]

    def add(self, name: str, handler: CommandHandler, *lines: str) -> None:
        """`lines` say in /help what it does, in the order in which commands are added."""
        self._handlers[name] = handler
        self._lines.extend(lines)

    def knows(self, text: str) -> bool:
        """True if the text is a registered command with a slash; rules for rooms are ignored."""
        return parse_command(text, self._handlers) is not None

    def is_command(self, utterance: ChatTurnInput) -> bool:
        """True if `obey` answers this message."""
        return self._find(utterance) is not None

    async def obey(self, utterance: ChatTurnInput) -> str | None:
        """The answer to a command; None: this is none."""
        command = self._find(utterance)
        if command is None:
            return None
        if utterance.message.said.room and not is_allowed_in_rooms(command):
            jid = bare(utterance.message.receiver)
            return room_notice(RoomNotice.NOT_HERE, utterance.text, jid=jid)
        try:
            return await self._handlers[command.name](command.argument, utterance)
        except (RequestError, ServiceError) as error:
            logger.warning("/%s for %s: %s", command.name, utterance.peer, error)
            return "My memory cannot be reached right now. Please try again in a moment."

    def _find(self, utterance: ChatTurnInput) -> Command | None:
        """The command that this message is; None: it is none."""
        message = utterance.message
        # A word without a slash counts in a person's own chat only, and not in a reply (XEP-0461):
        # the model may have asked for it.
        is_private = message.encoding is Encoding.PLAIN and not message.said.room
        command = parse_command(utterance.text, self._handlers)
        if command is None and is_private and not message.in_reply_to:
            command = parse_plain_word(utterance.text)
        # COMMAND_WORDS is the same for all, also where no such command is registered.
        return command if command and command.name in self._handlers else None

    async def _help(self, _argument: str, _utterance: ChatTurnInput) -> str:
        return help_text(self._lines)
