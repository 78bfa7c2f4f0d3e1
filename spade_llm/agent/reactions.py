"""People's reactions to an assistant's answers, from stanza to memory: composition only."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spade_llm.acl import bare
from spade_llm.behaviour.feedback import Feedback
from spade_llm.conversation.feedback_log import FeedbackLog
from spade_llm.xmpp.reactions import NAMESPACE, read_reactions

if TYPE_CHECKING:
    from contextlib import AsyncExitStack
    from pathlib import Path
    from xml.etree.ElementTree import Element

    from spade_llm.behaviour.memory import MemoryBehaviour
    from spade_llm.xmpp.agent import XmppAgent


class Reactions:
    def __init__(self, agent: XmppAgent, memory: MemoryBehaviour, *, data: Path | None) -> None:
        self._agent = agent
        self._log = FeedbackLog(data / f"feedback-{agent.jid.local}.db" if data else None)
        self.feedback = Feedback(self._log, memory.memory)
        memory.on_forget.append(self._log.forget)
        memory.on_clear.append(self._log.forget_conversation)
        memory.on_use.append(self.feedback.note)
        agent.features.add(NAMESPACE)
        agent.on_stanza.append(self._take)
        agent.on_session.append(self._settle)

    async def open(self, stack: AsyncExitStack) -> None:
        await stack.enter_async_context(self._log)

    def _take(self, xml: Element) -> bool:
        found = read_reactions(xml)
        if found is None:
            return False
        sender = bare(xml.get("from", ""))
        if self.feedback.react(found.emojis, to=found.message_id, peer=sender):
            self._settle()
        return found.is_alone

    def _settle(self) -> None:
        """Beside the messages; also after each connection, for what memory could not be told."""
        self._agent.run_errand(self.feedback.settle())
