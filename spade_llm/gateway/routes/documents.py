"""Routes /llm/rag: questions to documents, adding documents, namespaces."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query

from spade_llm.core.errors import NotFound, PathNotFound, RequestRefused
from spade_llm.gateway.dependencies import ApiRequest, CurrentRequest
from spade_llm.gateway.document_uploads import DocumentUploads
from spade_llm.gateway.errors import ERROR_RESPONSES, HttpError
from spade_llm.gateway.schemas.common import Namespace
from spade_llm.gateway.schemas.documents import (
    MAX_OFFSET,
    AddDirectory,
    AddDocuments,
    DocumentList,
    DocumentsAdded,
    LeftOutFile,
    NamespaceDeleted,
    NamespaceFigures,
    NamespaceLine,
    NamespaceList,
    RagAnswer,
    RagQuery,
    rag_source,
)
from spade_llm.rag.contract import DEFAULT_NAMESPACE, MAX_PAGE, DocumentPage, RetrievalOptions
from spade_llm.rag.loading.chunking import Splitting
from spade_llm.rag.remote import RagClient

router = APIRouter(prefix="/llm/rag", tags=["rag"], responses=ERROR_RESPONSES)

NamespaceOfPath = Annotated[Namespace, Path()]


@router.post("/query")
async def query_documents(api_request: CurrentRequest, body: RagQuery) -> RagAnswer:
    """An answer from documents, with the passages that it rests on."""
    namespaces = (body.namespace,) if body.namespace else ()
    answer = await api_request.run_until_disconnect(
        rag_client(api_request).answer(
            body.query, k=body.top_k or 5, options=RetrievalOptions(namespaces=namespaces)
        )
    )
    return RagAnswer(
        success=True,
        answer=answer.text,
        sources=[rag_source(one.passage) for one in answer.citations],
        query=body.query,
        degraded=[answer.degraded] if answer.degraded else [],
    )


@router.post("/documents")
async def add_documents(api_request: CurrentRequest, body: AddDocuments) -> DocumentsAdded:
    """Texts, and files below the document root of the RAG agent, which alone reads them."""
    shelf = document_uploads(api_request, body.namespace, body.splitting)
    added = await api_request.run_until_disconnect(shelf.add_all(body.documents))
    return DocumentsAdded(
        success=True, message="Documents added successfully", documents_added=added
    )


@router.post("/directory")
async def add_directory(api_request: CurrentRequest, body: AddDirectory) -> DocumentsAdded:
    """All files of a folder below the document root. Nothing else is looked at, nor told of."""
    shelf = document_uploads(api_request, body.namespace, body.splitting)
    is_recursive = body.recursive is not False
    try:
        report = await api_request.run_until_disconnect(
            shelf.add_folder(body.directory, is_recursive=is_recursive)
        )
    except RequestRefused as refusal:
        if refusal.wire_code == PathNotFound.code:
            raise HttpError(404, "directory: there is none of this name below the root") from None
        raise
    left_out = [one for one in report.documents if one.left_out]
    return DocumentsAdded(
        success=True,
        message="Directory processed successfully",
        documents_added=report.added + report.unchanged,
        left_out=[LeftOutFile(source=one.source, reason=one.left_out) for one in left_out],
    )


@router.get("/namespaces")
async def list_namespaces(api_request: CurrentRequest) -> NamespaceList:
    """The asker's own."""
    found = await rag_client(api_request).namespaces()
    # Others' namespaces that the principal may read have their owner before a slash.
    own = [one for one in found if "/" not in one.name]
    return NamespaceList(namespaces=[NamespaceLine.of(one) for one in own])


@router.get("/documents")
async def list_documents(
    api_request: CurrentRequest,
    namespace: Annotated[Namespace | None, Query()] = None,
    limit: Annotated[int, Query(json_schema_extra={"minimum": 1, "maximum": MAX_PAGE})] = 100,
    offset: Annotated[int, Query(ge=0, le=MAX_OFFSET)] = 0,
) -> DocumentList:
    """A page of them, in the order of namespace and source; of a namespace that there is not,
    none."""
    if not 1 <= limit <= MAX_PAGE:
        raise HttpError(400, f"limit is {limit}; it must be 1 to {MAX_PAGE}")
    try:
        page = await rag_client(api_request).documents(
            namespace=namespace, limit=limit, offset=offset
        )
    except RequestRefused as refusal:
        if refusal.wire_code != NotFound.code:
            raise
        page = DocumentPage(documents=(), total=0, limit=limit, offset=offset, has_more=False)
    return DocumentList.of(page)


@router.get("/namespace/{namespace}/stats")
async def namespace_stats(
    api_request: CurrentRequest, namespace: NamespaceOfPath
) -> NamespaceFigures:
    """Size of a namespace; `exists` is false if there is none of this name."""
    return NamespaceFigures.of(await rag_client(api_request).stats(namespace))


@router.delete("/namespace/{namespace}")
async def delete_namespace(
    api_request: CurrentRequest, namespace: NamespaceOfPath
) -> NamespaceDeleted:
    """Delete a namespace with all its documents."""
    await rag_client(api_request).delete(namespace=namespace)
    return NamespaceDeleted(
        success=True,
        namespace=namespace,
        message=f"Namespace '{namespace}' deleted successfully",
    )


def rag_client(api_request: ApiRequest) -> RagClient:
    """Raises HttpError, NetworkUnavailable."""
    rag = api_request.clients.rag
    if rag is None:
        raise HttpError(503, "This gateway has no agent for documents: see rag in [network]")
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
