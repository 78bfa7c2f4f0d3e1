"""What is said to the sender of a message that cannot be read. Sends nothing itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spade_llm.acl import AclMessage, Encoding, ErrorBody, Performative
from spade_llm.xmpp.stanza import MAX_NAME_CHARS, encoding_of, read_metadata

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

    from spade_llm.errors import MalformedContent


def rejection(xml: Element, error: MalformedContent) -> AclMessage | None:
    """Not-understood, in words for people; None in answer to an answer, or two would go on."""
    fields = read_metadata(xml)
    if fields.get("in-reply-to"):
        return None
    encoding = encoding_of(xml)
    is_person = encoding is Encoding.PLAIN
    return AclMessage(
        performative=Performative.NOT_UNDERSTOOD,
        sender="",
        receiver=xml.get("from", ""),
        content=str(error) if is_person else ErrorBody(code=error.code, detail=str(error)).encode(),
        ontology=_if_short(fields.get("ontology")),
        conversation_id=_if_short(fields.get("conversation-id")),
        in_reply_to=_if_short(fields.get("reply-with") or xml.get("id")),
        encoding=encoding,
    )


def _if_short(name: str | None) -> str:
    return name if name and len(name) <= MAX_NAME_CHARS else ""
