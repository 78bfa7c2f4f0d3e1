"""Keyword guardrail: blocks, replaces or flags listed words; normalizes text against evasion."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from spade_llm.core.concurrency import run_in_thread
from spade_llm.core.errors import ConfigurationError
from spade_llm.core.redaction import is_invisible
from spade_llm.guardrails.guardrail import (
    LONG_CHARS,
    MAX_BUFFERED_CHARS,
    GuardrailAction,
    GuardrailResult,
    InputGuardrail,
    PartGuard,
    PartGuardPipeline,
)

MAX_CLUSTER = 32
"""Characters of one letter with its marks that count; ordering more costs time that is squared."""
_DIACRITICS = re.compile("[\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]")
_CONTROLS = re.compile(r"[\x00-\x1f\x7f]")
_ASCII_BLANKS = re.compile(r"\s[\s\x00-\x1f\x7f]*")
_JAMO = re.compile("[\u1160-\u11ff\ud7b0-\ud7ff]")

Span = tuple[int, int]
"""Character range: start (included) and end (excluded)."""

MAX_ROUNDS = 10
"""Maximum number of replacement rounds if replacements create new keywords; then the text is
blocked."""
_REASON = "a keyword was found"
_REPLACEMENT_LOOP_REASON = "replacing keywords made keywords again and again"


@dataclass(slots=True)
class NormalizedText:
    """Text without disguises, with its positions in the original. Character i of `text` comes from
    the original's characters `starts[i]` to `ends[i]`."""

    text: str = ""
    starts: list[int] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    original_length: int = 0
    """Number of characters of the original that are included."""


def normalize(
    original: str, *, case_sensitive: bool = False, is_complete: bool = True
) -> NormalizedText:
    """Normalize a text. `is_complete=False` omits the last letter: later text may change it."""
    found = NormalizedText()
    pieces: list[str] = []
    for start, end in _clusters(original):
        if end == len(original) and not is_complete:
            break
        # Bounds the memory of the cache: a cluster may be as long as the text.
        letter = _cached_letter if end - start <= MAX_CLUSTER else _letter
        piece = letter(original[start:end], case_sensitive)
        pieces.append(piece)
        found.starts += [start] * len(piece)
        found.ends += [end] * len(piece)
        found.original_length = end
    found.text = "".join(pieces)
    return found


def normalize_text(original: str, *, case_sensitive: bool = False) -> str:
    """Normalize a text faster than `normalize`, without the positions in the original."""
    if original.isascii():
        shown = _CONTROLS.sub("", _ASCII_BLANKS.sub(" ", original))
        return shown if case_sensitive else shown.lower()
    return normalize(original, case_sensitive=case_sensitive).text


class KeywordSearch:
    """Search for keywords in normalized text."""

    def __init__(self, keywords: Iterable[str], *, case_sensitive: bool) -> None:
        self.case_sensitive = case_sensitive
        self.keywords = tuple(
            dict.fromkeys(normalize_text(one, case_sensitive=case_sensitive) for one in keywords)
        )
        self._prefixes = {one[:end] for one in self.keywords for end in range(1, len(one))}
        self._longest = max(map(len, self.keywords), default=0)

    def contains_keyword(self, text: str) -> bool:
        """`text`: as it was written."""
        searched = normalize_text(text, case_sensitive=self.case_sensitive)
        return any(keyword in searched for keyword in self.keywords)

    def spans(self, searched: str) -> list[Span]:
        """Return the occurrences in normalized text, in order; overlapping ones are merged."""
        merged: list[Span] = []
        for start, end in sorted(self._occurrences(searched)):
            if merged and start < merged[-1][1]:
                start, last = merged.pop()
                end = max(end, last)
            merged.append((start, end))
        return merged

    def partial_match_start(self, searched: str) -> int:
        """Return the earliest position in this normalized text at which an unfinished keyword may
        begin; its length if there is no such keyword."""
        reach = min(self._longest - 1, len(searched))
        lengths = range(reach, 0, -1)
        begun = (length for length in lengths if searched[-length:] in self._prefixes)
        return len(searched) - next(begun, 0)

    def may_create_keyword(self, replacement: str) -> bool:
        """Check whether the replacement and the text around it may together form a keyword."""
        put = normalize_text(replacement, case_sensitive=self.case_sensitive)
        for keyword in self.keywords:
            if put in keyword and put != keyword:
                return True
            for cut in range(1, len(keyword)):
                if put.endswith(keyword[:cut]) or put.startswith(keyword[cut:]):
                    return True
        return False

    def _occurrences(self, searched: str) -> Iterator[Span]:
        for keyword in self.keywords:
            start = searched.find(keyword)
            while start >= 0:
                yield start, start + len(keyword)
                # Not behind the match: occurrences of one keyword may overlap.
                start = searched.find(keyword, start + 1)


