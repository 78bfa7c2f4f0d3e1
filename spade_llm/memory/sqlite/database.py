"""The Database role: what the stores ask of the file. Knows no table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from spade_llm.memory.sqlite.given import Given
    from spade_llm.memory.sqlite.ranker import Ranker
    from spade_llm.memory.sqlite.transaction import Transaction
    from spade_llm.memory.sqlite.uses import Uses

T = TypeVar("T")


class Database(Protocol):
    """Reads, and writes that are synced when they return. Raises Busy, StorageFailed."""

    @property
    def now(self) -> Callable[[], datetime]: ...

    @property
    def short_term_ttl_s(self) -> float: ...

    @property
    def is_learned_from(self) -> bool:
        """A learner reads what is said: what is cleared waits for it."""
        ...

    @property
    def ranker(self) -> Ranker: ...

    async def read(self, operation: Callable[[Transaction], T]) -> T:
        """In a reader's thread; all its statements see the same state of the file."""
        ...

    async def glance(self, operation: Callable[[Transaction], T]) -> T:
        """The same in the loop's own thread: a few rows by key. Uses that are only gathered are not
        in them."""
        ...

    async def write(self, operation: Callable[[Transaction], T]) -> T:
        """In the writer's thread; it may be tried again, and refuses before it changes anything."""
        ...

    @property
    def uses(self) -> Uses:
        """Gathered until the next write, or read."""
        ...

    @property
    def given(self) -> Given:
        """Messages that searches found lately."""
        ...
