"""/api/v0: files, passages, and tools to try."""

from __future__ import annotations

from pydantic import Field

from spade_llm.gateway.bodies.common import MAX_NAMES, HttpBody, Namespace, TopK
from spade_llm.gateway.bodies.llm import RagSource
from spade_llm.gateway.bodies.rag import DocumentLine, Query


class QuotableDocuments(HttpBody):
    own_count: int = Field(description="Documents of the asker's own.")
    shared_count: int = Field(description="Documents that the assistant quotes to everybody.")
    shared: list[DocumentLine] = Field(description="Of these the first 100.")


class UploadProgress(HttpBody):
    """A line of the answer to an upload."""

    done: int
    total: int
    chunks: int


class Uploaded(HttpBody):
    """The last line, if the file is there now."""

    success: bool = True
    id: str
    source: str
    namespace: str
    chunks: int
    unchanged: bool


class NotUploaded(HttpBody):
    """The last line otherwise."""

    success: bool = False
    detail: str
    status: int = Field(description="As the answer would have had, had it not begun.")


class DocumentDeleted(HttpBody):
    success: bool = True
    message: str = "Document deleted successfully"
    namespace: str
    source: str


class RetrieveRequest(HttpBody):
    query: Query
    top_k: TopK | None = 5
    namespaces: list[Namespace] | None = Field(
        default=None, max_length=MAX_NAMES, description="null: all."
    )


class RetrieveResponse(HttpBody):
    query: str
    chunks: list[RagSource] = Field(description="Best first.")
    degraded: list[str] = []


class ToolCallRequest(HttpBody):
    arguments: dict[str, object] = {}
    is_approved: bool = Field(
        default=False, description="Say yes to this very call, of a tool that needs it."
    )


class ToolCallResponse(HttpBody):
    name: str
    success: bool
    result: str | None = Field(description="Of a success.")
    error: str | None = Field(description="Why there is none.")
    seconds: float
