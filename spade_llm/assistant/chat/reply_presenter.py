"""Reply presenter: receipts, typing, streaming, styling; sends long answers as files."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING

from spade_llm.assistant.chat.message_correction import (
    SHOWN_TABLES,
    MessageCorrection,
    ShownAnswers,
    StreamingMessage,
    TypingIndicator,
)
from spade_llm.core.errors import RequestError
from spade_llm.core.limits import LruDict
from spade_llm.messaging import CHAT_TEXT, AclMessage, Encoding, Performative, bare, new_id
from spade_llm.search.language import language_of
from spade_llm.xmpp.features.encryption_hint import EncryptionHint
from spade_llm.xmpp.stanzas.message_codec import (
    CORRECTION,
    encode,
    encode_mark,
    encode_partial,
    split_text,
)
from spade_llm.xmpp.stanzas.message_styling import stable_prefix, to_message_styling
from spade_llm.xmpp.stanzas.namespaces import CHAT_STATES, FALLBACK, MARKERS, RECEIPTS, REPLY

if TYPE_CHECKING:
    from spade_llm.assistant.chat.message_correction import RetractExchange, ShownAnswer
    from spade_llm.assistant.chat.messages import ChatReply
    from spade_llm.assistant.chat.service import ChatHandler, ChatTurnInput
    from spade_llm.assistant.config import PresentationOptions
    from spade_llm.xmpp.agent import XmppAgent
    from spade_llm.xmpp.features.peer_features import PeerPresence

logger = logging.getLogger(__name__)

BEGINNING_CHARS = 1500

SendFile = Callable[[AclMessage, str, str], Awaitable[str]]
"""Takes what is answered, the text and the file's name; gives the address. Raises RequestError."""
FileNameOf = Callable[[str], str]
"""The name of the file that the answer to this text is wanted as; empty: as text."""


class LongAnswerSender:
    """Sends long answers as files."""

    def __init__(self, send: SendFile, *, long_answer_chars: int, name_of: FileNameOf) -> None:
        """`long_answer_chars`: longer answers are sent as files; 0: none."""
        self._send = send
        self._long = long_answer_chars
        self._name_of = name_of

    async def answer(self, turn_input: ChatTurnInput, handler: ChatHandler) -> ChatReply:
        """Answer with `handler`, and send a long answer or an export as a file."""
        reply = await handler(turn_input)
        if turn_input.message.encoding is not Encoding.PLAIN or not reply.is_for_asker:
            return reply
        # An export without memories is a sentence and no JSON.
        if (name := self._name_of(turn_input.text)) and reply.text.startswith("{"):
            shown = await self._sent(turn_input, reply.text, name)
            asked_for = _texts(turn_input, reply).asked_for
            return _with_text(reply, asked_for.format(shown) if shown else reply.text)
        if not self._long or len(reply.text) <= self._long:
            return reply
        shown = await self._sent(turn_input, reply.text, _name("answer", "md"))
        return _with_text(reply, _shortened(reply.text, shown, _texts(turn_input, reply)))

    async def _sent(self, turn_input: ChatTurnInput, text: str, name: str) -> str:
        """Send a file and return its address; empty if it cannot be sent."""
        try:
            return await self._send(turn_input.message, text, name)
        except (RequestError, OSError) as error:
            logger.info("a file could not be sent to %s: %s", turn_input.peer, error)
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


def _texts(turn_input: ChatTurnInput, reply: ChatReply) -> _LongAnswerTexts:
    return _TEXTS[language_of(turn_input.text, reply.text)]


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


MAX_MESSAGES = 2000
"""Maximum number of our messages in RAM, for all people; the oldest is evicted."""
MAX_QUOTED_CHARS = 500


