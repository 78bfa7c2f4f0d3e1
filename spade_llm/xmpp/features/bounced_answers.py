"""Bounced answers: sends answers again that another server returned, with back-off and jitter.

An answer keeps its id, and is sent again until it arrives.

Our own server has acknowledged these answers, so no other mechanism repeats them. People of our own
domain are not concerned: the server stores messages for them while they are offline.
"""

from __future__ import annotations

import asyncio
import random
from typing import TYPE_CHECKING

from spade_llm.core.limits import LruDict
from spade_llm.messaging import CHAT_TEXT, AclMessage, Bounce, Encoding, Performative, bare
from spade_llm.xmpp.admission_control import domain_of
from spade_llm.xmpp.stanza_router import on_extension
from spade_llm.xmpp.stanzas import message_codec as codec

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

    from spade_llm.xmpp.agent import XmppAgent

MAX_SENT = 256
"""Answers that are known again when they come back."""
FIRST_PAUSE_S = 4.0
MAX_PAUSE_S = 60.0
BACKOFF_RESET_S = 300.0
"""Time in seconds without a retry after which the back-off starts again with the shortest pause."""
TRANSIENT_CONDITIONS = frozenset({"remote-server-not-found", "remote-server-timeout"})
"""Temporary error conditions: retried for as long as the answer log keeps the answer."""

_ERROR = "{jabber:client}error"


class BouncedAnswers:
    """Resends answers that another server returned."""

    def __init__(self, agent: XmppAgent) -> None:
        self._agent = agent
        self._sent: LruDict[str, AclMessage] = LruDict(MAX_SENT)
        self._is_due = False
        self._trying: asyncio.Task[None] | None = None
        self._pause_s = FIRST_PAUSE_S
        self._tried_s = float("-inf")
        agent.on_sent.append(self._note_sent)
        agent.message_filters.append(on_extension((_ERROR,), self._take))

    def _note_sent(self, message: AclMessage) -> None:
        """Remember a chat answer to a person on another domain."""
        # Requests have a caller that waits for them; rooms and programs have their own retries.
        is_answer = message.ontology == CHAT_TEXT and message.encoding is Encoding.PLAIN
        is_question = message.performative is Performative.REQUEST
        is_far = domain_of(message.receiver) != str(self._agent.jid.domain)
        if is_answer and is_far and not (is_question or message.said.room):
            self._sent[message.reply_with] = message

    def _take(self, xml: Element) -> bool:
        if xml.get("type") != "error" or not self._sent:
            return False
        bounce = codec.decode(xml)
        answer = self._known(bounce) if isinstance(bounce, Bounce) else None
        if answer is None:
            return False
        self._is_due = True
        self._agent.spawn(self._agent.node.dispatcher.delivery.not_sent(answer))
        if self._trying is None or self._trying.done():
            self._trying = self._agent.submit(self._try_again())
        return True

    def _known(self, bounce: Bounce) -> AclMessage | None:
        """Return the answer that bounced; parts of a split answer have its id and a number."""
        id = bounce.message_id
        answer = self._sent.get(id) or self._sent.get(id.rpartition(".")[0])
        # An error of anybody else with a known id must not make us send again.
        is_it = answer is not None and bare(answer.receiver) == bare(bounce.peer)
        return answer if is_it and bounce.condition in TRANSIENT_CONDITIONS else None

    async def _try_again(self) -> None:
        while self._is_due:
            self._is_due = False
            now_s = asyncio.get_running_loop().time()
            has_rested = now_s - self._tried_s > BACKOFF_RESET_S
            self._pause_s = FIRST_PAUSE_S if has_rested else min(self._pause_s * 2, MAX_PAUSE_S)
            self._tried_s = now_s
            await asyncio.sleep(random.uniform(self._pause_s / 2, self._pause_s))
            await self._agent.node.dispatcher.resend()
