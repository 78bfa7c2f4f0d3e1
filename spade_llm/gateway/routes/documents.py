"""Routes of documents: /llm/rag (questions, ingestion, namespaces), /api/v0 (upload, passages)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter, Path, Query
from starlette.requests import ClientDisconnect

from spade_llm.core import errors
from spade_llm.gateway.dependencies import ApiRequest, CurrentRequest
from spade_llm.gateway.document_uploads import DocumentUploads, sanitize_file_name
from spade_llm.gateway.errors import ERROR_RESPONSES, HttpError, http_error
from spade_llm.gateway.schemas import documents as schemas
from spade_llm.gateway.schemas.common import Namespace
from spade_llm.gateway.streaming import JSON_LINES, JsonLines, json_line
from spade_llm.rag.contract import DEFAULT_NAMESPACE, MAX_PAGE, DocumentPage, RetrievalOptions
from spade_llm.rag.loading.chunking import Splitting
from spade_llm.rag.loading.text_files import FileKind, file_kind, parse_text, unsupported_reason
from spade_llm.rag.names import MAX_SOURCE_CHARS, is_personal_namespace
from spade_llm.rag.remote import RagClient

if TYPE_CHECKING:
    import pathlib

    from spade_llm.rag.contract import DocumentSummary


router = APIRouter(prefix="/llm/rag", tags=["rag"], responses=ERROR_RESPONSES)
console_router = APIRouter(prefix="/api/v0", tags=["console"], responses=ERROR_RESPONSES)

MAX_TEXT_BYTES = 60_000
"""Maximum size in bytes of a file that is sent as text; it leaves room for escaping in the message.
"""
MAX_SHARED = 100
"""Maximum number of listed documents of the assistant."""
_EXAMPLE_LINES = """{"done": 0, "total": 1, "chunks": 0}
{"success": true, "id": "…", "source": "manual.md", "namespace": "docs", "chunks": 12}
"""
_RAW_BODY = {
    "requestBody": {
        "required": True,
        "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
    }
}

NamespaceOfPath = Annotated[Namespace, Path()]


@router.post("/query")
async def query_documents(api_request: CurrentRequest, body: schemas.RagQuery) -> schemas.RagAnswer:
    """Answer a question from documents, and cite the passages used."""
    namespaces = (body.namespace,) if body.namespace else ()
    answer = await api_request.run_until_disconnect(
        rag_client(api_request).answer(
            body.query, k=body.top_k or 5, options=RetrievalOptions(namespaces=namespaces)
        )
    )
    return schemas.RagAnswer(
        success=True,
        answer=answer.text,
        sources=[schemas.rag_source(one.passage) for one in answer.citations],
        query=body.query,
        degraded=[answer.degraded] if answer.degraded else [],
    )


@router.post("/documents")
async def add_documents(
    api_request: CurrentRequest, body: schemas.AddDocuments
) -> schemas.DocumentsAdded:
    """Add texts, or files below the document root of the RAG agent."""
    uploads = document_uploads(api_request, body.namespace, body.splitting)
    added = await api_request.run_until_disconnect(uploads.add_all(body.documents))
    return schemas.DocumentsAdded(
        success=True, message="Documents added successfully", documents_added=added
    )


@router.post("/directory")
async def add_directory(
    api_request: CurrentRequest, body: schemas.AddDirectory
) -> schemas.DocumentsAdded:
    """Add all files of a folder below the document root of the RAG agent."""
    uploads = document_uploads(api_request, body.namespace, body.splitting)
    is_recursive = body.recursive is not False
    try:
        report = await api_request.run_until_disconnect(
            uploads.add_folder(body.directory, is_recursive=is_recursive)
        )
    except errors.RequestRefused as refusal:
        if refusal.wire_code == errors.PathNotFound.code:
            raise HttpError(404, "directory: no such folder below the document root") from None
        raise
    left_out = [one for one in report.documents if one.left_out]
    return schemas.DocumentsAdded(
        success=True,
        message="Directory processed successfully",
        documents_added=report.added + report.unchanged,
        left_out=[schemas.LeftOutFile(source=one.source, reason=one.left_out) for one in left_out],
    )


@router.get("/namespaces")
async def list_namespaces(api_request: CurrentRequest) -> schemas.NamespaceList:
    """List the caller's own namespaces."""
    found = await rag_client(api_request).namespaces()
    # Others' namespaces that the principal may read have their owner before a slash.
    own = [one for one in found if "/" not in one.name]
    return schemas.NamespaceList(namespaces=[schemas.NamespaceLine.of(one) for one in own])


