"""A ping to our own full JID (XEP-0199): through our loop, the server's routing, and back.

Knows no agent. A ping of the server alone would be answered where our session is lost already.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from slixmpp.exceptions import IqError, IqTimeout

if TYPE_CHECKING:
    from spade_llm.xmpp.link import Link

TIMEOUT_S = 10.0


async def hears_itself(link: Link) -> bool:
    if not link.connected.is_set():
        return False
    try:
        await link.client["xep_0199"].send_ping(link.address, TIMEOUT_S)
    except (IqError, IqTimeout):
        return False
    return True
