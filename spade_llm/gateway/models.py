"""Assistants as models: how each is called. Pure."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from spade_llm.gateway.network import Addresses


def models_of(addresses: Addresses) -> Mapping[str, str]:
    """Bare JIDs by the models' names, the first one first: an assistant's own name; where two of
    different domains share it, their JIDs."""
    names = Counter(map(_name, addresses.assistants))
    return {_name(jid) if names[_name(jid)] == 1 else jid: jid for jid in addresses.assistants}


def _name(jid: str) -> str:
    return jid.partition("@")[0]
