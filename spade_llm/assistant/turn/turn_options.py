"""Turn options of a request: tool choice, offered tools, context budget and sources."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from spade_llm.assistant.turn.approval import NO_APPROVER, Approver
from spade_llm.memory.sessions import MAX_TOKENS, MIN_TOKENS
from spade_llm.memory.validation import check_number
from spade_llm.rag.names import check_namespace
from spade_llm.search.memory_query import MemoryType

if TYPE_CHECKING:
    from spade_llm.assistant.turn.structured_output import AnswerSchema
    from spade_llm.providers.model import Sampling, ToolSpec

AUTO, NONE, REQUIRED = "auto", "none", "required"
CHOICES_WITHOUT_NAME = frozenset({AUTO, NONE, REQUIRED})
MAX_TOOL_ROUNDS = 20
"""Maximum number of tool rounds in a turn."""
MAX_PASSAGES = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolOptions:
    """Tool options of a turn; by default the model decides."""

    tool_choice: str = AUTO
    """`auto`, `none`, `required`, or the name of the tool to call. The last two hold for the first
    round, so that there is an answer."""
    tool_rounds: int | None = None
    """1…20; None: what the assistant's limits say."""
    tools: tuple[str, ...] | None = None
    """Names of the tools offered to the model; None: all."""

    @property
    def are_any_wanted(self) -> bool:
        """True if tools are needed: they may be called, or they are named and must exist."""
        return self.tool_choice != NONE or bool(self.tools)


DEFAULT_TOOL_OPTIONS = ToolOptions()


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextOptions:
    """Context options: sections given to the model besides the question, within a token budget
    (Agent Lab API §3.2).

    A turn without them recalls and quotes as a chat over XMPP does.
    """

    use_memory: bool = True
    """The conversation so far, and what is remembered. What is said is kept all the same."""
    use_history: bool = True
    """Include the conversation so far, which is a part of memory."""
    memory_types: tuple[MemoryType, ...] = tuple(MemoryType)
    use_documents: bool = False
    namespaces: tuple[str, ...] = ()
    """Document namespaces by the names that their owner (the caller) uses; empty: all accessible
    ones."""
    top_k: int = 5
    """Passages, 1…20."""
    max_tokens: int = 4000
    """Token budget of all sections together, 100…8000."""
    priority: Literal["memory", "rag", "balanced"] = "balanced"
    """Split of the budget that tools leave: memory gets 70 %, 30 % or 50 %, documents the rest."""
    language: Literal["en", "es"] = "es"
    """Language of the section headings."""

    @property
    def reads_history(self) -> bool:
        return self.use_memory and self.use_history

    def __post_init__(self) -> None:
        """Raises InvalidArguments, naming the field."""
        check_number("context.top_k", self.top_k, 1, MAX_PASSAGES)
        check_number("context.max_tokens", self.max_tokens, MIN_TOKENS, MAX_TOKENS)
        for name in self.namespaces:
            check_namespace(name)


OnDelta = Callable[[str], Awaitable[None]]
"""Takes the answer's text in pieces."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnOptions:
    """Options of a turn, with callbacks to the sender."""

    on_delta: OnDelta | None = None
    """Takes the answer's text in pieces; not where it must have a form."""
    wishes: ToolOptions = DEFAULT_TOOL_OPTIONS
    approver: Approver = NO_APPROVER
    answer_schema: AnswerSchema | None = None
    sampling: Sampling | None = None
    tools: Sequence[ToolSpec] | None = None
    """Tools offered to the model; None: selected from the toolbox by the tool options."""


DEFAULT_TURN_OPTIONS = TurnOptions()