@router.get("/documents")
async def list_documents(
    api_request: CurrentRequest,
    namespace: Annotated[Namespace | None, Query()] = None,
    limit: Annotated[int, Query(json_schema_extra={"minimum": 1, "maximum": MAX_PAGE})] = 100,
    offset: Annotated[int, Query(ge=0, le=schemas.MAX_OFFSET)] = 0,
) -> schemas.DocumentList:
    """List documents, ordered by namespace and source; an unknown namespace has none."""
    if not 1 <= limit <= MAX_PAGE:
        raise HttpError(400, f"limit: {limit} is out of range; use 1 to {MAX_PAGE}")
    try:
        page = await rag_client(api_request).documents(
            namespace=namespace, limit=limit, offset=offset
        )
    except errors.RequestRefused as refusal:
        if refusal.wire_code != errors.NotFound.code:
            raise
        page = DocumentPage(documents=(), total=0, limit=limit, offset=offset, has_more=False)
    return schemas.DocumentList.of(page)


@router.get("/namespace/{namespace}/stats")
async def namespace_stats(
    api_request: CurrentRequest, namespace: NamespaceOfPath
) -> schemas.NamespaceFigures:
    """Size of a namespace; `exists` is false if the name is unknown."""
    return schemas.NamespaceFigures.of(await rag_client(api_request).stats(namespace))


@router.delete("/namespace/{namespace}")
async def delete_namespace(
    api_request: CurrentRequest, namespace: NamespaceOfPath
) -> schemas.NamespaceDeleted:
    """Delete a namespace with all its documents."""
    await rag_client(api_request).delete(namespace=namespace)
    return schemas.NamespaceDeleted(
        success=True, namespace=namespace, message=f"Namespace '{namespace}' deleted successfully"
    )


@console_router.post(
    "/documents",
    status_code=200,
    response_class=JsonLines,
    openapi_extra=_RAW_BODY,
    responses={
        200: {"content": {JSON_LINES: {"schema": {"type": "string"}, "example": _EXAMPLE_LINES}}}
    },
)
async def upload_document(
    api_request: CurrentRequest,
    name: Annotated[str, Query(min_length=1, max_length=1000, examples=["manual.md"])],
    namespace: Annotated[Namespace | None, Query()] = None,
) -> JsonLines:
    """Upload a file: the body is its content, `name` its file name.

    The response is lines of JSON with the progress (`done`, `total`, `chunks`); the last line has
    `success` and the added document, or `detail` and `status` of the error.
    """
    source = sanitize_file_name(name)
    if file_kind(source) is None:
        raise errors.InvalidArguments(f"name: {source[:80]!r} is {unsupported_reason(source)}")
    uploads, stack = document_uploads(api_request, namespace, None), AsyncExitStack()
    async with stack:
        path = await stack.enter_async_context(
            api_request.gateway.uploads.file(api_request.principal.jid)
        )
        size = await _receive_file(api_request, path)
        if not size:
            raise errors.InvalidArguments("the body is empty; send the file's content")
        return JsonLines(_progress_lines(uploads, path, source, size), resources=stack.pop_all())


@console_router.get("/documents")
async def quotable_documents(api_request: CurrentRequest) -> schemas.QuotableDocuments:
    """Documents that answers to the caller can quote: the number of the caller's own, and the
    assistant's, which it quotes to every caller."""
    own, network = api_request.clients.rag, api_request.gateway.network
    library = network.clients_for(network.addresses.assistants[0]).rag
    if own is None or library is None:
        return schemas.QuotableDocuments(own_count=0, shared_count=0, shared=[])
    mine, theirs = await asyncio.gather(own.namespaces(), library.namespaces())
    # A slash marks another owner; a personal namespace belongs to one user.
    shared = [one for one in theirs if "/" not in one.name and not is_personal_namespace(one.name)]
    documents: list[DocumentSummary] = []
    for one in shared:
        if left := MAX_SHARED - len(documents):
            page = await library.documents(namespace=one.name, limit=left)
            documents.extend(page.documents)
    return schemas.QuotableDocuments(
        own_count=sum(one.documents for one in mine if "/" not in one.name),
        shared_count=sum(one.documents for one in shared),
        shared=[schemas.DocumentLine.of(one) for one in documents],
    )


