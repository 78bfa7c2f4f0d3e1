"""RegexGuardrail: blocks, replaces or notes what patterns match. Asks no model."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from spade_llm.errors import ConfigurationError
from spade_llm.guardrails.guardrail import GuardrailAction, GuardrailResult
from spade_llm.guardrails.part_guard import MAX_HELD_CHARS, Pipeline
from spade_llm.guardrails.pattern import Pattern
from spade_llm.guardrails.sides import InputGuardrail
from spade_llm.tools.threads import run_in_thread

if TYPE_CHECKING:
    from collections.abc import Mapping

    from spade_llm.guardrails.part_guard import PartGuard

LONG_CHARS = 5_000
"""From here on a text is searched off the event loop."""
REPLACEMENT = "[REDACTED]"
"""Of a pattern that says MODIFY, and not into what."""


class RegexGuardrail(InputGuardrail):
    """Patterns that block or note are looked for in the text as it came; then each of the others
    replaces what it matches in what those before it have left."""

    def __init__(
        self,
        name: str,
        patterns: Mapping[str, str | GuardrailAction],
        enabled: bool = True,
        blocked_message: str | None = None,
        *,
        early_parts: bool = False,
    ) -> None:
        """`early_parts`: what stands before a match that blocks may have gone out in parts.

        Raises ConfigurationError.
        """
        super().__init__(name, enabled, blocked_message)
        self._early_parts = early_parts
        self._blocking: list[Pattern] = []
        self._noting: list[Pattern] = []
        self._replacing: list[tuple[Pattern, str]] = []
        for source, what in patterns.items():
            self._add(Pattern(source, named_in=f"guardrail {name!r}"), what)
        if not patterns:
            raise ConfigurationError(f"guardrail {name!r}: patterns: give at least one")

    async def check(self, content: str, context: Mapping[str, object]) -> GuardrailResult:
        if len(content) < LONG_CHARS:
            with suppress(TimeoutError):
                return self._result(content)
        return await run_in_thread(lambda: self._result(content, is_in_thread=True))

    def part_guard(self) -> PartGuard | None:
        if self._blocking and not self._early_parts:
            return None
        stages: list[PartGuard] = []
        for pattern, replacement in (*((one, None) for one in self._blocking), *self._replacing):
            reach = pattern.reach()
            if reach is None:
                return None
            stages.append(_Parts(pattern, reach, replacement))
        return Pipeline(stages)

    def _add(self, pattern: Pattern, what: str | GuardrailAction) -> None:
        match what:
            case GuardrailAction.BLOCK:
                self._blocking.append(pattern)
            case GuardrailAction.WARNING:
                self._noting.append(pattern)
            case GuardrailAction.PASS:
                raise ConfigurationError(
                    f"guardrail {self.name!r}: pattern {pattern.source!r}: PASS does nothing"
                )
            case GuardrailAction.MODIFY:
                self._replacing.append((pattern, REPLACEMENT))
            case _:
                pattern.check_replacement(what, named_in=f"guardrail {self.name!r}")
                self._replacing.append((pattern, what))

    def _result(self, content: str, *, is_in_thread: bool = False) -> GuardrailResult:
        """Raises TimeoutError: one of the patterns is slow."""
        if any(pattern.is_in(content, is_in_thread=is_in_thread) for pattern in self._blocking):
            return GuardrailResult(action=GuardrailAction.BLOCK, reason=_REASON)
        is_noted = any(
            pattern.is_in(content, is_in_thread=is_in_thread) for pattern in self._noting
        )
        replaced = content
        for pattern, replacement in self._replacing:
            replaced = pattern.replaced(replaced, replacement, is_in_thread=is_in_thread)
        if replaced != content:
            return GuardrailResult(action=GuardrailAction.MODIFY, content=replaced, reason=_REASON)
        action = GuardrailAction.WARNING if is_noted else GuardrailAction.PASS
        return GuardrailResult(action=action, content=content, reason=_REASON if is_noted else None)


_REASON = "a pattern matches"


class _Parts:
    """Holds back what more text could make part of a match."""

    def __init__(self, pattern: Pattern, reach: int, replacement: str | None) -> None:
        self._pattern = pattern
        self._reach = reach
        self._replacement = replacement
        """None: after a match nothing goes out any more."""
        self._text = ""
        self._place = 0
        """What stands before it has gone out, or has been replaced."""
        self._is_over = False

    def feed(self, text: str) -> str:
        self._text += text
        self._is_over = self._is_over or len(self._text) > MAX_HELD_CHARS
        if self._is_over:
            return ""
        try:
            return "".join(self._ready())
        except TimeoutError:
            self._is_over = True
            return ""

    def _ready(self) -> list[str]:
        pieces: list[str] = []
        sure = len(self._text) - self._reach
        for match in self._pattern.matches(self._text, self._place):
            if match.start() >= sure:
                break
            pieces.append(self._text[self._place : match.start()])
            self._place = match.end()
            if self._replacement is None:
                self._is_over = True
                return pieces
            pieces.append(match.expand(self._replacement))
        pieces.append(self._text[self._place : max(sure, self._place)])
        self._place = max(sure, self._place)
        return pieces
