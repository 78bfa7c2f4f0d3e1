"""Documents, document loaders (files, folders) and text splitters (chunking by separators).

A chunk is always a slice of the text, so that its position is known.
"""

from __future__ import annotations

import asyncio
import logging
import re
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal, Protocol, Self, TypedDict, Unpack
from uuid import uuid4

from spade_llm.rag.contract import Scalar
from spade_llm.rag.contract import SourceDocument as Record
from spade_llm.rag.loading.text_files import MAX_TEXT_BYTES

logger = logging.getLogger(__name__)

_ALTERNATIVES = re.compile(r"\{([^{}]*)\}")


class DocumentKeywords(TypedDict, total=False):
    """Further fields of a document record in this library."""

    namespace: str
    page_starts: tuple[int, ...]
    is_markdown: bool | None


@dataclass(frozen=True, slots=True, kw_only=True, init=False)
class Document(Record):
    """Document with text and metadata. Programs may change `metadata` in place; the other fields
    are frozen."""

    id: str
    """Id of a chunk in a vector store; the library uses ids of its own."""

    def __init__(
        self,
        content: str | None = None,
        metadata: Mapping[str, Scalar] | None = None,
        id: str | None = None,
        *,
        text: str | None = None,
        source: str | None = None,
        **library: Unpack[DocumentKeywords],
    ) -> None:
        """`source` defaults to `metadata["source"]`, else to the id.

        Raises:
            TypeError: both `content` and `text` are given, or neither is.
        """
        if (content is None) == (text is None):
            raise TypeError("Document: give its text once, as content or as text")
        name, known = id or str(uuid4()), dict(metadata or {})
        Record.__init__(
            self,
            text=(content or "") if text is None else text,
            source=source or str(known.get("source") or name),
            metadata=known,
            **library,
        )
        # The record is frozen, which also holds for its own `__init__`.
        object.__setattr__(self, "id", name)

    @property
    def content(self) -> str:
        """Text of the document (`text`)."""
        return self.text

    def to_dict(self) -> dict[str, object]:
        """Return `id`, `content` and `metadata`, as `from_dict` takes them."""
        return {"id": self.id, "content": self.text, "metadata": dict(self.metadata)}

    @classmethod
    def from_dict(cls, data: Mapping[str, object]) -> Self:
        """Raises KeyError without `content`, TypeError if `metadata` is no object."""
        metadata, id = data.get("metadata") or {}, data.get("id")
        if not isinstance(metadata, Mapping):
            raise TypeError(f"Document: metadata is {type(metadata).__name__}, not an object")
        return cls(str(data["content"]), metadata, str(id) if id else None)


class BaseDocumentLoader(ABC):
    """Base class of document loaders. A subclass for other sources implements `load_stream`."""

    @abstractmethod
    def load_stream(self) -> AsyncGenerator[Document]:
        """Yield the documents in order."""

    async def load(self) -> list[Document]:
        """Return all documents of `load_stream`."""
        return [document async for document in self.load_stream()]

    @classmethod
    def get_supported_extensions(cls) -> set[str]:
        """Return the file name extensions, with their dots."""
        return set()

    @classmethod
    def supports_extension(cls, extension: str) -> bool:
        """True if the loader reads files with this extension, in any case."""
        return extension.lower() in cls.get_supported_extensions()


class TextLoader(BaseDocumentLoader):
    """Loader of a text file."""

    SUPPORTED_EXTENSIONS: ClassVar[frozenset[str]] = frozenset({".txt", ".md", ".rst"})

    def __init__(
        self,
        file_path: str | Path,
        encoding: str = "utf-8",
        metadata: Mapping[str, Scalar] | None = None,
    ) -> None:
        self.file_path = Path(file_path)
        self.encoding = encoding
        self.metadata = dict(metadata or {})

    @classmethod
    def get_supported_extensions(cls) -> set[str]:
        return set(cls.SUPPORTED_EXTENSIONS)

    async def load_stream(self) -> AsyncGenerator[Document]:
        """Raises OSError, UnicodeDecodeError, ValueError (too large)."""
        text, size = await asyncio.to_thread(self._read)
        facts: dict[str, Scalar] = {
            "source": str(self.file_path),
            "filename": self.file_path.name,
            "file_extension": self.file_path.suffix,
            "file_size": size,
        }
        yield Document(text, {**facts, **self.metadata})

    def _read(self) -> tuple[str, int]:
        """Text and size in bytes of the file."""
        size = self.file_path.stat().st_size
        if size > MAX_TEXT_BYTES:
            raise ValueError(f"{self.file_path} is larger than {MAX_TEXT_BYTES} bytes; split it")
        return self.file_path.read_text(encoding=self.encoding), size


