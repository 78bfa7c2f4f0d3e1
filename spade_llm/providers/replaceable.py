"""Proxy of a model that can be replaced while it is in use (hot swap).

Each call holds a lease on the model that it began with, and so does a turn: `same_model()` keeps
all calls of the block at the model of its first one. A replaced model may be closed when its last
lease has ended.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Unpack

from spade_llm.providers.model import (
    CallOptions,
    ChatModel,
    Completion,
    ContextMessage,
    TextDelta,
    ToolSpec,
    closing_stream,
)


@dataclass(slots=True, eq=False)
class ModelLease:
    """Model, and the number of calls and turns that use it now."""

    model: ChatModel
    uses: int = 0

    @contextmanager
    def held(self) -> Iterator[ChatModel]:
        self.uses += 1
        try:
            yield self.model
        finally:
            self.uses -= 1


@dataclass(slots=True, eq=False)
class _Scope:
    leases: dict[ReplaceableModel, ModelLease] = field(default_factory=dict)
    is_open: bool = True


_current: ContextVar[_Scope | None] = ContextVar("model_scope", default=None)


@contextmanager
def same_model() -> Iterator[None]:
    """Keep the calls in the block, and those of tasks that it starts and waits for, at one model
    each, also if it is replaced meanwhile."""
    scope = _Scope()
    before = _current.set(scope)
    try:
        yield
    finally:
        _current.reset(before)
        # Tasks that outlive the block use the model of the time of their calls.
        scope.is_open = False
        for lease in scope.leases.values():
            lease.uses -= 1


class ReplaceableModel:
    """ChatModel that passes calls on to a model that may be replaced; the caller closes both."""

    def __init__(self, model: ChatModel) -> None:
        self._lease = ModelLease(model)

    def replace(self, model: ChatModel) -> ModelLease:
        """Use `model` for the turns and calls that begin from now on. Returns the lease of the
        former one, which may be closed when it has no more uses."""
        former, self._lease = self._lease, ModelLease(model)
        return former

    @property
    def current(self) -> ChatModel:
        """The model; within `same_model()` that of the first call."""
        return self._leased().model

    @property
    def is_outdated(self) -> bool:
        """True within a turn that goes on with a replaced model."""
        return self._leased() is not self._lease

    @property
    def name(self) -> str:
        return self.current.name

    async def complete(
        self,
        messages: Sequence[ContextMessage],
        tools: Sequence[ToolSpec] = (),
        **options: Unpack[CallOptions],
    ) -> Completion:
        with self._lease_for_call().held() as model:
            return await model.complete(messages, tools, **options)

    async def stream(
        self,
        messages: Sequence[ContextMessage],
        tools: Sequence[ToolSpec] = (),
        **options: Unpack[CallOptions],
    ) -> AsyncGenerator[TextDelta | Completion]:
        with self._lease_for_call().held() as model:
            pieces = model.stream(messages, tools, **options)
            async with closing_stream(pieces):
                async for piece in pieces:
                    yield piece

    def _leased(self) -> ModelLease:
        scope = _current.get()
        if scope is None or not scope.is_open:
            return self._lease
        return scope.leases.get(self, self._lease)

    def _lease_for_call(self) -> ModelLease:
        """The lease of the current scope, which begins here if this is its first call."""
        scope, lease = _current.get(), self._leased()
        if scope is not None and scope.is_open and self not in scope.leases:
            scope.leases[self] = lease
            lease.uses += 1
        return lease
