"""Function tool: the `@tool` decorator derives the schema from a function's signature.

@tool
def area(width: float, height: float = 1.0) -> float:
    '''Area of a rectangle.

    Args:
        width: In metres.
        height: In metres.
    '''
    return width * height
"""

from __future__ import annotations

import inspect
import re
from functools import cached_property, partial
from typing import (
    TYPE_CHECKING,
    Any,
    Generic,
    ParamSpec,
    TypeVar,
    Unpack,
    get_type_hints,
    overload,
)

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model

from spade_llm.core.errors import ConfigurationError, InvalidArguments
from spade_llm.providers.model import ToolSpec
from spade_llm.tools.llm_tool import ToolKeywords, ToolSettings, check_limits, check_name

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")

_ARGS_SECTION = re.compile(r"^[ \t]*Args:[ \t]*\n(?P<lines>(?:[ \t]+.*\n?|\n)*)", re.MULTILINE)
_ARG_LINE = re.compile(r"(?P<name>\w+)\s*(?:\([^)]*\))?:\s*(?P<text>.*)")
_SECTION = re.compile(r"^[ \t]*(?:Args|Returns|Raises|Yields|Examples?):[ \t]*$", re.MULTILINE)


class FunctionTool(Generic[_Parameters, _Result]):
    """Still the function, when called; also a Tool."""

    def __init__(
        self,
        func: Callable[_Parameters, _Result],
        *,
        name: str | None = None,
        description: str | None = None,
        options: ToolSettings | None = None,
    ) -> None:
        self._func = func
        self._name = name or func.__name__
        check_name(self._name)
        documentation = inspect.getdoc(func) or ""
        self._description = description or _summary(documentation)
        self._model = _arguments_model(self._name, func, documentation)
        self._options = options or ToolSettings()
        check_limits(self._name, self._options)

    def __call__(self, *args: _Parameters.args, **kwargs: _Parameters.kwargs) -> _Result:
        return self._func(*args, **kwargs)

    @property
    def spec(self) -> ToolSpec:
        # Type checkers accept no cached_property where a Protocol has a property.
        return self._spec

    @cached_property
    def _spec(self) -> ToolSpec:
        schema = self._model.model_json_schema()
        # A model reads the schema in each turn, and the title only repeats the tool's name.
        schema.pop("title", None)
        return ToolSpec(
            name=self._name,
            description=self._description,
            parameters=schema,
            needs_approval=self._options.needs_approval,
            asks_others=self._options.asks_others,
            examples=tuple(self._options.examples),
        )

    @property
    def is_async(self) -> bool:
        return inspect.iscoroutinefunction(self._func)

    @property
    def timeout_s(self) -> float | None:
        return self._options.timeout_s

    @property
    def max_concurrent(self) -> int | None:
        return self._options.max_concurrent

    @property
    def max_result_chars(self) -> int | None:
        return self._options.max_result_chars

    def bind(self, arguments: Mapping[str, object]) -> Callable[[], object]:
        try:
            checked = self._model.model_validate(dict(arguments))
        except ValidationError as error:
            raise InvalidArguments(_readable(error)) from error
        return partial(_call, self._func, _given_arguments(checked))


@overload
def tool(func: Callable[_Parameters, _Result], /) -> FunctionTool[_Parameters, _Result]: ...


@overload
def tool(
    *, name: str | None = None, description: str | None = None, **options: Unpack[ToolKeywords]
) -> Callable[[Callable[_Parameters, _Result]], FunctionTool[_Parameters, _Result]]: ...


def tool(
    func: Callable[_Parameters, _Result] | None = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    **options: Unpack[ToolKeywords],
) -> (
    FunctionTool[_Parameters, _Result]
    | Callable[[Callable[_Parameters, _Result]], FunctionTool[_Parameters, _Result]]
):
    """Make a tool of a function; name and description come from it unless they are given.

    Options: those of ToolOptions (timeout_s, max_concurrent, max_result_chars, …).
    """
    chosen = ToolSettings(**options)

    def made(one: Callable[_Parameters, _Result]) -> FunctionTool[_Parameters, _Result]:
        return FunctionTool(one, name=name, description=description, options=chosen)

    return made if func is None else made(func)


def _call(func: Callable[..., object], given: Mapping[str, object]) -> object:
    return func(**given)


def _given_arguments(checked: BaseModel) -> dict[str, object]:
    """Return the given arguments by parameter name; the function's own defaults apply to the
    others."""
    fields = type(checked).model_fields
    return {fields[name].alias or name: getattr(checked, name) for name in checked.model_fields_set}


def _arguments_model(name: str, func: Callable[..., object], documentation: str) -> type[BaseModel]:
    described = _described_arguments(documentation)
    # With the extras of `Annotated`: a pydantic Field there has bounds and a description.
    hints = get_type_hints(func, include_extras=True)
    fields: dict[str, Any] = {}  # create_model's overloads take nothing narrower.
    for number, parameter in enumerate(inspect.signature(func).parameters.values()):
        _check_parameter(name, parameter, has_type=parameter.name in hints)
        default = ... if parameter.default is parameter.empty else parameter.default
        field = Field(default, alias=parameter.name, description=described.get(parameter.name))
        # Not under its own name: a parameter may be called `copy` or `schema`, as BaseModel's own.
        fields[f"argument_{number}"] = (hints[parameter.name], field)
    # A misspelt argument is reported to the model instead of dropped.
    config = ConfigDict(extra="forbid", arbitrary_types_allowed=False)
    model: type[BaseModel] = create_model(name, __config__=config, **fields)
    return model


def _check_parameter(name: str, parameter: inspect.Parameter, *, has_type: bool) -> None:
    if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
        raise ConfigurationError(
            f"tool {name!r}: parameter {parameter.name!r} cannot be given by name; "
            "a tool takes no *args, **kwargs or positional-only parameters"
        )
    if not has_type:
        raise ConfigurationError(f"tool {name!r}: parameter {parameter.name!r} needs a type")


def _summary(documentation: str) -> str:
    section = _SECTION.search(documentation)
    text = documentation[: section.start()] if section else documentation
    return text.strip()


def _described_arguments(documentation: str) -> dict[str, str]:
    section = _ARGS_SECTION.search(documentation)
    if section is None:
        return {}
    found: dict[str, str] = {}
    last = ""
    for line in section["lines"].splitlines():
        match = _ARG_LINE.fullmatch(line.strip())
        if match:
            last = match["name"]
            found[last] = match["text"]
        elif last and line.strip():
            found[last] += f" {line.strip()}"
    return found


def _readable(error: ValidationError) -> str:
    """Format validation errors: a clause per fault (5 at most), without pydantic's links and the
    values."""
    faults = error.errors(include_url=False, include_input=False, include_context=False)
    return "; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in faults[:5])
