"""Splitters as spade_llm 0.3 has them: by separators of one's own and any measure of length.

Our library cuts by itself, at headings and sentences (rag/splitter.py).
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, TypedDict, Unpack

from spade_llm.programs.document import Document
from spade_llm.programs.spans import Keep, Sizes, Span, joined, pieces

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from spade_llm.rag.retriever import Scalar

SEPARATORS = ("\n\n", "\n", " ", "")


class SplitterKeywords(TypedDict, total=False):
    chunk_size: int
    chunk_overlap: int
    length_function: Callable[[str], int]
    keep_separator: Keep
    add_start_index: bool
    strip_whitespace: bool


class TextSplitter(ABC):
    """Subclass it for other rules: `split_text` is all that it needs."""

    def __init__(
        self,
        chunk_size: int = 2000,
        chunk_overlap: int = 200,
        length_function: Callable[[str], int] = len,
        keep_separator: Keep = False,
        add_start_index: bool = True,
        strip_whitespace: bool = True,
    ) -> None:
        if chunk_size < 1 or not 0 <= chunk_overlap <= chunk_size:
            raise ValueError(
                f"chunk_size is {chunk_size} and chunk_overlap {chunk_overlap}:"
                " give a positive size, and an overlap from 0 to the size"
            )
        self.chunk_size = chunk_size
        self.chunk_overlap = chunk_overlap
        self.length_function = length_function
        self.keep_separator = keep_separator
        self.add_start_index = add_start_index
        self.strip_whitespace = strip_whitespace

    @abstractmethod
    def split_text(self, text: str) -> list[str]:
        """The chunks, in order."""

    def create_documents(
        self, texts: Sequence[str], metadatas: Sequence[Mapping[str, Scalar]] | None = None
    ) -> list[Document]:
        """Each chunk has the metadata of its text, and with `add_start_index` where it begins."""
        known = metadatas if metadatas is not None else [{}] * len(texts)
        return [
            Document(chunk, {**metadata, **({"start_index": at} if self.add_start_index else {})})
            for text, metadata in zip(texts, known, strict=True)
            for at, chunk in self._placed(text)
        ]

    def split_documents(self, documents: Sequence[Document]) -> list[Document]:
        return self.create_documents(
            [one.text for one in documents], [one.metadata for one in documents]
        )

    def _placed(self, text: str) -> Iterator[tuple[int, str]]:
        """Of a subclass that says no places: each is looked for behind the one before."""
        at = -1
        for chunk in self.split_text(text):
            at = text.find(chunk, at + 1)
            yield at, chunk

    @property
    def _sizes(self) -> Sizes:
        return Sizes(size=self.chunk_size, overlap=self.chunk_overlap, length=self.length_function)


class _SeparatorSplitter(TextSplitter):
    patterns: tuple[str, ...]

    def split_text(self, text: str) -> list[str]:
        return [chunk for _, chunk in self._placed(text)]

    def _placed(self, text: str) -> Iterator[tuple[int, str]]:
        found = pieces(text, (0, len(text)), self.patterns, self.keep_separator, self._sizes)
        for start, end in joined(text, found, self._sizes):
            start, end = self._stripped(text, start, end)
            if start < end:
                yield start, text[start:end]

    def _stripped(self, text: str, start: int, end: int) -> Span:
        if not self.strip_whitespace:
            return start, end
        chunk = text[start:end]
        return start + len(chunk) - len(chunk.lstrip()), start + len(chunk.rstrip())


class CharacterTextSplitter(_SeparatorSplitter):
    """Cuts at one separator; a longer stretch without it stays whole."""

    def __init__(
        self,
        separator: str = "\n\n",
        is_separator_regex: bool = False,
        **keywords: Unpack[SplitterKeywords],
    ) -> None:
        super().__init__(**keywords)
        self.separator = separator
        self.is_separator_regex = is_separator_regex
        self.patterns = (separator if is_separator_regex else re.escape(separator),)


class RecursiveCharacterTextSplitter(_SeparatorSplitter):
    """Cuts at the first separator, and what is too long at the next, down to single characters."""

    def __init__(
        self,
        separators: Sequence[str] | None = None,
        is_separator_regex: bool = False,
        **keywords: Unpack[SplitterKeywords],
    ) -> None:
        keywords.setdefault("keep_separator", True)
        super().__init__(**keywords)
        self.separators = list(SEPARATORS if separators is None else separators)
        self.is_separator_regex = is_separator_regex
        self.patterns = tuple(
            one if is_separator_regex else re.escape(one) for one in self.separators
        )
