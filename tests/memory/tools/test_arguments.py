"""The entry tools refuse wrong arguments, whichever memory they are over."""

from __future__ import annotations

from tests.memory.places import file_only
from tests.memory.tools.contract_arguments import *  # noqa: F403
from tests.memory.tools.fixtures import tools

pytestmark = file_only
__all__ = ["tools"]
