"""Asks a routing function to whom an answer goes: off the event loop, in time. Sends nothing."""

from __future__ import annotations

import asyncio
import inspect
import logging
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

from spade_llm.core.limits import ConcurrencyLimiter
from spade_llm.routing import RoutingResponse
from spade_llm.tools.tasks import run_in_task
from spade_llm.tools.threads import run_in_thread
from spade_llm.xmpp.as_spade import as_spade

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from spade_llm.conversation.history import Conversation
    from spade_llm.routing import RoutingFunction
    from spade_llm.services.chat import Utterance

logger = logging.getLogger(__name__)

DECISION_S = 10.0
"""For a routing function and its transform."""
MAX_DECIDING = 32
"""That run at once; one that never ends keeps its place."""
MAX_RECIPIENTS = 100
MAX_METADATA = 32
MAX_VALUE_CHARS = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """To whom an answer goes, and as what."""

    text: str
    recipients: tuple[str, ...] = ()
    """Empty: as without a routing function."""
    metadata: Mapping[str, str] = field(default_factory=dict)


class Deciding:
    def __init__(self, function: RoutingFunction, *, decision_s: float = DECISION_S) -> None:
        self._function = function
        self._decision_s = decision_s
        self._places = ConcurrencyLimiter(MAX_DECIDING, of="the routing function")

    async def on(
        self, answer: str, *, utterance: Utterance, conversation: Conversation
    ) -> Decision | None:
        """None: the function failed, or took too long; the log says which."""
        task = asyncio.create_task(self._decide(answer, utterance, conversation))
        try:
            await asyncio.wait({task}, timeout=self._decision_s)
        finally:
            is_late = not task.done()
            task.cancel()
        if is_late:
            logger.error("%s: no routing within %g s", conversation.key, self._decision_s)
            return None
        if task.cancelled():
            logger.error("%s: the routing function was cancelled", conversation.key)
            return None
        if error := task.exception():
            logger.error("%s: the routing function failed", conversation.key, exc_info=error)
            return None
        return task.result()

    async def _decide(
        self, answer: str, utterance: Utterance, conversation: Conversation
    ) -> Decision:
        message = as_spade(utterance.message, body=utterance.text)
        call = partial(self._function, message, answer, _context(conversation))
        routed = await self._ended(call, is_async=inspect.iscoroutinefunction(self._function))
        if not isinstance(routed, RoutingResponse):
            return Decision(text=answer, recipients=_listed(routed))
        decision = Decision(
            text=answer,
            recipients=_listed(routed.recipients),
            metadata=_checked(routed.metadata or {}),
        )
        if routed.transform is None:
            return decision
        return replace(decision, text=str(await self._ended(partial(routed.transform, answer))))

    async def _ended(self, call: Callable[[], object], *, is_async: bool = False) -> object:
        """A function that blocks holds a thread of its own, not the event loop."""
        await self._places.acquire()
        run = run_in_task if is_async else run_in_thread
        value = await run(call, at_end=self._places.release)
        return await value if inspect.isawaitable(value) else value


def _context(conversation: Conversation) -> dict[str, object]:
    before = sum(message["role"] == "user" for message in conversation.messages)
    return {"conversation_id": conversation.key, "state": {"interaction_count": before + 1}}


def _listed(routed: object) -> tuple[str, ...]:
    """Each once. Raises TypeError for what names nobody."""
    names = [routed] if isinstance(routed, str) else routed or []
    if not isinstance(names, list | tuple) or not all(isinstance(one, str) for one in names):
        raise TypeError(f"{type(routed).__name__}: return a JID, a list, a RoutingResponse or None")
    if len(names) > MAX_RECIPIENTS:
        raise TypeError(f"{len(names)} recipients: {MAX_RECIPIENTS} at most")
    return tuple(dict.fromkeys(filter(None, names)))


def _checked(metadata: Mapping[str, object]) -> dict[str, str]:
    """Raises ValueError where it is more than a message's names may be."""
    values = {str(key): str(value) for key, value in metadata.items()}
    longest = max(map(len, (*values, *values.values())), default=0)
    if len(values) > MAX_METADATA or longest > MAX_VALUE_CHARS:
        raise ValueError(f"metadata: {MAX_METADATA} keys of {MAX_VALUE_CHARS} characters at most")
    return values
