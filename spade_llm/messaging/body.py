"""Typed JSON bodies (pydantic): encoding, validation, size limits, requests, error answers."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic_core import PydanticSerializationError, from_json

from spade_llm.core.errors import (
    InvalidArguments,
    MalformedContent,
    ModelError,
    PeerUnavailable,
    ProtocolError,
    RateLimited,
    Refusal,
    RequestFailed,
    RequestNotUnderstood,
    RequestRefused,
    ServiceError,
    SpadeLLMError,
    StorageFailed,
)
from spade_llm.core.text import validation_problems
from spade_llm.messaging.message import CHAT_TEXT, AclMessage, Performative, bare

MAX_BODY_BYTES = 128 * 1024
"""Cap of one encoded body. Servers close the sender's stream above 256 KB of XML, and JSON grows
×1.84 on the way into it, so anything larger goes in pages or as a file."""
MAX_ESCAPED_BYTES = 240 * 1024
"""Maximum size of a body inside its stanza, after XML escaping (stanza limit 255 KB)."""
MAX_DETAIL = 500
"""Characters of an error's sentence, ours or a peer's."""
_LEADING_OP = re.compile(r'\{"op":"([a-z_]{1,64})"')
_OWNER_KEYS = ("owner", "agent_id")
_FREE_KEYS = frozenset({"metadata", "arguments", "where", "response_schema"})
"""Below these, keys are the asker's own words."""
_NOT_AN_OBJECT = frozenset({"json_invalid", "model_type", "string_unicode"})
ERROR_BY_PERFORMATIVE = {
    Performative.REFUSE: RequestRefused,
    Performative.FAILURE: RequestFailed,
    Performative.NOT_UNDERSTOOD: RequestNotUnderstood,
}
_PUBLIC_DETAIL = "something went wrong here; it has been logged"


class Body(BaseModel):
    """The content of one message. Unknown fields are ignored: later versions may add some.

    None is not written: a field that may be None has None as its default.
    """

    # JSON has no NaN or Infinity (RFC 8259 §6): other readers would refuse the whole body.
    model_config = ConfigDict(frozen=True, extra="ignore", strict=False, allow_inf_nan=False)

    op: ClassVar[str] = ""
    """Operation that is requested, within its ontology."""
    skips_defaults: ClassVar[bool] = False
    """Fields at their default are not written: half of the bytes of long lists of records. The
    defaults are then a part of the ontology's version."""

    def encode(self) -> str:
        """This body as JSON text, of characters that XML 1.0 can carry.

        Raises:
            InvalidArguments: larger than MAX_BODY_BYTES, or a text in it is not valid Unicode.
        """
        text = _xml_safe(self._json)
        if self.op:
            # First in the text, where `peek_op` finds it without parsing the rest.
            text = f'{{"op":"{self.op}"' + ("}" if text == "{}" else f",{text[1:]}")
        if _is_too_large(text):
            raise InvalidArguments(
                f"the body has over {MAX_BODY_BYTES} bytes: send it in pages or as a file"
            )
        return text

    def __copy__(self) -> Self:
        """Copy without the cached JSON."""
        copied = super().__copy__()
        # `model_copy` changes fields afterwards: what was written of them is not the copy's.
        copied.__dict__.pop("_json", None)
        return copied

    @classmethod
    def decode(cls, text: str) -> Self:
        """Read a peer's JSON.

        Raises:
            MalformedContent: not JSON, not an object, or too large.
            InvalidArguments: a field is missing or wrong; the message names the first one.
        """
        _check_size(text)
        try:
            return cls.model_validate_json(text)
        except ValidationError as error:
            raise _validation_error(error) from None

    @classmethod
    def read(cls, values: Mapping[str, object]) -> Self:
        """Read what `read_request` found.

        Raises:
            InvalidArguments: a field is missing or wrong; the message names the first one.
        """
        try:
            return cls.model_validate(values)
        except ValidationError as error:
            raise _validation_error(error) from None

    @property
    def size_bytes(self) -> int:
        """Size of the JSON in bytes, before XML escaping."""
        return len(self._json.encode())

    @property
    def fits_one_message(self) -> bool:
        """Check whether a server accepts the body, as JSON and with XML escaping."""
        text = _xml_safe(self._json)
        size = len(text.encode())
        # In XML `<` and `>` become four characters (`&lt;`), and `&` becomes five.
        escapes = 3 * (text.count("<") + text.count(">")) + 4 * text.count("&")
        return size <= MAX_BODY_BYTES and size + escapes <= MAX_ESCAPED_BYTES

    @cached_property
    def _json(self) -> str:
        """Written once: an answer is measured before it is sent."""
        try:
            return self.model_dump_json(exclude_none=True, exclude_defaults=self.skips_defaults)
        except PydanticSerializationError as error:
            if "depth" in str(error):
                raise InvalidArguments("the body is nested too deeply: flatten it") from None
            raise InvalidArguments(
                "a text in the body is not valid Unicode (half of a surrogate pair): replace it"
            ) from None


class Empty(Body):
    """An answer without content: done."""


class ErrorBody(Body):
    """Content of refuse, failure and not-understood."""

    code: str
    detail: str = ""
    retry_after_s: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    """Seconds until a retry makes sense, if known."""


B = TypeVar("B", bound=Body)
T = TypeVar("T")


