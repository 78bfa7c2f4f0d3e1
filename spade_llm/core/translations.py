"""Texts in several languages, read from a TOML file beside the module that says them.

The file has a table per language (`[en]`, `[es]`), the dataclass a field per text.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")


def load_texts(kind: Callable[..., T], module_file: str, name: str) -> dict[str, T]:
    """Texts by language, of the file `name` beside `module_file`. Raises TypeError: a text is
    missing, or is no field of the dataclass `kind`."""
    tables = tomllib.loads(Path(module_file).with_name(name).read_text(encoding="utf-8"))
    return {
        language: kind(
            **{key: tuple(text) if isinstance(text, list) else text for key, text in texts.items()}
        )
        for language, texts in tables.items()
    }
