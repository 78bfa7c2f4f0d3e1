"""A door for programs written for spade_llm 0.3: what they import from here is in `programs/`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spade_llm.programs.structured_output import ReadyForStructuredOutputTool

__all__ = ["ReadyForStructuredOutputTool"]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from spade_llm.programs import structured_output

    return structured_output.ReadyForStructuredOutputTool
