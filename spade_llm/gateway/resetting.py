"""specs/4 §7: messages of one principal, or everything of all, deleted. Knows no HTTP."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from spade_llm.errors import RequestError
from spade_llm.services.sessions import MAX_SESSIONS

if TYPE_CHECKING:
    from collections.abc import Coroutine, Sequence

    from spade_llm.gateway.gateway import Gateway
    from spade_llm.gateway.network import Clients
    from spade_llm.services.rag import RagClient
    from spade_llm.services.sessions import Sessions

logger = logging.getLogger(__name__)


@dataclass(slots=True, kw_only=True)
class Wiped:
    """How much was deleted, and by whom not all was."""

    sessions: int = 0
    messages: int = 0
    memory_entries: int = 0
    rag_documents: int = 0
    vectors: int = 0
    failed: set[str] = field(default_factory=set)
    """Bare JIDs of agents."""


async def clear_messages(gateway: Gateway, principal: str, clients: Clients) -> int:
    """Of all sessions of one principal, at every assistant; how many there were. What is
    remembered of them stays, and how they are set. Raises RequestError, StorageFailed."""
    names = [row.session_id for row in gateway.state.sessions(principal)]
    asked = [_clear(sessions, names) for sessions in clients.sessions_of.values()]
    count = sum(await asyncio.gather(*asked))
    for name in names:
        gateway.state.drop_session(principal, name)
    await gateway.answers.forget(principal)
    return count


async def _clear(sessions: Sessions, names: Sequence[str]) -> int:
    parts = [names[i : i + MAX_SESSIONS] for i in range(0, len(names), MAX_SESSIONS)]
    return sum([await sessions.clear_messages(part) for part in parts])


async def wipe(gateway: Gateway) -> Wiped:
    """Everything of everybody who ever asked through this gateway. An agent that cannot is named,
    and the others go on; whose data may be left is still known then, for the next time.

    Raises:
        StorageFailed: ours cannot be deleted.
    """
    wiped = Wiped()
    seen = await gateway.outlook.look()
    wiped.failed.update(jid for jid in _keepers(gateway) if seen.get(jid) is None)
    for principal in gateway.state.principals():
        await _wipe_one(gateway.network.of(principal), wiped)
    wiped.sessions = gateway.state.forget_all(with_principals=not wiped.failed)
    await gateway.answers.forget_all()
    return wiped


def _keepers(gateway: Gateway) -> list[str]:
    rag = gateway.addresses.rag
    return [*gateway.addresses.assistants, *([rag] if rag else [])]


async def _wipe_one(clients: Clients, wiped: Wiped) -> None:
    for jid, sessions in clients.sessions_of.items():
        await _unless_failed(jid, _forget(sessions, wiped), wiped)
    if clients.rag is not None:
        await _unless_failed(clients.rag.jid, _delete(clients.rag, wiped), wiped)


async def _unless_failed(jid: str, work: Coroutine[object, object, None], wiped: Wiped) -> None:
    """Who is away is not asked for each principal anew: each would take its deadline."""
    if jid in wiped.failed:
        work.close()
        return
    try:
        await work
    except RequestError as error:
        logger.error("%s could not delete everything: %s", jid, error)
        wiped.failed.add(jid)


async def _forget(sessions: Sessions, wiped: Wiped) -> None:
    cleared = await sessions.forget_everything()
    wiped.messages += cleared.messages
    wiped.memory_entries += sum(cleared.by_type.values())


async def _delete(rag: RagClient, wiped: Wiped) -> None:
    """The principal's own; others' that it may see have their owner's name before a `/`."""
    for namespace in await rag.namespaces():
        if "/" in namespace.name:
            continue
        stats = await rag.stats(namespace.name)
        wiped.rag_documents += await rag.delete(namespace=namespace.name)
        wiped.vectors += stats.vectors
