"""Answers that one message cannot carry: what stands beside their text is fetched in pages.

The assistant keeps it for a while, for who asked and nobody else. Knows no turn.
"""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from pydantic import Field, ValidationError

from spade_llm.acl import Body, new_id
from spade_llm.core.limits import LruDict
from spade_llm.errors import MalformedContent, NotFound, RequestError, RequestFailed
from spade_llm.services.chat_bodies import BuiltContext, Reply, Step, ToolUse

if TYPE_CHECKING:
    from collections.abc import Callable

    from spade_llm.runtime import Request
    from spade_llm.services.service import Peer, Service

logger = logging.getLogger(__name__)

CONTEXT = "context"
PAGE_CHARS = 16_000
"""At most 64 KB, whatever its script."""
MAX_CHARS = 64 * PAGE_CHARS
"""Of one answer's rest."""
MAX_KEPT_CHARS = 16 * 1024 * 1024
MAX_KEPT = 500
KEPT_S = 300.0
PAGE_TIMEOUT_S = 10.0


class AskRest(Body):
    """Of one's own answer."""

    op: ClassVar[str] = "rest"
    id: str = Field(min_length=1, max_length=64)
    page: int = Field(ge=0, lt=MAX_CHARS // PAGE_CHARS)


class RestPage(Body):
    text: str
    """A part of the JSON of a Rest."""


class Rest(Body):
    """What a Reply leaves out where it names one."""

    tool_calls: tuple[ToolUse, ...] = ()
    steps: tuple[Step, ...] = ()
    context: BuiltContext | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kept:
    peer: str
    text: str
    until: float


class Rests:
    """Of one assistant's latest answers: MAX_KEPT and MAX_KEPT_CHARS at most, for KEPT_S."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._kept: LruDict[str, _Kept] = LruDict(MAX_KEPT)

    def add_to(self, service: Service) -> None:
        service.on(AskRest, self._page, is_diverted=True)

    def fitting(self, reply: Reply, *, peer: str) -> Reply:
        """The reply, or what of it one message can carry; its rest is kept for this peer."""
        if reply.fits_one_message:
            return reply
        rest = Rest(tool_calls=reply.tool_calls, steps=reply.steps, context=reply.context)
        text = rest.model_dump_json(exclude_none=True)
        short = _shortened(reply)
        if len(text) > MAX_CHARS:
            return _without_context(short)
        id = new_id()
        self._tidy(len(text))
        until = self._clock() + KEPT_S
        self._kept[id] = _Kept(peer=peer, text=text, until=until)
        pages = -(-len(text) // PAGE_CHARS)
        return short.model_copy(update={"rest": id, "rest_pages": pages})

    def __len__(self) -> int:
        return len(self._kept)

    def _tidy(self, coming: int) -> None:
        """The oldest leave first, and are the first to be out of date."""
        size = coming + sum(len(one.text) for one in self._kept.values())
        for id, kept in list(self._kept.items()):
            if size <= MAX_KEPT_CHARS and kept.until > self._clock():
                return
            size -= len(self._kept.pop(id).text)

    async def _page(self, request: Request, body: AskRest) -> RestPage:
        kept = self._kept.get(body.id)
        if kept is None or kept.peer != request.message.asker or kept.until <= self._clock():
            raise NotFound(f"id: there is no rest {body.id!r} of an answer to you, or no longer")
        begin = body.page * PAGE_CHARS
        return RestPage(text=kept.text[begin : begin + PAGE_CHARS])


def _shortened(reply: Reply) -> Reply:
    """Who knows of no rest still learns which tools were called."""
    calls = (one.model_copy(update={"result": "", "arguments": ""}) for one in reply.tool_calls)
    return reply.model_copy(update={"tool_calls": tuple(calls), "steps": (), "context": None})


def _without_context(reply: Reply) -> Reply:
    return reply.model_copy(
        update={"missing": (*reply.missing, CONTEXT), "rest": "", "rest_pages": 0}
    )


async def whole(reply: Reply, peer: Peer) -> Reply:
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


async def _fetched(reply: Reply, peer: Peer) -> Rest:
    pages = [
        await peer.ask(AskRest(id=reply.rest, page=page), RestPage, timeout_s=PAGE_TIMEOUT_S)
        for page in range(min(reply.rest_pages, MAX_CHARS // PAGE_CHARS))
    ]
    return _read("".join(page.text for page in pages), peer)


def _read(text: str, peer: Peer) -> Rest:
    """Larger than a message, so not read as one."""
    try:
        return Rest.model_validate_json(text)
    except ValidationError:
        raise RequestFailed(
            f"{peer.jid} sent pages of an answer that do not belong together",
            peer=peer.jid,
            wire_code=MalformedContent.code,
        ) from None
