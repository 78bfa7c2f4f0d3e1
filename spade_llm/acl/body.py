"""Typed JSON bodies: the only place where a peer's JSON is read. Knows no service."""

from __future__ import annotations

from typing import ClassVar, Self

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import PydanticSerializationError

from spade_llm.errors import InvalidArguments, MalformedContent

MAX_BODY_BYTES = 128 * 1024
"""Cap of one encoded body. Servers close the sender's stream above 256 KB of XML, and JSON grows
×1.84 on the way into it, so anything larger goes in pages or as a file."""
MAX_DETAIL = 500
"""Characters of an error's sentence, ours or a peer's."""


class Body(BaseModel):
    """The content of one message. Unknown fields are ignored: later versions may add some.

    None is not written: a field that may be None has None as its default.
    """

    model_config = ConfigDict(frozen=True, extra="ignore", strict=False, allow_inf_nan=False)

    op: ClassVar[str] = ""
    """What the request asks for, within its ontology."""

    def encode(self) -> str:
        """This body as JSON text, of characters that XML 1.0 can carry.

        Raises:
            InvalidArguments: larger than MAX_BODY_BYTES, or a text in it is not valid Unicode.
        """
        text = _xml_safe(self._dump())
        if self.op:
            text = f'{{"op":"{self.op}"' + ("}" if text == "{}" else f",{text[1:]}")
        if _is_too_large(text):
            raise InvalidArguments(
                f"the body has over {MAX_BODY_BYTES} bytes: send it in pages or as a file"
            )
        return text

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
            raise _explained(error) from None

    def _dump(self) -> str:
        try:
            return self.model_dump_json(exclude_none=True)
        except PydanticSerializationError:
            raise InvalidArguments(
                "a text in the body is not valid Unicode (half of a surrogate pair): replace it"
            ) from None


class Empty(Body):
    """An answer without content: done."""


class ErrorBody(Body):
    """Content of refuse, failure and not-understood."""

    code: str
    detail: str = ""


class Claim(BaseModel):
    """What is read of a request before its op is known."""

    op: str = ""
    owner: str | None = None
    """Whom the request says it acts for; it must be the stamped sender, and is best left out."""


def read_claim(text: str) -> Claim:
    """The `op` and `owner` of a request body, read without its other fields.

    Raises:
        MalformedContent: not a JSON object with a textual `op`.
    """
    _check_size(text)
    try:
        return Claim.model_validate_json(text)
    except ValidationError:
        raise MalformedContent("the body is not a JSON object with a textual 'op'") from None


def read_error(text: str) -> tuple[str, str]:
    """Code and detail of an error answer; what is not an ErrorBody is its own detail."""
    try:
        body = ErrorBody.decode(text)
    except (MalformedContent, InvalidArguments):
        return "", text[:MAX_DETAIL]
    return body.code, body.detail[:MAX_DETAIL]


def _is_too_large(text: str) -> bool:
    return len(text.encode(errors="surrogatepass")) > MAX_BODY_BYTES


def _check_size(text: str) -> None:
    if _is_too_large(text):
        raise MalformedContent(f"the body has over {MAX_BODY_BYTES} bytes")


def _xml_safe(json_text: str) -> str:
    """JSON escapes control characters by itself; these two are all that XML still forbids."""
    return json_text.replace("\ufffe", "\\ufffe").replace("\uffff", "\\uffff")


_NOT_AN_OBJECT = frozenset({"json_invalid", "model_type", "string_unicode"})


def _explained(error: ValidationError) -> MalformedContent | InvalidArguments:
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    if first["type"] in _NOT_AN_OBJECT:
        return MalformedContent("the body is not a JSON object")
    where = ".".join(str(part) for part in first["loc"]) or "body"
    return InvalidArguments(f"{where[:MAX_DETAIL]}: {first['msg'][:MAX_DETAIL]}")
