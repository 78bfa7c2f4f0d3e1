"""What an assistant does at a command: a register of handlers, each in its own words.

Knows no command itself, and no stanza.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from spade_llm.acl import Encoding, bare
from spade_llm.conversation.commands import help_text, is_for_rooms, parse_command, parse_word
from spade_llm.conversation.room_texts import RoomText, room_text
from spade_llm.errors import RequestError, ServiceError

if TYPE_CHECKING:
    from spade_llm.conversation.commands import Command
    from spade_llm.services.chat import Utterance

logger = logging.getLogger(__name__)

CommandHandler = Callable[[str, "Utterance"], Awaitable[str]]
"""Takes what follows the command, and who said it where; gives the answer."""


class Commands:
    def __init__(self) -> None:
        self._handlers: dict[str, CommandHandler] = {"help": self._help}
        self._lines = ["/help – this list"]

    def add(self, name: str, handler: CommandHandler, *lines: str) -> None:
        """`lines` say in /help what it does, in the order in which commands are added."""
        self._handlers[name] = handler
        self._lines.extend(lines)

    def knows(self, text: str) -> bool:
        """Whether this is one of them, wherever it is said: it begins with a slash."""
        return parse_command(text, self._handlers) is not None

    def is_command(self, utterance: Utterance) -> bool:
        """Whether `obey` answers this."""
        return self._find(utterance) is not None

    async def obey(self, utterance: Utterance) -> str | None:
        """The answer to a command; None: this is none."""
        command = self._find(utterance)
        if command is None:
            return None
        if utterance.message.said.room and not is_for_rooms(command):
            jid = bare(utterance.message.receiver)
            return room_text(RoomText.NOT_HERE, utterance.text, jid=jid)
        try:
            return await self._handlers[command.name](command.argument, utterance)
        except (RequestError, ServiceError) as error:
            logger.warning("/%s for %s: %s", command.name, utterance.peer, error)
            return "My memory cannot be reached right now. Please try again in a moment."

    def _find(self, utterance: Utterance) -> Command | None:
        """A word without a slash is one in a person's own chat only, and not if it answers a
        message (XEP-0461): the model may have asked for it."""
        message = utterance.message
        is_private = message.encoding is Encoding.PLAIN and not message.said.room
        command = parse_command(utterance.text, self._handlers)
        if command is None and is_private and not message.in_reply_to:
            command = parse_word(utterance.text)
        return command if command and command.name in self._handlers else None

    async def _help(self, _argument: str, _utterance: Utterance) -> str:
        return help_text(self._lines)
