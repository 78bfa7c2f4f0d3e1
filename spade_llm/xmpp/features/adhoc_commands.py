"""Ad-hoc commands (XEP-0050) as menus, with bounded, expiring sessions (TTL).

slixmpp's plugin serves any JID, keeps an unbounded number of sessions, and opens them to any client
that names their id.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from collections import Counter, OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from slixmpp.exceptions import XMPPError
from slixmpp.plugins.xep_0030 import DiscoItems
from slixmpp.xmlstream import tostring

from spade_llm.core.errors import MalformedContent, RequestError, ServiceError
from spade_llm.messaging import bare
from spade_llm.xmpp.connection.xmpp_client import handle_iq
from spade_llm.xmpp.stanzas.forms import (
    AdHocRequest,
    CommandResult,
    form_xml,
    read_filled,
    result_xml,
)
from spade_llm.xmpp.stanzas.message_codec import MAX_STANZA_BYTES, xml_safe_text
from spade_llm.xmpp.stanzas.namespaces import DATA_FORM, DISCO_INFO, client_language

if TYPE_CHECKING:
    from slixmpp import ClientXMPP
    from slixmpp.stanza import Iq

    from spade_llm.xmpp.agent import XmppAgent
    from spade_llm.xmpp.stanzas.forms import CommandForm, CommandStep, MenuCommand

logger = logging.getLogger(__name__)

MAX_SESSIONS = 1000
"""The oldest goes first."""
MAX_OF_PEER = 8
"""Maximum number of sessions per bare JID; the JID's own oldest session is evicted."""
EXPIRY_S = 600.0
"""TTL of a session in seconds: the time that a person has to fill in a form."""
COMMANDS = "http://jabber.org/protocol/commands"
STEP_S = 20.0
"""Time limit of a command step in seconds; people's clients wait about half a minute."""
MAX_RUNNING = 64
MAX_RUNNING_OF_PEER = 4
MAX_COMMAND_BYTES = MAX_STANZA_BYTES - 4096
"""Maximum size of the serialised command in bytes; the rest is for its envelope."""
_GO_ON = frozenset({"", "execute", "next", "complete"})
_FAILED_TEXT = {
    "en": "That cannot be done right now. Please try again in a moment.",
    "es": "Eso no se puede hacer ahora. Inténtalo de nuevo en un momento.",
}
_TOO_LONG_TEXT = {
    "en": "That is too long for a menu: ask for it in the chat: write help.",
    "es": "Eso es demasiado largo para un menú: pídelo en el chat: escribe ayuda.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandSession:
    """Pending command session: a form that was shown and is to be filled in."""

    jid: str
    """Full: another of the same account has not seen the form."""
    node: str
    step: CommandForm
    until_s: float


class CommandSessions:
    """Bounded store of command sessions (TTL, limit per JID, oldest evicted)."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._by_id: OrderedDict[str, CommandSession] = OrderedDict()

    def open(self, jid: str, node: str, step: CommandForm) -> str:
        """Open a session; return its id, which cannot be guessed."""
        self._expire()
        mine = [id for id, one in self._by_id.items() if bare(one.jid) == bare(jid)]
        for id in mine[: max(len(mine) + 1 - MAX_OF_PEER, 0)]:
            del self._by_id[id]
        while len(self._by_id) >= MAX_SESSIONS:
            self._by_id.popitem(last=False)
        id = secrets.token_urlsafe(16)
        until_s = self._clock() + EXPIRY_S
        self._by_id[id] = CommandSession(jid=jid, node=node, step=step, until_s=until_s)
        return id

    def take(self, id: str, jid: str, node: str) -> CommandSession | None:
        """End and return a session: a form is filled in once. None: no such session."""
        self._expire()
        session = self._by_id.get(id)
        # It stays: another client that names its id must not end it.
        if session is None or (session.jid, session.node) != (jid, node):
            return None
        return self._by_id.pop(id)

    def __len__(self) -> int:
        return len(self._by_id)

    def _expire(self) -> None:
        """Remove expired sessions; all have the same TTL, so the oldest come first."""
        now_s = self._clock()
        while self._by_id and next(iter(self._by_id.values())).until_s <= now_s:
            self._by_id.popitem(last=False)


class AdHocCommands:
    """Serves the menu of commands and their forms."""

    def __init__(
        self, agent: XmppAgent, entries: Sequence[MenuCommand], *, may_use: Callable[[str], bool]
    ) -> None:
        """`may_use` takes a full JID."""
        self._agent = agent
        self._entries = {entry.node: entry for entry in entries}
        self._may_use = may_use
        self._sessions = CommandSessions()
        self._running: Counter[str] = Counter()
        agent.features.update((COMMANDS, DATA_FORM))
        agent.disco_nodes.append(self._info)
        agent.on_client.append(self._listen)

    def _listen(self, client: ClientXMPP) -> None:
        handle_iq(client, "set", f"{{{COMMANDS}}}command", self._take)
        client["xep_0030"].set_node_handler("get_items", handler=self._items)

    def _info(self, node: str) -> ET.Element | None:
        """Return disco#info of the menu or of a command; None for another node."""
        if node != COMMANDS and node not in self._entries:
            return None
        query = ET.Element(f"{{{DISCO_INFO}}}query", {"node": node})
        kind = "command-list" if node == COMMANDS else "command-node"
        name = self._entries[node].labels["en"] if node in self._entries else "Commands"
        identity = {"category": "automation", "type": kind, "name": name}
        ET.SubElement(query, f"{{{DISCO_INFO}}}identity", identity)
        for feature in (COMMANDS, DATA_FORM):
            ET.SubElement(query, f"{{{DISCO_INFO}}}feature", {"var": feature})
        return query

    def _items(self, _jid: object, node: str, asker: object, iq: Iq) -> DiscoItems:
        items = DiscoItems()
        items["node"] = node
        if node == COMMANDS and self._may_use(str(asker)):
            language = client_language(iq.xml)
            for entry in self._entries.values():
                items.add_item(self._agent.address, entry.node, entry.labels[language])
        elif node and node != COMMANDS:
            raise XMPPError("item-not-found")
        return items

    def _take(self, iq: Iq) -> None:
        """Answer a request: errors at once, others by `_serve`."""
        command, jid = iq.xml[0], str(iq["from"])
        entry = self._entries.get(command.get("node", ""))
        if not self._may_use(jid):
            _send_error(iq, "forbidden", "auth")
        elif entry is None:
            _send_error(iq, "item-not-found")
        elif self._is_full(bare(jid)):
            _send_error(iq, "resource-constraint", "wait")
        elif command.get("sessionid"):
            self._continue(iq, command)
        elif command.get("action", "") in _GO_ON:
            visit = AdHocRequest(jid=jid, language=client_language(iq.xml))
            self._serve(iq, partial(entry.begin, visit))
        else:
            _send_error(iq, "bad-request", detail="bad-action")

    def _is_full(self, peer: str) -> bool:
        is_full = self._running.total() >= MAX_RUNNING
        return is_full or self._running[peer] >= MAX_RUNNING_OF_PEER

    def _continue(self, iq: Iq, command: ET.Element) -> None:
        action, node = command.get("action", ""), command.get("node", "")
        if action not in _GO_ON | {"cancel"}:
            known = {"prev": "bad-action"}
            _send_error(iq, "bad-request", detail=known.get(action, "malformed-action"))
            return
        session = self._sessions.take(command.get("sessionid", ""), str(iq["from"]), node)
        if session is None:
            _send_error(iq, "bad-request", detail="bad-sessionid")
        elif action == "cancel":
            _send(iq, _command(iq, "canceled", command.get("sessionid", "")))
        else:
            self._submit(iq, command, session.step)

    def _submit(self, iq: Iq, command: ET.Element, step: CommandForm) -> None:
        try:
            filled = read_filled(command.find(f"{{{DATA_FORM}}}x"), step.form)
        except MalformedContent as error:
            # The form is shown again: what was wrong is said above it.
            self._show(iq, step, note=str(error))
            return
        self._serve(iq, partial(step.then, filled))

    def _serve(self, iq: Iq, work: Callable[[], Awaitable[CommandStep]]) -> None:
        self._running[iq["from"].bare] += 1
        self._agent.spawn(self._served(iq, work))

    async def _served(self, iq: Iq, work: Callable[[], Awaitable[CommandStep]]) -> None:
        """Run a step and answer, also after an unforeseen failure."""
        peer = iq["from"].bare
        step: CommandStep = CommandResult(
            text=_FAILED_TEXT[client_language(iq.xml)], is_failure=True
        )
        try:
            async with asyncio.timeout(STEP_S):
                step = await work()
        except (RequestError, ServiceError, TimeoutError) as error:
            logger.warning("ad-hoc command of %s failed: %s", peer, error)
        finally:
            self._running[peer] -= 1
            if not self._running[peer]:
                del self._running[peer]
            self._show(iq, step)

    def _show(self, iq: Iq, step: CommandStep, *, note: str = "") -> None:
        if isinstance(step, CommandResult):
            command = _result_element(iq, step)
        else:
            id = self._sessions.open(str(iq["from"]), iq.xml[0].get("node", ""), step)
            command = _command(iq, "executing", id)
            actions = ET.SubElement(command, f"{{{COMMANDS}}}actions", {"execute": "complete"})
            ET.SubElement(actions, f"{{{COMMANDS}}}complete")
            if note:
                _add_note(command, note, "error")
            command.append(form_xml(step.form))
        # At a larger stanza a server would close our stream.
        if len(tostring(command).encode()) > MAX_COMMAND_BYTES:
            too_long = _TOO_LONG_TEXT[client_language(iq.xml)]
            command = _result_element(iq, CommandResult(text=too_long, is_failure=True))
        _send(iq, command)


def _command(iq: Iq, status: str, session: str) -> ET.Element:
    attributes = {"node": iq.xml[0].get("node", ""), "sessionid": session, "status": status}
    return ET.Element(f"{{{COMMANDS}}}command", attributes)


def _result_element(iq: Iq, done: CommandResult) -> ET.Element:
    """Show a single line as a note, several lines as a form, which keeps the line breaks."""
    command = _command(iq, "completed", iq.xml[0].get("sessionid") or "done")
    title, *lines = done.text.splitlines() or [""]
    if lines and not done.is_failure:
        command.append(result_xml(title, lines))
    else:
        _add_note(command, done.text, "error" if done.is_failure else "info")
    return command


def _add_note(command: ET.Element, text: str, kind: str) -> None:
    ET.SubElement(command, f"{{{COMMANDS}}}note", {"type": kind}).text = xml_safe_text(text)


def _send(iq: Iq, payload: ET.Element) -> None:
    reply = iq.reply()
    reply.xml.append(payload)
    reply.send()


def _send_error(iq: Iq, condition: str, kind: str = "modify", *, detail: str = "") -> None:
    """Answer with a stanza error; `detail` is the condition of XEP-0050 §4.4."""
    reply = iq.reply()
    reply.error()
    reply["error"]["type"], reply["error"]["condition"] = kind, condition
    if detail:
        ET.SubElement(reply["error"].xml, f"{{{COMMANDS}}}{detail}")
    reply.send()
