"""Who asks, and whom they can ask: what a route depends on.

@router.get("/sessions")
async def sessions(asked: Asked) -> ...:
    await asked.clients.sessions.stats(...)
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, TypeVar

from fastapi import Depends
from starlette.requests import Request  # FastAPI reads it

from spade_llm.gateway.errors import HttpError, NetworkAway
from spade_llm.gateway.idempotency import wire_id
from spade_llm.gateway.leaving import while_there
from spade_llm.gateway.repeating import KEY

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from spade_llm.gateway.gateway import Gateway
    from spade_llm.gateway.network import Clients
    from spade_llm.gateway.principal import Principal
    from spade_llm.services.chat_bodies import Reply

T = TypeVar("T")

_SESSIONS = uuid.UUID("2f4b7c0a-54f5-5d0e-9a3c-0d6e0d3c1b57")
"""What ids of sessions are made in that a repeated request is to find again; drawn once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """One request of one principal."""

    gateway: Gateway
    principal: Principal
    request_id: str
    key: str
    """Idempotency-Key; empty: none."""
    request: Request

    @property
    def clients(self) -> Clients:
        """What is asked through them is asked for the principal. Raises NetworkAway."""
        self.check_network()
        return self.gateway.network.of(self.principal.jid)

    def check_network(self) -> None:
        """Raises NetworkAway."""
        if not self.gateway.is_connected():
            raise NetworkAway

    @property
    def wire_id(self) -> str | None:
        """The id for the one request to an agent that must not be done twice: equal for equal
        Idempotency-Keys, also after a crash of the gateway. None: without a key any id will do."""
        return wire_id(self.principal.jid, self.key) if self.key else None

    def count_tokens(self, reply: Reply) -> None:
        """Into the metrics."""
        self.gateway.metrics.count_tokens(reply.prompt_tokens, reply.completion_tokens)

    def new_session(self) -> str:
        """A UUID, for a request that names no session; a repeated request finds the first's."""
        known = self.wire_id
        return str(uuid.uuid5(_SESSIONS, known) if known else uuid.uuid4())

    async def unless_left(self, work: Coroutine[object, object, T]) -> T:
        """What `work` gives. Is the client gone before, it is cancelled (where it waits for an
        agent, that one is told); one with an Idempotency-Key will come back, and it goes on.
        """
        if self.key:
            return await work
        return await while_there(self.request.receive, work)


async def asking(request: Request) -> Asking:
    """Raises HttpError: 401, nobody is asking."""
    state = request.scope["state"]
    if state.get("principal") is None:
        raise HttpError(401, "Authorization: say `Bearer TOKEN`")
    return Asking(
        gateway=request.app.state.gateway,
        principal=state["principal"],
        request_id=state["request_id"],
        key=request.headers.get(KEY, ""),
        request=request,
    )


Asked = Annotated[Asking, Depends(asking)]


async def asking_admin(asked: Asked) -> Asking:
    """Raises HttpError."""
    if not asked.principal.is_admin:
        raise HttpError(403, "This needs an admin token (`spade-llm token create --admin`)")
    return asked


AskedByAdmin = Annotated[Asking, Depends(asking_admin)]
