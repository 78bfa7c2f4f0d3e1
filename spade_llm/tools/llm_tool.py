"""LLMTool: a function with a JSON Schema, limits and examples; argument validation."""

from __future__ import annotations

import asyncio
import inspect
import re
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Protocol, TypedDict, Unpack

from spade_llm.core.arguments import check_keywords
from spade_llm.core.errors import ConfigurationError, InvalidArguments
from spade_llm.providers.model import ToolExample, ToolSpec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from jsonschema.exceptions import ValidationError
    from jsonschema.protocols import Validator

    _Keyword = Callable[..., Iterator[ValidationError]]

MAX_FAULTS = 5
"""Maximum number of faults named for one call."""
MAX_FAULT_CHARS = 200
MAX_STEPS = 50_000
"""Keywords of a foreign schema that are applied in one check: about a second."""
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")


class ToolKeywords(TypedDict, total=False):
    """Keyword arguments of a tool; see ToolSettings."""

    timeout_s: float | None
    max_concurrent: int | None
    max_result_chars: int | None
    needs_approval: bool
    asks_others: bool
    examples: Sequence[ToolExample]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSettings:
    """Options of a tool. None: the limit of its toolbox applies."""

    timeout_s: float | None = None
    max_concurrent: int | None = None
    """Calls that run at the same time."""
    max_result_chars: int | None = None
    """A longer result is cut, or given in pages of this size."""
    needs_approval: bool = False
    """A person must approve each call first."""
    asks_others: bool = False
    """It waits for a person or another agent; the time of the turn is stopped meanwhile."""
    examples: Sequence[ToolExample] = ()


class Tool(Protocol):
    """A tool that a model may call."""

    @property
    def spec(self) -> ToolSpec:
        """Name, description and parameters, as a model sees them."""

    @property
    def is_async(self) -> bool:
        """True: `bind` gives a coroutine function; False: call it off the event loop."""

    @property
    def timeout_s(self) -> float | None:
        """Time limit in seconds; None: the limit of the toolbox."""

    @property
    def max_concurrent(self) -> int | None:
        """Maximum number of concurrent calls of this tool; None: the limit of the toolbox."""

    @property
    def max_result_chars(self) -> int | None:
        """Length from which a result is truncated or paginated; None: the limit of the toolbox."""

    def bind(self, arguments: Mapping[str, object]) -> Callable[[], object]:
        """Validate the arguments and return the call, to be run by the toolbox. Raises
        InvalidArguments: written for the model, which may try again."""


class ToolWithSettings:
    """Base class of tools with ToolSettings."""

    def __init__(self, name: str, options: ToolSettings) -> None:
        """Raises ConfigurationError: the name is not valid, or a limit is not positive."""
        if not is_name(name):
            raise ConfigurationError(
                f"tool name {name!r} is not valid; use 1 to 64 letters, digits, '_' or '-'"
            )
        for key in ("timeout_s", "max_concurrent", "max_result_chars"):
            value = getattr(options, key)
            if value is not None and not value > 0:
                raise ConfigurationError(f"tool {name!r}: {key} is {value!r}; it must be positive")
        self._options = options

    @property
    def timeout_s(self) -> float | None:
        return self._options.timeout_s

    @property
    def max_concurrent(self) -> int | None:
        return self._options.max_concurrent

    @property
    def max_result_chars(self) -> int | None:
        return self._options.max_result_chars


class LLMTool(ToolWithSettings):
    """A function with a JSON Schema of your own; it is called with the arguments by name.

    A subclass may override `execute`: then that is what calls run.
    """

    def __init__(
        self,
        name: str,
        description: str,
        parameters: Mapping[str, object],
        func: Callable[..., object],
        strict: bool = False,
        **options: Unpack[ToolKeywords],
    ) -> None:
        """`parameters`: JSON Schema of the arguments object. `func`: a function or a coroutine
        function; raise ToolFailed to tell the model what went wrong. `strict`: models that can are
        bound to the schema (see ToolSpec). Options: see ToolSettings.
        """
        check_keywords(options, ToolKeywords, of=LLMTool)
        super().__init__(name, ToolSettings(**options))
        self.name = name
        self.description = description
        # Model servers require both keys.
        self.parameters: Mapping[str, object] = {"type": "object", "properties": {}, **parameters}
        self.func = func
        self.strict = strict
        self._check = ArgumentValidator(name, self.parameters)
        self._check.check_schema()

    def __repr__(self) -> str:
        return f"{type(self).__name__}(name={self.name!r})"

    @property
    def spec(self) -> ToolSpec:
        return ToolSpec(
            name=self.name,
            description=self.description,
            parameters=dict(self.parameters),
            needs_approval=self._options.needs_approval,
            asks_others=self._options.asks_others,
            examples=tuple(self._options.examples),
            is_strict=self.strict,
        )

    @property
    def is_async(self) -> bool:
        # `execute` is a coroutine function, whatever the function below it is.
        return self._has_own_execute or inspect.iscoroutinefunction(self.func)

    def bind(self, arguments: Mapping[str, object]) -> Callable[[], object]:
        self._check.check(arguments)
        return partial(self.execute if self._has_own_execute else self.func, **arguments)

    async def execute(self, **kwargs: object) -> object:
        """Call the function, a plain one in a thread, without any check or bound: agents call
        their tools through a toolbox, which has both."""
        if inspect.iscoroutinefunction(self.func):
            return await self.func(**kwargs)
        value = await asyncio.to_thread(self.func, **kwargs)
        return await value if inspect.isawaitable(value) else value

    def to_dict(self) -> dict[str, object]:
        """Name, description and parameters."""
        return {
            "name": self.name,
            "description": self.description,
            "parameters": dict(self.parameters),
        }

    def to_openai_tool(self) -> dict[str, object]:
        """Return the tool definition in the OpenAI request format."""
        return {"type": "function", "function": {**self.to_dict(), "strict": self.strict}}

    @property
    def _has_own_execute(self) -> bool:
        return type(self).execute is not LLMTool.execute


