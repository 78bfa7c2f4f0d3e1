"""One tool: what a model sees of it, the check of its arguments, the function. Runs nothing."""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Protocol

from spade_llm.errors import ConfigurationError, InvalidArguments
from spade_llm.providers.model import ToolSpec

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

    def __post_init__(self) -> None:
        check_name(self.name)
        _check_schema(self.name, self.parameters)

    @property
    def spec(self) -> ToolSpec:
        return ToolSpec(
            name=self.name, description=self.description, parameters=dict(self.parameters)
        )

    @property
    def is_async(self) -> bool:
        return inspect.iscoroutinefunction(self.func)

    def bind(self, arguments: Mapping[str, object]) -> Callable[[], object]:
        _check_arguments(self.parameters, arguments)
        return partial(self.func, **arguments)


def check_name(name: str) -> None:
    """Raises ConfigurationError unless it is a name that models' servers take."""
    if not _NAME.fullmatch(name):
        raise ConfigurationError(
            f"tool name {name!r} is not valid; use 1 to 64 letters, digits, '_' or '-'"
        )


def _check_schema(name: str, parameters: Mapping[str, object]) -> None:
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import SchemaError

    if parameters.get("type") != "object":
        raise ConfigurationError(f"parameters of tool {name!r} must be a schema of type 'object'")
    try:
        Draft202012Validator.check_schema(parameters)
    except SchemaError as error:
        raise ConfigurationError(
            f"parameters of tool {name!r} are not a JSON Schema: {error.message}"
        ) from error


def _check_arguments(parameters: Mapping[str, object], arguments: Mapping[str, object]) -> None:
    from jsonschema import Draft202012Validator

    found = sorted(
        Draft202012Validator(parameters).iter_errors(dict(arguments)), key=lambda e: e.json_path
    )
    if found:
        raise InvalidArguments("; ".join(f"{e.json_path}: {e.message[:200]}" for e in found[:5]))
