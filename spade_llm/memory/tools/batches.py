"""Tools memory_batch_store and memory_batch_update."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from operator import attrgetter
from typing import TYPE_CHECKING, Annotated, Any, Generic, TypeVar

from pydantic import Field

from spade_llm.core.errors import InvalidArguments, NotFound
from spade_llm.memory.contract import BatchError, BatchResult, MemoryChange, OnError
from spade_llm.memory.tools.arguments import ToolArguments, list_of, narrow_arguments
from spade_llm.memory.tools.entries import ChangeArguments, DraftArguments
from spade_llm.memory.tools.entry_tool import (
    NOT_FOUND_ERROR,
    EntryTool,
    error_message,
    error_type,
    memory_not_found,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from spade_llm.memory.tools.entry_tool import SubjectScope, ToolAnswer

ItemT = TypeVar("ItemT")

MAX_BATCH = 100

OnErrorArgument = Annotated[
    OnError,
    Field(
        description="When an item is wrong: rollback does nothing at all, continue does the good"
        " ones, stop keeps those before it"
    ),
]


class StoreBatchArguments(ToolArguments):
    items: list[Any] = Field(description="Memories to store")
    on_error: OnErrorArgument = OnError.ROLLBACK


class UpdateBatchArguments(ToolArguments):
    updates: list[Any] = Field(description="Changes to make")
    on_error: OnErrorArgument = OnError.ROLLBACK


class BatchTools:
    def __init__(self, scope: SubjectScope, *, max_batch: int = MAX_BATCH) -> None:
        self._scope = scope
        self._max_batch = max_batch

    def __iter__(self) -> Iterator[EntryTool]:
        yield EntryTool(
            name="memory_batch_store",
            description="Store several memories at once.",
            arguments=_models(self._max_batch)[0],
            run=self.store,
        )
        yield EntryTool(
            name="memory_batch_update",
            description="Change several memories at once.",
            arguments=_models(self._max_batch)[1],
            run=self.update,
        )

    async def store(self, arguments: StoreBatchArguments) -> ToolAnswer:
        on_error = arguments.on_error
        batch = _parse_items(
            arguments.items, lambda item: DraftArguments.read(item).draft(self._scope)
        ).to_process(on_error)
        result = BatchResult(ids=())
        if batch.good:
            drafts = [draft for _, draft in batch.good]
            result = await self._scope.store.add_many(drafts, on_error=on_error)
        return _batch_answer("stored", result.ids, batch.errors_with(result, on_error))

    async def update(self, arguments: UpdateBatchArguments) -> ToolAnswer:
        on_error = arguments.on_error
        batch = _parse_items(arguments.updates, lambda item: ChangeArguments.read(item).change())
        batch = (await self._check_scope(batch)).to_process(on_error)
        result = BatchResult(ids=())
        if batch.good:
            changes = [change for _, change in batch.good]
            result = await self._scope.store.update_many(changes, on_error=on_error)
        errors = batch.errors_with(result, on_error)
        ids = {index: change.id for index, change in batch.good}
        for at, error in enumerate(errors):
            # The same text for every unknown id, whichever part found the error.
            if error.index in ids and error_type(error.code) == NOT_FOUND_ERROR:
                errors[at] = replace(error, reason=memory_not_found(ids[error.index]))
        return _batch_answer("updated", result.ids, errors)

    async def _check_scope(self, batch: _Batch[MemoryChange]) -> _Batch[MemoryChange]:
        """Report entries about other subjects as not found. Without a subject all of the owner's
        entries are accessible, and the store checks the ids."""
        if self._scope.subject is None or not batch.good:
            return batch
        there = {e.id for e in await self._scope.there([change.id for _, change in batch.good])}
        unknown = [
            BatchError(index=index, code=NotFound.code, reason=memory_not_found(change.id))
            for index, change in batch.good
            if change.id not in there
        ]
        good = [(index, change) for index, change in batch.good if change.id in there]
        return _Batch(good=good, errors=sorted([*batch.errors, *unknown], key=attrgetter("index")))


@cache
def _models(most: int) -> tuple[type[StoreBatchArguments], type[UpdateBatchArguments]]:
    """Arguments of both tools, for batches of this size."""
    return (
        narrow_arguments(StoreBatchArguments, "items", list_of(DraftArguments, most)),
        narrow_arguments(UpdateBatchArguments, "updates", list_of(ChangeArguments, most)),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Batch(Generic[ItemT]):
    """Parsed items of a batch with their indexes, and the errors of the others."""

    good: list[tuple[int, ItemT]]
    errors: list[BatchError]

    def to_process(self, on_error: OnError) -> _Batch[ItemT]:
        """Items to process, considering the existing errors and `on_error`."""
        if not self.errors or on_error is OnError.CONTINUE:
            return self
        if on_error is OnError.ROLLBACK:
            return _Batch(good=[], errors=self.errors)
        first = self.errors[0]
        good = [(index, item) for index, item in self.good if index < first.index]
        return _Batch(good=good, errors=[first])

    def errors_with(self, result: BatchResult, on_error: OnError) -> list[BatchError]:
        """Join these errors with those of the store. With STOP only the first one counts, which is
        the store's."""
        theirs = [
            BatchError(index=self.good[one.index][0], code=one.code, reason=one.reason)
            for one in result.errors
        ]
        if theirs and on_error is OnError.STOP:
            return theirs
        return sorted([*self.errors, *theirs], key=attrgetter("index"))


def _parse_items(found: Sequence[object], read: Callable[[object], ItemT]) -> _Batch[ItemT]:
    good: list[tuple[int, ItemT]] = []
    errors: list[BatchError] = []
    for index, item in enumerate(found):
        try:
            good.append((index, read(item)))
        except InvalidArguments as error:
            errors.append(BatchError(index=index, code=error.code, reason=str(error)))
    return _Batch(good=good, errors=errors)


def _batch_answer(done: str, ids: Sequence[str], errors: Sequence[BatchError]) -> ToolAnswer:
    error_objects = [
        {
            "index": error.index,
            "error_type": error_type(error.code),
            "message": error_message(error_type(error.code), error.reason),
        }
        for error in errors
    ]
    return {
        "success": not errors,
        f"{done}_count": len(ids),
        f"{done}_ids": list(ids),
        "errors": error_objects,
    }
