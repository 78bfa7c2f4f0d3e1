"""Where a namespace's vectors are. Knows neither Chroma nor a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spade_llm.rag.chroma_index import Place, Shelf

if TYPE_CHECKING:
    from spade_llm.rag.rows import Namespace


def place_of(namespace: Namespace) -> Place:
    """Of the edition in use."""
    return Place(namespace_id=namespace.id, edition=namespace.edition)


def shelf_of(namespace: Namespace) -> Shelf | None:
    """None: it has no vectors."""
    if namespace.model is None or namespace.dimension is None:
        return None
    return shelf_for(namespace, model=namespace.model, dimension=namespace.dimension)


def shelf_for(
    namespace: Namespace, *, model: str, dimension: int, edition: int | None = None
) -> Shelf:
    """Where vectors of this model go; without an edition, the one in use."""
    return Shelf(
        namespace_id=namespace.id,
        owner=namespace.owner,
        namespace=namespace.name,
        model=model,
        dimension=dimension,
        edition=namespace.edition if edition is None else edition,
    )
