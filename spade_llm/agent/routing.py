"""The routing layer of an assistant's conduct, if it has one. Composition only."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spade_llm.behaviour.deciding import Deciding
from spade_llm.behaviour.routing import RoutingLayer

if TYPE_CHECKING:
    from spade_llm.behaviour.conduct import Conduct
    from spade_llm.behaviour.layers import Layer
    from spade_llm.services.correspondence import Correspondence, Run


def routing_layers(conduct: Conduct, letters: Correspondence, *, run: Run) -> list[Layer]:
    if not (conduct.reply_to or conduct.routing_function):
        return []
    deciding = Deciding(conduct.routing_function) if conduct.routing_function else None
    return [RoutingLayer(letters, reply_to=conduct.reply_to, deciding=deciding, run=run)]
