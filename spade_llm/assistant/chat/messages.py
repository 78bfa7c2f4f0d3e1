"""Bodies of the chat service, and pagination of a reply that is too large for one message."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import AfterValidator, Field, ValidationError

from spade_llm.assistant.middleware.quota import PeerQuota
from spade_llm.assistant.turn.turn_options import AUTO, MAX_TOOL_ROUNDS, ContextOptions, ToolOptions
from spade_llm.assistant.turn.turn_recorder import KEPT_DAYS, DailyUsage, TurnRecord
from spade_llm.core.errors import MalformedContent, NotFound, RequestError, RequestFailed
from spade_llm.core.limits import LruDict
from spade_llm.messaging import Body, Request, new_id
from spade_llm.providers.model import Sampling

if TYPE_CHECKING:
    from spade_llm.messaging.rpc import RpcClient, RpcService


FinishReason = Literal["stop", "length", "content_filter"]
"""Finish reason, in OpenAI's terms: complete, truncated at a limit, or replaced by a guardrail."""


logger = logging.getLogger(__name__)

ONTOLOGY = "spade-llm.chat/1"
MAX_TOOLS = 200
# The upper bound of OpenAI's API.
MAX_TEMPERATURE = 2.0


def _checked(sampling: Sampling | None) -> Sampling | None:
    if sampling is None:
        return None
    if not 0 <= (sampling.temperature or 0) <= MAX_TEMPERATURE:
        raise ValueError(f"temperature must be 0…{MAX_TEMPERATURE:g}")
    if sampling.max_tokens is not None and sampling.max_tokens < 1:
        raise ValueError("max_tokens must be at least 1")
    return sampling


class SayRequest(Body):
    op: ClassVar[str] = "say"
    text: str = Field(min_length=1)
    # OpenAI's format for names of functions.
    tool_choice: str = Field(default=AUTO, pattern=r"^[a-zA-Z0-9_-]{1,64}$")
    """`auto`, `none`, `required`, or the name of the tool to call; the last two in the first round
    only."""
    tool_rounds: int | None = Field(default=None, ge=1, le=MAX_TOOL_ROUNDS)
    tools: tuple[str, ...] | None = Field(default=None, max_length=MAX_TOOLS)
    """Names of the tools offered to the model; None: all."""
    can_approve: bool = False
    """The caller answers requests for approval (`ApprovalPrompt`) with `approve`; without it,
    tools that need approval are not run."""
    is_streamed: bool = True
    """True if parts of the answer are sent while it is generated; False: the answer arrives whole.
    """

    context: ContextOptions | None = None
    """Options of the context given to the model besides the text; the reply then includes that
    context."""
    sampling: Annotated[Sampling | None, AfterValidator(_checked)] = None
    response_schema: dict[str, object] | None = None
    """JSON Schema of an object: the answer is JSON text of one, and comes without parts."""
    is_annotated: bool = True
    """The text may say what became of the answer (cut off, without memory, the model failed).
    False: `ChatReply.finish` says it, and a model's failure is the request's `failure`."""

    @property
    def wishes(self) -> ToolOptions:
        return ToolOptions(
            tool_choice=self.tool_choice, tool_rounds=self.tool_rounds, tools=self.tools
        )


class CompletionRequest(Body):
    """A prompt for the model alone: no conversation, no memory, no tools, and nothing is kept."""

    op: ClassVar[str] = "generate"
    prompt: str = Field(min_length=1)
    is_streamed: bool = True
    """Same as in SayRequest."""
    sampling: Annotated[Sampling | None, AfterValidator(_checked)] = None


class ApproveRequest(Body):
    """Answer to an approval prompt, by the bare JID that was asked, before it expires."""

    op: ClassVar[str] = "approve"
    id: str = Field(min_length=1, max_length=64)
    is_approved: bool


class AnswerDelta(Body):
    """A part of the answer's text, in order."""

    text: str


class ApprovalPrompt(Body):
    """Streamed part that asks whether a tool may run; `approve` with its id answers it."""

    question: str
    """Its id."""
    text: str
    """The question for a person, arguments and all."""
    tool: str
    arguments: tuple[str, ...] = ()
    """Arguments as they may be shown: secrets masked, long values truncated."""
    expires_s: float


