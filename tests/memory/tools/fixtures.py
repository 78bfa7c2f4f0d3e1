"""Entry tools over `store` and `other_store`, the memories of two owners that a module has."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from spade_llm.memory.tools.entry_tool import SubjectScope
from spade_llm.memory.tools.toolset import entry_tools, further_tools, owner_tools
from tests.memory.tools.calling import Tools, calling

if TYPE_CHECKING:
    from spade_llm.memory import OwnedMemory

OWNER = "assistant@localhost"
OTHER = "someone.else@localhost"
ADA = "ada@localhost"
BOB = "bob@localhost"


def tools_of(store: OwnedMemory, owner: str, subject: str | None = None) -> Tools:
    scope = SubjectScope(store=store, owner=owner, subject=subject)
    tools = [*entry_tools(scope), *further_tools(scope, store)]
    return calling(tools if subject else [*tools, *owner_tools(store)])


@pytest.fixture
def tools(store: OwnedMemory) -> Tools:
    """All that the owner has."""
    return tools_of(store, OWNER)


@pytest.fixture
def other_tools(other_store: OwnedMemory) -> Tools:
    """Another owner's."""
    return tools_of(other_store, OTHER)


@pytest.fixture
def ada_tools(store: OwnedMemory) -> Tools:
    """What the owner remembers about Ada."""
    return tools_of(store, OWNER, ADA)


@pytest.fixture
def bob_tools(store: OwnedMemory) -> Tools:
    return tools_of(store, OWNER, BOB)
