"""How one ontology is served, and what a handler sees of a request. Knows no queue."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field
from enum import Enum, auto
from itertools import count
from typing import TYPE_CHECKING

from spade_llm.acl import AclMessage, Performative

if TYPE_CHECKING:
    from spade_llm.runtime.transport import Send


class Effect(Enum):
    """What running a handler twice would do.

    All but READ remember their answer by the request's id. Whoever sends the same request again
    gets the same answer; whoever *asks* again under the same id, with a new deadline, gets a new
    attempt where that is safe: after a refusal (nothing changed), and after a failure of WRITE
    and RESUME.
    """

    READ = auto()
    """Nothing: a repeated request simply runs again."""
    WRITE = auto()
    """Nothing more (the handler is idempotent by the request's id)."""
    RESUME = auto()
    """Like WRITE, and taken up again by itself when the process died while it ran or waited."""
    ONCE = auto()
    """Harm: after the process died while it ran, the request fails as `interrupted`."""


@dataclass(frozen=True, slots=True)
class Request:
    """One request as its handler sees it."""

    message: AclMessage
    _send: Send
    _numbers: Iterator[int] = field(default_factory=count)
    _aside: Callable[[], AbstractAsyncContextManager[None]] = nullcontext

    async def part(self, content: str) -> None:
        """Send the next part of a stream. The answer repeats the whole: a part may be lost."""
        number = next(self._numbers)
        await self._send(self.message.reply(Performative.INFORM, content, sequence=number))

    async def agree(self) -> None:
        """Say that the answer will take longer than half of the deadline."""
        await self._send(self.message.reply(Performative.AGREE, ""))

    def set_aside(self) -> AbstractAsyncContextManager[None]:
        """For a handler that waits for a person: others get its place, and its time stands still.

        A deadline of the asker's holds on. Its conversation waits with it, except what the route
        diverts; the wait needs a bound of its own.
        """
        return self._aside()


Handler = Callable[[Request], Awaitable[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """How requests of one ontology are served."""

    handler: Handler
    effect_of: Callable[[AclMessage], Effect]
    max_time_s_of: Callable[[AclMessage], float | None] = lambda _: None
    """How long its handler may run, if not as long as others (`Limits.max_time_s`): for requests
    whose work grows with what is asked. Whoever serves such bounds how many run at once."""
    divert: Callable[[AclMessage], Handler | None] = lambda _message: None
    """Serves a message at once, beside its conversation, because what runs there waits for it;
    None: it waits its turn. Told of each one as it arrives; must not raise."""
    ends_with_asker: bool = False
    """It is stopped when its asker's connection has ended: nobody else wants the answer. Not for
    people: their server keeps it until they are back."""