def truncated_to_message(items: Sequence[T], build: Callable[[Sequence[T]], B]) -> B:
    """The body with as many of the items, from the first on, as one message can carry."""
    body = build(items)
    if body.fits_one_message:
        return body
    # The size grows with the number of items, so bisection finds the most that fit.
    fewer = range(len(items))
    count = bisect_left(fewer, True, key=lambda n: not build(items[:n]).fits_one_message)
    return build(items[: max(count - 1, 0)])


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestBody:
    """A request's JSON, read once, before its op is known."""

    op: str
    owners: frozenset[str]
    """Owners that the request claims to act for, at any depth; best omitted."""
    values: Mapping[str, object]


def read_request(text: str) -> RequestBody:
    """A request body as plain values.

    Raises:
        MalformedContent: not a JSON object with a textual `op`.
    """
    _check_size(text)
    try:
        values = from_json(text.encode(errors="surrogatepass"), allow_inf_nan=False)
    except ValueError:
        values = None
    op = values.get("op") if isinstance(values, dict) else None
    if not isinstance(values, dict) or not isinstance(op, str):
        raise MalformedContent("the body is not a JSON object with a textual 'op'")
    return RequestBody(op=op, owners=frozenset(_owners(values)), values=values)


def peek_op(text: str) -> str:
    """The op where our own encoder puts it, without reading the rest; empty if it is not there."""
    found = _LEADING_OP.match(text)
    return found[1] if found else ""


def peek_field(text: str, name: str) -> str:
    """The first text with this name in a JSON body, at any depth and as it is written (with
    escapes), without reading the rest; empty if there is none."""
    found = re.search(rf'(?<!\\)"{name}"\s*:\s*"((?:[^"\\]|\\.)*)"', text)
    return found[1] if found else ""


def _owners(value: object) -> Iterator[str]:
    """Yield the claimed owners, at the depth that the JSON reader accepts (pydantic_core: 200)."""
    if isinstance(value, dict):
        yield from (str(value[key]) for key in _OWNER_KEYS if value.get(key) is not None)
        for key, inner in value.items():
            if key not in _FREE_KEYS and isinstance(inner, dict | list):
                yield from _owners(inner)
    elif isinstance(value, list):
        for inner in value:
            if isinstance(inner, dict | list):
                yield from _owners(inner)


def read_error(text: str) -> ErrorBody:
    """Content of an error answer, bounded; text that is not an ErrorBody becomes its detail."""
    try:
        body = ErrorBody.decode(text)
    except (MalformedContent, InvalidArguments):
        body = ErrorBody(code="", detail=text)
    return body.model_copy(update={"detail": body.detail[:MAX_DETAIL]})


def _is_too_large(text: str) -> bool:
    return (
        # At most four bytes a character in UTF-8: short texts need not be encoded to be measured.
        len(text) * 4 > MAX_BODY_BYTES and len(text.encode(errors="surrogatepass")) > MAX_BODY_BYTES
    )


def _check_size(text: str) -> None:
    if _is_too_large(text):
        raise MalformedContent(f"the body has over {MAX_BODY_BYTES} bytes")


def _xml_safe(json_text: str) -> str:
    """JSON escapes control characters by itself; these two are all that XML still forbids."""
    return json_text.replace("\ufffe", "\\ufffe").replace("\uffff", "\\uffff")


def _validation_error(error: ValidationError) -> MalformedContent | InvalidArguments:
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    if first["type"] in _NOT_AN_OBJECT:
        return MalformedContent("the body is not a JSON object")
    return InvalidArguments(validation_problems(error, whole="body", most=1))


def bounded_text(text: object) -> str:
    """Text of at most MAX_DETAIL characters, without lone surrogates, which no encoding can write.

    An error quotes what a peer sent: it must never fail to be answered, or to be logged.
    """
    return str(text)[:MAX_DETAIL].encode(errors="replace").decode()


_CANNOT_SAVE = "I cannot save data right now, and therefore cannot answer. Please try again later."


def error_answer(request: AclMessage, error: SpadeLLMError) -> AclMessage:
    """The answer to a request that failed; the error's family decides the performative."""
    if isinstance(error, ProtocolError):
        performative = Performative.NOT_UNDERSTOOD
    elif isinstance(error, Refusal):
        performative = Performative.REFUSE
    else:
        performative = Performative.FAILURE
    return request.reply(performative, error_content(request, error))


def error_content(message: AclMessage, error: SpadeLLMError) -> str:
    """Content of an error answer: a plain sentence in a chat, else an ErrorBody.

    Only errors that are written for peers show their text.
    """
    if isinstance(error, ModelError):
        detail = error.public_detail
    else:
        is_public = isinstance(error, ServiceError | ProtocolError)
        detail = str(error) if is_public else _PUBLIC_DETAIL
    detail = bounded_text(detail)
    if message.ontology == CHAT_TEXT:
        is_storage = isinstance(error, StorageFailed)
        return _CANNOT_SAVE if is_storage else detail
    retry_after_s = error.retry_after if isinstance(error, RateLimited) else None
    return ErrorBody(code=error.code, detail=detail, retry_after_s=retry_after_s).encode()


def is_error_source(jid: str, peer: str) -> bool:
    """Errors come from the peer's address, from its server, or (no address) from our own server."""
    # Otherwise anybody could end our requests with a forged error.
    return bare(jid) in ("", bare(peer), bare(peer).rpartition("@")[2])


def unsendable_error(message: AclMessage, error: ProtocolError) -> RequestRefused:
    return RequestRefused(
        str(error),
        peer=message.receiver,
        conversation_id=message.conversation_id,
        wire_code=error.code,
    )


def unavailable_error(message: AclMessage, condition: str) -> PeerUnavailable:
    return PeerUnavailable(
        f"{message.receiver} cannot be reached: {condition}",
        peer=message.receiver,
        conversation_id=message.conversation_id,
        wire_code=condition,
    )
