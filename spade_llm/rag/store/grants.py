"""Access grants: namespaces that an agent may read or write."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from spade_llm.core.errors import InvalidArguments, Unauthorised
from spade_llm.rag.contract import Access, NamespaceGrant
from spade_llm.rag.names import check_grantee, grantee_names, is_named_by, parse_address
from spade_llm.rag.store.registry import utc_now
from spade_llm.rag.store.rows import NAMESPACE_COLUMNS, namespace_from

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from spade_llm.rag.contract import RetrievalOptions
    from spade_llm.rag.names import NamespaceAddress
    from spade_llm.rag.store.library_database import LibraryDatabase
    from spade_llm.rag.store.registry import Namespace, Registry

MAX_GRANTS = 1000
"""Maximum number of grants of one owner."""
MAX_GRANTED = 1000
"""Maximum number of granted namespaces that are listed; others can be searched by name."""

_GRANTED = f"""
    SELECT {NAMESPACE_COLUMNS}, max(CASE WHEN g.access = 'write' THEN 1 ELSE 0 END)
    FROM grants g JOIN namespaces n ON n.id = g.namespace_id
    WHERE g.grantee IN (?1, ?2) AND n.owner <> ?3
    GROUP BY n.id ORDER BY n.owner, n.name LIMIT {MAX_GRANTED}
"""
_GRANTED_ONE = f"""
    SELECT {NAMESPACE_COLUMNS}, max(CASE WHEN g.access = 'write' THEN 1 ELSE 0 END)
    FROM grants g JOIN namespaces n ON n.id = g.namespace_id
    WHERE g.grantee IN (?1, ?2) AND n.owner = ?3 AND n.name = ?4 GROUP BY n.id
"""
_COUNT_GRANTS = """
    SELECT count(*) FROM grants g JOIN namespaces n ON n.id = g.namespace_id
    WHERE n.owner = ? AND NOT (n.id = ? AND g.grantee = ?)
"""
_GRANT = """
    INSERT INTO grants (namespace_id, grantee, access, created_at) VALUES (?1, ?2, ?3, ?4)
    ON CONFLICT (namespace_id, grantee) DO UPDATE SET access = ?3, created_at = ?4
    WHERE grants.access <> ?3
"""
_REVOKE = "DELETE FROM grants WHERE namespace_id = ? AND grantee = ? RETURNING grantee"
_SELECT_GIVEN = """
    SELECT n.name, g.grantee, g.access, g.created_at
    FROM grants g JOIN namespaces n ON n.id = g.namespace_id
    WHERE n.owner = ? ORDER BY n.name, g.grantee
