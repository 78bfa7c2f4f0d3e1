"""An answer that is still growing, as a stanza: nobody keeps it. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spade_llm.xmpp.stanza import ACTIVE, CHAT_STATES, encode

if TYPE_CHECKING:
    from spade_llm.acl import AclMessage

_END = "</message>"
_STILL_GROWING = (
    f"<composing xmlns='{CHAT_STATES}'/>"
    "<no-store xmlns='urn:xmpp:hints'/><no-permanent-store xmlns='urn:xmpp:hints'/>"
)


def encode_partial(answer: AclMessage) -> str:
    """What there is of it, to a person. Raises MalformedContent."""
    return encode(answer).removesuffix(_END).removesuffix(ACTIVE) + _STILL_GROWING + _END
