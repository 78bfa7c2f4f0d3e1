"""Which items of a batch are to be done, by what its asker wants when one is wrong. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from spade_llm.errors import ServiceError
from spade_llm.memory.store import BatchError, OnError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

T = TypeVar("T")


def checked(
    items: Sequence[T], check: Callable[[T], object], on_error: OnError
) -> tuple[Sequence[tuple[int, T]], tuple[BatchError, ...]]:
    """Those to be done, with their indexes, and what is wrong with others."""
    good: list[tuple[int, T]] = []
    errors: list[BatchError] = []
    for index, item in enumerate(items):
        error = _error(index, item, check)
        if error is None:
            good.append((index, item))
        else:
            errors.append(error)
            if on_error is OnError.STOP:
                break
    is_undone = bool(errors) and on_error is OnError.ROLLBACK
    return ([] if is_undone else good), tuple(errors)


def _error(index: int, item: T, check: Callable[[T], object]) -> BatchError | None:
    try:
        check(item)
    except ServiceError as error:
        return BatchError(index=index, code=error.code, reason=str(error))
    return None
