"""An answer that is still growing, as a stanza: nobody keeps it. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spade_llm.xmpp.namespaces import CHAT_STATES, HINTS
from spade_llm.xmpp.stanza import ACTIVE, encode

if TYPE_CHECKING:
    from spade_llm.acl import AclMessage

_END = "</message>"
_STILL_GROWING = (
    f"<composing xmlns='{CHAT_STATES}'/>"
    f"<no-store xmlns='{HINTS}'/><no-permanent-store xmlns='{HINTS}'/>"
)


def encode_partial(answer: AclMessage) -> str:
    """What there is of it, to a person. Raises MalformedContent."""
    return encode(answer).removesuffix(_END).removesuffix(ACTIVE) + _STILL_GROWING + _END
