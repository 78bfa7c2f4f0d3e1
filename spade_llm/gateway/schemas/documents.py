"""Schemas of documents: ingestion, namespaces, uploads, retrieval."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field

from spade_llm.core.errors import InvalidArguments
from spade_llm.gateway.schemas import common
from spade_llm.gateway.schemas.llm import RagSource, SourceMetadata
from spade_llm.rag.contract import DEFAULT_NAMESPACE, MAX_QUERY_CHARS, ScoredChunk
from spade_llm.rag.loading.chunking import Splitting

MAX_DOCUMENTS = 1000
"""Maximum number of documents in a request."""
MAX_DOCUMENT_CHARS = 10_000_000
MAX_PATH_CHARS = 1000
MAX_OFFSET = 2**53
ChunkSize = Annotated[int, Field(ge=100, le=4000, description="Characters."), common.WHOLE_NUMBER]
ChunkOverlap = Annotated[int, Field(ge=0, le=1000), common.WHOLE_NUMBER]
QueryText = Annotated[str, Field(min_length=1, max_length=MAX_QUERY_CHARS, pattern=r"\S")]


class RagQuery(common.HttpBody):
    query: QueryText
    top_k: common.TopK | None = 5
    namespace: common.Namespace | None = Field(default=None, description="null: all.")


class RagAnswer(common.HttpBody):
    success: bool
    answer: str
    sources: list[RagSource]
    query: str
    error_message: str | None = None
    degraded: list[str] = Field(default=[], description="Reasons for a reduced quality.")


class SplittingOptions(common.HttpBody):
    chunk_size: ChunkSize | None = 1000
    chunk_overlap: ChunkOverlap | None = Field(
        default=200,
        description="Characters, fewer than `chunk_size`; by default at most a fifth of it.",
    )

    @property
    def splitting(self) -> Splitting:
        """Raises InvalidArguments."""
        size = 1000 if self.chunk_size is None else self.chunk_size
        overlap = self.chunk_overlap if "chunk_overlap" in self.model_fields_set else None
        if overlap is None:
            overlap = min(200, size // 5)
        if overlap >= size:
            raise InvalidArguments(
                f"chunk_overlap: {overlap} must be less than chunk_size ({size})"
            )
        return Splitting(size=size, overlap=overlap)


class AddDocuments(SplittingOptions):
    documents: list[Annotated[str, Field(max_length=MAX_DOCUMENT_CHARS, pattern=r"\S")]] = Field(
        min_length=1,
        max_length=MAX_DOCUMENTS,
        description="Paths of files below the document root, or texts.",
        examples=[["./docs/manual.md", "Texto directo a indexar"]],
    )
    namespace: common.Namespace | None = DEFAULT_NAMESPACE


class AddDirectory(SplittingOptions):
    directory: str = Field(
        min_length=1,
        max_length=MAX_PATH_CHARS,
        description="Folder below the document root.",
        examples=["./docs"],
    )
    namespace: common.Namespace | None = DEFAULT_NAMESPACE
    recursive: bool | None = True


class LeftOutFile(common.HttpBody):
    source: str
    reason: str


class DocumentsAdded(common.HttpBody):
    success: bool
    message: str
    documents_added: int = Field(description="Including documents that were stored already.")
    left_out: list[LeftOutFile] = Field(default=[], description="Skipped files with the reason.")


class NamespaceLine(common.HttpAnswer):
    name: str
    document_count: int = Field(validation_alias="documents")
    chunk_count: int = Field(validation_alias="chunks")
    total_chunks: int = Field(validation_alias="chunks", description="As `chunk_count`.")
    last_updated: common.Timestamp = Field(validation_alias="updated_at")


class NamespaceList(common.HttpBody):
    namespaces: list[NamespaceLine]


class DocumentLine(common.HttpAnswer):
    id: str
    source: str
    namespace: str
    chunk_count: int = Field(validation_alias="chunks")
    uploaded_at: common.Timestamp = Field(validation_alias="updated_at")
    filename: Annotated[str, AfterValidator(lambda source: source.rpartition("/")[2] or source)] = (
        Field(validation_alias="source", description="Last part of `source`.")
    )
    total_chunks: int = Field(validation_alias="chunks", description="As `chunk_count`.")
    content_preview: str = Field(validation_alias="preview", description="Beginning of the text.")


class DocumentList(common.HttpAnswer):
    documents: list[DocumentLine]
    total_count: int = Field(validation_alias="total")
    limit: int
    offset: int
    has_more: bool


class NamespaceFigures(common.HttpAnswer):
    success: bool = True
    namespace: str = Field(validation_alias="name")
    vector_count: int = Field(validation_alias="vectors")
    dimension: Annotated[int, BeforeValidator(lambda size: size or 0)] = Field(
        description="0: no vectors."
    )
    exists: bool


class NamespaceDeleted(common.HttpBody):
    success: bool
    namespace: str
    message: str


def rag_source(found: ScoredChunk) -> RagSource:
    chunk = found.chunk
    metadata = SourceMetadata.of(chunk)
    return RagSource(
        content=chunk.text, metadata=metadata, score=found.score, chunk_index=chunk.index
    )


class QuotableDocuments(common.HttpBody):
    own_count: int = Field(description="Number of the caller's own documents.")
    shared_count: int = Field(
        description="Number of documents that the assistant quotes to every caller."
    )
    shared: list[DocumentLine] = Field(description="The first 100 of the shared documents.")


class UploadProgress(common.HttpBody):
    """Progress line of the response to an upload."""

    done: int
    total: int
    chunks: int


class Uploaded(common.HttpBody):
    """Last line of the response to a successful upload."""

    success: bool = True
    id: str
    source: str
    namespace: str
    chunks: int
    unchanged: bool


class NotUploaded(common.HttpBody):
    """Last line of the response to a failed upload."""

    success: bool = False
    detail: str
    status: int = Field(description="HTTP status of the error; the response has begun with 200.")


class DocumentDeleted(common.HttpBody):
    success: bool = True
    message: str = "Document deleted successfully"
    namespace: str
    source: str


class RetrieveRequest(common.HttpBody):
    query: QueryText
    top_k: common.TopK | None = 5
    namespaces: list[common.Namespace] | None = Field(
        default=None, max_length=common.MAX_NAMES, description="null: all."
    )


class RetrieveResponse(common.HttpBody):
    query: str
    chunks: list[RagSource] = Field(description="Best first.")
    degraded: list[str] = []
