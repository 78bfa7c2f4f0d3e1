"""The entry tools over a memory in another process, behind a real Prosody, keep their contract.

Without what is refused before anything is sent (contract_arguments.py).
"""

from __future__ import annotations

import pytest

from tests.memory.entry_tools.contract_batches import *  # noqa: F403
from tests.memory.entry_tools.contract_consolidation import *  # noqa: F403
from tests.memory.entry_tools.contract_entries import *  # noqa: F403
from tests.memory.entry_tools.contract_further import *  # noqa: F403
from tests.memory.entry_tools.contract_ranking import *  # noqa: F403
from tests.memory.entry_tools.contract_scores import *  # noqa: F403
from tests.memory.entry_tools.contract_search import *  # noqa: F403
from tests.memory.entry_tools.contract_subjects import *  # noqa: F403
from tests.memory.entry_tools.fixtures import ada_tools, bob_tools, other_tools, tools
from tests.processes.test_memory_contract import askers, memory, other_store, store

pytestmark = pytest.mark.server

__all__ = [
    "ada_tools",
    "askers",
    "bob_tools",
    "memory",
    "other_store",
    "other_tools",
    "store",
    "tools",
]