class ToolCallReport(Body):
    """Report of a tool call made during the turn."""

    id: str
    name: str
    arguments: str
    """JSON text as the model wrote it, cut if it is long."""
    success: bool
    result: str = ""
    """Result if successful, truncated if it is long."""
    error: str = ""
    """Reason of the failure."""
    round: int
    """Round number, from 1: calls of the same round ran concurrently."""
    seconds: float = 0.0


class ToolRoundReport(Body):
    """Report of a round of a turn with tools."""

    round: int
    """Round number, from 1, as in ToolCallReport."""
    text: str = ""
    """Text of the model besides its calls."""
    tools: tuple[str, ...] = ()
    """Names of what it called."""


class AnswerSource(Body):
    """A passage that the model was given."""

    content: str
    source: str
    namespace: str
    """Namespace by the name that the caller uses."""
    chunk_index: int
    score: float
    """0…1."""
    page: int | None = None
    heading: str = ""


class BuiltContext(Body):
    """Context that a turn with ContextOptions gave the model besides the question."""

    text: str
    """Sections with `## ` headings; empty: nothing."""
    tokens: int
    """Token count of the text, never above the requested maximum."""
    sources: tuple[AnswerSource, ...] = ()
    """The passages in it, best first."""


class ChatReply(Body):
    """The whole answer, and what it was built from."""

    text: str
    sources: tuple[str, ...] = ()
    """Documents that were quoted to the model, as `source, passage N`."""
    missing: tuple[str, ...] = ()
    """Services that could not be asked: `memory`, `documents`, `tools`; `context`, where it was too
    large for this answer and cannot be fetched any more."""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    tool_calls: tuple[ToolCallReport, ...] = ()
    """Tool calls, in the order in which the model requested them."""
    routed_to: tuple[str, ...] = ()
    """JIDs that the answer was passed on to, if the agent routes its answers."""
    steps: tuple[ToolRoundReport, ...] = ()
    context: BuiltContext | None = None
    """Context given to the model, if the SayRequest had ContextOptions."""
    rest: str = ""
    """Id of the remainder, which ChatClient fetches in pages (assistant/chat/client.py);
    empty: this is all."""
    rest_pages: int = 0
    is_for_asker: bool = True
    """False: it went to those only; the text tells a program what they got."""
    finish: FinishReason = "stop"
    """Finish reason: complete, truncated at a limit, or replaced by a guardrail."""
    failure: str = ""
    """Code of the model's error where the text is an apology for it; empty: it is an answer."""
    fallback: str = ""
    """Name of the fallback model that answered because the preferred one failed (`offline`: rules);
    empty: the preferred one answered."""


PAGE_CHARS = 16_000
"""Page size in characters: at most 64 KB in any script."""
MAX_CHARS = 64 * PAGE_CHARS
"""Maximum size of one answer's remainder, in characters."""
MAX_STORED_CHARS = 16 * 1024 * 1024
MAX_STORED = 500
STORED_S = 300.0
PAGE_TIMEOUT_S = 10.0


