"""A door for programs written for spade_llm 0.3: what they import from here is in `programs/`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spade_llm.lazy import lazy_exports

if TYPE_CHECKING:
    from spade_llm.programs.structured_output import ReadyForStructuredOutputTool
else:
    __getattr__, __dir__ = lazy_exports(__name__, __file__)

__all__ = ["ReadyForStructuredOutputTool"]