class QuotedReplies:
    """Texts of sent messages, which a person's reply (XEP-0461) may quote."""

    def __init__(self) -> None:
        self._texts: LruDict[tuple[str, str], str] = LruDict(MAX_MESSAGES)
        """Texts by recipient (bare JID) and message id."""

    def note(self, sent: AclMessage) -> None:
        """Store the text of a sent message, under its id and that of the message it corrects."""
        if sent.ontology != CHAT_TEXT:
            return
        for id in filter(None, (sent.said.corrects, sent.reply_with)):
            key = (bare(sent.receiver), id)
            self._texts[key] = sent.content[:MAX_QUOTED_CHARS]

    def replied_to(self, message: AclMessage) -> str:
        """Text of the message that this one replies to; empty: there is none, or it is unknown."""
        if not message.in_reply_to:
            return ""
        text = self._texts.get((bare(message.sender), message.in_reply_to))
        return f"assistant: {text}" if text else message.said.quotes

    def forget(self, peer: str) -> None:
        for key in [key for key in self._texts if key[0] == peer]:
            del self._texts[key]


ACTION = "/me "


def readable_action(text: str, *, who: str) -> str:
    """Convert `/me waves` to `* ada waves`, with the given JID or name; other text is unchanged."""
    if not text.startswith(ACTION):
        return text
    return f"* {who.partition('@')[0]} {text.removeprefix(ACTION)}"


FEATURES = (
    CHAT_STATES,
    MARKERS,
    RECEIPTS,
    CORRECTION,
    REPLY,
    FALLBACK,
    "urn:xmpp:styling:0",
)
"""Features of an assistant for XMPP clients, announced by service discovery (XEP-0030)."""
STOPPED_TEXTS = {"en": "(stopped)", "es": "(detenido)"}
"""Note appended to a streamed answer that was stopped."""


class ReplyPresenter:
    """Presentation of answers in chat clients: receipts, typing, streaming, corrections."""

    def __init__(
        self,
        agent: XmppAgent,
        options: PresentationOptions,
        *,
        is_command: Callable[[ChatTurnInput], bool],
        retract: RetractExchange,
    ) -> None:
        """`is_command`: true for a message that a command answers; such an answer is not styled."""
        agent.features.update(FEATURES)
        agent.on_peer_presence.append(self._sight)
        self._agent = agent
        self._options = options
        self._is_command = is_command
        self.shown = ShownAnswers(agent.database_place(SHOWN_TABLES))
        self._replacing = MessageCorrection(self.shown, retract)
        self._replies = QuotedReplies()
        # Where every answer leaves, also one that was written down before a kill.
        agent.split_outgoing = self._pieces
        EncryptionHint(agent)

    async def answer(self, turn_input: ChatTurnInput, handler: ChatHandler) -> ChatReply:
        """Answer a chat message with `handler`; present the answer as the client can show it."""
        message = turn_input.message
        turn_input = replace(
            turn_input,
            text=readable_action(turn_input.text, who=turn_input.speaker),
            replied_to=self._replies.replied_to(message),
        )
        if message.said.room:
            # A mark, a state and an edit there would be everybody's.
            reply = await handler(_as_new_message(turn_input))
        else:
            reply = await self._announced(turn_input, handler)
        is_styled = self._options.styling and not self._is_command(turn_input)
        return (
            reply.model_copy(update={"text": to_message_styling(reply.text)})
            if is_styled
            else reply
        )

    async def forget(self, peer: str) -> None:
        """Delete this peer's data, including the ids of answered messages."""
        await self.shown.forget(peer)
        self._replies.forget(peer)

    async def _pieces(self, message: AclMessage) -> Sequence[AclMessage]:
        pieces = await self._replacing.pieces(message)
        for piece in pieces:
            self._replies.note(piece)
        return pieces

    async def _announced(self, turn_input: ChatTurnInput, handler: ChatHandler) -> ChatReply:
        # One mark, displayed or receipt: two ticks for one message confuse.
        if mark := encode_mark(turn_input.message):
            self._agent.send_now(mark)
        follows = self._agent.peer_features.knows_to_follow(turn_input.message.sender)
        shown = await self._replacing.begin(turn_input, follows_corrections=follows)
        if shown.asked == turn_input.message.reply_with:
            turn_input = _as_new_message(turn_input)
        async with TypingIndicator(partial(self._agent.send_state, turn_input.message)) as typing:
            if turn_input.ask:
                turn_input = replace(turn_input, ask=typing.pausing(turn_input.ask))
            reply = await self._growing(turn_input, shown, handler)
            if self._options.streaming:
                # Behind the first answer: the next may grow, or need not be asked for in pieces.
                self._agent.peer_features.learn(turn_input.message.sender)
            if not (reply.is_for_asker and reply.text):
                typing.pause()
        return reply

    async def _growing(
        self, turn_input: ChatTurnInput, shown: ShownAnswer, handler: ChatHandler
    ) -> ChatReply:
        """Stream the answer, unless the client is known not to support corrections."""
        client = turn_input.message.sender
        if not (
            self._options.streaming and self._agent.peer_features.may_follow_corrections(client)
        ):
            return await handler(turn_input)
        shower = _ReplyProgress(self._agent, self._replacing, turn_input.message, shown)
        async with StreamingMessage(
            shower.show,
            may_show=shower.may_show,
            first_s=self._options.first_s,
            every_s=self._options.edit_every_s,
        ) as bubble:
            ask = bubble.before(turn_input.ask) if turn_input.ask else None
            try:
                return await handler(replace(turn_input, on_delta=bubble.add, ask=ask))
            except asyncio.CancelledError:
                # At shutdown it is no stop: the resumed turn goes on in the same bubble.
                if bubble.is_shown and not self._agent.node.dispatcher.is_closing:
                    await shower.end(bubble.text, STOPPED_TEXTS[language_of(turn_input.text)])
                raise

    def _sight(self, seen: PeerPresence) -> None:
        """Query the features of a contact's client when it comes online, since it may write soon.
        Other JIDs are not queried: a query reveals our presence."""
        is_person = self._options.streaming and seen.is_available and not seen.is_ours
        if is_person and self._agent.is_subscribed_to(bare(seen.jid)):
            self._agent.peer_features.learn(seen.jid)


