"""specs/4 §4: documents, asked of the RAG agent as their owner."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query

from spade_llm.errors import NoSuchPath, NotFound, RequestRefused
from spade_llm.gateway.asking import Asked, Asking
from spade_llm.gateway.bodies.common import Namespace
from spade_llm.gateway.bodies.rag import (
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
    source_of,
)
from spade_llm.gateway.documents import Shelf
from spade_llm.gateway.errors import HttpError
from spade_llm.gateway.failures import FAILURES
from spade_llm.rag.documents import MAX_PAGE, DocumentPage
from spade_llm.rag.retriever import DEFAULT_NAMESPACE, RetrievalOptions
from spade_llm.rag.splitter import Splitting
from spade_llm.services.rag import RagClient

router = APIRouter(prefix="/llm/rag", tags=["rag"], responses=FAILURES)

NamespaceOfPath = Annotated[Namespace, Path()]


@router.post("/query")
async def query_documents(asked: Asked, body: RagQuery) -> RagAnswer:
    """An answer from documents, with the passages that it rests on."""
    namespaces = (body.namespace,) if body.namespace else ()
    answer = await asked.unless_left(
        rag_of(asked).answer(
            body.query, k=body.top_k or 5, options=RetrievalOptions(namespaces=namespaces)
        )
    )
    return RagAnswer(
        success=True,
        answer=answer.text,
        sources=[source_of(one.passage) for one in answer.citations],
        query=body.query,
        degraded=[answer.degraded] if answer.degraded else [],
    )


@router.post("/documents")
async def add_documents(asked: Asked, body: AddDocuments) -> DocumentsAdded:
    """Texts, and files below the document root of the RAG agent, which alone reads them."""
    shelf = shelf_of(asked, body.namespace, body.splitting)
    added = await asked.unless_left(shelf.add_all(body.documents))
    return DocumentsAdded(
        success=True, message="Documents added successfully", documents_added=added
    )


@router.post("/directory")
async def add_directory(asked: Asked, body: AddDirectory) -> DocumentsAdded:
    """All files of a folder below the document root. Nothing else is looked at, nor told of."""
    shelf = shelf_of(asked, body.namespace, body.splitting)
    is_recursive = body.recursive is not False
    try:
        report = await asked.unless_left(
            shelf.add_folder(body.directory, is_recursive=is_recursive)
        )
    except RequestRefused as refusal:
        if refusal.wire_code == NoSuchPath.code:
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
async def list_namespaces(asked: Asked) -> NamespaceList:
    """The asker's own."""
    found = await rag_of(asked).namespaces()
    own = [one for one in found if "/" not in one.name]
    return NamespaceList(namespaces=[NamespaceLine.of(one) for one in own])


@router.get("/documents")
async def list_documents(
    asked: Asked,
    namespace: Annotated[Namespace | None, Query()] = None,
    limit: Annotated[int, Query(json_schema_extra={"minimum": 1, "maximum": MAX_PAGE})] = 100,
    offset: Annotated[int, Query(ge=0, le=MAX_OFFSET)] = 0,
) -> DocumentList:
    """A page of them, in the order of namespace and source; of a namespace that there is not,
    none."""
    if not 1 <= limit <= MAX_PAGE:
        raise HttpError(400, f"limit is {limit}; it must be 1 to {MAX_PAGE}")
    try:
        page = await rag_of(asked).documents(namespace=namespace, limit=limit, offset=offset)
    except RequestRefused as refusal:
        if refusal.wire_code != NotFound.code:
            raise
        page = DocumentPage(documents=(), total=0, limit=limit, offset=offset, has_more=False)
    return DocumentList.of(page)


@router.get("/namespace/{namespace}/stats")
async def namespace_stats(asked: Asked, namespace: NamespaceOfPath) -> NamespaceFigures:
    """How large it is; of one that there is not, `exists` is false."""
    return NamespaceFigures.of(await rag_of(asked).stats(namespace))


@router.delete("/namespace/{namespace}")
async def delete_namespace(asked: Asked, namespace: NamespaceOfPath) -> NamespaceDeleted:
    """With all its documents."""
    await rag_of(asked).delete(namespace=namespace)
    return NamespaceDeleted(
        success=True,
        namespace=namespace,
        message=f"Namespace '{namespace}' deleted successfully",
    )


def rag_of(asked: Asking) -> RagClient:
    """Raises HttpError, NetworkAway."""
    rag = asked.clients.rag
    if rag is None:
        raise HttpError(503, "This gateway has no agent for documents: see rag in [network]")
    return rag


def shelf_of(asked: Asking, namespace: str | None, splitting: Splitting | None) -> Shelf:
    """Raises as `rag_of`."""
    return Shelf(
        rag_of(asked),
        asked.gateway.uploads,
        namespace=namespace or DEFAULT_NAMESPACE,
        splitting=splitting,
        owner=asked.principal.jid,
        readers=asked.gateway.addresses.assistants,
    )
