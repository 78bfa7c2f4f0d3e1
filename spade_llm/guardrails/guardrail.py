"""Guardrail base classes: input and output guardrails, custom check functions, part guards."""

from __future__ import annotations

import asyncio
import inspect
import logging
import traceback
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from enum import Enum
from functools import partial
from typing import TYPE_CHECKING, Protocol, TypeGuard

from spade_llm.core.concurrency import run_in_task, run_in_thread
from spade_llm.core.limits import ConcurrencyLimiter
from spade_llm.core.text import is_encodable
from spade_llm.providers.offline.language import language_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

logger = logging.getLogger(__name__)

CHECK_TIMEOUT_S = 10.0
MAX_CHARS = 200_000
"""A longer text is blocked: more than any message can carry."""

MAX_BUFFERED_CHARS = 20_000
"""Maximum length of held-back text. Beyond it, nothing more is sent before the whole answer is
checked."""

MAX_THREADS = 8
"""Maximum number of threads of one guardrail. A function that never returns keeps its thread; when
all are occupied, every text is blocked."""


@dataclass(frozen=True, slots=True)
class UserCodeFailed:
    reason: str
    """Description of the failure without the checked text, which exceptions may quote."""


async def call_user_code(
    call: Callable[[], object], *, timeout_s: float, what: str
) -> object | UserCodeFailed:
    """Call user code and return its result (awaited if needed) or the failure; `what` names it in
    the log."""
    try:
        async with asyncio.timeout(timeout_s):
            return await run_in_task(call)
    except TimeoutError:
        return _log_failure(what, f"it took over {timeout_s:g} s")
    except asyncio.CancelledError:
        # Only our own cancellation passes: a check that raises CancelledError has failed.
        if _is_task_cancelled():
            raise
        return _log_failure(what, "it was cancelled")
    except Exception as error:  # noqa: BLE001 - somebody's own check or callback failed
        return _log_failure(what, _type_and_location(error))


def _is_task_cancelled() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _log_failure(what: str, reason: str) -> UserCodeFailed:
    logger.error("%s failed: %s", what, reason)
    return UserCodeFailed(reason)


def _type_and_location(error: Exception) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    place = f" at {frames[-1].filename}:{frames[-1].lineno}" if frames else ""
    return f"{type(error).__name__}{place}"


class GuardrailAction(Enum):
    PASS = "pass"
    MODIFY = "modify"
    """Go on with `content` instead."""
    BLOCK = "block"
    """Go no further; the asker gets `custom_message`, or the guardrail's `blocked_message`."""
    WARNING = "warning"
    """Go on, and note it."""


@dataclass(slots=True)
class GuardrailResult:
    action: GuardrailAction
    content: str | None = None
    """Text to pass on; None: unchanged."""
    reason: str | None = None
    """Reason for `on_guardrail_trigger`. It may quote the text, so it is never sent to the sender
    of the message and never logged."""
    metadata: dict[str, object] = field(default_factory=dict)
    custom_message: str | None = None
    """Message sent instead of a blocked text."""


class Guardrail(ABC):
    """Subclass it, or use those of this package. What `check` raises counts as BLOCK."""

    timeout_s: float = CHECK_TIMEOUT_S
    """A check that takes longer counts as BLOCK."""

    def __init__(self, name: str, enabled: bool = True, blocked_message: str | None = None) -> None:
        self.name = name
        self.enabled = enabled
        self.blocked_message = blocked_message

    @abstractmethod
    async def check(self, content: str, context: Mapping[str, object]) -> GuardrailResult:
        """`context` has `sender` (bare JID), `conversation_id` and, for output, `original_message`
        (what was asked)."""

    async def __call__(self, content: str, context: Mapping[str, object]) -> GuardrailResult:
        """`check` as it is to be used: PASS while this is not enabled, and BLOCK for whatever
        raises, takes too long or is no result. Raises nothing."""
        if not self.enabled:
            return GuardrailResult(action=GuardrailAction.PASS, content=content)
        if len(content) > MAX_CHARS:
            return self._blocked(f"over {MAX_CHARS} characters are not checked")
        given = await call_user_code(
            # A copy: what one check changes in it must not reach the next.
            partial(self.check, content, dict(context)),
            timeout_s=self.limit_s(),
            what=f"guardrail {self.name!r}",
        )
        if isinstance(given, UserCodeFailed):
            return self._blocked(given.reason)
        return (
            self._with_default_message(given)
            if _is_valid_result(given)
            else self._blocked("it gave no sound result")
        )

    def limit_s(self) -> float:
        return self.timeout_s

    def part_guard(self) -> PartGuard | None:
        """Create a part guard for one streamed answer; None: only the whole text can be checked."""
        return None

    def _blocked(self, reason: str) -> GuardrailResult:
        return GuardrailResult(
            action=GuardrailAction.BLOCK, reason=reason, custom_message=self.blocked_message
        )

    def _with_default_message(self, result: GuardrailResult) -> GuardrailResult:
        if result.action is GuardrailAction.BLOCK and not result.custom_message:
            result.custom_message = self.blocked_message
        return result


