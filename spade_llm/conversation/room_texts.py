"""What is said to people in rooms beside answers, English and Spanish. Pure."""

from __future__ import annotations

from enum import StrEnum

from spade_llm.providers.offline_words import language_of


class RoomText(StrEnum):
    TOO_MUCH = "too_much"
    """There are too many questions in this minute."""
    IN_PRIVATE = "in_private"
    """A room's private message: said to nobody whose address is known."""
    NOT_HERE = "not_here"
    """A command that would show the room what is one person's."""


def room_text(which: RoomText, said: str, *, jid: str) -> str:
    """In the language of what was said; `jid` is our bare JID."""
    return _TEXTS[which][language_of(said)].format(jid=jid)


def room_hint(language: str) -> str:
    """Behind a question for approval: a bare yes in a room may be meant for anybody."""
    return _HINTS[language]


_TEXTS = {
    RoomText.TOO_MUCH: {
        "en": "That is more than I answer in a minute here. Please ask again a little later.",
        "es": "Es más de lo que respondo aquí en un minuto. Vuelve a preguntar un poco más tarde.",
    },
    RoomText.IN_PRIVATE: {
        "en": "Please ask me in the room, by my name, or write to {jid} directly.",
        "es": "Pregúntame en la sala, por mi nombre, o escribe directamente a {jid}.",
    },
    RoomText.NOT_HERE: {
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
