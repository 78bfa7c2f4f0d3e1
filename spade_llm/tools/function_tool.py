"""Function tool: the `@tool` decorator derives a schema from a signature; loads tools of files."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any, Generic, ParamSpec, TypeVar, Unpack, get_type_hints, overload

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model
from pydantic.errors import PydanticSchemaGenerationError

from spade_llm.core.arguments import check_keywords
from spade_llm.core.errors import ConfigurationError, InvalidArguments
from spade_llm.core.text import validation_problems
from spade_llm.providers.model import ToolSpec
from spade_llm.tools.llm_tool import LLMTool, Tool, ToolKeywords, ToolSettings, ToolWithSettings

_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")

_ARGS_SECTION = re.compile(r"^[ \t]*Args:[ \t]*\n(?P<lines>(?:[ \t]+.*\n?|\n)*)", re.MULTILINE)
_ARG_LINE = re.compile(r"(?P<name>\w+)\s*(?:\([^)]*\))?:\s*(?P<text>.*)")
_SECTION = re.compile(r"^[ \t]*(?:Args|Returns|Raises|Yields|Examples?):[ \t]*$", re.MULTILINE)


class FunctionTool(ToolWithSettings, Generic[_Parameters, _Result]):
    """Tool made of a function; calling it calls the function."""

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
        super().__init__(self._name, options or ToolSettings())
        documentation = inspect.getdoc(func) or ""
        self._description = description or _summary(documentation)
        self._model = _arguments_model(self._name, func, documentation)

    def __call__(self, *args: _Parameters.args, **kwargs: _Parameters.kwargs) -> _Result:
        return self._func(*args, **kwargs)

    @property
    def spec(self) -> ToolSpec:
        """Name, description and parameters, read from the function."""
        # Type checkers accept no cached_property where a Protocol has a property.
        return self._spec

    @cached_property
    def _spec(self) -> ToolSpec:
        schema = self._model.model_json_schema()
        _drop_titles(schema)
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

    def bind(self, arguments: Mapping[str, object]) -> Callable[[], object]:
        try:
            checked = self._model.model_validate(dict(arguments))
        except ValidationError as error:
            raise InvalidArguments(validation_problems(error, whole="arguments")) from error
        # Only the given arguments: the function's own defaults apply to the others.
        fields = type(checked).model_fields
        given = {
            fields[name].alias or name: getattr(checked, name) for name in checked.model_fields_set
        }
        # A parameter may be called `self` or `func`, so the arguments are no keywords of `partial`.
        return partial(_call, self._func, given)


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

    Options: those of ToolSettings (timeout_s, max_concurrent, max_result_chars, …).
    """
    check_keywords(options, ToolKeywords, of=tool)
    chosen = ToolSettings(**options)

    def made(one: Callable[_Parameters, _Result]) -> FunctionTool[_Parameters, _Result]:
        return FunctionTool(one, name=name, description=description, options=chosen)

    return made if func is None else made(func)


def _call(func: Callable[..., object], given: Mapping[str, object]) -> object:
    return func(**given)


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
    try:
        model: type[BaseModel] = create_model(name, __config__=config, **fields)
    except PydanticSchemaGenerationError as error:
        hinted = ", ".join(f"{one.alias}: {hint}" for hint, one in fields.values())
        raise ConfigurationError(
            f"tool {name!r}: one of its parameters ({hinted}) has a type that cannot be described"
            " to a model; use str, int, float, bool, lists, dicts, a dataclass or a pydantic model"
        ) from error
    return model


def _check_parameter(name: str, parameter: inspect.Parameter, *, has_type: bool) -> None:
    if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
        raise ConfigurationError(
            f"tool {name!r}: parameter {parameter.name!r} cannot be given by name; "
            "a tool takes no *args, **kwargs or positional-only parameters"
        )
    if not has_type:
        raise ConfigurationError(f"tool {name!r}: parameter {parameter.name!r} needs a type")


