"""The texts that a model reads in a turn beside what others say: files, so that they can be read
and compared. Knows no model."""

from __future__ import annotations

from functools import cache
from importlib.resources import files


@cache
def prompt_text(name: str) -> str:
    """The whole of `prompts/NAME.md`. What stands in braces there is filled in by `prompt`."""
    path = files("spade_llm.conversation") / "prompts" / f"{name}.md"
    return path.read_text(encoding="utf-8").strip()


def prompt(name: str, **values: str) -> str:
    """The text with its values. Nothing in a value is filled in again."""
    return prompt_text(name).format_map(values)
