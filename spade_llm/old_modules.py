"""Modules that spade_llm 0.2/0.3 had below its packages, and that its guides import from.

Each is found as an empty module that asks its package (`spade_llm.context._types` is
`spade_llm.context`). Asked last, for what no file is there for. Imports nothing of ours.
"""

from __future__ import annotations

from importlib import import_module
from importlib.machinery import ModuleSpec
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.abc import Loader
    from types import ModuleType

OLD = {
    "agent": ("chat_agent", "coordinator_agent", "llm_agent", "retrieval_agent"),
    "behaviour": ("human_interaction", "llm_behaviour", "retrieval_behaviour"),
    "context": ("_types", "context_manager", "management"),
    "guardrails": ("base", "implementations", "processor", "types"),
    "mcp": ("config", "factory"),
    "providers": ("base_provider", "llm_provider"),
    "rag": ("core", "document_loaders", "retrievers", "text_splitters", "vector_stores"),
    "routing": ("decorators", "types"),
    "tools": ("human_in_the_loop", "langchain_adapter", "retrieval_tool"),
    "utils": ("conversation_utils", "env_loader", "retrieval_utils"),
}

OTHER_NAMES = {"providers.base_provider": {"LLMProvider": "BaseLLMProvider"}}
"""Names that a module used for something else than its package does: in 0.2 the base class of all
providers was `base_provider.LLMProvider`."""


class OldModules:
    """A finder and a loader. Not by name: the base classes take four times as long to import as
    all of `spade_llm`."""

    def __init__(self, package: str) -> None:
        self._package = package
        self._package_of = {
            f"{package}.{room}.{name}": f"{package}.{room}"
            for room, names in OLD.items()
            for name in names
        }

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname not in self._package_of:
            return None
        return ModuleSpec(fullname, cast("Loader", self))

    def create_module(self, spec: ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        package = import_module(self._package_of[module.__name__])
        others = OTHER_NAMES.get(module.__name__.removeprefix(f"{self._package}."), {})

        def find(name: str) -> object:
            return getattr(package, others.get(name, name))

        module.__dict__["__getattr__"] = find
        module.__dict__["__all__"] = getattr(package, "__all__", [])
