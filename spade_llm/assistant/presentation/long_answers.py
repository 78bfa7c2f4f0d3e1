"""Long answers: sent as a file with their beginning as text; memory export as a file."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from spade_llm.core.errors import RequestError
from spade_llm.messaging import AclMessage, Encoding
from spade_llm.providers.offline.language import language_of
from spade_llm.xmpp.stanzas.message_splitting import split_text

if TYPE_CHECKING:
    from spade_llm.assistant.chat.service import ChatHandler, ChatReply, ChatTurnInput

logger = logging.getLogger(__name__)

BEGINNING_CHARS = 1500

SendFile = Callable[[AclMessage, str, str], Awaitable[str]]
"""Takes what is answered, the text and the file's name; gives the address. Raises RequestError."""
FileNameOf = Callable[[str], str]
"""The name of the file that the answer to this text is wanted as; empty: as text."""


def as_text(_text: str) -> str:
    return ""


class LongAnswerSender:
    def __init__(
        self, send: SendFile, *, long_answer_chars: int, name_of: FileNameOf = as_text
    ) -> None:
        """`long_answer_chars`: a longer answer is a file whatever was asked; 0: none is."""
        self._send = send
        self._long = long_answer_chars
        self._name_of = name_of

    async def answer(self, utterance: ChatTurnInput, handler: ChatHandler) -> ChatReply:
        """Answer with `handler`, and send a long answer or an export as a file."""
        reply = await handler(utterance)
        if utterance.message.encoding is not Encoding.PLAIN or not reply.is_for_asker:
            return reply
        if (name := self._name_of(utterance.text)) and reply.text.startswith("{"):
            shown = await self._sent(utterance, reply.text, name)
            asked_for = _texts(utterance, reply).asked_for
            return _with_text(reply, asked_for.format(shown) if shown else reply.text)
        if not self._long or len(reply.text) <= self._long:
            return reply
        shown = await self._sent(utterance, reply.text, _name("answer", "md"))
        return _with_text(reply, _shortened(reply.text, shown, _texts(utterance, reply)))

    async def _sent(self, utterance: ChatTurnInput, text: str, name: str) -> str:
        """The file's address; empty: it cannot be sent."""
        try:
            return await self._send(utterance.message, text, name)
        except (RequestError, OSError) as error:
            logger.info("no file for %s: %s", utterance.peer, error)
            return ""


def export_name(verb: str) -> str:
    """File name for the answer to an export command; empty: no file."""
    return _name("memories", "jsonl") if verb == "export" else ""


def _name(what: str, ending: str) -> str:
    return f"{what}-{datetime.now(UTC):%Y-%m-%d-%H%M%S}.{ending}"


def _with_text(reply: ChatReply, text: str) -> ChatReply:
    return reply.model_copy(update={"text": text})


def _shortened(text: str, url: str, texts: _LongAnswerTexts) -> str:
    if not url:
        return f"{texts.no_file}\n\n{text}"
    beginning = next(iter(split_text(text, max_chars=BEGINNING_CHARS)))
    return f"{beginning}\n\n{texts.whole.format(len(text), url)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class _LongAnswerTexts:
    whole: str
    asked_for: str
    no_file: str


def _texts(utterance: ChatTurnInput, reply: ChatReply) -> _LongAnswerTexts:
    return _TEXTS[language_of(utterance.text, reply.text)]


_TEXTS = {
    "en": _LongAnswerTexts(
        whole="(This is the beginning. All of it, {} characters, is in this file: {} )",
        asked_for="All that I remember about you is in this file: {}",
        no_file="(This is long, and I cannot send files here; so it comes in several messages.)",
    ),
    "es": _LongAnswerTexts(
        whole="(Esto es el comienzo. Todo, {} caracteres, está en este archivo: {} )",
        asked_for="Todo lo que recuerdo de ti está en este archivo: {}",
        no_file="(Esto es largo y aquí no puedo enviar archivos; llega en varios mensajes.)",
    ),
}