def _as_new_message(turn_input: ChatTurnInput) -> ChatTurnInput:
    """Treat the input as a new message: a correction it names is ignored, and it gets answers and
    reactions of its own."""
    message = turn_input.message
    return replace(turn_input, message=replace(message, said=replace(message.said, corrects="")))


class _ReplyProgress:
    """Progress of one streamed answer: first message and its corrections."""

    def __init__(
        self, agent: XmppAgent, replacing: MessageCorrection, asked: AclMessage, answer: ShownAnswer
    ) -> None:
        self._agent = agent
        self._replacing = replacing
        self._asked = asked
        self._answer = answer
        self._text = ""
        """Text shown last."""

    async def may_show(self) -> bool:
        return await self._agent.peer_features.follow_corrections(self._asked.sender)

    async def show(self, text: str) -> bool:
        """Show the first piece of it, without a block that has only begun; what follows upon that
        piece comes with the whole answer. Return whether anything of the answer is shown."""
        first = _first_piece(stable_prefix(text))
        if first and first != self._text:
            self._text = first
            self._agent.send_now(encode_partial(await self._edit(first)))
        return bool(self._text)

    async def end(self, text: str, note: str) -> None:
        """Send the final state of a stopped answer, as a message that archives keep."""
        edit = await self._edit(f"{_first_piece(stable_prefix(text))}\n\n{note}")
        self._agent.send_now(encode(edit))

    async def _edit(self, text: str) -> AclMessage:
        edit = self._asked.reply(Performative.INFORM, text)
        if not self._answer.ids:
            # Begins with the question's id, by which a reaction to it is found (feedback.py).
            id = f"{self._asked.reply_with}.bubble"
            self._answer = await self._replacing.show(self._answer, (id,))
            return replace(edit, reply_with=id)
        # XEP-0308: each correction names the original message, not the latest edit.
        said = replace(edit.said, corrects=self._answer.ids[0])
        return replace(edit, reply_with=new_id(), said=said)


def _first_piece(text: str) -> str:
    return next(iter(split_text(to_message_styling(text))))
