"""What every body of `spade-llm.memory/1` shares, and how a handler finds its owner's memory.

No body has a field for the owner: it is the bare JID that the server stamped on the request.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from spade_llm.acl import Body
from spade_llm.memory.backend import OwnedMemory
from spade_llm.runtime import Request

ONTOLOGY = "spade-llm.memory/1"
MAX_LIMIT = 1000
"""Most entries of one answer; fewer where they would not fit into one message."""

StoreOf = Callable[[Request], OwnedMemory]


class MemoryBody(Body):
    """Records travel without their defaults, which are therefore a part of this version."""

    skips_defaults: ClassVar[bool] = True


class Count(MemoryBody):
    count: int


class Ids(MemoryBody):
    ids: tuple[str, ...]
    """As many as fit into one message."""
    total: int
