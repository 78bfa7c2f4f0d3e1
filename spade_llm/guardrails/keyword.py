"""KeywordGuardrail: blocks, replaces or notes texts that contain certain words. Asks no model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spade_llm.errors import ConfigurationError
from spade_llm.guardrails.folding import folded
from spade_llm.guardrails.guardrail import GuardrailAction, GuardrailResult
from spade_llm.guardrails.keyword_search import KeywordSearch
from spade_llm.guardrails.part_guard import MAX_HELD_CHARS, Unguarded
from spade_llm.guardrails.sides import InputGuardrail
from spade_llm.tools.threads import run_in_thread

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from spade_llm.guardrails.keyword_search import Span
    from spade_llm.guardrails.part_guard import PartGuard

LONG_CHARS = 5_000
"""From here on a text is searched off the event loop."""
MAX_ROUNDS = 10
"""Of replacing where a replacement makes keywords anew; then it is blocked."""


class KeywordGuardrail(InputGuardrail):
    """A keyword is found anywhere, also inside other words, and behind the tricks of folding.py."""

    def __init__(
        self,
        name: str,
        blocked_keywords: Sequence[str],
        action: GuardrailAction = GuardrailAction.BLOCK,
        replacement: str = "[REDACTED]",
        case_sensitive: bool = False,
        enabled: bool = True,
        blocked_message: str | None = None,
        *,
        early_parts: bool = False,
    ) -> None:
        """`early_parts`: what stands before a keyword that blocks may have gone out in parts.

        Raises ConfigurationError.
        """
        super().__init__(name, enabled, blocked_message)
        self.action = action
        self.replacement = replacement
        self._early_parts = early_parts
        self._search = _search(name, blocked_keywords, case_sensitive)
        if action is GuardrailAction.PASS:
            raise ConfigurationError(f"guardrail {name!r}: action: PASS does nothing; BLOCK blocks")
        is_replacing = action is GuardrailAction.MODIFY
        self._makes_keywords = is_replacing and self._search.may_begin_or_end_in(replacement)
        if self._makes_keywords and self._search.is_in(replacement):
            raise ConfigurationError(
                f"guardrail {name!r}: replacement: it contains a keyword, and begins or ends as"
                " one: put it in brackets"
            )

    async def check(self, content: str, context: Mapping[str, object]) -> GuardrailResult:
        if len(content) < LONG_CHARS:
            return self._result(content)
        return await run_in_thread(lambda: self._result(content))

    def part_guard(self) -> PartGuard | None:
        match self.action:
            case GuardrailAction.WARNING:
                return Unguarded()
            case GuardrailAction.BLOCK if self._early_parts:
                return _Parts(self._search, replacement=None)
            case GuardrailAction.MODIFY if not self._makes_keywords:
                return _Parts(self._search, replacement=self.replacement)
        return None

    def _result(self, content: str) -> GuardrailResult:
        if not self._search.is_in(content):
            return GuardrailResult(action=GuardrailAction.PASS, content=content)
        if self.action is not GuardrailAction.MODIFY:
            return GuardrailResult(action=self.action, content=content, reason=_REASON)
        replaced = replaced_all(self._search, content, self.replacement)
        if self._makes_keywords:
            replaced = self._replaced(replaced)
            if self._search.is_in(replaced):
                return GuardrailResult(action=GuardrailAction.BLOCK, reason=_NO_END)
        return GuardrailResult(action=GuardrailAction.MODIFY, content=replaced, reason=_REASON)

    def _replaced(self, content: str) -> str:
        for _ in range(MAX_ROUNDS):
            if not self._search.is_in(content):
                break
            content = replaced_all(self._search, content, self.replacement)
        return content


_REASON = "a keyword was found"
_NO_END = "replacing keywords made keywords again and again"


def replaced_all(search: KeywordSearch, content: str, replacement: str) -> str:
    found = folded(content, keeps_case=search.keeps_case)
    pieces: list[str] = []
    place = 0
    for start, end in _originals(found.starts, found.ends, search.spans(found.text)):
        pieces += [content[place:start], replacement]
        place = end
    return "".join([*pieces, content[place:]])


def _originals(starts: Sequence[int], ends: Sequence[int], spans: Sequence[Span]) -> list[Span]:
    """Where the spans stand in the original. Two that share a letter there (as in ß) are one."""
    places: list[Span] = []
    for first, last in spans:
        start, end = starts[first], ends[last - 1]
        if places and start < places[-1][1]:
            start = places.pop()[0]
        places.append((start, end))
    return places


class _Parts:
    """Holds back what may be, or become, a part of a keyword."""

    def __init__(self, search: KeywordSearch, *, replacement: str | None) -> None:
        self._search = search
        self._replacement = replacement
        """None: after a keyword nothing goes out any more."""
        self._held = ""
        self._is_over = False

    def feed(self, text: str) -> str:
        if self._is_over:
            return ""
        self._held += text
        cut, has_keyword = self._sure()
        if len(self._held) > MAX_HELD_CHARS or (has_keyword and self._replacement is None):
            self._is_over = True
            return ""
        ready, self._held = self._held[:cut], self._held[cut:]
        return replaced_all(self._search, ready, self._replacement or "") if has_keyword else ready

    def _sure(self) -> tuple[int, bool]:
        """How much cannot change any more, and whether there is a keyword."""
        found = folded(self._held, keeps_case=self._search.keeps_case, is_whole=False)
        places = _originals(found.starts, found.ends, self._search.spans(found.text))
        begun = self._search.begun_at(found.text)
        cut = found.starts[begun] if begun < len(found.text) else found.closed
        for start, end in reversed(places):
            cut = start if start < cut < end else cut
        return cut, bool(places)


def _search(name: str, keywords: Sequence[str], case_sensitive: bool) -> KeywordSearch:
    if isinstance(keywords, str):
        raise ConfigurationError(
            f"guardrail {name!r}: blocked_keywords: it is one text: give a list"
        )
    search = KeywordSearch(keywords, keeps_case=case_sensitive)
    if not search.keywords or "" in search.keywords:
        raise ConfigurationError(
            f"guardrail {name!r}: give at least one keyword, each with something visible"
        )
    return search
