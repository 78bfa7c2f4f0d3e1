"""Protocols of models: ChatModel with its messages, tool specifications, completions, deltas and
token usage, and its proxy that can be replaced while it is in use (hot swap); Embedder, and the LRU
cache of query vectors."""

from __future__ import annotations

import asyncio
import re
import uuid
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Awaitable,
    Callable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NotRequired, Protocol, TypedDict, Unpack

from spade_llm.core.limits import LruDict

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


MAX_NAME_CHARS = 64
_UNSAFE_CHAR = re.compile(r"[^a-zA-Z0-9_-]")

MAX_CALL_ID_CHARS = 64
OFFLINE = "offline"
"""Name of the model of rules (providers/offline)."""


class FunctionCall(TypedDict):
    """Function and arguments of a tool call in a message."""

    name: str
    arguments: str
    """JSON text, as the model wrote it."""


class ToolCallEntry(TypedDict):
    """Tool call in an assistant message."""

    id: str
    type: Literal["function"]
    function: FunctionCall


class SystemMessage(TypedDict):
    """Instructions to the model."""

    role: Literal["system"]
    content: str


class UserMessage(TypedDict):
    """Message of a person or another agent."""

    role: Literal["user"]
    content: str
    name: NotRequired[str]
    """Sender: a bare JID with unsafe characters as `_`."""


class AssistantMessage(TypedDict):
    """Answer of the model: text, tool calls, or both."""

    role: Literal["assistant"]
    content: str | None
    tool_calls: NotRequired[list[ToolCallEntry]]


class ToolResultMessage(TypedDict):
    """Result of one tool call."""

    role: Literal["tool"]
    content: str
    tool_call_id: str


ContextMessage = SystemMessage | UserMessage | AssistantMessage | ToolResultMessage


def safe_name(name: str, *, max_chars: int = MAX_NAME_CHARS) -> str:
    """A name that model servers accept: unsafe characters become `_`; may be empty."""
    return _UNSAFE_CHAR.sub("_", name)[:max_chars]


def valid_call_id(given: str, taken: set[str]) -> str:
    """Return the given id, or a new one if it is missing, too long or taken; add it to `taken`."""
    is_fitting = 0 < len(given) <= MAX_CALL_ID_CHARS and given not in taken
    chosen = given if is_fitting else f"call_{uuid.uuid4().hex[:24]}"
    taken.add(chosen)
    return chosen


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """Sampling options of one call; None means the provider's setting."""

    temperature: float | None = None
    """0…2."""
    max_tokens: int | None = None
    """Maximum number of tokens of the answer."""


class CallOptions(TypedDict, total=False):
    """Options of the methods of ChatModel, for models that pass them on to another one."""

    tool_choice: str
    response_schema: Mapping[str, object] | None
    sampling: Sampling | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolExample:
    """Example call of a tool and its result, shown to people."""

    input: Mapping[str, object]
    """Arguments of the call."""
    output: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSpec:
    """A tool as a model sees it."""

    name: str
    description: str
    parameters: Mapping[str, object]
    """JSON Schema of the arguments object."""
    needs_approval: bool = False
    """True if a person must approve each call; not sent to models."""
    is_strict: bool = False
    """True to use structured output, if the server supports it and the fields of every object are
    known: `parameters` is then enforced, and every field is required, also an optional one."""
    asks_others: bool = False
    """True if the tool waits for a person or another agent, with a time limit of its own; the time
    limit of the turn is suspended meanwhile. Not sent to models."""
    examples: tuple[ToolExample, ...] = ()
    """Not sent to models."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """Tool call that a model requests."""

    id: str
    name: str
    arguments: str
    """JSON text exactly as the model wrote it; it may be invalid."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens, as the model's server counted them."""

    prompt_tokens: int = 0
    completion_tokens: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            prompt_tokens=self.prompt_tokens + other.prompt_tokens,
            completion_tokens=self.completion_tokens + other.completion_tokens,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """A model's whole answer: text, or tool calls, or both."""

    text: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    usage: Usage = field(default_factory=Usage)
    model: str = ""
    """Name of the model that answered, if there are several; empty means the requested one."""
    is_cut_off: bool = False
    """True if the answer ended at the maximum number of tokens."""
    is_fallback: bool = False
    """True if `model` answered because the preferred model failed."""


