"""A talk with one agent, as programs written for spade_llm 0.2/0.3 hold it: text there, whatever
text comes back, callbacks. Knows no stream and no terminal."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypedDict

from spade_llm.acl import FOR_MODELS
from spade_llm.services.correspondence import chat_message

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from spade_llm.acl import AclMessage

logger = logging.getLogger(__name__)

KEPT_IDS = 1000
"""Of messages that were shown: an answer that is sent again is not shown again."""


class TalkKeywords(TypedDict, total=False):
    """What such a program says to ChatAgent beside whom it talks with."""

    display_callback: Callable[[str, str], None] | None
    """Shows an answer; without it, it is printed."""
    on_message_sent: Callable[[str, str], None] | None
    on_message_received: Callable[[str, str], None] | None
    verbose: bool
    verify_security: bool


@dataclass(slots=True, kw_only=True)
class Talk:
    peer: str
    send: Callable[[AclMessage], Awaitable[None]]
    keywords: TalkKeywords
    _answered: asyncio.Event = field(default_factory=asyncio.Event)
    _shown: deque[tuple[str, str]] = field(default_factory=lambda: deque(maxlen=KEPT_IDS))

    @property
    def is_waiting(self) -> bool:
        return not self._answered.is_set()

    async def say(self, text: str) -> None:
        """Raises PeerUnavailable: not connected, and not back in time."""
        self._answered.clear()
        if self.keywords.get("verbose"):
            logger.info("to %s: %d characters", self.peer, len(text))
        await self.send(chat_message(self.peer, text, metadata=FOR_MODELS))
        if told := self.keywords.get("on_message_sent"):
            told(text, self.peer)

    def expect(self) -> None:
        """From now on an answer is waited for."""
        self._answered.clear()

    async def hear(self, message: AclMessage) -> None:
        if (key := (message.sender, message.reply_with)) in self._shown:
            return
        self._shown.append(key)
        try:
            self._tell(message.content, message.sender)
        finally:
            self._answered.set()

    async def wait(self, timeout_s: float) -> bool:
        """Whether an answer came in time."""
        try:
            await asyncio.wait_for(self._answered.wait(), timeout_s)
        except TimeoutError:
            return False
        return True

    def _tell(self, text: str, sender: str) -> None:
        show = self.keywords.get("display_callback") or _print
        show(text, sender)
        if told := self.keywords.get("on_message_received"):
            told(text, sender)


def _print(text: str, sender: str) -> None:
    print(f"\n{sender}: {text}", flush=True)  # noqa: T201 - what these programs' users read