def _is_valid_result(given: object) -> TypeGuard[GuardrailResult]:
    """A change must say into what, in text that can be sent."""
    if not isinstance(given, GuardrailResult) or not isinstance(given.action, GuardrailAction):
        return False
    if not isinstance(given.custom_message, str | None):
        return False
    return given.action is not GuardrailAction.MODIFY or _is_text(given.content)


def _is_text(given: object) -> bool:
    return isinstance(given, str) and is_encodable(given)


class GuardrailDirection(Enum):
    INPUT = "input"
    OUTPUT = "output"


def default_message(side: GuardrailDirection, said: str) -> str:
    """Return the default message for a blocked message or answer, in the language of `said`."""
    return _BLOCKED_MESSAGES[side][language_of(said)]


class PartGuard(Protocol):
    """Streaming guard for one answer. The output of all `feed` calls is always a prefix of the
    guardrail's result for the whole answer, however the answer continues or is split."""

    def feed(self, text: str) -> str:
        """The next piece of the answer → the next piece that no continuation can change."""
        ...


class InputGuardrail(Guardrail):
    """Guardrail for messages to the assistant."""


class OutputGuardrail(Guardrail):
    """Guardrail for answers of the assistant."""


class PassThroughGuard:
    """Lets everything go at once."""

    def feed(self, text: str) -> str:
        return text


class PartGuardPipeline:
    """Part guards in series: each stage receives the output of the previous one."""

    def __init__(self, stages: Sequence[PartGuard]) -> None:
        self._stages = stages

    def feed(self, text: str) -> str:
        for stage in self._stages:
            text = stage.feed(text)
        return text


CheckFunction = Callable[[str, dict[str, object]], GuardrailResult | Awaitable[GuardrailResult]]


class CustomFunctionGuardrail(InputGuardrail):
    """A coroutine function runs on the event loop, any other in a thread."""

    def __init__(
        self,
        name: str,
        check_function: CheckFunction,
        enabled: bool = True,
        blocked_message: str | None = None,
    ) -> None:
        super().__init__(name, enabled, blocked_message)
        self.check_function = check_function
        self._thread_limiter = ConcurrencyLimiter(MAX_THREADS, name=f"guardrail {name!r}")

    async def check(self, content: str, context: Mapping[str, object]) -> GuardrailResult:
        if inspect.iscoroutinefunction(self.check_function):
            return await _maybe_await(self.check_function(content, dict(context)))
        # The thread gives it back when it ends: a function that hangs keeps its place.
        await self._thread_limiter.acquire()
        given = await run_in_thread(
            lambda: self.check_function(content, dict(context)),
            on_done=self._thread_limiter.release,
        )
        return await _maybe_await(given)


_BLOCKED_MESSAGES = {
    GuardrailDirection.INPUT: {
        "en": "I may not take this message. Please put it another way.",
        "es": "No puedo aceptar este mensaje. Por favor, dilo de otra manera.",
    },
    GuardrailDirection.OUTPUT: {
        "en": "I may not give the answer that I had. Please ask for something else.",
        "es": "No puedo dar la respuesta que tenía. Por favor, pregunta otra cosa.",
    },
}


async def _maybe_await(given: GuardrailResult | Awaitable[GuardrailResult]) -> GuardrailResult:
    return await given if inspect.isawaitable(given) else given
