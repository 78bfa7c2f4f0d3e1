"""One tool: what a model sees of it, the check of its arguments, the function. Runs nothing."""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Protocol

from spade_llm.errors import ConfigurationError
from spade_llm.providers.model import ToolSpec
from spade_llm.tools.arguments import ArgumentCheck

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")


class Tool(Protocol):
    """Something a model may call."""

    @property
    def spec(self) -> ToolSpec: ...

    @property
    def is_async(self) -> bool:
        """True: `bind` gives a coroutine function; False: call it off the event loop."""
        ...

    @property
    def timeout_s(self) -> float | None:
        """Its own time limit; None: that of the toolbox."""
        ...

    @property
    def max_concurrent(self) -> int | None:
        """How many calls of it may run at the same time; None: as many as the toolbox runs."""
        ...

    @property
    def max_result_chars(self) -> int | None:
        """A longer result is cut, or given in pages of this size; None: that of the toolbox."""
        ...

    def bind(self, arguments: Mapping[str, object]) -> Callable[[], object]:
        """The call, checked and ready to be made.

        Raises:
            InvalidArguments: written for the model, which may try again.
        """
        ...


@dataclass(frozen=True, slots=True)
class LLMTool:
    """A function with a JSON Schema of your own; it is called with the arguments by name."""

    name: str
    description: str
    parameters: Mapping[str, object]
    """JSON Schema of the arguments object."""
    func: Callable[..., object] = field(repr=False)
    """A function or a coroutine function. Raise ToolFailed to tell the model what went wrong."""
    timeout_s: float | None = None
    max_concurrent: int | None = None
    max_result_chars: int | None = None
    needs_approval: bool = False
    """A person must say yes to each call first."""
    _check: ArgumentCheck = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_name(self.name)
        check_limits(self.name, self)
        object.__setattr__(self, "_check", ArgumentCheck(self.name, self.parameters))
        self._check.check_schema()

    @property
    def spec(self) -> ToolSpec:
        return ToolSpec(
            name=self.name,
            description=self.description,
            parameters=dict(self.parameters),
            needs_approval=self.needs_approval,
        )

    @property
    def is_async(self) -> bool:
        return inspect.iscoroutinefunction(self.func)

    def bind(self, arguments: Mapping[str, object]) -> Callable[[], object]:
        self._check.check(arguments)
        return partial(self.func, **arguments)


class Limited(Protocol):
    """What limits a tool may have."""

    @property
    def timeout_s(self) -> float | None: ...
    @property
    def max_concurrent(self) -> int | None: ...
    @property
    def max_result_chars(self) -> int | None: ...


def check_limits(name: str, limits: Limited) -> None:
    """Raises ConfigurationError unless each is positive."""
    for key in ("timeout_s", "max_concurrent", "max_result_chars"):
        value = getattr(limits, key)
        if value is not None and not value > 0:
            raise ConfigurationError(f"tool {name!r}: {key} is {value!r}: give a positive number")


def is_name(name: str) -> bool:
    """Whether models' servers take it: one that they do not costs the whole request."""
    return _NAME.fullmatch(name) is not None


def check_name(name: str) -> None:
    """Raises ConfigurationError unless `is_name`."""
    if not is_name(name):
        raise ConfigurationError(
            f"tool name {name!r} is not valid; use 1 to 64 letters, digits, '_' or '-'"
        )
