"""How an assistant treats a person's client while it answers: a mark, a state, a growing bubble.

Composition only; knows no model. Programs and plain SPADE agents see nothing of it.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from spade_llm.acl import Encoding, Performative, bare, new_id
from spade_llm.agent.bubble import Bubble
from spade_llm.agent.replacing import Replacing
from spade_llm.agent.replies import Replies
from spade_llm.agent.typing_state import TypingState
from spade_llm.conversation.actions import acted
from spade_llm.conversation.shown_answers import ShownAnswers
from spade_llm.providers.offline_words import language_of
from spade_llm.xmpp.encryption_hint import EncryptionHint
from spade_llm.xmpp.message_styling import settled, styled
from spade_llm.xmpp.namespaces import CHAT_STATES, FALLBACK, MARKERS, RECEIPTS, REPLY
from spade_llm.xmpp.partial import encode_partial
from spade_llm.xmpp.pieces import pieces_of
from spade_llm.xmpp.stanza import CORRECTION, encode, encode_mark

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from spade_llm.acl import AclMessage
    from spade_llm.agent.replacing import Retract
    from spade_llm.behaviour.conduct import MannersOptions
    from spade_llm.conversation.shown_answers import ShownAnswer
    from spade_llm.services.chat import ChatHandler, Reply, Utterance
    from spade_llm.xmpp.agent import XmppAgent
    from spade_llm.xmpp.discovery import Sighting

FEATURES = (
    CHAT_STATES,
    MARKERS,
    RECEIPTS,
    CORRECTION,
    REPLY,
    FALLBACK,
    "urn:xmpp:styling:0",
)
"""What an assistant understands of what people's clients send, and writes itself."""
STOPPED = {"en": "(stopped)", "es": "(detenido)"}
"""Behind what was shown of an answer that nobody gets."""


class Manners:
    def __init__(
        self,
        agent: XmppAgent,
        options: MannersOptions,
        *,
        is_command: Callable[[Utterance], bool],
        retract: Retract,
    ) -> None:
        """`is_command`: its answer is no model's, and stays as it is."""
        agent.features.update(FEATURES)
        agent.on_sighting.append(self._sight)
        self._agent = agent
        self._options = options
        self._is_command = is_command
        data = agent.options.data
        self.shown = ShownAnswers(data / f"shown-{agent.jid.local}.db" if data else None)
        self._replacing = Replacing(self.shown, retract)
        self._replies = Replies()
        agent.as_pieces = self._pieces
        EncryptionHint(agent)

    async def answer(self, utterance: Utterance, handler: ChatHandler) -> Reply:
        """As `handler` answers it."""
        message = utterance.message
        if message.encoding is not Encoding.PLAIN:
            return await handler(utterance)
        utterance = replace(
            utterance,
            text=acted(utterance.text, who=utterance.speaker),
            replied_to=self._replies.replied_to(message),
        )
        if message.said.room:
            # A mark, a state and an edit there would be everybody's.
            reply = await handler(_correcting_nothing(utterance))
        else:
            reply = await self._announced(utterance, handler)
        is_styled = self._options.styling and not self._is_command(utterance)
        return reply.model_copy(update={"text": styled(reply.text)}) if is_styled else reply

    async def forget(self, peer: str) -> None:
        """Which messages were answered, too."""
        self.shown.forget(peer)
        self._replies.forget(peer)

    def _pieces(self, message: AclMessage) -> Sequence[AclMessage]:
        pieces = self._replacing.pieces(message)
        for piece in pieces:
            self._replies.note(piece)
        return pieces

    async def _announced(self, utterance: Utterance, handler: ChatHandler) -> Reply:
        if mark := encode_mark(utterance.message):
            self._agent.send_now(mark)
        follows = self._agent.peer_features.knows_to_follow(utterance.message.sender)
        shown = await self._replacing.begin(utterance, follows_corrections=follows)
        if shown.asked == utterance.message.reply_with:
            utterance = _correcting_nothing(utterance)
        async with TypingState(partial(self._agent.send_state, utterance.message)) as typing:
            if utterance.ask:
                utterance = replace(utterance, ask=typing.pausing(utterance.ask))
            reply = await self._growing(utterance, shown, handler)
            if self._options.streaming:
                # Behind the first answer: the next may grow, or need not be asked for in pieces.
                self._agent.peer_features.learn(utterance.message.sender)
            if not (reply.is_for_asker and reply.text):
                typing.pause()
        return reply

    async def _growing(
        self, utterance: Utterance, shown: ShownAnswer, handler: ChatHandler
    ) -> Reply:
        """In a bubble, unless the client is known not to show one to its end."""
        if not self._may_grow(utterance.message.sender):
            return await handler(utterance)
        shower = _Shower(self._agent, self._replacing, utterance.message, shown)
        async with self._bubble(shower) as bubble:
            ask = bubble.before(utterance.ask) if utterance.ask else None
            try:
                return await handler(replace(utterance, on_delta=bubble.add, ask=ask))
            except asyncio.CancelledError:
                if bubble.is_shown and not self._agent.node.dispatcher.is_closing:
                    shower.end(bubble.text, STOPPED[language_of(utterance.text)])
                raise

    def _may_grow(self, client: str) -> bool:
        return self._options.streaming and self._agent.peer_features.may_follow_corrections(client)

    def _bubble(self, shower: _Shower) -> Bubble:
        return Bubble(
            shower.show,
            may_show=shower.may_show,
            first_s=self._options.first_s,
            every_s=self._options.edit_every_s,
        )

    def _sight(self, seen: Sighting) -> None:
        """A contact that shows itself may write soon: what its client can do is known then. Nobody
        else is asked: a question shows that we are there."""
        is_person = self._options.streaming and seen.is_available and not seen.is_ours
        if is_person and self._agent.sees(bare(seen.jid)):
            self._agent.peer_features.learn(seen.jid)


def _correcting_nothing(utterance: Utterance) -> Utterance:
    """As a new message: what it says to correct, if anything, has answers and reactions of its
    own."""
    message = utterance.message
    return replace(utterance, message=replace(message, said=replace(message.said, corrects="")))


class _Shower:
    """Shows one answer while it grows."""

    def __init__(
        self, agent: XmppAgent, replacing: Replacing, asked: AclMessage, answer: ShownAnswer
    ) -> None:
        self._agent = agent
        self._replacing = replacing
        self._asked = asked
        self._answer = answer
        self._text = ""
        """As it was shown last."""

    async def may_show(self) -> bool:
        return await self._agent.peer_features.follow_corrections(self._asked.sender)

    def show(self, text: str) -> bool:
        """Show the first piece of it, without a block that has only begun; what follows upon that
        piece comes with the whole answer. Return whether anything of the answer is shown."""
        first = _first_piece(settled(text))
        if first and first != self._text:
            self._text = first
            self._agent.send_now(encode_partial(self._edit(first)))
        return bool(self._text)

    def end(self, text: str, note: str) -> None:
        """It goes no further, and this is kept."""
        self._agent.send_now(encode(self._edit(f"{_first_piece(settled(text))}\n\n{note}")))

    def _edit(self, text: str) -> AclMessage:
        edit = self._asked.reply(Performative.INFORM, text)
        if not self._answer.ids:
            id = f"{self._asked.reply_with}.bubble"
            self._answer = self._replacing.show(self._answer, (id,))
            return replace(edit, reply_with=id)
        said = replace(edit.said, corrects=self._answer.ids[0])
        return replace(edit, reply_with=new_id(), said=said)


def _first_piece(text: str) -> str:
    return next(iter(pieces_of(styled(text))))
