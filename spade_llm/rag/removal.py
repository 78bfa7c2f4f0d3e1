"""Takes documents and namespaces out of the library, so that nothing of them stays in its files.

What does stay: see docs/design/documents.md, "What deleting leaves".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from spade_llm.errors import NotFound, Unauthorised
from spade_llm.rag.documents import Access
from spade_llm.rag.names import check_source, parse_address

if TYPE_CHECKING:
    from spade_llm.rag.grants import Grants
    from spade_llm.rag.names import Address
    from spade_llm.rag.registry import Namespace, Registry
    from spade_llm.rag.sweeping import Sweeping


class Removal:
    def __init__(self, registry: Registry, grants: Grants, sweeping: Sweeping) -> None:
        self._registry = registry
        self._grants = grants
        self._sweeping = sweeping

    async def delete(self, asker: str, name: str, source: str | None) -> int:
        """One document, or the whole namespace; how many documents went.

        Raises:
            NotFound: there is no such document or namespace.
            Unauthorised: it may not be written to; a whole namespace is for its owner to delete.
        """
        address = parse_address(name, asker=asker)
        if source is not None:
            check_source(source)
        async with self._sweeping.alone:
            namespace = await self._namespace(asker, address)
            removed = await self._remove(asker, namespace, source)
            await self._sweeping.try_to_sweep()
            await self._registry.empty_log()
        return removed

    async def _namespace(self, asker: str, address: Address) -> Namespace:
        for namespace in await self._grants.reached(address, asker=asker, access=Access.WRITE):
            return namespace
        raise NotFound(f"there is no namespace {address.seen_by(asker)!r}")

    async def _remove(self, asker: str, namespace: Namespace, source: str | None) -> int:
        if source is None:
            if namespace.owner != asker:
                raise Unauthorised("a whole namespace is for its owner to delete")
            return await self._registry.remove_namespace(namespace)
        if not await self._registry.remove_document(namespace, source):
            raise NotFound(f"there is no {source[:80]!r} in namespace {namespace.name!r}")
        return 1
