"""How an assistant treats a person's client while it answers: a mark, a state, styled text.

Composition only; knows no model. Programs and plain SPADE agents see nothing of it.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from spade_llm.acl import Encoding
from spade_llm.agent.typing_state import TypingState
from spade_llm.xmpp.stanza import encode_mark
from spade_llm.xmpp.styling import styled

if TYPE_CHECKING:
    from collections.abc import Callable

    from spade_llm.acl import AclMessage
    from spade_llm.behaviour.conduct import MannersOptions
    from spade_llm.services.chat import ChatHandler, Reply, Utterance
    from spade_llm.xmpp.agent import XmppAgent

FEATURES = (
    "http://jabber.org/protocol/chatstates",
    "urn:xmpp:chat-markers:0",
    "urn:xmpp:receipts",
    "urn:xmpp:message-correct:0",
    "urn:xmpp:reply:0",
    "urn:xmpp:fallback:0",
    "urn:xmpp:styling:0",
)
"""What an assistant understands of what people's clients send, and writes itself."""


class Manners:
    def __init__(
        self, agent: XmppAgent, options: MannersOptions, *, is_command: Callable[[str], bool]
    ) -> None:
        """`is_command`: its answer is no model's, and stays as it is."""
        agent.features.update(FEATURES)
        self._agent = agent
        self._options = options
        self._is_command = is_command

    async def answer(self, utterance: Utterance, handler: ChatHandler) -> Reply:
        """As `handler` answers it."""
        if utterance.message.encoding is not Encoding.PLAIN:
            return await handler(utterance)
        is_in_room = bool(utterance.message.said.room)
        if is_in_room:
            reply = await handler(utterance)
        else:
            reply = await self._announced(utterance, handler)
        is_styled = self._options.styling and not self._is_command(utterance.text)
        return reply.model_copy(update={"text": styled(reply.text)}) if is_styled else reply

    def _mark(self, message: AclMessage) -> None:
        """That its turn has begun."""
        if mark := encode_mark(message):
            self._agent.send_now(mark)

    async def _announced(self, utterance: Utterance, handler: ChatHandler) -> Reply:
        """With a mark and a state. Not in a room, where they would be everybody's."""
        self._mark(utterance.message)
        async with TypingState(partial(self._agent.send_state, utterance.message)) as typing:
            ask = typing.pausing(utterance.ask) if utterance.ask else None
            reply = await handler(replace(utterance, ask=ask))
            if not (reply.is_for_asker and reply.text):
                typing.pause()
        return reply