@dataclass(frozen=True, slots=True)
class TextDelta:
    """A piece of the answer's text, in order."""

    text: str


class ChatModel(Protocol):
    """Language model (protocol).

    `tool_choice` is `auto`, `none`, `required` or a tool's name. `response_schema`, a JSON Schema
    of an object, is best effort: if a server does not support it, the request is sent without it
    and a warning is logged. Describe the form in the prompt, too, and check the answer. `sampling`
    is also best effort.

    Raises (both methods): ModelError and its subclasses only.
    """

    @property
    def name(self) -> str:
        """Shown in /status, for instance `gpt-5-mini` or `offline`."""

    async def complete(
        self,
        messages: Sequence[ContextMessage],
        tools: Sequence[ToolSpec] = (),
        *,
        tool_choice: str = "auto",
        response_schema: Mapping[str, object] | None = None,
        sampling: Sampling | None = None,
    ) -> Completion:
        """Answer to these messages: text, or calls of `tools`."""

    def stream(
        self,
        messages: Sequence[ContextMessage],
        tools: Sequence[ToolSpec] = (),
        *,
        tool_choice: str = "auto",
        response_schema: Mapping[str, object] | None = None,
        sampling: Sampling | None = None,
    ) -> AsyncIterator[TextDelta | Completion]:
        """TextDeltas in order, then exactly one Completion that repeats the whole text."""


def language_model(model: ChatModel | None) -> ChatModel | None:
    """The model, or None if it is rules that stand in for one. To be asked at each use: a model may
    be replaced (ReplaceableModel)."""
    return None if model is None or model.name == OFFLINE else model


@asynccontextmanager
async def closing_stream(pieces: AsyncIterator[TextDelta | Completion]) -> AsyncIterator[None]:
    """Close the stream after the block if it is an async generator; a ChatModel may return any
    iterator."""
    try:
        yield
    finally:
        if isinstance(pieces, AsyncGenerator):
            await pieces.aclose()


class NonStreamingModel(ChatModel, Protocol):
    """Base of models that compute their whole answer at once: `stream` sends its words."""

    async def stream(
        self,
        messages: Sequence[ContextMessage],
        tools: Sequence[ToolSpec] = (),
        **options: Unpack[CallOptions],
    ) -> AsyncGenerator[TextDelta | Completion]:
        completion = await self.complete(messages, tools, **options)
        for piece in re.findall(r"\s*\S+\s*$|\s*\S+|\s+", completion.text):
            yield TextDelta(piece)
        yield completion


@dataclass(slots=True, eq=False)
class ModelLease:
    """Model, and the number of calls and turns that use it now."""

    model: ChatModel
    uses: int = 0

    @contextmanager
    def held(self) -> Iterator[ChatModel]:
        self.uses += 1
        try:
            yield self.model
        finally:
            self.uses -= 1


@dataclass(slots=True, eq=False)
class _Scope:
    leases: dict[ReplaceableModel, ModelLease] = field(default_factory=dict)
    is_open: bool = True


_current: ContextVar[_Scope | None] = ContextVar("model_scope", default=None)


@contextmanager
def same_model() -> Iterator[None]:
    """Keep the calls in the block, and those of tasks that it starts and waits for, at one model
    each, also if it is replaced meanwhile."""
    scope = _Scope()
    before = _current.set(scope)
    try:
        yield
    finally:
        _current.reset(before)
        # Tasks that outlive the block use the model of the time of their calls.
        scope.is_open = False
        for lease in scope.leases.values():
            lease.uses -= 1