def _drop_titles(schema: object) -> None:
    """Drop the titles that pydantic adds: a model reads the schema in each turn, and they only
    repeat the names."""
    if isinstance(schema, list):
        for one in schema:
            _drop_titles(one)
    elif isinstance(schema, dict):
        # A parameter named `title` is an object.
        if isinstance(schema.get("title"), str):
            del schema["title"]
        for key, value in schema.items():
            if key not in ("const", "default", "enum", "examples"):
                _drop_titles(value)


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


def load_tools(names: Sequence[str], *, folder: Path) -> tuple[Tool, ...]:
    """Load the tools of each `file.py` (relative to the folder) or `package.module`: all of them
    without a leading `_`, or the one of `…:name`. The folder may contain packages, too. Raises
    ConfigurationError: names the entry and the fix."""
    if names and str(folder) not in sys.path:
        sys.path.append(str(folder))  # The last one, so that it hides no installed module.
    found: dict[str, tuple[str, Tool]] = {}
    for entry in names:
        for one in _tools_of(entry, folder):
            name = one.spec.name
            other, same = found.setdefault(name, (entry, one))
            if same is not one:
                raise ConfigurationError(
                    f"{entry!r} and {other!r} both have a tool {name!r}; rename one"
                )
    return tuple(tool for _, tool in found.values())


def _tools_of(entry: str, folder: Path) -> Sequence[Tool]:
    place, _, name = entry.partition(":")
    module = _module(entry, place, folder)
    if name:
        return [_named_tool(entry, module, name)]
    found = list(_public_tools(module))
    if not found:
        raise ConfigurationError(f"there is no tool in {entry!r}; put @tool above a function")
    return found


def _public_tools(module: ModuleType) -> Iterator[Tool]:
    for name, value in vars(module).items():
        if isinstance(value, FunctionTool | LLMTool) and not name.startswith("_"):
            yield value


def _named_tool(entry: str, module: ModuleType, name: str) -> Tool:
    value = getattr(module, name, None)
    if isinstance(value, FunctionTool | LLMTool):
        return value
    if value is None:
        known = ", ".join(tool.spec.name for tool in _public_tools(module)) or "none"
        raise ConfigurationError(f"there is no {name!r} in {entry!r}; tools in it: {known}")
    raise ConfigurationError(f"{entry!r} is a {type(value).__name__}, no tool; put @tool above it")


def _module(entry: str, place: str, folder: Path) -> ModuleType:
    try:
        return _from_file(folder / place) if place.endswith(".py") else import_module(place)
    except FileNotFoundError:
        raise ConfigurationError(
            f"there is no file {str(folder / place)!r}; give its path relative to the toml"
        ) from None
    except ModuleNotFoundError as error:
        raise ConfigurationError(
            f"{entry!r} cannot be imported: there is no module {error.name!r};"
            f" install it, or put it into {str(folder)!r}"
        ) from error
    except SyntaxError as error:
        raise ConfigurationError(f"{entry!r}: line {error.lineno}: {error.msg}") from error
    except Exception as error:  # Somebody's module failed, however.
        raise ConfigurationError(
            f"{entry!r} fails at import: {type(error).__name__}: {error}"
        ) from error


def _from_file(path: Path) -> ModuleType:
    """Import a file as a module, once per file, however its path is written."""
    path = path.resolve(strict=True)
    # With a colon, so that the name never hides an importable module.
    name = f"own_tools:{path}"
    if name not in sys.modules:
        spec = spec_from_file_location(name, path)
        if spec is None or spec.loader is None:
            raise FileNotFoundError(path)
        module = module_from_spec(spec)
        # Before it runs: dataclasses look their module up here while they are made.
        sys.modules[name] = module
        try:
            spec.loader.exec_module(module)
        except BaseException:
            # Otherwise the next import would find the half-initialised module.
            del sys.modules[name]
            raise
    return sys.modules[name]
