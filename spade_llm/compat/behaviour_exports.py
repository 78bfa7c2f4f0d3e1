"""Public names of `spade_llm.behaviour`, as spade_llm 0.3 exported them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spade_llm.core.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from spade_llm.assistant.turn.turn_handler import LLMBehaviour
    from spade_llm.compat.human_interaction import HumanInteractionBehaviour
    from spade_llm.compat.retrieval_agent import RetrievalBehaviour
else:
    __getattr__, __dir__ = lazy_exports(__name__, __file__)

__all__ = ["HumanInteractionBehaviour", "LLMBehaviour", "RetrievalBehaviour"]
