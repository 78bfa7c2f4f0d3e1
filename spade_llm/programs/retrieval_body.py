"""What is said between a retrieval agent and who asks it, in spade_llm 0.3's words. Pure.

`message_type=retrieval`: the body is JSON `{query, k, filters, search_type}`, or the query as text.
`retrieval_response`: `{"documents": [{content, metadata}]}`; `retrieval_error`: `{error, query}`.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from spade_llm.acl.body import MAX_BODY_BYTES
from spade_llm.errors import InvalidArguments, ToolFailed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from spade_llm.programs.document import Document

ASKED, FOUND, FAILED = "retrieval", "retrieval_response", "retrieval_error"
"""Values of the metadata `message_type`."""
MAX_K = 100


class RetrievalQuery(BaseModel):
    model_config = ConfigDict(frozen=True)

    query: str = Field(min_length=1, max_length=100_000)
    k: int | None = Field(default=None, ge=1, le=MAX_K)
    filters: dict[str, object] | None = None
    search_type: Literal["similarity", "mmr"] = "similarity"


def read_query(body: str) -> RetrievalQuery:
    """Raises InvalidArguments; names the field."""
    try:
        said = json.loads(body)
    except ValueError:
        said = None
    try:
        return RetrievalQuery.model_validate(said if isinstance(said, dict) else {"query": body})
    except ValidationError as error:
        first = error.errors()[0]
        raise InvalidArguments(f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from None


def query_body(query: str, k: int, filters: Mapping[str, object] | None) -> str:
    return json.dumps({"query": query, "k": k, **({"filters": dict(filters)} if filters else {})})


class _FoundOne(BaseModel):
    content: str
    metadata: dict[str, object] = {}


class _Found(BaseModel):
    documents: list[_FoundOne]


def read_found(body: str) -> list[dict[str, object]]:
    """The documents of a response. Raises ToolFailed: it holds none that can be read."""
    try:
        found = _Found.model_validate_json(body)
    except ValidationError as error:
        raise ToolFailed("the retrieval agent answered with something else") from error
    return [one.model_dump() for one in found.documents]


def format_documents_for_response(results: Sequence[Document]) -> list[dict[str, object]]:
    return [{"content": one.text, "metadata": dict(one.metadata)} for one in results]


def create_retrieval_response_body(results: Sequence[Document]) -> str:
    return json.dumps({"documents": format_documents_for_response(results)}, default=str)


def fitting(results: Sequence[Document]) -> Sequence[Document]:
    """The best of them, as many as one message carries."""
    while results and len(create_retrieval_response_body(results).encode()) > MAX_BODY_BYTES:
        results = results[:-1]
    return results


def error_body(reason: str, query: str) -> str:
    return json.dumps({"error": reason, "query": query[: MAX_BODY_BYTES // 16]})
