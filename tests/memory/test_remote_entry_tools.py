"""The entry tools over a memory in another agent keep their contract, by messages."""

from __future__ import annotations

import pytest

from tests.memory.test_remote_contract import askers, other_store, store
from tests.memory.tools.contract import *  # noqa: F403
from tests.memory.tools.fixtures import ada_tools, bob_tools, other_tools, tools

pytestmark = pytest.mark.thorough
__all__ = ["ada_tools", "askers", "bob_tools", "other_store", "other_tools", "store", "tools"]
