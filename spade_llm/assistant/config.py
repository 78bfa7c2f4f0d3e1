"""Assistant configuration: turn limits, file sharing, presentation, guardrails, routing, rooms."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from spade_llm.assistant.middleware.quota import NO_GROUP_QUOTAS, NO_QUOTA, GroupQuotas, PeerQuota
from spade_llm.assistant.turn.approval import APPROVAL_EXPIRY_S
from spade_llm.assistant.turn.memory_selection import DEFAULT_TOKENS
from spade_llm.core.arguments import as_tuple, check_methods, check_number, wrong_type

if TYPE_CHECKING:
    from pydantic import BaseModel

    from spade_llm.assistant.delegation.expert_questions import Expert
    from spade_llm.assistant.history.memory_behaviour import NotesSource
    from spade_llm.assistant.middleware.routing import RoutingFunction
    from spade_llm.guardrails import Guardrail
    from spade_llm.guardrails.chain import OnTrigger
    from spade_llm.tools import Tool
    from spade_llm.xmpp.features.rooms import RoomsOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class FileSharingOptions:
    takes: bool = True
    """True if shared documents are ingested; this needs a RAG agent."""
    max_files: int = 200
    """Maximum number of files of each person; further files are refused until some are deleted."""
    seconds: float = 1800.0
    """Time limit for the ingestion of a file, in seconds; the conversation waits for it."""
    long_answer_chars: int = 12_000
    """A longer answer is sent as a file with its beginning; 0: never."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PresentationOptions:
    """Presentation of answers in XMPP clients: styling and streaming."""

    styling: bool = True
    """Markdown becomes what they show (XEP-0393); False: it leaves as the model wrote it."""
    streaming: bool = True
    """An answer grows in its bubble, where the client says that it can show that (XEP-0308)."""
    first_s: float = 1.0
    """Delay before streaming starts, in seconds; an answer complete by then is sent whole."""
    edit_every_s: float = 2.5
    """Minimum interval between two edits of a streamed message, in seconds; the final answer is not
    delayed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AssistantConfig:
    """Settings of an assistant that are not its connection or model."""

    tools: tuple[Tool, ...] = ()
    """Run in the assistant's own process, beside those of tool agents."""
    input_guardrails: tuple[Guardrail, ...] = ()
    """Input guardrails, applied in order before any other processing of the message."""
    output_guardrails: tuple[Guardrail, ...] = ()
    """Output guardrails, applied before the answer is stored or sent."""
    on_guardrail_trigger: OnTrigger | None = None
    """Told of every guardrail's result that is not PASS."""
    termination_markers: tuple[str, ...] = ()
    """A conversation is over when the model ends a reply with one of these (`<DONE>`)."""
    max_interactions_per_conversation: int | None = None
    """Number of answers after which a conversation ends; None: no limit."""
    on_conversation_end: Callable[[str, str], Awaitable[None] | None] | None = None
    """Told which conversation is over, and why (see assistant/middleware/conversation_end.py)."""
    peer_limits: PeerQuota = NO_QUOTA
    """Daily quota of each peer."""
    crowd_limits: GroupQuotas = NO_GROUP_QUOTAS
    """Daily quotas of groups: guests and other domains."""
    notes: NotesSource | None = None
    """Source of the assistant's own notes about the peer; they are quoted like memories."""
    output_schema: type[BaseModel] | None = None
    """Pydantic model that every answer must match, as JSON text."""
    reply_to: str | None = None
    """Recipient of answers instead of the sender, unless `routing_function` names recipients."""
    routing_function: RoutingFunction | None = None
    """Function that returns an answer's recipients; it may be a coroutine function, or block."""
    files: FileSharingOptions = FileSharingOptions()
    """Settings for shared files and for long answers."""
    rooms: RoomsOptions | None = None
    """Multi-user chat options (XEP-0045); None: it joins no room, and ignores invitations."""
    experts: tuple[Expert, ...] = ()
    """People that the model may ask during a turn: a tool `ask_NAME` for each."""
    manners: PresentationOptions = PresentationOptions()
    admins: frozenset[str] = frozenset()
    """Bare JIDs of the people that run the assistant: they are told why a model fails."""

    def __post_init__(self) -> None:
        """Raises TypeError, naming the field."""
        for name, methods, fix in _LISTS:
            for one in as_tuple(getattr(self, name), of=name):
                check_methods(one, methods, of=name, fix=fix)
        as_tuple(self.termination_markers, of="termination_markers")
        schema = self.output_schema
        if schema is not None and not getattr(schema, "model_fields", None):
            fix = "give a subclass of pydantic's BaseModel, with at least one field"
            raise wrong_type(schema, of="output_schema", fix=fix)


_GUARDRAIL_FIX = "give a guardrail; CustomFunctionGuardrail makes one of a function"
_LISTS = (
    ("tools", ("spec", "bind"), "give a tool; @tool of spade_llm.tools makes one of a function"),
    ("input_guardrails", ("check",), _GUARDRAIL_FIX),
    ("output_guardrails", ("check",), _GUARDRAIL_FIX),
    ("experts", ("name", "jid"), "give an Expert(name=…, jid=…)"),
)
"""Fields of AssistantConfig with the attributes that each item must have, and the fix."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnLimits:
    """Limits of one turn. A turn that reaches one ends with its answer so far, and names it."""

    tool_rounds: int = 5
    """Maximum number of tool rounds; then a call without tools gives the answer."""
    tool_calls: int = 24
    model_calls: int = 24
    """Every one: of the rounds, for the answer, and what is asked twice."""
    tokens: int | None = None
    """Prompts and answers of all calls of the model together, as its server counts them. It is
    asked no more once they are used up: the last call may go beyond."""
    seconds: float = 120.0
    """Time limit of a turn in seconds, excluding the time spent waiting for a person."""
    approval_seconds: float = APPROVAL_EXPIRY_S
    """Maximum wait for the approval of a tool call, in seconds."""
    recall_tokens: int = DEFAULT_TOKENS
    """Budget of quoted memories, in estimated tokens; 0: none are quoted."""

    def __post_init__(self) -> None:
        """Raises ConfigurationError, naming the limit."""
        for name in ("tool_rounds", "tool_calls", "recall_tokens"):
            check_number(getattr(self, name), of=f"TurnLimits: {name}", least=0)
        check_number(self.model_calls, of="TurnLimits: model_calls", least=1)
        if self.tokens is not None:
            check_number(self.tokens, of="TurnLimits: tokens", least=1)
        for name in ("seconds", "approval_seconds"):
            check_number(getattr(self, name), of=f"TurnLimits: {name}", least=0, is_above=True)
