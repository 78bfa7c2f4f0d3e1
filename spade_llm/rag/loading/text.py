"""What a file's content becomes, and the bound on it. Knows no kind of file."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from spade_llm.errors import InvalidArguments
from spade_llm.rag.documents import Document

if TYPE_CHECKING:
    from collections.abc import Mapping

    from spade_llm.rag.retriever import Scalar

MAX_TEXT_BYTES = 20_000_000
"""In UTF-8, of one document."""
MAX_METADATA_CHARS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedText:
    """The fields are those of Document."""

    text: str
    page_starts: tuple[int, ...] = ()
    is_markdown: bool | None = None
    metadata: Mapping[str, Scalar] = field(default_factory=dict)

    def document(self, source: str, namespace: str) -> Document:
        return Document(
            text=self.text,
            source=source,
            namespace=namespace,
            metadata=self.metadata,
            page_starts=self.page_starts,
            is_markdown=self.is_markdown,
        )


class BoundedText:
    """Text that is written piece by piece, and refused once it is too long.

    A few kilobytes of a crafted file can stand for gigabytes of text.
    """

    def __init__(self, max_bytes: int = MAX_TEXT_BYTES) -> None:
        self._max_bytes = max_bytes
        self._pieces: list[str] = []
        self._bytes = 0
        self.length = 0
        """In characters, so far: the offset of what is added next."""

    def add(self, piece: str) -> None:
        """Raises InvalidArguments: too much; the sentence goes on from the file's name."""
        clean = without_debris(piece)
        self._bytes += len(clean) if clean.isascii() else len(clean.encode())
        if self._bytes > self._max_bytes:
            raise InvalidArguments(
                f"holds more than {self._max_bytes} bytes of text; split it into several files"
            )
        self._pieces.append(clean)
        self.length += len(clean)

    def __str__(self) -> str:
        return "".join(self._pieces)


def without_debris(text: str) -> str:
    """Without NULs and halves of surrogate pairs, which parsers let through and UTF-8 does not."""
    if "\0" in text:
        text = text.replace("\0", "")
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def described(values: Mapping[str, object]) -> dict[str, Scalar]:
    """As metadata: short, and without what the file does not say."""
    texts = {
        key: " ".join(without_debris(str(value or "")).split()) for key, value in values.items()
    }
    return {key: text[:MAX_METADATA_CHARS] for key, text in texts.items() if text}