@console_router.delete("/documents")
async def delete_document(
    api_request: CurrentRequest,
    source: Annotated[str, Query(min_length=1, max_length=MAX_SOURCE_CHARS, pattern=r"\S")],
    namespace: Annotated[Namespace, Query()],
) -> schemas.DocumentDeleted:
    """Delete one document. To delete a whole namespace, use /llm/rag/namespace."""
    await rag_client(api_request).delete(namespace=namespace, source=source)
    return schemas.DocumentDeleted(namespace=namespace, source=source)


@console_router.post("/retrieve")
async def retrieve_passages(
    api_request: CurrentRequest, body: schemas.RetrieveRequest
) -> schemas.RetrieveResponse:
    """Search passages by a query, with their scores."""
    options = RetrievalOptions(namespaces=tuple(body.namespaces or ()))
    found = await rag_client(api_request).retrieve(body.query, k=body.top_k or 5, options=options)
    return schemas.RetrieveResponse(
        query=body.query,
        chunks=[schemas.rag_source(one) for one in found.chunks],
        degraded=[found.degraded] if found.degraded else [],
    )


def rag_client(api_request: ApiRequest) -> RagClient:
    """Raises HttpError, NetworkUnavailable."""
    rag = api_request.clients.rag
    if rag is None:
        raise HttpError(503, "This gateway has no RAG agent; set `rag` in [network]")
    return rag


def document_uploads(
    api_request: ApiRequest, namespace: str | None, splitting: Splitting | None
) -> DocumentUploads:
    """Raises as `rag_client`."""
    return DocumentUploads(
        rag_client(api_request),
        api_request.gateway.uploads,
        namespace=namespace or DEFAULT_NAMESPACE,
        splitting=splitting,
        owner=api_request.principal.jid,
        readers=api_request.gateway.addresses.assistants,
    )


async def _receive_file(api_request: ApiRequest, path: pathlib.Path) -> int:
    """Write the request's body to the file, and return its size in bytes."""
    size = 0
    with await asyncio.to_thread(path.open, "wb") as file:
        try:
            # BodyLimitMiddleware bounds size and rate of this stream.
            async for part in api_request.request.stream():
                await asyncio.to_thread(file.write, part)
                size += len(part)
        except ClientDisconnect:
            raise HttpError(400, "The client disconnected before the upload was complete") from None
    return size


async def _progress_lines(
    uploads: DocumentUploads, path: pathlib.Path, source: str, size: int
) -> AsyncGenerator[str]:
    yield _line(schemas.UploadProgress(done=0, total=1, chunks=0))
    try:
        try:
            if file_kind(source) is FileKind.TEXT and size <= MAX_TEXT_BYTES:
                text = parse_text(await asyncio.to_thread(path.read_bytes)).text
                done = await uploads.add_text(text, source=source)
            else:
                done = await uploads.add_file(path, source=source)
        finally:
            # Delete the file before the result is sent.
            await asyncio.to_thread(path.unlink, missing_ok=True)
    except (errors.RequestError, errors.ServiceError) as error:
        answer = http_error(error)
        yield _line(schemas.NotUploaded(detail=answer.detail, status=answer.status_code))
        return
    yield _line(schemas.UploadProgress(done=1, total=1, chunks=done.chunks))
    yield _line(
        schemas.Uploaded(
            id=done.id,
            source=done.source,
            namespace=done.namespace,
            chunks=done.chunks,
            unchanged=done.was_unchanged,
        )
    )


def _line(body: schemas.UploadProgress | schemas.Uploaded | schemas.NotUploaded) -> str:
    return json_line(body.model_dump(mode="json"))
