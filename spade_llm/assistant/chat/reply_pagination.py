"""Reply pagination: tool calls and context too large for one message are fetched in pages."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from pydantic import Field, ValidationError

from spade_llm.assistant.chat.messages import (
    BuiltContext,
    ChatReply,
    ToolCallReport,
    ToolRoundReport,
)
from spade_llm.core.errors import MalformedContent, NotFound, RequestError, RequestFailed
from spade_llm.core.limits import LruDict
from spade_llm.messaging import Body, new_id

if TYPE_CHECKING:
    from collections.abc import Callable

    from spade_llm.messaging import Request
    from spade_llm.messaging.rpc import RpcClient, RpcService

logger = logging.getLogger(__name__)

CONTEXT = "context"
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
        service.on(ReplyPageRequest, self._page, is_diverted=True)

    def fitting(self, reply: ChatReply, *, peer: str) -> ChatReply:
        """The reply, or what of it one message can carry; its rest is kept for this peer."""
        if reply.fits_one_message:
            return reply
        rest = ReplyRemainder(tool_calls=reply.tool_calls, steps=reply.steps, context=reply.context)
        text = rest.model_dump_json(exclude_none=True)
        short = _shortened(reply)
        if len(text) > MAX_CHARS:
            return _without_context(short)
        id = new_id()
        self._tidy(len(text))
        until = self._clock() + STORED_S
        self._kept[id] = _StoredRemainder(peer=peer, text=text, until=until)
        pages = -(-len(text) // PAGE_CHARS)
        return short.model_copy(update={"rest": id, "rest_pages": pages})

    def __len__(self) -> int:
        return len(self._kept)

    def _tidy(self, coming: int) -> None:
        """The oldest leave first, and are the first to be out of date."""
        size = coming + sum(len(one.text) for one in self._kept.values())
        for id, kept in list(self._kept.items()):
            if size <= MAX_STORED_CHARS and kept.until > self._clock():
                return
            size -= len(self._kept.pop(id).text)

    async def _page(self, request: Request, body: ReplyPageRequest) -> ReplyPage:
        kept = self._kept.get(body.id)
        if kept is None or kept.peer != request.message.asker or kept.until <= self._clock():
            raise NotFound(f"id: there is no rest {body.id!r} of an answer to you, or no longer")
        begin = body.page * PAGE_CHARS
        return ReplyPage(text=kept.text[begin : begin + PAGE_CHARS])


def _shortened(reply: ChatReply) -> ChatReply:
    """Reply without arguments, results, steps and context. A client without pagination still learns
    which tools were called."""
    calls = (one.model_copy(update={"result": "", "arguments": ""}) for one in reply.tool_calls)
    return reply.model_copy(update={"tool_calls": tuple(calls), "steps": (), "context": None})


def _without_context(reply: ChatReply) -> ChatReply:
    return reply.model_copy(
        update={"missing": (*reply.missing, CONTEXT), "rest": "", "rest_pages": 0}
    )


async def fetch_whole_reply(reply: ChatReply, peer: RpcClient) -> ChatReply:
    """The reply with its rest. Where that cannot be had any more, the answer itself is there all
    the same, and `context` is missing."""
    if not reply.rest:
        return reply
    try:
        rest = await _fetched(reply, peer)
    except RequestError as error:
        logger.warning("the rest of an answer of %s is missing: %s", peer.jid, error)
        return _without_context(reply)
    update = {"tool_calls": rest.tool_calls, "steps": rest.steps, "context": rest.context}
    return reply.model_copy(update={**update, "rest": "", "rest_pages": 0})


async def _fetched(reply: ChatReply, peer: RpcClient) -> ReplyRemainder:
    pages = [
        await peer.ask(
            ReplyPageRequest(id=reply.rest, page=page), ReplyPage, timeout_s=PAGE_TIMEOUT_S
        )
        for page in range(min(reply.rest_pages, MAX_CHARS // PAGE_CHARS))
    ]
    return _read("".join(page.text for page in pages), peer)


def _read(text: str, peer: RpcClient) -> ReplyRemainder:
    """Larger than a message, so not read as one."""
    try:
        return ReplyRemainder.model_validate_json(text)
    except ValidationError:
        raise RequestFailed(
            f"{peer.jid} sent pages of an answer that do not belong together",
            peer=peer.jid,
            wire_code=MalformedContent.code,
        ) from None
