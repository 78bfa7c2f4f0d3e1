"""The entry tools over the local store keep their contract."""

from __future__ import annotations

from tests.memory.tools.contract import *  # noqa: F403
from tests.memory.tools.fixtures import ada_tools, bob_tools, other_tools, tools

__all__ = ["ada_tools", "bob_tools", "other_tools", "tools"]
