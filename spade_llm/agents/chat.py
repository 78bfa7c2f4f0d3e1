"""Chat agent: a person's or script's XMPP client for talking to an assistant."""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

from spade_llm.agents.chat_session import ChatSession, ChatSessionKeywords, run_interactive_chat
from spade_llm.agents.default_connection import default_connection
from spade_llm.agents.keyword_checks import check_keywords, warn_about_verify_security
from spade_llm.assistant.chat.service import ChatClient
from spade_llm.assistant.turn.options import DEFAULT_TOOL_OPTIONS
from spade_llm.core.errors import ConfigurationError
from spade_llm.messaging.agent_status import AgentStatus, ask_status, locate_agent
from spade_llm.xmpp.agent import XmppAgent

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from spade_llm.assistant.chat.service import AnswerDelta, ApprovalPrompt, ChatReply
    from spade_llm.assistant.turn.options import ToolOptions
    from spade_llm.messaging import AclMessage
    from spade_llm.xmpp.agent import AgentOptions

STATUS_TIMEOUT_S = 5.0


class ChatAgent(XmppAgent):
    """`options=None`: it logs in where the environment says (agents/default_connection.py)."""

    def __init__(
        self,
        jid: str,
        password: str,
        target_agent_jid: str | None = None,
        *,
        options: AgentOptions | None = None,
        **talk: Unpack[ChatSessionKeywords],
    ) -> None:
        check_keywords(talk, ChatSessionKeywords, of="ChatAgent")
        find = None if options else default_connection
        super().__init__(jid, password, options=options, find_connection=find)
        warn_about_verify_security(str(self.jid), verify_security=talk.get("verify_security"))
        self.target_agent_jid = target_agent_jid
        self._talk = ChatSession(peer=target_agent_jid or "", send=self.send_acl, keywords=talk)
        if target_agent_jid:
            self.on_text = self._hear

    def send_message(self, message: str) -> None:
        """Say it to the target; nothing is awaited."""
        # Before the task runs: wait_for_response() must not see an earlier answer.
        self._talk.expect()
        self.submit(self.send_message_async(message))

    async def send_message_async(self, message: str) -> None:
        """Say it to the target. Raises PeerUnavailable: not connected, and not back in time."""
        if not self.target_agent_jid:
            raise ConfigurationError("ChatAgent: give target_agent_jid, or use say(jid, text)")
        await self._talk.say(message)

    async def wait_for_response(self, timeout: float = 10.0) -> bool:
        """Wait for text from the target; True if some has arrived since the last message sent, or
        arrives in time."""
        return await self._talk.wait(timeout)

    def is_waiting_response(self) -> bool:
        return self._talk.is_waiting

    async def run_interactive(
        self,
        input_prompt: str = "> ",
        exit_command: str = "exit",
        response_timeout: float = 10.0,
    ) -> None:
        """Talk with the target line by line."""
        await run_interactive_chat(self, input_prompt, exit_command, response_timeout)

    def _hear(self, message: AclMessage) -> None:
        self.submit(self._talk.hear(message))

    def stream(
        self, peer: str, text: str, *, conversation_id: str = "", can_approve: bool = False
    ) -> AsyncGenerator[AnswerDelta | ApprovalPrompt | ChatReply]:
        """AnswerDeltas in order, then the ChatReply. Leaving early stops the turn. Raises
        RequestError.

        With `can_approve`, questions may come between: `approve` answers them.
        """
        client = ChatClient(self.node.requester, peer)
        return client.stream(text, conversation_id=conversation_id, can_approve=can_approve)

    async def say(
        self,
        peer: str,
        text: str,
        *,
        conversation_id: str = "",
        wishes: ToolOptions = DEFAULT_TOOL_OPTIONS,
    ) -> ChatReply:
        """The whole answer. Raises RequestError."""
        client = ChatClient(self.node.requester, peer)
        return await client.say(text, conversation_id=conversation_id, wishes=wishes)

    async def approve(self, peer: str, id: str, *, is_approved: bool) -> None:
        """Answer what was asked. Raises RequestRefused if it is not asked now."""
        client = ChatClient(self.node.requester, peer)
        await client.approve(id, is_approved=is_approved)

    async def status(self, peer: str, *, timeout_s: float = STATUS_TIMEOUT_S) -> AgentStatus:
        """Request an agent's status report. Raises RequestError."""
        return await ask_status(self.node.requester, peer, timeout_s=timeout_s)

    async def locate(
        self, peer: str, *, timeout_s: float = STATUS_TIMEOUT_S
    ) -> tuple[AgentStatus, str]:
        """Request an agent's status report and full JID. Raises RequestError."""
        return await locate_agent(self.node.requester, peer, timeout_s=timeout_s)