"""


class NamespaceGrants:
    """Access grants in the database. They are read at each request, so that a revocation takes
    effect at once."""

    def __init__(
        self,
        database: LibraryDatabase,
        registry: Registry,
        *,
        now: Callable[[], datetime] = utc_now,
    ) -> None:
        self._database = database
        self._registry = registry
        self._now = now

    async def readable(self, asker: str, options: RetrievalOptions) -> tuple[Namespace, ...]:
        """Namespaces to search: those named in the options, or all: the asker's own (of personal
        ones only `personal`), then those granted to it (only `shared` and the `person`'s).

        A namespace of the asker that does not exist is left out.

        Raises:
            Unauthorised: a namespace of another owner does not exist or was not granted; not
                raised if `person` is given.
        """
        trusted = None if options.shared is None else {*options.shared, options.person.lower()}
        if options.namespaces:
            return await self._named(asker, options, trusted)
        granted = (namespace for namespace, _ in await self.granted(asker))
        wanted = tuple(one for one in granted if _is_trusted(one.address, trusted))
        personal = options.personal
        mine = await self._registry.namespaces(asker, personal) if personal else ()
        return mine + await self._registry.common(asker) + wanted

    async def _named(
        self, asker: str, options: RetrievalOptions, trusted: Collection[str] | None
    ) -> tuple[Namespace, ...]:
        found: dict[int, Namespace] = {}
        addresses: list[NamespaceAddress] = []
        for name in options.namespaces:
            address = parse_address(name, asker=asker)
            addresses.append(address)
            # A name without an owner may be the asker's or the person's.
            if options.person and "/" not in name:
                addresses.append(replace(address, owner=options.person.lower()))
        for address in addresses:
            try:
                reached = await self._trusted(address, asker, trusted)
            except Unauthorised:
                # For a person it is skipped, since the name may be the person's or the asker's.
                if not options.person:
                    raise
                continue
            found |= {namespace.id: namespace for namespace in reached}
        return tuple(found.values())

    async def _trusted(
        self, address: NamespaceAddress, asker: str, trusted: Collection[str] | None
    ) -> tuple[Namespace, ...]:
        if address.owner != asker and not _is_trusted(address, trusted):
            raise _access_denied(address)
        return await self.reached(address, asker=asker)

    async def granted(self, asker: str) -> Sequence[tuple[Namespace, Access]]:
        """List the granted namespaces of other owners, by address."""
        rows = await self._database.read_often(_GRANTED, (*grantee_names(asker), asker))
        return [(namespace_from(row), Access.WRITE if row[11] else Access.READ) for row in rows]

    async def reached(
        self, address: NamespaceAddress, *, asker: str, access: Access = Access.READ
    ) -> tuple[Namespace, ...]:
        """Find the namespace of an address; empty if it is the asker's own and does not exist."""
        if address.owner == asker:
            return await self._registry.namespaces(asker, address.name)
        values = (*grantee_names(asker), address.owner, address.name)
        rows = await self._database.read_often(_GRANTED_ONE, values)
        # The same error for a namespace that does not exist, so that its absence is not revealed.
        if not rows:
            raise _access_denied(address)
        if access is Access.WRITE and not rows[0][11]:
            raise Unauthorised(f"namespace {str(address)!r} was granted to you for reading only")
        return (namespace_from(rows[0]),)

    async def own(self, text: str, *, owner: str) -> Namespace:
        """Return a namespace of the owner itself, for operations reserved to owners. Raises
        NotFound."""
        address = parse_address(text, asker=owner)
        if address.owner != owner:
            raise Unauthorised(f"namespace {str(address)!r} is not yours")
        return await self._registry.namespace(owner, address.name)

    async def grant(self, owner: str, name: str, *, to: str, access: Access) -> None:
        namespace = await self.own(name, owner=owner)
        grantee = check_grantee(to, owner=owner)
        ((others,),) = await self._database.read(_COUNT_GRANTS, (owner, namespace.id, grantee))
        if others >= MAX_GRANTS:
            raise InvalidArguments(f"limit reached ({MAX_GRANTS} grants); revoke one first")
        values = (namespace.id, grantee, access.value, self._now().isoformat())
        async with self._database.transaction() as writer:
            await writer.execute(_GRANT, values)

    async def revoke(self, owner: str, name: str, *, to: str) -> bool:
        namespace = await self.own(name, owner=owner)
        grantee = check_grantee(to, owner=owner)
        async with self._database.transaction() as writer:
            return bool(await writer.execute(_REVOKE, (namespace.id, grantee)))

    async def given(self, owner: str) -> Sequence[NamespaceGrant]:
        rows = await self._database.read(_SELECT_GIVEN, (owner,))
        return [
            NamespaceGrant(
                namespace=row[0],
                to=row[1],
                access=Access(row[2]),
                created_at=datetime.fromisoformat(row[3]),
            )
            for row in rows
        ]


def _is_trusted(address: NamespaceAddress, trusted: Collection[str] | None) -> bool:
    return trusted is None or is_named_by(address, trusted)


def _access_denied(address: NamespaceAddress) -> Unauthorised:
    return Unauthorised(f"namespace {str(address)!r} was not granted to you")