class LoaderClass(Protocol):
    """Loader factory in a `loader_map`: creates the loader of a file."""

    def __call__(
        self, file_path: Path, encoding: str, metadata: Mapping[str, Scalar] | None
    ) -> BaseDocumentLoader: ...


class DirectoryLoader(BaseDocumentLoader):
    """Loader of the files of a folder, in order of their names. Unreadable files are left out, and
    logged."""

    def __init__(
        self,
        path: str | Path,
        glob_pattern: str = "**/*",
        recursive: bool = True,
        suffixes: Sequence[str] | None = None,
        encoding: str = "utf-8",
        metadata: Mapping[str, Scalar] | None = None,
        loader_map: Mapping[str, LoaderClass] | None = None,
    ) -> None:
        """`glob_pattern` may contain alternatives: `**/*.{md,txt}`."""
        self.path = Path(path)
        self.glob_pattern = glob_pattern
        self.recursive = recursive
        self.encoding = encoding
        self.metadata = dict(metadata or {})
        self.loader_map = dict(loader_map or dict.fromkeys(TextLoader.SUPPORTED_EXTENSIONS, _text))
        self.suffixes = frozenset(map(str.lower, suffixes if suffixes else self.loader_map))

    async def load_stream(self) -> AsyncGenerator[Document]:
        """Raises NotADirectoryError."""
        for file in await asyncio.to_thread(self._files):
            load = self.loader_map.get(file.suffix.lower(), _text)
            try:
                found = await load(file, self.encoding, self.metadata).load()
            except (OSError, ValueError) as error:
                logger.warning("%s is left out: %s", file, error)
                continue
            for document in found:
                yield document

    def _files(self) -> list[Path]:
        if not self.path.is_dir():
            raise NotADirectoryError(f"{str(self.path)!r} is not a folder")
        pattern = self.glob_pattern
        if not self.recursive and pattern == "**/*":
            pattern = "*"
        found = {file for one in _alternatives(pattern) for file in self.path.glob(one)}
        return sorted(
            file for file in found if file.suffix.lower() in self.suffixes and file.is_file()
        )


def _text(file_path: Path, encoding: str, metadata: Mapping[str, Scalar] | None) -> TextLoader:
    return TextLoader(file_path, encoding, metadata)


def _alternatives(pattern: str) -> Iterator[str]:
    """Expand the alternatives of a pattern, which `glob` does not support."""
    braces = _ALTERNATIVES.search(pattern)
    if braces is None:
        yield pattern
        return
    for one in braces[1].split(","):
        yield from _alternatives(pattern[: braces.start()] + one.strip() + pattern[braces.end() :])


Span = tuple[int, int]
Keep = bool | Literal["start", "end"]
SEPARATORS = ("\n\n", "\n", " ", "")


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkSizes:
    size: int
    overlap: int
    length: Callable[[str], int] = len


def split_spans(
    text: str, span: Span, separators: Sequence[str], keep: Keep, sizes: ChunkSizes
) -> list[Span]:
    """Cut at the first separator (a pattern) that occurs; pieces that are too long, at the next."""
    present = [one for one in separators if _is_in(text, span, one)]
    if not present:
        return [span]
    done: list[Span] = []
    for piece in _cut(text, span, present[0], keep):
        if len(present) > 1 and sizes.length(text[slice(*piece)]) > sizes.size:
            done += split_spans(text, piece, present[1:], keep, sizes)
        else:
            done.append(piece)
    return done


