"""All that the entry tools promise, over any memory. Arguments that they refuse themselves are in
contract_arguments.py: no memory hears of them.

A test module imports these functions and has the fixtures `tools` and `other_tools` (two owners),
`ada_tools` and `bob_tools` (what the first one remembers about two people). See fixtures.py.
"""

from __future__ import annotations

from tests.memory.tools.contract_batches import *  # noqa: F403
from tests.memory.tools.contract_consolidation import *  # noqa: F403
from tests.memory.tools.contract_entries import *  # noqa: F403
from tests.memory.tools.contract_further import *  # noqa: F403
from tests.memory.tools.contract_ranking import *  # noqa: F403
from tests.memory.tools.contract_scores import *  # noqa: F403
from tests.memory.tools.contract_search import *  # noqa: F403
from tests.memory.tools.contract_subjects import *  # noqa: F403
