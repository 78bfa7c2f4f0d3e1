"""What agents do with what is said to them. Names are loaded when they are first used."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spade_llm.behaviour.llm import LLMBehaviour
    from spade_llm.programs.human_interaction import HumanInteractionBehaviour
    from spade_llm.programs.retrieval_behaviour import RetrievalBehaviour

__all__ = ["HumanInteractionBehaviour", "LLMBehaviour", "RetrievalBehaviour"]

_HOME = {
    "HumanInteractionBehaviour": "programs.human_interaction",
    "LLMBehaviour": "behaviour.llm",
    "RetrievalBehaviour": "programs.retrieval_behaviour",
}


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"spade_llm.{_HOME[name]}"), name)
