"""Imports: lazy exports of packages (PEP 562) and optional dependencies (extras)."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from spade_llm.core.errors import ConfigurationError
from spade_llm.old_names import find_old_name

PACKAGES = {
    "documents": ("chromadb", "pypdf", "docx", "lxml"),
    "gateway": ("fastapi", "uvicorn", "httptools", "prometheus_client"),
    "mcp": ("mcp", "uvicorn"),
    "local-embeddings": ("onnxruntime", "tokenizers"),
    "postgres": ("psycopg",),
    "telemetry": ("opentelemetry.sdk", "opentelemetry.exporter.otlp.proto.http"),
    "tokens": ("bpe_openai", "tokenizers"),
}
"""The packages that each extra of pyproject.toml installs, by the names they are imported by."""

_INSTALLERS = {"pipx_metadata.json": "pipx", "uv-receipt.toml": "uv tool"}
"""Tools that install a program in an environment of its own, by the file that they leave there."""


def lazy_exports(
    package: str, path: str
) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """The `__getattr__` and `__dir__` of a package: what it imports under `if TYPE_CHECKING:`.

    `path` is the package's `__file__`. Each name is written once, where type checkers read it too.
    Assign the result in the `else` branch: a checker that sees a module's `__getattr__` accepts
    every misspelt name.
    """
    module_of: dict[str, str] = {}
    # Parsed, not imported: importing the modules is what is to be put off.
    for node in ast.parse(Path(path).read_bytes()).body:
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            for line in node.body:
                if isinstance(line, ast.ImportFrom) and line.module:
                    module_of |= {alias.name: line.module for alias in line.names}

    def __getattr__(name: str) -> object:
        if name not in module_of:
            return find_old_name(package, name)
        return getattr(import_module(module_of[name]), name)

    def __dir__() -> list[str]:
        return sorted({*vars(sys.modules[package]), *module_of})

    return __getattr__, __dir__


def require_extra(extra: str, *packages: str) -> None:
    """Check that the packages of an extra (all of them, by default) are installed.

    Call it before the first import of one. It imports none, so it costs less than a millisecond.

    Raises:
        ConfigurationError: names the extra and the command that installs it.
    """
    missing = missing_packages(extra, *packages)
    if missing:
        raise ConfigurationError(
            f"the extra {extra!r} is not installed ({', '.join(missing)} not found):"
            f" {install_command(extra)}"
        )


def missing_packages(extra: str, *packages: str) -> list[str]:
    missing = []
    for name in packages or PACKAGES[extra]:
        try:
            is_installed = find_spec(name) is not None
        except ModuleNotFoundError:  # The package that it is a part of is missing.
            is_installed = False
        if not is_installed:
            missing.append(name)
    return missing


def install_command(*extras: str) -> str:
    """Command that adds the extras to this installation, by the tool that it was made with."""
    package = f"'spade-llm-agents[{','.join(extras)}]'"
    for receipt, tool in _INSTALLERS.items():
        if Path(sys.prefix, receipt).exists():
            return f"{tool} install --force {package}"
    return f"pip install {package}"