class ReplaceableModel:
    """ChatModel that passes calls on to a model that may be replaced (hot swap); the caller closes
    both.

    Each call holds a lease on the model that it began with, and so does a turn: `same_model()`
    keeps all calls of the block at the model of its first one. A replaced model may be closed when
    its last lease has ended.
    """

    def __init__(self, model: ChatModel) -> None:
        self._lease = ModelLease(model)

    def replace(self, model: ChatModel) -> ModelLease:
        """Use `model` for the turns and calls that begin from now on. Returns the lease of the
        former one, which may be closed when it has no more uses."""
        former, self._lease = self._lease, ModelLease(model)
        return former

    @property
    def current(self) -> ChatModel:
        """The model; within `same_model()` that of the first call."""
        return self._leased().model

    @property
    def is_outdated(self) -> bool:
        """True within a turn that goes on with a replaced model."""
        return self._leased() is not self._lease

    @property
    def name(self) -> str:
        return self.current.name

    async def complete(
        self,
        messages: Sequence[ContextMessage],
        tools: Sequence[ToolSpec] = (),
        **options: Unpack[CallOptions],
    ) -> Completion:
        with self._lease_for_call().held() as model:
            return await model.complete(messages, tools, **options)

    async def stream(
        self,
        messages: Sequence[ContextMessage],
        tools: Sequence[ToolSpec] = (),
        **options: Unpack[CallOptions],
    ) -> AsyncGenerator[TextDelta | Completion]:
        with self._lease_for_call().held() as model:
            pieces = model.stream(messages, tools, **options)
            async with closing_stream(pieces):
                async for piece in pieces:
                    yield piece

    def _leased(self) -> ModelLease:
        scope = _current.get()
        if scope is None or not scope.is_open:
            return self._lease
        return scope.leases.get(self, self._lease)

    def _lease_for_call(self) -> ModelLease:
        """The lease of the current scope, which begins here if this is its first call."""
        scope, lease = _current.get(), self._leased()
        if scope is not None and scope.is_open and self not in scope.leases:
            scope.leases[self] = lease
            lease.uses += 1
        return lease


CACHED_QUERIES = 1024
"""Maximum number of cached vectors: 1.5 KB each at 384 dimensions."""


class Embedder(Protocol):
    """Embedding model (protocol). `embed` raises ModelUnavailable if it cannot embed now."""

    @property
    def name(self) -> str:
        """Identifies model and version; stored beside every vector it made."""

    @property
    def dimension(self) -> int | None:
        """Dimension of the vectors; None before the first answer if it is not known."""

    async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Embed the texts off the event loop: one L2-normalised row each, shape (len(texts),
        dimension)."""


class QueryVectorCache:
    """LRU cache of query vectors. Concurrent requests for the same text share one embedding."""

    def __init__(self, embed: Callable[[str], Awaitable[NDArray[np.float32]]]) -> None:
        """An exception raised by `embed` reaches all waiting callers and is not cached."""
        self._embed = embed
        self._vectors: LruDict[str, NDArray[np.float32]] = LruDict(CACHED_QUERIES)
        self._running: dict[str, asyncio.Task[NDArray[np.float32]]] = {}
        """Running embeddings by text, bounded by the waiting callers."""

    def __len__(self) -> int:
        return len(self._vectors)

    async def get(self, text: str) -> NDArray[np.float32]:
        """Return a copy of the cached vector of the text, or embed it."""
        known = self._vectors.get(text)
        if known is None:
            # A cancelled caller must not cancel the embedding that others wait for.
            known = await asyncio.shield(self._running.get(text) or self._start(text))
        else:
            self._vectors.move_to_end(text)
        # A caller may change its row; the cached one must stay as it is.
        return known.copy()

    async def embed_missing(
        self,
        texts: Sequence[str],
        embed_all: Callable[[Sequence[str]], Awaitable[NDArray[np.float32]]],
    ) -> NDArray[np.float32]:
        """Return a row per text; `embed_all` embeds those that are not cached, each once."""
        known = {text: self._vectors[text].reshape(-1) for text in texts if text in self._vectors}
        new = [text for text in dict.fromkeys(texts) if text not in known]
        vectors = await embed_all(new)
        if len(new) == len(texts):
            return vectors
        known |= zip(new, vectors, strict=True)
        # Imported here: importing it takes a tenth of a second.
        import numpy as np

        return np.stack([known[text] for text in texts])

    async def aclose(self) -> None:
        """Wait for running embeddings."""
        if self._running:
            await asyncio.wait(list(self._running.values()))

    def _start(self, text: str) -> asyncio.Task[NDArray[np.float32]]:
        """Start the embedding as a task: the first caller may be cancelled, others wait."""
        self._running[text] = asyncio.create_task(self._embed_and_keep(text))
        return self._running[text]

    async def _embed_and_keep(self, text: str) -> NDArray[np.float32]:
        try:
            vector = await self._embed(text)
        finally:
            del self._running[text]
        self._vectors[text] = vector
        return vector
