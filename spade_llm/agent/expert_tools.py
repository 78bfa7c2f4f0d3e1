"""The people whom an agent may ask, and the tools for it. Composition only."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spade_llm.conversation.expert_log import ExpertLog
from spade_llm.services.expert_tool import Expert, expert_tool
from spade_llm.services.experts import Experts

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from spade_llm.acl import AclMessage
    from spade_llm.services.correspondence import Correspondence
    from spade_llm.tools import Tool
    from spade_llm.xmpp.agent import XmppAgent


def experts_of(
    agent: XmppAgent,
    letters: Correspondence,
    *,
    is_for_others: Callable[[AclMessage], bool] | None = None,
) -> Experts:
    """`is_for_others=None`: nobody else in this agent reads chats."""
    data = agent.options.data
    return Experts(
        agent.node,
        letters,
        ExpertLog(data / f"experts-{agent.jid.local}.db" if data else None),
        run=agent.submit,
        is_alone=is_for_others is None,
        is_for_others=is_for_others or (lambda _message: False),
    )


def expert_tools(people: Sequence[Expert], experts: Experts) -> tuple[Tool, ...]:
    return tuple(expert_tool(one, experts) for one in people)
