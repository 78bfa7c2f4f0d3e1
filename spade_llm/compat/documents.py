"""Documents and document loaders: text files and folders."""

from __future__ import annotations

import asyncio
import logging
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Protocol, Self, TypedDict, Unpack
from uuid import uuid4

from spade_llm.rag.contract import SourceDocument as Record
from spade_llm.rag.loading.text_files import MAX_TEXT_BYTES

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterator, Sequence

    from spade_llm.rag.contract import Scalar

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
