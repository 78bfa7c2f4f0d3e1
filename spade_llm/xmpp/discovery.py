"""Who is there and what they can do: disco#info of others, and the presences that reach us.

Only disco#info and the software's name are ever asked, and of full JIDs only: disco#items ends the
stream on some servers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from slixmpp.exceptions import IqError, IqTimeout

from spade_llm.errors import PeerUnavailable, RequestTimeout
from spade_llm.xmpp.announcement import MAX_FACT_CHARS, read_announcement
from spade_llm.xmpp.namespaces import DISCO_INFO, VERSION

if TYPE_CHECKING:
    from slixmpp import ClientXMPP

    from spade_llm.xmpp.announcement import Announcement

TIMEOUT_S = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Sighting:
    """A presence of somebody who lets us see it."""

    jid: str
    """Full, as stamped."""
    is_available: bool
    is_ours: bool = False
    """It says that it runs this software: then it understands our requests."""
    ver: str = ""
    """Of their capabilities (XEP-0115): another one when something of them has changed."""
    node: str = ""
    """Identifier of the software (XEP-0115), as its maker chose it: `https://dino.im`."""


async def discover(client: ClientXMPP, jid: str, *, timeout_s: float = TIMEOUT_S) -> Announcement:
    """What the one at this full JID says of itself.

    Raises:
        PeerUnavailable: nobody is there, or it does not say.
        RequestTimeout: no answer in time, as on servers that carry no requests between clients.
    """
    try:
        answer = await client["xep_0030"].get_info(jid=jid, cached=False, timeout=timeout_s)
    except IqError as error:
        condition = str(error.condition)
        reason = f"{jid} does not say what it is: {condition}"
        raise PeerUnavailable(reason, peer=jid, wire_code=condition) from None
    except IqTimeout:
        raise RequestTimeout(f"{jid} did not say in time what it is", peer=jid) from None
    query = answer.xml.find(f"{{{DISCO_INFO}}}query")
    if query is None:
        raise PeerUnavailable(f"{jid} does not say what it is", peer=jid)
    return read_announcement(query)


async def software_of(client: ClientXMPP, jid: str, *, timeout_s: float = TIMEOUT_S) -> str:
    """Name of the software at this full JID (XEP-0092); empty if it does not say in time."""
    try:
        answer = await client.make_iq_get(VERSION, ito=jid).send(timeout=timeout_s)
    except (IqError, IqTimeout):
        return ""
    name = answer.xml.findtext(f"{{{VERSION}}}query/{{{VERSION}}}name")
    return (name or "")[:MAX_FACT_CHARS]
