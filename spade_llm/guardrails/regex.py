"""Regex guardrail: blocks, replaces or flags pattern matches, with a time limit per match."""

from __future__ import annotations

import re
import warnings
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING, Protocol

from spade_llm.core.arguments import check_methods
from spade_llm.core.concurrency import run_in_thread
from spade_llm.core.errors import ConfigurationError
from spade_llm.guardrails.guardrail import (
    LONG_CHARS,
    MAX_BUFFERED_CHARS,
    GuardrailAction,
    GuardrailResult,
    InputGuardrail,
    PartGuardPipeline,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import regex

    from spade_llm.guardrails.guardrail import PartGuard

    class Match(Protocol):
        def start(self) -> int: ...
        def end(self) -> int: ...
        def expand(self, template: str) -> str: ...


THREAD_S = 0.5
"""Limit of processor time for one text, in a thread, in seconds."""
LOOP_S = 0.02
"""The same on the event loop: nearly every pattern needs less than the start of a thread."""
MAX_WIDTH = 1000
"""Maximum length of a match for checking an answer in parts; other patterns need all of it."""
_FUZZY = re.compile(r"(\\.)|\{(?!\d*,?\d*\})", re.DOTALL)
_LOOKAHEAD_CHARS = 2
"""Number of characters after a match that `$` and word boundaries examine."""

REPLACEMENT = "[REDACTED]"
"""Replacement text of a pattern with the action MODIFY."""
_REASON = "a pattern matches"


class BoundedPattern:
    """Regular expression with a time limit. Other threads run only while it is in one itself: to
    come back to the event loop's thread may take long, where they do."""

    def __init__(self, pattern: str, *, named_in: str) -> None:
        """Compile a pattern. Raises ConfigurationError, prefixed with its owner, `named_in`."""
        self.source = pattern
        self._re = _checked(pattern, named_in)
        self._regex = _compiled(pattern, named_in)

    def check_replacement(self, replacement: str, *, named_in: str) -> None:
        """Raises ConfigurationError."""
        try:
            self._re.sub(replacement, "")
        except (re.error, IndexError) as error:
            raise ConfigurationError(f"{named_in}: replacement {replacement!r}: {error}") from None

    def is_match(self, text: str, *, is_in_thread: bool) -> bool:
        """Raises TimeoutError."""
        limit_s = THREAD_S if is_in_thread else LOOP_S
        return self._regex.search(text, timeout=limit_s, concurrent=is_in_thread) is not None

    def replaced(self, text: str, replacement: str, *, is_in_thread: bool) -> str:
        """Raises TimeoutError."""
        limit_s = THREAD_S if is_in_thread else LOOP_S
        return str(self._regex.sub(replacement, text, timeout=limit_s, concurrent=is_in_thread))

    def matches(self, text: str, start: int) -> Iterator[Match]:
        """Find matches from `start`; the text before it counts for word boundaries. Raises
        TimeoutError."""
        return iter(self._regex.finditer(text, start, timeout=LOOP_S))

    def max_match_reach(self) -> int | None:
        """Number of characters from a match's start that determine it; None: unbounded."""
        # The width of a pattern leaves out what its look-aheads examine.
        if "(?=" in self.source or "(?!" in self.source:
            return None
        # A private module, but the only way to get the width of a pattern (since 3.11).
        parsed = import_module("re._parser").parse(self.source)
        least, most = map(int, parsed.getwidth())
        return most + _LOOKAHEAD_CHARS if least > 0 and most <= MAX_WIDTH else None


class RegexGuardrail(InputGuardrail):
    """Guardrail of regular expressions. Blocking and warning patterns are searched in the original
    text; then the replacing patterns are applied one after the other."""

    def __init__(
        self,
        name: str,
        patterns: Mapping[str, str | GuardrailAction],
        enabled: bool = True,
        blocked_message: str | None = None,
        *,
        early_parts: bool = False,
    ) -> None:
        """`early_parts`: the text before a blocking match may be sent early, in parts.

        Raises ConfigurationError.
        """
        super().__init__(name, enabled, blocked_message)
        fix = (
            "give a dict of patterns and their actions, such as {r'\\d{16}': GuardrailAction.BLOCK}"
        )
        check_methods(patterns, ["items"], of=f"guardrail {name!r}: patterns", fix=fix)
        self._early_parts = early_parts
        self._blocking_patterns: list[BoundedPattern] = []
        self._warning_patterns: list[BoundedPattern] = []
        self._replacing_patterns: list[tuple[BoundedPattern, str]] = []
        for source, action in patterns.items():
            self._add(BoundedPattern(source, named_in=f"guardrail {name!r}"), action)
        if not patterns:
            raise ConfigurationError(f"guardrail {name!r}: patterns: give at least one")

    async def check(self, content: str, context: Mapping[str, object]) -> GuardrailResult:
        if len(content) < LONG_CHARS:
            # A pattern that is slower than LOOP_S gets more time below, in a thread.
            with suppress(TimeoutError):
                return self._result(content)
        return await run_in_thread(lambda: self._result(content, is_in_thread=True))

    def part_guard(self) -> PartGuard | None:
        if self._blocking_patterns and not self._early_parts:
            return None
        stages: list[PartGuard] = []
        for pattern, replacement in (
            *((one, None) for one in self._blocking_patterns),
            *self._replacing_patterns,
        ):
            max_match_reach = pattern.max_match_reach()
            if max_match_reach is None:
                return None
            stages.append(_RegexPartGuard(pattern, max_match_reach, replacement))
        return PartGuardPipeline(stages)

    def _add(self, pattern: BoundedPattern, action: str | GuardrailAction) -> None:
        match action:
            case GuardrailAction.BLOCK:
                self._blocking_patterns.append(pattern)
            case GuardrailAction.WARNING:
                self._warning_patterns.append(pattern)
            case GuardrailAction.PASS:
                raise ConfigurationError(
                    f"guardrail {self.name!r}: pattern {pattern.source!r}: PASS does nothing"
                )
            case GuardrailAction.MODIFY:
                self._replacing_patterns.append((pattern, REPLACEMENT))
            case _:
                pattern.check_replacement(action, named_in=f"guardrail {self.name!r}")
                self._replacing_patterns.append((pattern, action))

    def _result(self, content: str, *, is_in_thread: bool = False) -> GuardrailResult:
        """Raises TimeoutError: one of the patterns is slow."""
        if any(
            pattern.is_match(content, is_in_thread=is_in_thread)
            for pattern in self._blocking_patterns
        ):
            return GuardrailResult(action=GuardrailAction.BLOCK, reason=_REASON)
        is_noted = any(
            pattern.is_match(content, is_in_thread=is_in_thread)
            for pattern in self._warning_patterns
        )
        replaced = content
        for pattern, replacement in self._replacing_patterns:
            replaced = pattern.replaced(replaced, replacement, is_in_thread=is_in_thread)
        if replaced != content:
            return GuardrailResult(action=GuardrailAction.MODIFY, content=replaced, reason=_REASON)
        action = GuardrailAction.WARNING if is_noted else GuardrailAction.PASS
        return GuardrailResult(action=action, content=content, reason=_REASON if is_noted else None)


def _checked(pattern: str, named_in: str) -> re.Pattern[str]:
    try:
        with warnings.catch_warnings():
            # "Possible nested set": `regex` and later Pythons read it otherwise.
            warnings.simplefilter("error", FutureWarning)
            return re.compile(pattern)
    except (re.error, FutureWarning, RecursionError, OverflowError) as error:
        raise ConfigurationError(f"{named_in}: pattern {pattern!r}: {error}") from None


def _compiled(pattern: str, named_in: str) -> regex.Pattern[str]:
    """Escape braces that `re` reads literally: in `regex`, `a{e}` is a fuzzy match."""
    import regex

    literal = _FUZZY.sub(lambda found: found[1] or r"\{", pattern)
    try:
        return regex.compile(literal, regex.VERSION0)
    except regex.error as error:
        raise ConfigurationError(f"{named_in}: pattern {pattern!r}: {error}") from None


class _RegexPartGuard:
    """Holds back what more text could make part of a match."""

    def __init__(
        self, pattern: BoundedPattern, max_match_reach: int, replacement: str | None
    ) -> None:
        self._pattern = pattern
        self._reach = max_match_reach
        self._replacement = replacement
        """Replacement text. None: after a match, nothing more is sent."""
        self._text = ""
        self._position = 0
        """Position up to which the text has been sent or replaced."""
        self._is_stopped = False

    def feed(self, text: str) -> str:
        self._text += text
        self._is_stopped = self._is_stopped or len(self._text) > MAX_BUFFERED_CHARS
        if self._is_stopped:
            return ""
        try:
            return "".join(self._ready())
        except TimeoutError:
            self._is_stopped = True
            return ""

    def _ready(self) -> list[str]:
        pieces: list[str] = []
        final_end = len(self._text) - self._reach
        for match in self._pattern.matches(self._text, self._position):
            # Further text could still make this match longer or shorter.
            if match.start() >= final_end:
                break
            pieces.append(self._text[self._position : match.start()])
            self._position = match.end()
            if self._replacement is None:
                self._is_stopped = True
                return pieces
            pieces.append(match.expand(self._replacement))
        pieces.append(self._text[self._position : max(final_end, self._position)])
        self._position = max(final_end, self._position)
        return pieces
