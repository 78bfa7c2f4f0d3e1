"""Chat agent: an XMPP client for talking to an assistant, by program or in a terminal."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, TypedDict, TypeVar, Unpack

from spade_llm.agents.constructor_arguments import default_connection, warn_about_verify_security
from spade_llm.assistant.chat.client import ChatClient
from spade_llm.assistant.turn.turn_options import DEFAULT_TOOL_OPTIONS, ToolOptions
from spade_llm.core.arguments import check_keywords
from spade_llm.core.errors import ConfigurationError
from spade_llm.messaging import FOR_MODELS_METADATA, AclMessage
from spade_llm.messaging.agent_status import AgentStatus, ask_status, locate_agent
from spade_llm.messaging.outgoing_messages import chat_message
from spade_llm.xmpp.agent import AgentOptions, XmppAgent
from spade_llm.xmpp.connection.jids import check_agent_jid

if TYPE_CHECKING:
    from pydantic import BaseModel

    from spade_llm.assistant.chat.messages import AnswerDelta, ApprovalPrompt, ChatReply

M = TypeVar("M", bound="BaseModel")

logger = logging.getLogger(__name__)

KEPT_IDS = 1000
"""Maximum number of stored ids of shown messages, to ignore an answer that is sent again."""


class ChatSessionKeywords(TypedDict, total=False):
    """Keyword arguments of ChatAgent besides the target's JID."""

    display_callback: Callable[[str, str], None] | None
    """Shows an answer; without it, it is printed."""
    on_message_sent: Callable[[str, str], None] | None
    on_message_received: Callable[[str, str], None] | None
    verbose: bool
    verify_security: bool


@dataclass(slots=True, kw_only=True)
class ChatSession:
    """Session of a program with one agent, for the callbacks of spade_llm 0.3."""

    peer: str
    send: Callable[[AclMessage], Awaitable[None]]
    keywords: ChatSessionKeywords
    _answered: asyncio.Event = field(default_factory=asyncio.Event)
    _shown: deque[tuple[str, str]] = field(default_factory=lambda: deque(maxlen=KEPT_IDS))

    @property
    def is_waiting(self) -> bool:
        return not self._answered.is_set()

    async def say(self, text: str) -> None:
        """Raises PeerUnavailable: not connected, and not back in time."""
        # Before the message leaves: its answer may arrive while `send` still waits.
        self._answered.clear()
        if self.keywords.get("verbose"):
            logger.info("to %s: %d characters", self.peer, len(text))
        await self.send(chat_message(self.peer, text, metadata=FOR_MODELS_METADATA))
        if told := self.keywords.get("on_message_sent"):
            told(text, self.peer)

    def expect(self) -> None:
        """Start to wait for an answer."""
        self._answered.clear()

    async def hear(self, message: AclMessage) -> None:
        # Ids are unique for each sender only.
        if (key := (message.sender, message.reply_with)) in self._shown:
            return
        self._shown.append(key)
        try:
            self._tell(message.content, message.sender)
        finally:
            self._answered.set()

    async def wait(self, timeout_s: float) -> bool:
        """Wait for an answer; False after `timeout_s`."""
        try:
            await asyncio.wait_for(self._answered.wait(), timeout_s)
        except TimeoutError:
            return False
        return True

    def _tell(self, text: str, sender: str) -> None:
        show = self.keywords.get("display_callback") or _print_answer
        show(text, sender)
        if told := self.keywords.get("on_message_received"):
            told(text, sender)


def _print_answer(text: str, sender: str) -> None:
    print(f"\n{sender}: {text}", flush=True)  # noqa: T201 - what these programs' users read


class InteractiveChat(Protocol):
    async def send_message_async(self, message: str) -> None: ...
    async def wait_for_response(self, timeout: float = 10.0) -> bool: ...


async def run_interactive_chat(
    chat_agent: InteractiveChat,
    input_prompt: str = "> ",
    exit_command: str = "exit",
    response_timeout: float = 10.0,
) -> None:
    """Run a terminal chat until the exit command or the end of the input; each line waits for its
    answer."""
    _say(f"Write a line; {exit_command!r} ends the chat.")
    while (line := await safe_input(input_prompt)) is not None:
        if line.strip().lower() == exit_command.lower():
            break
        if line.strip():
            await _exchange(chat_agent, line, response_timeout)
    _say("The chat is over.")


async def _exchange(chat_agent: InteractiveChat, line: str, timeout_s: float) -> None:
    await chat_agent.send_message_async(line)
    if not await chat_agent.wait_for_response(timeout_s):
        _say(f"No answer within {timeout_s:g} s.")


async def safe_input(prompt: str = "") -> str | None:
    """A line, read beside the event loop; None: there are no more."""
    try:
        # input() would block the event loop, and the connection with it.
        return await asyncio.to_thread(input, prompt)
    except EOFError:
        return None


def _say(line: str) -> None:
    print(line, flush=True)  # noqa: T201 - a chat in the terminal


STATUS_TIMEOUT_S = 5.0


class ChatAgent(XmppAgent):
    """Agent that talks with other agents on behalf of a program or a person.

    `say` returns an answer, `say_as` an object of a pydantic model, `stream` the parts of an answer
    as they come. `target_agent_jid` and the callbacks are for `send_message`, which waits for
    nothing. `options=None`: the server is found by the environment variables SPADE_LLM_SERVER,
    SPADE_LLM_CA and SPADE_LLM_DATA (docs/migration.md).
    """

    def __init__(
        self,
        jid: str,
        password: str,
        target_agent_jid: str | None = None,
        *,
        options: AgentOptions | None = None,
        **talk: Unpack[ChatSessionKeywords],
    ) -> None:
        check_keywords(talk, ChatSessionKeywords, of=ChatAgent)
        find = None if options else default_connection
        super().__init__(jid, password, options=options, find_connection=find)
        warn_about_verify_security(str(self.jid), verify_security=talk.get("verify_security"))
        if target_agent_jid is not None:
            check_agent_jid(target_agent_jid, of="ChatAgent: target_agent_jid")
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
        """True if no text has arrived since the last message sent."""
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
        """Say a text and yield AnswerDeltas in order, then the ChatReply. Leaving early stops the
        turn. Raises RequestError.

        With `can_approve`, ApprovalPrompts may come between: `approve` answers them.
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
        """Say a text and return the whole answer. Raises RequestError."""
        client = ChatClient(self.node.requester, peer)
        return await client.say(text, conversation_id=conversation_id, wishes=wishes)

    async def say_as(self, peer: str, text: str, model: type[M], *, conversation_id: str = "") -> M:
        """Say a text and return the answer as an object of a pydantic model. Raises RequestError;
        RequestFailed if the assistant's model gives no valid object, also at its second attempt."""
        client = ChatClient(self.node.requester, peer)
        return await client.say_as(text, model, conversation_id=conversation_id)

    async def approve(self, peer: str, id: str, *, is_approved: bool) -> None:
        """Answer an ApprovalPrompt of `stream`. Raises RequestRefused if it is not open."""
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
