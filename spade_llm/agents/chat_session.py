"""Chat session of a program with one agent: callbacks, waiting, and a terminal loop."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, TypedDict

from spade_llm.messaging import FOR_MODELS_METADATA
from spade_llm.messaging.outgoing_messages import chat_message

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from spade_llm.messaging import AclMessage

logger = logging.getLogger(__name__)

KEPT_IDS = 1000
"""Maximum number of ids of shown messages that are stored, to ignore an answer that is sent again.
"""


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
