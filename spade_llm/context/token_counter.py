"""Token counters (estimate, tokenizer tables and files), and Truncator: truncates long messages."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from spade_llm.core.errors import ConfigurationError
from spade_llm.core.imports import require_extra

if TYPE_CHECKING:
    from spade_llm.providers.model import ContextMessage

_PIECES = re.compile(r"[A-Za-zÀ-ɏ]+|[0-9]+|[^\sA-Za-zÀ-ɏ0-9]")
_LINE_ENDS = re.compile(r"\n+")
LETTERS_PER_TOKEN = 4
DIGITS_PER_TOKEN = 2
THREE_BYTES_FROM = 0x800
"""Below, letters of Greek, Cyrillic, Hebrew and Arabic: a little more than half a token each."""

MAX_CACHED_WORDS, MAX_CACHED_WORD_CHARS = 20_000, 20
"""Maximum number of cached word estimates, and maximum length of such a word: 2 MB."""

TOKENS_PER_MESSAGE = 4
"""Role and separators, as OpenAI counts them."""
TOKENS_PER_CALL = 8
MAX_CACHED_CHARS = 4_000_000
"""Maximum number of characters of cached texts; at half of it, the older half is evicted."""
TABLES_PACKAGE = "bpe_openai"
_O200K_MODELS = re.compile(r"(gpt-4o|gpt-4\.1|gpt-4\.5|gpt-5|chatgpt-4o|o[134])(?![a-z0-9])")
_CL100K_MODELS = re.compile(r"(gpt-4|gpt-3\.5-turbo)(?![a-z0-9.])")
HEAD_SHARE = 2 / 3
"""Share of the shown text for the beginning, which identifies it; the end tells the outcome."""
NOTE_TOKENS = 24
MAX_ATTEMPTS = 6
MAX_CACHED_TRUNCATIONS = 512


class TokenCounter(Protocol):
    """Counter of a text's tokens, which counts alike at every call. Blocks: about 10 µs for a
    message."""

    @property
    def name(self) -> str:
        """Name of the encoding, for statistics."""

    @property
    def is_exact(self) -> bool:
        """True if these are exactly the tokens that the model counts."""

    def count(self, text: str) -> int:
        """Number of tokens of a text."""


class _WordEstimates(dict[str, float]):
    """Cache of word estimates; most words recur."""

    def __missing__(self, word: str) -> float:
        tokens = sum(map(_tokens_of, _PIECES.findall(word)))
        if len(word) <= MAX_CACHED_WORD_CHARS:
            if len(self) >= MAX_CACHED_WORDS:
                self.clear()
            self[word] = tokens
        return tokens


_WORD_ESTIMATES = _WordEstimates()


class EstimatedTokens:
    """Estimating counter. It errs on the large side: a prompt that is counted too large is only a
    little shorter.

    Against the tables of OpenAI's models: 1.0 to 1.5 times as many for English, Spanish, JSON and
    code, 0.8 to 2 for Russian, Arabic and Chinese.
    """

    name = "estimate"
    is_exact = False

    def count(self, text: str) -> int:
        words = sum(map(_WORD_ESTIMATES.__getitem__, text.split()))
        return int(words + len(_LINE_ENDS.findall(text)) + 0.5)


class CachedTokenCounter:
    """A counter that remembers."""

    def __init__(self, counter: TokenCounter | None = None) -> None:
        self.counter = counter or EstimatedTokens()
        self._new: dict[str, int] = {}
        self._old: dict[str, int] = {}
        self._chars = 0

    def text(self, text: str) -> int:
        known = self._new.get(text)
        return self._count(text) if known is None else known

    def message(self, message: ContextMessage) -> int:
        tokens = TOKENS_PER_MESSAGE + self.text(message["content"] or "")
        if message["role"] == "assistant":
            calls = message.get("tool_calls")
            return tokens + sum(
                TOKENS_PER_CALL
                + self.text(call["function"]["name"])
                + self.text(call["function"]["arguments"])
                for call in calls or ()
            )
        if message["role"] == "user" and (name := message.get("name")):
            return tokens + self.text(name)
        return tokens

    def messages(self, messages: Iterable[ContextMessage]) -> int:
        return sum(map(self.message, messages))

    def _count(self, text: str) -> int:
        tokens = self._old.get(text)
        if tokens is None:
            tokens = self.counter.count(text)
        if self._chars > MAX_CACHED_CHARS // 2:
            # Two generations: the older half is dropped at once, without a record of each use.
            self._old, self._new, self._chars = self._new, {}, 0
        self._new[text] = tokens
        self._chars += len(text)
        return tokens


def _tokens_of(piece: str) -> float:
    first = ord(piece[0])
    if piece[0].isalpha() and (first < 0x250):
        return -(-len(piece) // LETTERS_PER_TOKEN)
    if first < 0x80:
        return 0.5 - (-len(piece) // DIGITS_PER_TOKEN) if piece[0].isdigit() else 1
    if first < THREE_BYTES_FROM:
        return 0.7 * len(piece)
    return 1.7 if first < 0x10000 else 3


def counter_for(model: str | None = None, *, tokenizer: Path | None = None) -> TokenCounter:
    """Exact if `tokenizer` is given, or `model` is one of OpenAI's and its table is installed (the
    extra `tokens`); else an estimate. Raises ConfigurationError: `tokenizer` cannot be read, or
    `tokenizers` is missing."""
    if tokenizer is not None:
        return TokenizerFile(tokenizer)
    encoding = encoding_of(model or "")
    if encoding and find_spec(TABLES_PACKAGE):
        return OpenAITable(encoding)
    return EstimatedTokens()


def encoding_of(model: str) -> str | None:
    """The name of the table of a model of OpenAI's, also behind `openai/`; None of others'."""
    name = model.rpartition("/")[2].casefold()
    if _O200K_MODELS.match(name):
        return "o200k_base"
    return "cl100k_base" if _CL100K_MODELS.match(name) else None


class _Encoding(Protocol):
    def encode_ordinary(self, text: str) -> list[int]: ...


class OpenAITable:
    """`o200k_base` or `cl100k_base`; loading it takes half a second."""

    is_exact = True

    def __init__(self, encoding: str) -> None:
        import bpe_openai

        self.name = encoding
        self._encoding: _Encoding = bpe_openai.get_encoding(encoding)

    def count(self, text: str) -> int:
        return len(self._encoding.encode_ordinary(text))


class TokenizerFile:
    """Any model's tokenizer.json; special tokens are not counted."""

    is_exact = True

    def __init__(self, path: Path) -> None:
        """Raises ConfigurationError."""
        require_extra("tokens", "tokenizers")
        from tokenizers import Tokenizer

        self.name = path.name
        self._tokenizer = Tokenizer.from_str(_check_tokenizer_file(path))
        # A published tokenizer.json may truncate and pad, which would falsify the count.
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()

    def count(self, text: str) -> int:
        return len(self._tokenizer.encode(text, add_special_tokens=False).ids)