class ReplyPageRequest(Body):
    """Request for a page of the caller's own answer."""

    op: ClassVar[str] = "rest"
    id: str = Field(min_length=1, max_length=64)
    page: int = Field(ge=0, lt=MAX_CHARS // PAGE_CHARS)


class ReplyPage(Body):
    text: str
    """A part of the JSON of a Rest."""


class ReplyRemainder(Body):
    """Parts of a ChatReply that are left out of it and fetched in pages."""

    tool_calls: tuple[ToolCallReport, ...] = ()
    steps: tuple[ToolRoundReport, ...] = ()
    context: BuiltContext | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _StoredRemainder:
    peer: str
    text: str
    until: float


class ReplyPagination:
    """Store of the remainders of an assistant's latest answers: at most MAX_STORED and
    MAX_STORED_CHARS, for STORED_S (TTL)."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._kept: LruDict[str, _StoredRemainder] = LruDict(MAX_STORED)

    def add_to(self, service: RpcService) -> None:
        # Diverted: pages need not wait behind the next turn of the conversation.
        service.on(ReplyPageRequest, self._page, is_diverted=True)

    def fitting(self, reply: ChatReply, *, peer: str) -> ChatReply:
        """Return the reply, shortened to one message if it is too long; the remainder is stored for
        this peer."""
        if reply.fits_one_message:
            return reply
        rest = ReplyRemainder(tool_calls=reply.tool_calls, steps=reply.steps, context=reply.context)
        text = rest.model_dump_json(exclude_none=True)
        # A client without pagination still learns which tools were called.
        calls = (one.model_copy(update={"result": "", "arguments": ""}) for one in reply.tool_calls)
        short = reply.model_copy(update={"tool_calls": tuple(calls), "steps": (), "context": None})
        if len(text) > MAX_CHARS:
            return _without_context(short)
        id = new_id()
        # The oldest are evicted first, and are the first to expire.
        size = len(text) + sum(len(one.text) for one in self._kept.values())
        for old_id, kept in list(self._kept.items()):
            if size <= MAX_STORED_CHARS and kept.until > self._clock():
                break
            size -= len(self._kept.pop(old_id).text)
        until = self._clock() + STORED_S
        self._kept[id] = _StoredRemainder(peer=peer, text=text, until=until)
        pages = -(-len(text) // PAGE_CHARS)
        return short.model_copy(update={"rest": id, "rest_pages": pages})

    def __len__(self) -> int:
        return len(self._kept)

    async def _page(self, request: Request, body: ReplyPageRequest) -> ReplyPage:
        kept = self._kept.get(body.id)
        # An id of somebody else's answer gets the words of an unknown one.
        if kept is None or kept.peer != request.message.asker or kept.until <= self._clock():
            raise NotFound(
                f"id: no remainder {body.id!r} of an answer to this caller; it may have expired"
            )
        begin = body.page * PAGE_CHARS
        return ReplyPage(text=kept.text[begin : begin + PAGE_CHARS])


def _without_context(reply: ChatReply) -> ChatReply:
    return reply.model_copy(
        update={"missing": (*reply.missing, "context"), "rest": "", "rest_pages": 0}
    )


async def fetch_whole_reply(reply: ChatReply, peer: RpcClient) -> ChatReply:
    """Complete a shortened reply. If the remainder has expired, the answer is returned without its
    `context`."""
    if not reply.rest:
        return reply
    try:
        pages = [
            await peer.ask(
                ReplyPageRequest(id=reply.rest, page=page), ReplyPage, timeout_s=PAGE_TIMEOUT_S
            )
            # The number is the peer's word: it must not make us ask for ever.
            for page in range(min(reply.rest_pages, MAX_CHARS // PAGE_CHARS))
        ]
        rest = _read("".join(page.text for page in pages), peer)
    except RequestError as error:
        logger.warning("the remainder of an answer of %s could not be fetched: %s", peer.jid, error)
        return _without_context(reply)
    update = {"tool_calls": rest.tool_calls, "steps": rest.steps, "context": rest.context}
    return reply.model_copy(update={**update, "rest": "", "rest_pages": 0})


def _read(text: str, peer: RpcClient) -> ReplyRemainder:
    """Parse a remainder; it may be larger than a message, and so is not read as a body."""
    try:
        return ReplyRemainder.model_validate_json(text)
    except ValidationError:
        raise RequestFailed(
            f"{peer.jid} sent inconsistent pages of an answer",
            peer=peer.jid,
            wire_code=MalformedContent.code,
        ) from None


class UsageRequest(Body):
    op: ClassVar[str] = "usage"
    days: int = Field(default=30, ge=1, le=KEPT_DAYS)
    """Today and those before it."""


class UsageReport(Body):
    days: tuple[DailyUsage, ...]
    """Newest first, of the asker only; those without spending are left out."""
    limits: PeerQuota
    """Quota for a day (UTC)."""


class ExplanationRequest(Body):
    """Request to explain the latest answer. The conversation is the request's own."""

    op: ClassVar[str] = "why"


class ExplanationReport(Body):
    record: TurnRecord
    texts: dict[str, str] = {}
    """Texts of the record's memories, by id, if they still exist."""
