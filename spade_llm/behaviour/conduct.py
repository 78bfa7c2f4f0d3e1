"""Conduct: what one assistant does beyond answering with its services. Data; knows no wire.

Each part is None or empty where an assistant does without it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from spade_llm.conversation.file_rules import FileRules
from spade_llm.conversation.peer_limits import (
    NO_CROWD_LIMITS,
    NO_LIMITS,
    CrowdLimits,
    PeerLimits,
)

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from pydantic import BaseModel

    from spade_llm.behaviour.memory import Notes
    from spade_llm.guardrails import Guardrail
    from spade_llm.guardrails.chain import OnTrigger
    from spade_llm.routing import RoutingFunction
    from spade_llm.services.expert_tool import Expert
    from spade_llm.tools import Tool
    from spade_llm.xmpp.rooms import RoomsOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class MannersOptions:
    """How it writes to people's clients."""

    styling: bool = True
    """Markdown becomes what they show (XEP-0393); False: it leaves as the model wrote it."""
    streaming: bool = True
    """An answer grows in its bubble, where the client says that it can show that (XEP-0308)."""
    first_s: float = 1.0
    """What is there sooner comes as a whole."""
    edit_every_s: float = 2.5
    """Between two edits; the answer itself does not wait."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Conduct:
    tools: tuple[Tool, ...] = ()
    """Run in the assistant's own process, beside those of tool agents."""
    input_guardrails: tuple[Guardrail, ...] = ()
    """Before anything else sees what was said, one after another."""
    output_guardrails: tuple[Guardrail, ...] = ()
    """Before the answer is kept or sent."""
    on_guardrail_trigger: OnTrigger | None = None
    """Told of every guardrail's result that is not PASS."""
    termination_markers: tuple[str, ...] = ()
    """A conversation is over when the model ends a reply with one of these (`<DONE>`)."""
    max_interactions_per_conversation: int | None = None
    """After so many answers a conversation is over."""
    on_conversation_end: Callable[[str, str], Awaitable[None] | None] | None = None
    """Told which conversation is over, and why: behaviour/ending.py has the reasons."""
    peer_limits: PeerLimits = NO_LIMITS
    """What one peer may spend on a day."""
    crowd_limits: CrowdLimits = NO_CROWD_LIMITS
    """What guests and other domains may."""
    notes: Notes | None = None
    """What the assistant itself noted about whom it talks with: quoted as memories are."""
    output_schema: type[BaseModel] | None = None
    """What every answer is an object of, as JSON text."""
    reply_to: str | None = None
    """Who gets the answers instead of who asked, where `routing_function` names nobody."""
    routing_function: RoutingFunction | None = None
    """Says for each answer who gets it; may be a coroutine function, and may block."""
    files: FileRules = FileRules()
    """What becomes of files that people share, and of long answers."""
    rooms: RoomsOptions | None = None
    """Where it is beside its own chats; None: in no room, whoever invites it."""
    experts: tuple[Expert, ...] = ()
    """People whom the model may ask while an answer is made: a tool `ask_NAME` for each."""
    manners: MannersOptions = MannersOptions()