def merge_spans(text: str, found: Sequence[Span], sizes: ChunkSizes) -> Iterator[Span]:
    """Merge pieces into chunks up to `size`, which repeat up to `overlap` of the chunk before."""
    first = 0
    while first < len(found):
        last = first
        while last + 1 < len(found) and _fits(text, found[first][0], found[last + 1][1], sizes):
            last += 1
        yield found[first][0], found[last][1]
        if last + 1 == len(found):
            return
        first = _overlap_start(text, found, first, last, sizes)


def _overlap_start(
    text: str, found: Sequence[Span], first: int, last: int, sizes: ChunkSizes
) -> int:
    """Index of the next chunk's first piece: as far back as the overlap allows, if a further one
    fits."""
    start, end = last + 1, found[last][1]
    while start - 1 > first and sizes.length(text[found[start - 1][0] : end]) <= sizes.overlap:
        start -= 1
    while start <= last and not _fits(text, found[start][0], found[last + 1][1], sizes):
        start += 1
    return start


def _fits(text: str, start: int, end: int, sizes: ChunkSizes) -> bool:
    return sizes.length(text[start:end]) <= sizes.size


def _is_in(text: str, span: Span, separator: str) -> bool:
    return not separator or re.compile(separator).search(text, *span) is not None


def _cut(text: str, span: Span, separator: str, keep: Keep) -> Iterator[Span]:
    """Non-empty pieces; a separator belongs to the piece after it, before it, or to none."""
    start, end = span
    if not separator:
        yield from ((at, at + 1) for at in range(start, end))
        return
    for match in re.compile(separator).finditer(text, start, end):
        cut = match.end() if keep == "end" else match.start()
        if cut > start:
            yield start, cut
        start = match.end() if keep is False or keep == "end" else match.start()
    if end > start:
        yield start, end


class SplitterKeywords(TypedDict, total=False):
    chunk_size: int
    chunk_overlap: int
    length_function: Callable[[str], int]
    keep_separator: Keep
    add_start_index: bool
    strip_whitespace: bool


class TextSplitter(ABC):
    """Base class of text splitters. A subclass for other rules implements `split_text`."""

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
        """Split the texts; each chunk has the metadata of its text, and its start index with
        `add_start_index`."""
        known = metadatas if metadatas is not None else [{}] * len(texts)
        return [
            Document(chunk, {**metadata, **({"start_index": at} if self.add_start_index else {})})
            for text, metadata in zip(texts, known, strict=True)
            for at, chunk in self._chunks_with_start(text)
        ]

    def split_documents(self, documents: Sequence[Document]) -> list[Document]:
        """Split documents; each chunk has the metadata of its document."""
        return self.create_documents(
            [one.text for one in documents], [one.metadata for one in documents]
        )

    def _chunks_with_start(self, text: str) -> Iterator[tuple[int, str]]:
        """Yield each chunk with its start, searched behind that of the previous chunk."""
        at = -1
        for chunk in self.split_text(text):
            at = text.find(chunk, at + 1)
            yield at, chunk

    @property
    def _sizes(self) -> ChunkSizes:
        return ChunkSizes(
            size=self.chunk_size, overlap=self.chunk_overlap, length=self.length_function
        )


class _SeparatorSplitter(TextSplitter):
    patterns: tuple[str, ...]

    def split_text(self, text: str) -> list[str]:
        return [chunk for _, chunk in self._chunks_with_start(text)]

    def _chunks_with_start(self, text: str) -> Iterator[tuple[int, str]]:
        found = split_spans(text, (0, len(text)), self.patterns, self.keep_separator, self._sizes)
        for start, end in merge_spans(text, found, self._sizes):
            chunk = text[start:end]
            if self.strip_whitespace:
                start += len(chunk) - len(chunk.lstrip())
                chunk = chunk.strip()
            if chunk:
                yield start, chunk


class CharacterTextSplitter(_SeparatorSplitter):
    """Splitter at one separator; a longer piece without it stays whole."""

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
    """Splitter at the first separator, and of pieces that are too long at the next one, down to
    single characters."""

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
