"""Document, in both forms: `Document(text=…, source=…)` as our library takes it, and
`Document(content=…, metadata=…)` as spade_llm 0.3 writes it. One class, so that what a program
loads and splits may go into either."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self, TypedDict, Unpack
from uuid import uuid4

from spade_llm.rag.documents import Document as Record

if TYPE_CHECKING:
    from spade_llm.rag.retriever import Scalar


class DocumentKeywords(TypedDict, total=False):
    """What else our library keeps."""

    namespace: str
    page_starts: tuple[int, ...]
    is_markdown: bool | None


@dataclass(frozen=True, slots=True, kw_only=True, init=False)
class Document(Record):
    """Its `metadata` may be changed in place, as programs do; the rest is as it was made."""

    id: str
    """Of a passage in a vector store; the library has ids of its own."""

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
        """Without `source`: what `metadata["source"]` says, else the id.

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
        object.__setattr__(self, "id", name)

    @property
    def content(self) -> str:
        return self.text

    def to_dict(self) -> dict[str, object]:
        return {"id": self.id, "content": self.text, "metadata": dict(self.metadata)}

    @classmethod
    def from_dict(cls, data: Mapping[str, object]) -> Self:
        """Raises KeyError without `content`, TypeError if `metadata` is no object."""
        metadata, id = data.get("metadata") or {}, data.get("id")
        if not isinstance(metadata, Mapping):
            raise TypeError(f"Document: metadata is {type(metadata).__name__}, not an object")
        return cls(str(data["content"]), metadata, str(id) if id else None)