class KeywordGuardrail(InputGuardrail):
    """Guardrail that finds keywords, also inside words and in disguises (`normalize`)."""

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
        """`early_parts`: the text before a blocking keyword may be sent early, in parts.

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
        self._may_create_keywords = is_replacing and self._search.may_create_keyword(replacement)
        if self._may_create_keywords and self._search.contains_keyword(replacement):
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
                return PartGuardPipeline([])
            case GuardrailAction.BLOCK if self._early_parts:
                return _KeywordPartGuard(self._search, replacement=None)
            case GuardrailAction.MODIFY if not self._may_create_keywords:
                return _KeywordPartGuard(self._search, replacement=self.replacement)
        return None

    def _result(self, content: str) -> GuardrailResult:
        if not self._search.contains_keyword(content):
            return GuardrailResult(action=GuardrailAction.PASS, content=content)
        if self.action is not GuardrailAction.MODIFY:
            return GuardrailResult(action=self.action, content=content, reason=_REASON)
        replaced = replace_keywords(self._search, content, self.replacement)
        if self._may_create_keywords:
            for _ in range(MAX_ROUNDS):
                if not self._search.contains_keyword(replaced):
                    break
                replaced = replace_keywords(self._search, replaced, self.replacement)
            if self._search.contains_keyword(replaced):
                return GuardrailResult(
                    action=GuardrailAction.BLOCK, reason=_REPLACEMENT_LOOP_REASON
                )
        return GuardrailResult(action=GuardrailAction.MODIFY, content=replaced, reason=_REASON)


def replace_keywords(search: KeywordSearch, content: str, replacement: str) -> str:
    found = normalize(content, case_sensitive=search.case_sensitive)
    pieces: list[str] = []
    position = 0
    for start, end in _to_original_spans(found.starts, found.ends, search.spans(found.text)):
        pieces += [content[position:start], replacement]
        position = end
    return "".join([*pieces, content[position:]])


def _clusters(text: str) -> Iterator[tuple[int, int]]:
    """Yield the spans that are normalized as a unit: white space, or a letter with its marks."""
    start = 0
    while start < len(text):
        is_part = _is_blank if text[start].isspace() else _continues
        end = start + 1
        while end < len(text) and is_part(text[end]):
            end += 1
        yield start, end
        start = end


@lru_cache(maxsize=4096)
def _is_blank(char: str) -> bool:
    return char.isspace() or is_invisible(char)


@lru_cache(maxsize=4096)
def _continues(char: str) -> bool:
    if char.isspace() or char.isascii() and char.isprintable():
        return False
    is_mark = unicodedata.category(char).startswith("M")
    return is_mark or is_invisible(char) or _JAMO.match(char) is not None


@lru_cache(maxsize=4096)
def _cached_letter(cluster: str, case_sensitive: bool) -> str:
    return _letter(cluster, case_sensitive)


def _letter(cluster: str, case_sensitive: bool) -> str:
    if cluster[0].isspace():
        return " "
    text = _decomposed(_strip_marks(cluster)[:MAX_CLUSTER])
    if not case_sensitive:
        # Unicode's folding keeps them apart, as Turkish does.
        text = _decomposed(text.casefold().replace("ı", "i"))
    return unicodedata.normalize("NFC", text)


def _decomposed(text: str) -> str:
    return _strip_marks(unicodedata.normalize("NFKD", text))


def _strip_marks(text: str) -> str:
    shown = "".join(char for char in text if not is_invisible(char))
    return _DIACRITICS.sub("", shown)


def _to_original_spans(
    starts: Sequence[int], ends: Sequence[int], spans: Sequence[Span]
) -> list[Span]:
    """Map spans to the original text. Spans that share a letter there (as in ß) are merged."""
    merged: list[Span] = []
    for first, last in spans:
        start, end = starts[first], ends[last - 1]
        if merged and start < merged[-1][1]:
            start = merged.pop()[0]
        merged.append((start, end))
    return merged


class _KeywordPartGuard:
    """Holds back what may be, or become, a part of a keyword."""

    def __init__(self, search: KeywordSearch, *, replacement: str | None) -> None:
        self._search = search
        self._replacement = replacement
        """Replacement text. None: after a keyword, nothing more is sent."""
        self._buffer = ""
        self._is_stopped = False

    def feed(self, text: str) -> str:
        if self._is_stopped:
            return ""
        self._buffer += text
        cut, has_keyword = self._find_final_prefix()
        if len(self._buffer) > MAX_BUFFERED_CHARS or (has_keyword and self._replacement is None):
            self._is_stopped = True
            return ""
        ready, self._buffer = self._buffer[:cut], self._buffer[cut:]
        return (
            replace_keywords(self._search, ready, self._replacement or "") if has_keyword else ready
        )

    def _find_final_prefix(self) -> tuple[int, bool]:
        """Length of held text that is final, and whether the held text contains a keyword."""
        found = normalize(
            self._buffer, case_sensitive=self._search.case_sensitive, is_complete=False
        )
        spans = _to_original_spans(found.starts, found.ends, self._search.spans(found.text))
        begun = self._search.partial_match_start(found.text)
        cut = found.starts[begun] if begun < len(found.text) else found.original_length
        # Backwards: a cut that moves to the start of one span may fall into the one before.
        for start, end in reversed(spans):
            cut = start if start < cut < end else cut
        return cut, bool(spans)


def _search(name: str, keywords: Sequence[str], case_sensitive: bool) -> KeywordSearch:
    if isinstance(keywords, str):
        raise ConfigurationError(
            f"guardrail {name!r}: blocked_keywords: it is one text: give a list"
        )
    search = KeywordSearch(keywords, case_sensitive=case_sensitive)
    if not search.keywords or "" in search.keywords:
        raise ConfigurationError(
            f"guardrail {name!r}: give at least one keyword, each with something visible"
        )
    return search
