"""Public names of `spade_llm.compat.structured_output_exports`, as spade_llm 0.3 exported them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spade_llm.core.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from spade_llm.compat.tools import ReadyForStructuredOutputTool
else:
    __getattr__, __dir__ = lazy_exports(__name__, __file__)

__all__ = ["ReadyForStructuredOutputTool"]
