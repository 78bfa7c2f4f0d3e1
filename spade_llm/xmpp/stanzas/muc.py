"""Multi-user chat codec (XEP-0045, 0249, 0421): presences, invitations, join and unlock."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET
from xml.sax.saxutils import quoteattr

from slixmpp import JID

from spade_llm.messaging import bare
from spade_llm.xmpp.connection.jids import is_jid
from spade_llm.xmpp.stanzas.announcement import NODE, read_node
from spade_llm.xmpp.stanzas.namespaces import DATA_FORM

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

MUC = "http://jabber.org/protocol/muc"
USER = f"{MUC}#user"
DIRECT = "jabber:x:conference"
OCCUPANT_ID = "urn:xmpp:occupant-id:0"
# Status codes of XEP-0045.
SELF, CREATED, NEW_NICK = "110", "201", "303"
SHUT_DOWN = "332"
BANNED = "301"
HISTORY_LINES = 20
"""Asked of a room when we join: what people talk about, never something to answer."""
MAX_PASSWORD_CHARS = 1024

_CLIENT = "{jabber:client}"
_USER = f"{{{USER}}}"


@dataclass(frozen=True, slots=True, kw_only=True)
class RoomPresence:
    """Presence in a room, of an occupant or of ourselves, as reported by the room."""

    room: str
    nick: str
    kind: str
    """`available`, `unavailable`, or `error`."""
    statuses: frozenset[str] = frozenset()
    real: str = ""
    """Bare JID, where the room shows it to us."""
    occupant: str = ""
    new_nick: str = ""
    is_agent: bool = False
    """It says that it runs our software."""
    is_destroyed: bool = False
    condition: str = ""
    """Error condition; empty: no error."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RoomInvitation:
    room: str
    inviter: str
    """Bare JID: stamped where it is direct; else as the room says."""
    password: str = ""
    is_mediated: bool = False


def read_presence(xml: Element) -> RoomPresence:
    room, _, nick = xml.get("from", "").partition("/")
    user = xml.find(f"{_USER}x")
    item = user.find(f"{_USER}item") if user is not None else None
    occupant = xml.find(f"{{{OCCUPANT_ID}}}occupant-id")
    kind = xml.get("type", "available")
    real = bare(item.get("jid", "")) if item is not None else ""
    return RoomPresence(
        room=room,
        nick=nick,
        kind=kind if kind in ("available", "unavailable", "error") else "other",
        statuses=frozenset(one.get("code", "") for one in user.iterfind(f"{_USER}status"))
        if user is not None
        else frozenset(),
        real=real if is_jid(real) else "",
        new_nick=item.get("nick", "") if item is not None else "",
        occupant=occupant.get("id", "") if occupant is not None else "",
        is_agent=read_node(xml) == NODE,
        is_destroyed=user is not None and user.find(f"{_USER}destroy") is not None,
        condition=condition_of(xml),
    )


def read_invitation(xml: Element) -> RoomInvitation | None:
    """An invitation to a room; None: it is none."""
    direct = xml.find(f"{{{DIRECT}}}x")
    mediated = xml.find(f"{_USER}x/{_USER}invite")
    sender = bare(xml.get("from", ""))
    if mediated is not None:
        password = xml.findtext(f"{_USER}x/{_USER}password") or ""
        return _normalised_jid(sender, bare(mediated.get("from", "")), password, is_mediated=True)
    if direct is not None:
        password = direct.get("password", "")
        return _normalised_jid(direct.get("jid", ""), sender, password, is_mediated=False)
    return None


def join_element(password: str) -> ET.Element:
    """Return the element that makes a presence a join request."""
    x = ET.Element(f"{{{MUC}}}x")
    ET.SubElement(x, f"{{{MUC}}}history", {"maxstanzas": str(HISTORY_LINES)})
    if password:
        ET.SubElement(x, f"{{{MUC}}}password").text = password
    return x


def unlock(room: str, id: str) -> str:
    """Encode the acceptance of a new room's default configuration (XEP-0045 §10.1.2), which opens
    it."""
    return (
        f"<iq type='set' to={quoteattr(room)} id={quoteattr(id)}>"
        f"<query xmlns='{MUC}#owner'><x xmlns='{DATA_FORM}' type='submit'/></query></iq>"
    )


def _normalised_jid(
    room: str, inviter: str, password: str, *, is_mediated: bool
) -> RoomInvitation | None:
    """Normalise the JIDs of an invitation as servers do: a room is identified by the JID that it
    stamps. None if a JID is not valid, or the password is too long."""
    is_room = is_jid(room) and "@" in room and "/" not in room
    if not (is_room and is_jid(inviter)) or len(password) > MAX_PASSWORD_CHARS:
        return None
    room, inviter = str(JID(room)), str(JID(inviter))
    return RoomInvitation(room=room, inviter=inviter, password=password, is_mediated=is_mediated)


def condition_of(xml: Element) -> str:
    """Return the condition of a stanza error; empty if it is not an error."""
    error = xml.find(f"{_CLIENT}error")
    names = [child.tag.rpartition("}")[2] for child in error] if error is not None else []
    return next((name for name in names if name != "text"), "")
