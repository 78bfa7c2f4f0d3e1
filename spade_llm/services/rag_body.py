"""What every body of `spade-llm.rag/1` shares, and how a handler finds its owner's documents.

No body has a field for the owner: it is the bare JID that the server stamped on the request.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Protocol

from spade_llm.acl import Body
from spade_llm.rag.documents import Catalogue, Library, Sharing
from spade_llm.runtime import Request

ONTOLOGY = "spade-llm.rag/1"


class OwnedDocuments(Library, Catalogue, Sharing, Protocol):
    """All that one owner can do."""


class LibraryBackend(Protocol):
    def for_owner(self, owner: str) -> OwnedDocuments: ...


LibraryOf = Callable[[Request], OwnedDocuments]


class RagBody(Body):
    """Records travel without their defaults, which are therefore a part of this version."""

    skips_defaults: ClassVar[bool] = True


class Count(RagBody):
    count: int
