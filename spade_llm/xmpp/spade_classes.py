"""SPADE's base classes, imported without the XMPP server that comes with SPADE.

Its import takes 0.4 s (a database layer with it), and no agent needs it: `spade.run` still imports
it when it is to start one.
"""

from __future__ import annotations

import sys
from contextlib import contextmanager
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

from slixmpp.stanza import Presence

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SERVER = {"pyjabber.server": "Server", "pyjabber.server_parameters": "Parameters"}
"""Names that spade.container (4.1.4) imports from the server, and uses only by calling them."""


@contextmanager
def _server_imported_later() -> Iterator[None]:
    later = {module: name for module, name in SERVER.items() if module not in sys.modules}
    for module, name in later.items():
        sys.modules[module] = ModuleType(module)
        setattr(sys.modules[module], name, _made_later(module, name))
    try:
        yield
    finally:
        for module in later:
            # So that `spade.run` imports the real module when it needs it.
            del sys.modules[module]


def _made_later(module: str, name: str) -> Callable[..., object]:
    def make(*args: object, **kwargs: object) -> object:
        made: object = getattr(import_module(module), name)(*args, **kwargs)
        return made

    return make


with _server_imported_later():
    from spade.agent import Agent
    from spade.behaviour import CyclicBehaviour as SpadeCyclicBehaviour
    from spade.behaviour import OneShotBehaviour as SpadeOneShotBehaviour
    from spade.container import Container
    from spade.message import Message as SpadeMessage
    from spade.presence import PresenceManager
    from spade.template import Template as SpadeTemplate

# SPADE 4.1.4 reads `ask` of every subscription request; slixmpp's presence has no such attribute,
# and warns on the root logger, which is the user's terminal.
Presence.interfaces = Presence.interfaces | {"ask"}

__all__ = [
    "Agent",
    "Container",
    "PresenceManager",
    "SpadeCyclicBehaviour",
    "SpadeMessage",
    "SpadeOneShotBehaviour",
    "SpadeTemplate",
]
