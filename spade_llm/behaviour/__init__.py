"""What agents do with what is said to them. Names are loaded when they are first used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spade_llm.lazy import lazy_exports

if TYPE_CHECKING:
    from spade_llm.behaviour.llm import LLMBehaviour
    from spade_llm.programs.human_interaction import HumanInteractionBehaviour
    from spade_llm.programs.retrieval_behaviour import RetrievalBehaviour
else:
    __getattr__, __dir__ = lazy_exports(__name__, __file__)

__all__ = ["HumanInteractionBehaviour", "LLMBehaviour", "RetrievalBehaviour"]
