"""Tool loader: finds tools in Python files and modules of an operator."""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from typing import TYPE_CHECKING

from spade_llm.core.errors import ConfigurationError
from spade_llm.tools.function_tool import FunctionTool
from spade_llm.tools.llm_tool import LLMTool

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path
    from types import ModuleType

    from spade_llm.tools.llm_tool import Tool


def load_tools(names: Sequence[str], *, folder: Path) -> tuple[Tool, ...]:
    """The tools of each `file.py` (relative to the folder) or `package.module`: all that stand in
    it without a leading `_`, or the one of `…:name`. The folder may hold packages, too.

    Raises:
        ConfigurationError: names the entry and the fix.
    """
    if names and str(folder) not in sys.path:
        sys.path.append(str(folder))  # Behind all others: it hides no installed module.
    found: dict[str, tuple[str, Tool]] = {}
    for entry in names:
        for one in _tools_of(entry, folder):
            name = one.spec.name
            other, same = found.setdefault(name, (entry, one))
            if same is not one:
                raise ConfigurationError(
                    f"{entry!r} and {other!r} both have a tool {name!r}: rename one"
                )
    return tuple(tool for _, tool in found.values())


def _tools_of(entry: str, folder: Path) -> Sequence[Tool]:
    place, _, name = entry.partition(":")
    module = _module(entry, place, folder)
    if name:
        return [_named_tool(entry, module, name)]
    found = list(_public_tools(module))
    if not found:
        raise ConfigurationError(f"there is no tool in {entry!r}: put @tool above a function")
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
    raise ConfigurationError(f"{entry!r} is a {type(value).__name__}, no tool: put @tool above it")


def _module(entry: str, place: str, folder: Path) -> ModuleType:
    try:
        return _from_file(folder / place) if place.endswith(".py") else import_module(place)
    except FileNotFoundError:
        raise ConfigurationError(
            f"there is no file {str(folder / place)!r}: give its path relative to the toml"
        ) from None
    except ModuleNotFoundError as error:
        raise ConfigurationError(
            f"{entry!r} cannot be imported, there is no module {error.name!r}:"
            f" install it, or put it into {str(folder)!r}"
        ) from error
    except SyntaxError as error:
        raise ConfigurationError(f"{entry!r}: line {error.lineno}: {error.msg}") from error
    except Exception as error:  # Somebody's module failed, however.
        raise ConfigurationError(
            f"{entry!r} fails at import: {type(error).__name__}: {error}"
        ) from error


def _from_file(path: Path) -> ModuleType:
    """Once for each file, however it is named."""
    path = path.resolve(strict=True)
    # No module can be imported under a name with a colon: a file here hides none.
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
            # Otherwise the next import would find the half that ran.
            del sys.modules[name]
            raise
    return sys.modules[name]
