"""Text helpers: truncation, plurals, code fences, surrogates, token estimate, translated texts."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from pydantic import ValidationError

T = TypeVar("T")

_BIDI_CONTROLS = re.compile("[\u202a-\u202e\u2066-\u2069]")
"""Turns the direction of what stands behind it: of our own words, too."""
ELLIPSIS = "…"
_CODE_FENCE = "```"
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
# The usual rule of thumb for English text; exact counts need a tokenizer.
CHARS_PER_TOKEN = 4
MAX_FAULT_CHARS = 500
"""Maximum length in characters of the location and of the reason of a fault."""


def single_line(text: str, max_chars: int) -> str:
    """Reduce a text to one line: no line breaks, repeated blanks or direction controls. A text that
    is cut ends with `…`.

    `max_chars` is at least 1.
    """
    # Far beyond the bound there is nothing to look at, however long the text is.
    looked_at = text.lstrip()[: 4 * max_chars + 1024]
    line = " ".join(_BIDI_CONTROLS.sub("", looked_at).split())
    if len(line) <= max_chars:
        return line
    return line[: max_chars - len(ELLIPSIS)].rstrip() + ELLIPSIS


def exceeds_line(text: str, max_chars: int) -> bool:
    """Check whether `single_line` would cut the text."""
    return len(text) > max_chars and len(" ".join(text.split())) > max_chars


def pluralize(count: int, one: str, many: str = "") -> str:
    """`many` is by default `one` with an s, in English and Spanish."""
    return f"{count} {one if count == 1 else many or one + 's'}"


def join_words(words: Sequence[str], conjunction: str) -> str:
    """`memory, documents and tools`. `words` is not empty."""
    *first, last = words
    return f"{', '.join(first)} {conjunction} {last}" if first else last


def describe_seconds(seconds: float) -> str:
    """Duration for people, rounded up: `20 s`, `3 min`, `2 h`."""
    whole = max(math.ceil(seconds), 1)
    if whole <= 120:
        return f"{whole} s"
    return f"{math.ceil(whole / 60)} min" if whole <= 7200 else f"{math.ceil(whole / 3600)} h"


def strip_code_fence(text: str) -> str:
    """Return the content of a code fence if the text is nothing else, otherwise the text."""
    text = text.strip()
    is_fenced = text.startswith(_CODE_FENCE) and text.endswith(_CODE_FENCE)
    if not is_fenced or len(text) < 2 * len(_CODE_FENCE):
        return text
    content = text[len(_CODE_FENCE) : -len(_CODE_FENCE)]
    return (content[4:] if content[:4].lower() == "json" else content).strip()


def replace_lone_surrogates(text: str) -> str:
    return _LONE_SURROGATE.sub("\ufffd", text)


def is_encodable(text: str) -> bool:
    return _LONE_SURROGATE.search(text) is None


def estimate_tokens(text: str) -> int:
    """A quarter of the characters, rounded up."""
    return tokens_from_chars(len(text))


def tokens_from_chars(chars: int) -> int:
    """The same for a number of characters."""
    return -(-chars // CHARS_PER_TOKEN)


def validation_problems(error: ValidationError, *, whole: str, most: int = 5) -> str:
    """Locations and reasons of the first `most` faults, without pydantic's links and the values.
    `whole` names what was validated, for a fault that is in no field of it."""
    faults = error.errors(include_url=False, include_input=False, include_context=False)
    return "; ".join(
        f"{('.'.join(map(str, one['loc'])) or whole)[:MAX_FAULT_CHARS]}:"
        f" {one['msg'][:MAX_FAULT_CHARS]}"
        for one in faults[:most]
    )


def nearest_word(word: str, known: Iterable[str]) -> str:
    """The known word nearest to a misspelt one; empty if none is near."""
    return "".join(get_close_matches(word, list(known), n=1, cutoff=0.7))


def suggestion(word: str, known: Iterable[str]) -> str:
    """Clause that names the known word nearest to a misspelt one; empty if none is near."""
    near = nearest_word(word, known)
    return f": did you mean {near!r}?" if near else ""


class LazyPattern:
    """Regular expression that is compiled when it is first used.

    A large one takes milliseconds to compile, which the start of a program should not pay. The
    methods are those of `re.Pattern`.
    """

    def __init__(self, pattern: str, flags: int = 0) -> None:
        self._pattern = pattern
        self._flags = flags

    @cached_property
    def _compiled(self) -> re.Pattern[str]:
        return re.compile(self._pattern, self._flags)

    def match(self, text: str, *span: int) -> re.Match[str] | None:
        return self._compiled.match(text, *span)

    def search(self, text: str, *span: int) -> re.Match[str] | None:
        return self._compiled.search(text, *span)

    def finditer(self, text: str) -> Iterator[re.Match[str]]:
        return self._compiled.finditer(text)

    def split(self, text: str, maxsplit: int = 0) -> list[str]:
        return self._compiled.split(text, maxsplit)

    def sub(
        self, replacement: str | Callable[[re.Match[str]], str], text: str, count: int = 0
    ) -> str:
        return self._compiled.sub(replacement, text, count)


def host_in_url(host: str) -> str:
    """Host as in a URL: an IPv6 address stands in brackets (RFC 3986 §3.2.2)."""
    return f"[{host}]" if ":" in host else host


def load_texts(kind: Callable[..., T], module_file: str, name: str) -> dict[str, T]:
    """Texts by language, of the TOML file `name` beside `module_file`: a table per language
    (`[en]`, `[es]`) with the fields of the dataclass `kind`. Raises TypeError: other fields."""
    import tomllib  # Here: it takes 7 ms, and few programs load texts.

    tables = tomllib.loads(Path(module_file).with_name(name).read_text(encoding="utf-8"))
    return {
        language: kind(
            **{key: tuple(text) if isinstance(text, list) else text for key, text in texts.items()}
        )
        for language, texts in tables.items()
    }
