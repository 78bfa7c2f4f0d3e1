"""Chat notices: confirmation of /stop, and refusals in rooms; English and Spanish."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from spade_llm.messaging import CHAT_TEXT
from spade_llm.providers.offline.language import language_of

if TYPE_CHECKING:
    from spade_llm.messaging import Request, StoppedRequests

STOP_S = 5.0
"""Maximum wait for a stopped turn to end, in seconds, before the person is told that it takes long.
"""


NOTHING_TO_STOP = "There is nothing to stop."


async def describe_stop(stopped: StoppedRequests, _request: Request) -> str:
    """The one sentence for all that was stopped."""
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


class RoomNotice(StrEnum):
    TOO_MUCH = "too_much"
    """There are too many questions in this minute."""
    IN_PRIVATE = "in_private"
    """Private message of a room's occupant, which is refused: the sender's address is unknown."""
    NOT_HERE = "not_here"
    """A command that would show the room what is one person's."""


def room_notice(which: RoomNotice, said: str, *, jid: str) -> str:
    """Notice in the language of the message `said`; `jid` is our bare JID."""
    return _TEXTS[which][language_of(said)].format(jid=jid)


def room_hint(language: str) -> str:
    """Hint appended to an approval prompt in a room, where a bare "yes" may be meant for anyone."""
    return _HINTS[language]


_TEXTS = {
    RoomNotice.TOO_MUCH: {
        "en": "That is more than I answer in a minute here. Please ask again a little later.",
        "es": "Es más de lo que respondo aquí en un minuto. Vuelve a preguntar un poco más tarde.",
    },
    RoomNotice.IN_PRIVATE: {
        "en": "Please ask me in the room, by my name, or write to {jid} directly.",
        "es": "Pregúntame en la sala, por mi nombre, o escribe directamente a {jid}.",
    },
    RoomNotice.NOT_HERE: {
        "en": "Not before everybody here: write that to {jid} directly. In a room I know /help,"
        " /status, /stop, /new and /forget all.",
        "es": "No delante de todos: escríbelo directamente a {jid}. En una sala conozco /help,"
        " /status, /stop, /new y /forget all.",
    },
}
_HINTS = {
    "en": "\nOnly your own answer counts, with my name in front or as a reply to this message.",
    "es": "\nSolo cuenta tu propia respuesta, con mi nombre delante o respondiendo a este mensaje.",
}
