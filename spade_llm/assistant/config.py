"""Assistant configuration: turn limits, file sharing, presentation, guardrails, routing, rooms."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from spade_llm.assistant.middleware.quota import NO_GROUP_QUOTAS, NO_QUOTA, GroupQuotas, PeerQuota
from spade_llm.assistant.turn.memory_selection import DEFAULT_TOKENS
from spade_llm.assistant.turn.tool_calls import APPROVAL_EXPIRY_S

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from pydantic import BaseModel

    from spade_llm.assistant.delegation.expert_tool import Expert
    from spade_llm.assistant.history.memory_behaviour import NotesSource
    from spade_llm.assistant.routing import RoutingFunction
    from spade_llm.guardrails import Guardrail
    from spade_llm.guardrails.chain import OnTrigger
    from spade_llm.tools import Tool
    from spade_llm.xmpp.features.rooms import RoomsOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class FileSharingOptions:
    takes: bool = True
    """Whether documents that people share are read. It needs a RAG agent."""
    max_files: int = 200
    """Of one person; one more is refused until some are deleted."""
    seconds: float = 1800.0
    """How long the reading of one may take; the person's conversation waits for it."""
    long_answer_chars: int = 12_000
    """A longer answer is sent as a file with its beginning; 0: never."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PresentationOptions:
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
class AssistantConfig:
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
    peer_limits: PeerQuota = NO_QUOTA
    """What one peer may spend on a day."""
    crowd_limits: GroupQuotas = NO_GROUP_QUOTAS
    """What guests and other domains may."""
    notes: NotesSource | None = None
    """What the assistant itself noted about whom it talks with: quoted as memories are."""
    output_schema: type[BaseModel] | None = None
    """What every answer is an object of, as JSON text."""
    reply_to: str | None = None
    """Who gets the answers instead of who asked, where `routing_function` names nobody."""
    routing_function: RoutingFunction | None = None
    """Says for each answer who gets it; may be a coroutine function, and may block."""
    files: FileSharingOptions = FileSharingOptions()
    """What becomes of files that people share, and of long answers."""
    rooms: RoomsOptions | None = None
    """Where it is beside its own chats; None: in no room, whoever invites it."""
    experts: tuple[Expert, ...] = ()
    """People whom the model may ask while an answer is made: a tool `ask_NAME` for each."""
    manners: PresentationOptions = PresentationOptions()


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnLimits:
    """A turn that reaches one of them ends with what there is, and says which it was."""

    tool_rounds: int = 5
    """Of calling tools; then the model is asked once more, without tools, for the answer."""
    tool_calls: int = 24
    model_calls: int = 24
    """Every one: of the rounds, for the answer, and what is asked twice."""
    tokens: int | None = None
    """Prompts and answers of all calls of the model together, as its server counts them. It is
    asked no more once they are used up: the last call may go beyond."""
    seconds: float = 120.0
    """Without the time that a person is waited for."""
    approval_seconds: float = APPROVAL_EXPIRY_S
    """How long a person's yes to a call is waited for."""
    recall_tokens: int = DEFAULT_TOKENS
    """Of quoted memories, estimated; 0: none."""