def is_name(name: str) -> bool:
    """Check whether model servers accept the name; an invalid one makes the whole request fail."""
    return _NAME.fullmatch(name) is not None


class ArgumentValidator:
    """Argument validator of one tool; the schema is compiled at the first call."""

    def __init__(
        self,
        name: str,
        schema: Mapping[str, object],
        *,
        is_foreign: bool = False,
        of: str = "parameters of tool",
    ) -> None:
        """`is_foreign`: the schema's regular expressions are not run, and at most MAX_STEPS
        keywords are applied. A hostile schema could block the process for hours, and the tool
        validates its arguments itself anyway. `of`: description of the schema in error messages."""
        self._subject = f"{of} {name!r}"
        self._schema = schema
        self._is_foreign = is_foreign
        self._steps_left = MAX_STEPS

    def check_schema(self) -> None:
        """Raises ConfigurationError unless it is a schema of an object."""
        from jsonschema.exceptions import SchemaError

        if self._schema.get("type") != "object":
            raise ConfigurationError(f"{self._subject} must be a schema of type 'object'")
        try:
            type(self._validator).check_schema(dict(self._schema))
        except (SchemaError, RecursionError) as error:
            reason = getattr(error, "message", "nested too deeply")
            raise ConfigurationError(f"{self._subject} are not a JSON Schema: {reason}") from error

    def check(self, arguments: Mapping[str, object]) -> None:
        """Validate arguments. Raises InvalidArguments, which tells the model what is wrong."""
        from referencing.exceptions import Unresolvable

        self._steps_left = MAX_STEPS
        try:
            errors = self._validator.iter_errors(dict(arguments))
            faults = sorted(errors, key=lambda fault: str(fault.json_path))
        except Unresolvable as error:
            raise InvalidArguments(
                f"the tool's schema has an unresolvable reference: {error.ref!r}"
            ) from error
        except RecursionError as error:
            raise InvalidArguments(
                "the tool's schema or the arguments recurse too deeply"
            ) from error
        except _TooManySteps as error:
            raise InvalidArguments("the schema takes too many steps to validate against") from error
        # `multipleOf` divides by what the schema says.
        except ArithmeticError as error:
            raise InvalidArguments("a number is out of range") from error
        if faults:
            raise InvalidArguments("; ".join(map(_described, faults[:MAX_FAULTS])))

    def _with_step_limit(self, keyword: _Keyword) -> _Keyword:
        def apply(*of: object) -> Iterator[ValidationError]:
            self._steps_left -= 1
            if self._steps_left < 0:
                raise _TooManySteps
            return keyword(*of) or _unchecked()

        return apply

    @cached_property
    def _validator(self) -> Validator:
        from jsonschema import Draft202012Validator
        from jsonschema.validators import extend, validator_for
        from referencing.jsonschema import EMPTY_REGISTRY

        kind = validator_for(self._schema, default=Draft202012Validator)
        if self._is_foreign:
            # Replaced before they are counted, so that the replacements count too.
            kind = extend(kind, _regex_free_keywords(kind))
            counted = {name: self._with_step_limit(one) for name, one in kind.VALIDATORS.items()}
            kind = extend(kind, counted)
        # Without a registry of its own, jsonschema 4.25 fetches what a `$ref` names.
        return kind(dict(self._schema), registry=EMPTY_REGISTRY, format_checker=kind.FORMAT_CHECKER)


class _TooManySteps(Exception):
    """The step limit was exceeded: a schema of a few lines may branch exponentially."""


def _regex_free_keywords(kind: type[Validator]) -> dict[str, _Keyword]:
    """Keywords that run a schema's regular expressions, replaced by ones that run none."""
    additional = kind.VALIDATORS.get("additionalProperties")

    def additional_properties(
        validator: Validator, value: object, instance: object, schema: Mapping[str, object]
    ) -> Iterator[ValidationError]:
        # Which properties are additional depends on patterns that are not run.
        if additional is None or "patternProperties" in schema:
            return _unchecked()
        return additional(validator, value, instance, schema) or _unchecked()

    return {
        "pattern": _unchecked,
        "patternProperties": _unchecked,
        "additionalProperties": additional_properties,
    }


def _unchecked(*_: object) -> Iterator[ValidationError]:
    return iter(())


def _described(fault: ValidationError) -> str:
    return f"{fault.json_path}: {fault.message[:MAX_FAULT_CHARS]}"
