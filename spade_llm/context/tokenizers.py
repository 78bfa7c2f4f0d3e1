"""Exact token counters: tokenizer tables of OpenAI models and tokenizer.json files."""

from __future__ import annotations

import json
import re
from importlib.util import find_spec
from typing import TYPE_CHECKING, Protocol

from spade_llm.context.token_counter import EstimatedTokens
from spade_llm.core.errors import ConfigurationError
from spade_llm.core.imports import require_extra

if TYPE_CHECKING:
    from pathlib import Path

    from spade_llm.context.token_counter import TokenCounter

TABLES_PACKAGE = "bpe_openai"
_O200K_MODELS = re.compile(r"(gpt-4o|gpt-4\.1|gpt-4\.5|gpt-5|chatgpt-4o|o[134])(?![a-z0-9])")
_CL100K_MODELS = re.compile(r"(gpt-4|gpt-3\.5-turbo)(?![a-z0-9.])")


def counter_for(model: str | None = None, *, tokenizer: Path | None = None) -> TokenCounter:
    """Exact if `tokenizer` is given, or `model` is one of OpenAI's and its table is installed
    (the extra `tokens`); else an estimate.

    Raises:
        ConfigurationError: `tokenizer` cannot be read, or `tokenizers` is missing.
    """
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
