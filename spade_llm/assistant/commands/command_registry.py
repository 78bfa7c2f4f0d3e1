"""Command registry: parses slash commands, help text, /stop, and rules and notices for rooms."""

from __future__ import annotations

import logging
import re
from collections.abc import Awaitable, Callable, Collection, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from spade_llm.core.errors import RequestError, ServiceError
from spade_llm.core.text import nearest_word
from spade_llm.messaging import CHAT_TEXT, Encoding, Request, StoppedRequests, bare
from spade_llm.search.language import language_of

if TYPE_CHECKING:
    from spade_llm.assistant.chat.service import ChatTurnInput

logger = logging.getLogger(__name__)

STOP = "stop"
"""Ends what runs in its conversation, and so cannot wait its turn (assistant/chat/service.py)."""
COMMAND_WORDS = frozenset({"help", "memories", "status", "documents", "tools", "usage"})
"""Commands that only show something: they are understood without a slash, too. Gajim, profanity
and Converse.js answer /help themselves, and the first two send no command that they do not know.
What changes something, or is a usual thing to say to a model (why, new), needs the slash."""
_ALIASES = {
    "ayuda": "help", "recuerdos": "memories", "aprendido": "learned", "olvidar": "forget",
    "olvida": "forget",
}  # fmt: skip
_ROOM_COMMANDS = frozenset({"help", "status", STOP, "new"})
_EVERYTHING = re.compile(r"(?:all|todo)(?P<yes>\s+(?:yes|s[ií]))?[.!]*", re.IGNORECASE)
INTRODUCTION = "I am an assistant in a chat: just write to me. Commands:"
_MISTYPED = re.compile(r"//?(?P<name>[a-z]{3,})(?P<argument>\s.*)?", re.DOTALL)
PLAIN_WORD_HINT = (
    "help, memories, status, documents, tools and usage also work alone, without the slash. If your"
    " client keeps a slash for itself, write two: //new"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    name: str
    argument: str = ""


def parse_command(text: str, names: Collection[str]) -> Command | None:
    """Parse a message as one of these commands; None for anything else, also for `/me waves` and
    paths. Two slashes count as one: some clients send two, and others remove one."""
    head, _, rest = text.strip().partition(" ")
    name = _named(head.removeprefix("/").removeprefix("/"))
    if not head.startswith("/") or name not in names:
        return None
    return Command(name=name, argument=rest.strip())


def parse_plain_word(text: str, names: Collection[str] = COMMAND_WORDS) -> Command | None:
    """Parse a message that consists of a command's name alone: `help`, `Status?`. None for anything
    else, also for `help me`."""
    name = _named(text.strip().strip("¿?¡!."))
    return Command(name=name) if name in names else None


def _named(word: str) -> str:
    return _ALIASES.get(word.lower(), word.lower())


def mistyped_command(text: str, names: Collection[str]) -> str:
    """Answer to a command with a misspelled name, such as `/hlep`, or with an unknown one and
    nothing behind it; empty for anything else (`/me waves`, a path), which goes to the model."""
    found = _MISTYPED.fullmatch(text.strip().lower())
    if found is None:
        return ""
    name = found["name"]
    near = nearest_word(name, sorted({*names, *_ALIASES}))
    if near == name or (found["argument"] and not near):
        return ""
    meant = f" Did you mean /{near}?" if near else ""
    return f"There is no command /{name}.{meant} /help lists them all."


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


CommandHandler = Callable[[str, "ChatTurnInput"], Awaitable[str]]
"""Command handler: takes the argument and the turn's input, and returns the answer."""
RequestHandler = Callable[["ChatTurnInput"], Awaitable[str | None]]


UNREACHABLE = "My memory cannot be reached right now. Please try again in a moment."


class CommandRegistry:
    """Commands of an assistant, by name."""

    def __init__(self) -> None:
        self._handlers: dict[str, CommandHandler] = {"help": self._help}
        self._lines = ["/help – this list"]
        self._requests: list[RequestHandler] = []

    def add(self, name: str, handler: CommandHandler, *lines: str) -> None:
        """Register a command. `lines` describe it in /help, in the order of registration."""
        self._handlers[name] = handler
        self._lines.extend(lines)

    def add_request(self, handler: RequestHandler) -> None:
        """Register a handler of requests in words; it returns None for other messages."""
        self._requests.append(handler)

    def knows(self, text: str) -> bool:
        """True if the text is a registered command with a slash; rules for rooms are ignored."""
        return parse_command(text, self._handlers) is not None

    def is_command(self, turn_input: ChatTurnInput) -> bool:
        """True if `obey` answers this message."""
        return self._find(turn_input) is not None or bool(self._mistyped(turn_input))

    async def obey(self, turn_input: ChatTurnInput) -> str | None:
        """Run a command and return its answer; None if the message is none."""
        command = self._find(turn_input)
        if command is None:
            return self._mistyped(turn_input) or await self._answer_request(turn_input)
        if turn_input.message.said.room and not is_allowed_in_rooms(command):
            return RoomNotices(bare(turn_input.message.receiver)).not_here(turn_input.text)
        try:
            return await self._handlers[command.name](command.argument, turn_input)
        except (RequestError, ServiceError) as error:
            logger.warning("/%s for %s: %s", command.name, turn_input.peer, error)
            return UNREACHABLE

    async def _answer_request(self, turn_input: ChatTurnInput) -> str | None:
        for handler in self._requests:
            try:
                if (answer := await handler(turn_input)) is not None:
                    return answer
            except (RequestError, ServiceError, TimeoutError) as error:
                logger.warning("a request of %s: %s", turn_input.peer, error)
                return UNREACHABLE
        return None

    def _mistyped(self, turn_input: ChatTurnInput) -> str:
        # A gateway's users are people, too; what is not annotated goes to a program.
        if turn_input.message.said.room or not turn_input.is_annotated:
            return ""
        return mistyped_command(turn_input.text, self._handlers)

    def _find(self, turn_input: ChatTurnInput) -> Command | None:
        message = turn_input.message
        # A word without a slash counts in a person's own chat only, and not in a reply (XEP-0461):
        # the model may have asked for it.
        is_private = message.encoding is Encoding.PLAIN and not message.said.room
        command = parse_command(turn_input.text, self._handlers)
        if command is None and is_private and not message.in_reply_to:
            command = parse_plain_word(turn_input.text)
        # COMMAND_WORDS is the same for all, also where no such command is registered.
        return command if command and command.name in self._handlers else None

    async def _help(self, _argument: str, _turn_input: ChatTurnInput) -> str:
        return help_text(self._lines)


STOP_S = 5.0
"""Maximum wait for a stopped turn to end, in seconds, before the person is told of a delay."""


NOTHING_TO_STOP = "There is nothing to stop."


async def describe_stop(stopped: StoppedRequests, _request: Request) -> str:
    """Answer to a stop: one sentence about all requests that were stopped."""
    if not stopped.requests:
        return NOTHING_TO_STOP
    # Only plain chat is a person's own words; other requests are JSON.
    said = next((one.content for one in stopped.requests if one.ontology == CHAT_TEXT), "")
    texts = _STOPPED[language_of(said)]
    has_ended = await stopped.has_ended(timeout_s=STOP_S)
    more = len(stopped.requests) - 1
    parts = [texts.done if has_ended else texts.not_done]
    if more:
        parts.append(texts.one_more if more == 1 else texts.more.format(more))
    return " ".join(parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class _StopTexts:
    done: str
    not_done: str
    one_more: str
    more: str


_STOPPED = {
    "en": _StopTexts(
        done="Stopped.",
        not_done="I am stopping; something that runs does not let itself be interrupted.",
        one_more="The message that waited behind it is not answered either.",
        more="The {} messages that waited behind it are not answered either.",
    ),
    "es": _StopTexts(
        done="Detenido.",
        not_done="Me detengo; algo que está en marcha no se deja interrumpir.",
        one_more="El mensaje que esperaba detrás tampoco se responde.",
        more="Los {} mensajes que esperaban detrás tampoco se responden.",
    ),
}


@dataclass(frozen=True, slots=True)
class RoomNotices:
    """Notices to people in rooms, in the language of their message (`said`)."""

    jid: str
    """Our bare JID."""

    def too_much(self, said: str) -> str:
        """Refusal of a question beyond the rate limit of the room."""
        return _TOO_MUCH[language_of(said)]

    def not_privately(self, said: str) -> str:
        """Refusal of a private message of an occupant with an unknown address."""
        return _NOT_PRIVATELY[language_of(said)].format(jid=self.jid)

    def not_here(self, said: str) -> str:
        """Refusal of a command that would show one person's data to the room."""
        return _NOT_HERE[language_of(said)].format(jid=self.jid)


def room_hint(language: str) -> str:
    """Hint appended to an approval prompt in a room, where a bare "yes" may be meant for anyone."""
    return _HINTS[language]


_TOO_MUCH = {
    "en": "That is more than I answer in a minute here. Please ask again a little later.",
    "es": "Es más de lo que respondo aquí en un minuto. Vuelve a preguntar un poco más tarde.",
}
_NOT_PRIVATELY = {
    "en": "Please ask me in the room, by my name, or write to {jid} directly.",
    "es": "Pregúntame en la sala, por mi nombre, o escribe directamente a {jid}.",
}
_NOT_HERE = {
    "en": "Not before everybody here: write that to {jid} directly. In a room I know /help,"
    " /status, /stop, /new and /forget all.",
    "es": "No delante de todos: escríbelo directamente a {jid}. En una sala conozco /help,"
    " /status, /stop, /new y /forget all.",
}
_HINTS = {
    "en": "\nOnly your own answer counts, with my name in front or as a reply to this message.",
    "es": "\nSolo cuenta tu propia respuesta, con mi nombre delante o respondiendo a este mensaje.",
}
