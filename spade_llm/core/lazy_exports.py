"""Lazy exports (PEP 562): a package imports its public names on first use."""

from __future__ import annotations

import ast
import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from spade_llm.old_names import find_old_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


def lazy_exports(
    package: str, path: str
) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """The `__getattr__` and `__dir__` of a package: what it imports under `if TYPE_CHECKING:`.

    `path` is the package's `__file__`. So each name stands in one place, which type checkers read
    too. Assign the result in the `else` branch: a checker that sees a module's `__getattr__`
    accepts every misspelt name.
    """
    module_of = dict(_imports_for_type_checkers(Path(path)))

    def __getattr__(name: str) -> object:
        if name not in module_of:
            return find_old_name(package, name)
        return getattr(import_module(module_of[name]), name)

    def __dir__() -> list[str]:
        return sorted({*vars(sys.modules[package]), *module_of})

    return __getattr__, __dir__


def _imports_for_type_checkers(path: Path) -> Iterator[tuple[str, str]]:
    """Each name with its module."""
    # Parsed, not imported: the import is what is to be put off.
    for node in ast.parse(path.read_bytes()).body:
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            for line in node.body:
                if isinstance(line, ast.ImportFrom) and line.module:
                    yield from ((alias.name, line.module) for alias in line.names)