def _check_tokenizer_file(path: Path) -> str:
    """Looked at first: of a wrong one the library says only that something was wrong."""
    try:
        text = path.read_text(encoding="utf-8")
        model = json.loads(text)["model"]
        if not {"type", "vocab"} <= set(model):
            raise ValueError("its model has no vocabulary")
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ConfigurationError(f"{path} is not a readable tokenizer.json: {error}") from None
    return text


class Truncator:
    """Truncator for one token limit, with a cache of the latest truncations."""

    def __init__(self, token_limit: int, counter: CachedTokenCounter) -> None:
        self.counter = counter
        self.max_old_tokens = max(token_limit // 8, NOTE_TOKENS)
        """Maximum tokens of one message of an earlier turn."""
        self._kept: dict[tuple[str, int], str] = {}

    def truncate_old(self, messages: Sequence[ContextMessage]) -> list[ContextMessage]:
        """Messages of an earlier turn."""
        return [self._truncate_message(message, self.max_old_tokens) for message in messages]

    def truncate_exchange(
        self, messages: Sequence[ContextMessage], tokens: float
    ) -> list[ContextMessage]:
        """Truncate an exchange to `tokens`: its results share what the calls leave, and the
        smallest stay whole.

        However little is left, each result keeps its position and the note about the omission.
        """
        sizes = [self.counter.message(message) for message in messages]
        results = [i for i, message in enumerate(messages) if message["role"] == "tool"]
        left = tokens - sum(size for i, size in enumerate(sizes) if i not in set(results))
        fitting = list(messages)
        # Smallest first: what they do not need is left for the larger ones.
        results.sort(key=lambda i: (sizes[i], i))
        for done, i in enumerate(results):
            share = max(int(left // (len(results) - done)), NOTE_TOKENS)
            fitting[i] = self._truncate_message(messages[i], share)
            left -= self.counter.message(fitting[i])
        return fitting

    def truncate_text(self, text: str, tokens: int) -> str:
        return text if self.counter.text(text) <= tokens else self._shortened(text, tokens)

    def _truncate_message(self, message: ContextMessage, tokens: int) -> ContextMessage:
        content = message["content"]
        if content is None or message["role"] == "system":
            return message
        around = self.counter.message(message) - self.counter.text(content)
        if self.counter.text(content) + around <= tokens:
            return message
        shortened = message.copy()
        shortened["content"] = self._shortened(content, max(tokens - around, 0))
        return shortened

    def _shortened(self, text: str, tokens: int) -> str:
        known = self._kept.get((text, tokens))
        if known is None:
            if len(self._kept) >= MAX_CACHED_TRUNCATIONS:
                self._kept.clear()
            known = self._kept[text, tokens] = self._cut(text, tokens)
        return known

    def _cut(self, text: str, tokens: int) -> str:
        """Truncate the text to `tokens`, with a few counts only."""
        shown = len(text) * tokens // self.counter.text(text)
        for _ in range(MAX_ATTEMPTS):
            cut = truncate_middle(text, shown)
            # Past the cache: most of these attempts are not counted again.
            if self.counter.counter.count(cut) <= tokens:
                return cut
            # Tokens are not proportional to characters: shrink until the text fits.
            shown = shown * 2 // 3 - 16
        return truncate_middle(text, 0)


def truncate_middle(text: str, shown: int) -> str:
    """The text without its middle: `shown` characters of it, and a note of how many are missing."""
    shown = max(shown, 0)
    head = int(shown * HEAD_SHARE)
    tail = text[len(text) - (shown - head) :]
    return f"{text[:head]}\n[… {len(text) - shown} characters left out to fit …]\n{tail}".strip()
