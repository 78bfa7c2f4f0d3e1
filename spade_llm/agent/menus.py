"""Menus of agents, for whom their door admits. Composition only."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spade_llm.acl import CHAT_TEXT, bare
from spade_llm.behaviour.assistant_menus import AssistantMenus
from spade_llm.behaviour.own_memories_menus import OwnMemoriesMenus
from spade_llm.services.chat import ONTOLOGY
from spade_llm.xmpp.adhoc import AdHoc

if TYPE_CHECKING:
    from collections.abc import Callable

    from spade_llm.behaviour.llm import LLMBehaviour
    from spade_llm.behaviour.own_memories_menus import Answer
    from spade_llm.conversation.own_memories import Subjects
    from spade_llm.services.chat import ChatService
    from spade_llm.xmpp.agent import XmppAgent

STOP_S = 5.0
"""How long a turn that was stopped may take to end before the command goes on."""


def offer_assistant_menus(
    agent: XmppAgent,
    behaviour: LLMBehaviour,
    chat: ChatService,
    *,
    is_room: Callable[[str], bool],
) -> None:
    """`is_room` takes a bare JID."""

    async def stop(peer: str, thread: str) -> bool:
        stopped = agent.node.dispatcher.stop(peer, thread, (CHAT_TEXT, ONTOLOGY))
        await stopped.has_ended(timeout_s=STOP_S)
        return bool(stopped.requests)

    def may_use(jid: str) -> bool:
        """In the name of a room would be in that of everybody there."""
        return not is_room(bare(jid)) and agent.door.admits(jid)

    AdHoc(agent, AssistantMenus(behaviour, chat, stop).lines, may_use=may_use)


def offer_own_memories_menus(agent: XmppAgent, subjects: Subjects, answer: Answer) -> None:
    AdHoc(agent, OwnMemoriesMenus(subjects, answer).lines, may_use=agent.door.admits)
