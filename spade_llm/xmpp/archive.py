"""What a server has archived of an account, page by page (XEP-0313). Knows no agent."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from slixmpp.exceptions import IqError, IqTimeout
from slixmpp.xmlstream.handler import Callback
from slixmpp.xmlstream.matcher.base import MatcherBase

from spade_llm.acl import bare
from spade_llm.errors import PeerUnavailable, RequestTimeout
from spade_llm.xmpp.namespaces import DELAY
from spade_llm.xmpp.typed_form import typed_form

if TYPE_CHECKING:
    from datetime import datetime

    from slixmpp import ClientXMPP
    from slixmpp.stanza import Message as Stanza

NAMESPACE = "urn:xmpp:mam:2"
PAGE = 50
"""Messages of one answer; Prosody gives no more (0.12)."""
TIMEOUT_S = 20.0
NOT_FOUND = "item-not-found"

_RESULT = f"{{{NAMESPACE}}}result"
_FIN = f"{{{NAMESPACE}}}fin"
_FORWARDED = "{urn:xmpp:forward:0}forwarded"
_DELAY = f"{{{DELAY}}}delay"
_MESSAGE = "{jabber:client}message"
_RSM = "http://jabber.org/protocol/rsm"
_STANZA_ID = "{urn:xmpp:sid:0}stanza-id"


@dataclass(frozen=True, slots=True)
class Archived:
    id: str
    message: ET.Element
    """The `<message/>` as it came, with the time (XEP-0203)."""


@dataclass(frozen=True, slots=True)
class Page:
    messages: tuple[Archived, ...]
    """Oldest first."""
    last: str
    """Empty: there are none."""
    is_last: bool


class Archive:
    """Of one client's account."""

    def __init__(self, client: ClientXMPP) -> None:
        self._client = client
        self._open: dict[str, list[Archived]] = {}
        client.register_handler(Callback("archive", _Result(None), self._collect))

    async def after(self, id: str, *, since: datetime) -> Page:
        """What follows this one; of an empty id, all. Nothing older than `since`.

        Raises:
            PeerUnavailable: with wire_code NOT_FOUND, where the archive has it no more.
            RequestTimeout: no answer in time.
        """
        return await self._page(since, {"max": str(PAGE)} | ({"after": id} if id else {}))

    async def newest(self) -> str:
        """The id of the last one; empty: there is none. Raises as `after`."""
        return (await self._page(None, {"max": "1", "before": ""})).last

    async def _page(self, since: datetime | None, rsm: dict[str, str]) -> Page:
        query_id = secrets.token_hex(8)
        iq = self._client.Iq(stype="set", sto=self._client.boundjid.bare)
        iq.append(_query(query_id, since, rsm))
        collected = self._open[query_id] = []
        try:
            fin = (await iq.send(timeout=TIMEOUT_S)).xml.find(_FIN)
        except IqTimeout:
            raise RequestTimeout("the archive does not answer", peer=self._me) from None
        except IqError as error:
            condition = str(error.condition)
            reason = f"the archive answers {condition}"
            raise PeerUnavailable(reason, peer=self._me, wire_code=condition) from None
        finally:
            del self._open[query_id]
        return _read(fin, collected)

    @property
    def _me(self) -> str:
        return str(self._client.boundjid.bare)

    def _collect(self, stanza: Stanza) -> None:
        """Only our own account speaks for its archive, and only to what we have asked."""
        result = stanza.xml.find(_RESULT)
        page = self._open.get(result.get("queryid", "")) if result is not None else None
        if page is None or stanza.xml.get("from", self._me) != self._me or len(page) >= PAGE:
            return
        forwarded = result.find(_FORWARDED)
        message = forwarded.find(_MESSAGE) if forwarded is not None else None
        if message is None:
            return
        if (delay := forwarded.find(_DELAY)) is not None:
            message.append(delay)
        page.append(Archived(result.get("id", ""), message))


def archive_id(message: ET.Element) -> str:
    """By which our archive knows a message that came just now (XEP-0359); empty: it has it not.

    To be believed of a server with an archive only: others pass on what senders write.
    """
    account = bare(message.get("to", ""))
    ids = (one for one in message.iterfind(_STANZA_ID) if one.get("by") == account)
    return next((one.get("id", "") for one in ids), "")


def _read(fin: ET.Element | None, collected: list[Archived]) -> Page:
    if fin is None:
        return Page((), "", is_last=True)
    last = fin.findtext(f"{{{_RSM}}}set/{{{_RSM}}}last") or ""
    return Page(tuple(collected), last, is_last=fin.get("complete") == "true" or not last)


def _query(query_id: str, since: datetime | None, rsm: dict[str, str]) -> ET.Element:
    query = ET.Element(f"{{{NAMESPACE}}}query", {"queryid": query_id})
    if since is not None:
        start = since.strftime("%Y-%m-%dT%H:%M:%SZ")
        query.append(typed_form("submit", NAMESPACE, {"start": start}))
    paging = ET.SubElement(query, f"{{{_RSM}}}set")
    for name, value in rsm.items():
        ET.SubElement(paging, f"{{{_RSM}}}{name}").text = value
    return query


class _Result(MatcherBase):
    def match(self, xml: Stanza) -> bool:
        return xml.xml.tag == _MESSAGE and xml.xml.find(_RESULT) is not None
