"""Message archive (XEP-0313): reads what people wrote while the agent was offline.

After each new stream the missed messages are read once and in order.

The id of the last processed message is stored on disk. Without it nothing is read: an agent that is
new to an account does not answer older messages.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import secrets
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from slixmpp.exceptions import IqError, IqTimeout
from slixmpp.xmlstream.handler import Callback
from slixmpp.xmlstream.matcher.base import MatcherBase

from spade_llm.core.errors import PeerUnavailable, RequestError, RequestTimeout
from spade_llm.core.limits import LruDict
from spade_llm.messaging import CHAT_TEXT, bare
from spade_llm.xmpp.stanza_router import on_extension
from spade_llm.xmpp.stanzas import message_codec as codec
from spade_llm.xmpp.stanzas.forms import typed_form
from spade_llm.xmpp.stanzas.namespaces import DELAY, HINTS

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

    from slixmpp import ClientXMPP
    from slixmpp.stanza import Message as Stanza

    from spade_llm.xmpp.agent import XmppAgent

logger = logging.getLogger(__name__)

MAM = "urn:xmpp:mam:2"
PAGE_SIZE = 50
"""Messages of one answer; Prosody gives no more (0.12)."""
TIMEOUT_S = 20.0
NOT_FOUND = "item-not-found"

_RESULT = f"{{{MAM}}}result"
_FIN = f"{{{MAM}}}fin"
_FORWARDED = "{urn:xmpp:forward:0}forwarded"
_DELAY = f"{{{DELAY}}}delay"
_MESSAGE = "{jabber:client}message"
_RSM = "http://jabber.org/protocol/rsm"
_STANZA_ID = "{urn:xmpp:sid:0}stanza-id"

MAX_AGE = timedelta(days=3)
"""Maximum age of a message that is answered; nothing older is read."""
MAX_PAGES = 200
"""Maximum number of pages read after an absence: 10 000 messages, our own included, which is what
Prosody keeps of an account. Newer messages are then not answered."""
MAX_MESSAGES = 500
"""Maximum number of missed messages answered after an absence."""
MAX_PER_SENDER = 50
"""Maximum number of missed messages answered per sender: a flood displaces no others."""
MAX_AT_WORK = 8
"""Old messages wait while the agent has so much to do, and so leave room for new ones."""
RETRY_S = 20.0
ATTEMPTS = 3
MAX_LIVE_IDS = 4096
"""Ids that came live while the archive is read, not to be read again."""

_KEPT_OUT = ("no-store", "no-permanent-store")


@dataclass(frozen=True, slots=True)
class ArchivedMessage:
    """Message of the archive with its id there."""

    id: str
    message: ET.Element
    """The `<message/>` as it came, with the time (XEP-0203)."""


@dataclass(frozen=True, slots=True)
class ArchivePage:
    """Page of archived messages."""

    messages: tuple[ArchivedMessage, ...]
    """Oldest first."""
    last: str
    """Empty: there are none."""
    is_last: bool


class MessageArchive:
    """Message archive of a client's account."""

    def __init__(self, client: ClientXMPP) -> None:
        self._client = client
        self._open: dict[str, list[ArchivedMessage]] = {}
        client.register_handler(Callback("archive", _Result(None), self._collect))

    async def after(self, id: str, *, since: datetime) -> ArchivePage:
        """Return the page that follows this id (from the beginning if empty), without messages
        older than `since`.

        Raises:
            PeerUnavailable: with wire_code NOT_FOUND if the archive no longer has this id.
            RequestTimeout: no answer in time.
        """
        return await self._page(since, {"max": str(PAGE_SIZE)} | ({"after": id} if id else {}))

    async def newest(self) -> str:
        """Return the id of the newest message; empty if there is none. Raises as `after`."""
        return (await self._page(None, {"max": "1", "before": ""})).last

    async def _page(self, since: datetime | None, rsm: dict[str, str]) -> ArchivePage:
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
        """Collect a result of a pending query; results not sent by our own account are ignored."""
        result = stanza.xml.find(_RESULT)
        page = self._open.get(result.get("queryid", "")) if result is not None else None
        # Anybody can send a `<result/>`, with words of others in it.
        if page is None or stanza.xml.get("from", self._me) != self._me or len(page) >= PAGE_SIZE:
            return
        forwarded = result.find(_FORWARDED)
        message = forwarded.find(_MESSAGE) if forwarded is not None else None
        if message is None:
            return
        if (delay := forwarded.find(_DELAY)) is not None:
            message.append(delay)
        page.append(ArchivedMessage(result.get("id", ""), message))


def archive_id(message: ET.Element) -> str:
    """Return the id of a live message in our archive (XEP-0359); empty if it is not archived.

    Only valid if the server has an archive: other servers pass on ids that senders made up.
    """
    account = bare(message.get("to", ""))
    ids = (one for one in message.iterfind(_STANZA_ID) if one.get("by") == account)
    return next((one.get("id", "") for one in ids), "")


class MissedMessages:
    """Reads the messages that arrived while the agent was offline, and stores the position."""

    def __init__(self, agent: XmppAgent, path: Path) -> None:
        self._agent = agent
        self._path = path
        self._position: tuple[str, datetime] | None = None
        """Latest position, also if the disk was full and did not take it: what was refused
        meanwhile is not run after a reconnection."""
        self._archive: MessageArchive | None = None
        self._reading: asyncio.Task[None] | None = None
        self._is_reading = True
        self._has_archive = False
        self._is_keeping = False
        self._live: LruDict[str, None] = LruDict(MAX_LIVE_IDS)
        # What was refused, or a code that was used, is not to be read again later.
        agent.on_stanza_received.append(on_extension((_STANZA_ID,), self._note))
        agent.on_client.append(self._listen)
        agent.on_session.append(self._begin)

    def _listen(self, client: ClientXMPP) -> None:
        self._archive = MessageArchive(client)

    def _begin(self) -> None:
        """Start reading after a new stream: messages to the previous stream may be lost."""
        if not self._agent.node.dispatcher.speaks(CHAT_TEXT):
            return
        if self._reading is not None:
            self._reading.cancel()
        self._is_reading = True
        self._reading = self._agent.submit(self._read_all())

    def _note(self, stanza: Element) -> None:
        """Note the archive id of a live message, so that it is not read again later."""
        id = archive_id(stanza) if stanza.tag == "{jabber:client}message" else ""
        if id and not (self._agent.connection and self._agent.connection.is_acknowledgement_frozen):
            self._live[id] = None
            self._keep_live()

    def _keep_live(self) -> None:
        """Store the position once for all messages that arrived meanwhile, not per message."""
        if self._has_archive and not self._is_keeping:
            self._is_keeping = True
            self._agent.spawn(self._keep_once_safe())

    async def _keep_once_safe(self) -> None:
        try:
            while self._live and not self._is_reading:
                newest, reading = next(reversed(self._live)), self._reading
                await self._agent.node.dispatcher.written_down()
                # Another stream meanwhile: whoever reads the archive keeps the place.
                if reading is self._reading:
                    self._save_position(newest)
                    while self._live and self._live.popitem(last=False)[0] != newest:
                        continue
        finally:
            self._is_keeping = False

    async def _read_all(self) -> None:
        for attempt in range(ATTEMPTS):
            if attempt:
                await asyncio.sleep(RETRY_S)
            try:
                await self._catch_up()
                break
            except RequestError as error:
                logger.warning(
                    "%s: missed messages cannot be read from the archive: %s",
                    self._agent.jid,
                    error,
                )
        self._is_reading = False
        self._keep_live()

    async def _catch_up(self) -> None:
        said = await self._agent.discover(str(self._agent.jid))
        self._has_archive = MAM in said.features
        if not self._has_archive or self._archive is None:
            return
        position = self._load_position()
        if position is None:
            # A new agent, or a lost folder: what was said before it came is not answered.
            self._save_position(await self._archive.newest())
            return
        await self._read_from(self._archive, *position)

    async def _read_from(self, archive: MessageArchive, position: str, at: datetime) -> None:
        since = datetime.now(UTC) - MAX_AGE
        taken: Counter[str] = Counter()
        for _ in range(MAX_PAGES):
            try:
                page = await archive.after(position, since=since)
            except PeerUnavailable as error:
                if error.wire_code != NOT_FOUND or not position:
                    raise
                # It has expired there; what came since may have not.
                position, since = "", max(at, since)
                continue
            for one in page.messages:
                await self._deal_with(one, taken)
            position = page.last or position
            if page.is_last:
                return
            if taken.total() >= MAX_MESSAGES:
                break
        logger.warning("%s: too many missed messages, the newest are not answered", self._agent.jid)
        self._save_position(await archive.newest())

    async def _deal_with(self, one: ArchivedMessage, taken: Counter[str]) -> None:
        dispatcher = self._agent.node.dispatcher
        sender = bare(one.message.get("from", ""))
        has_share = taken[sender] < MAX_PER_SENDER and taken.total() < MAX_MESSAGES
        if one.id not in self._live and has_share and self._is_for_us(one.message):
            taken[sender] += 1
            await dispatcher.has_room(below=MAX_AT_WORK)
            self._agent.process_message(one.message)
            await asyncio.sleep(0)
            await dispatcher.written_down()
        self._live.pop(one.id, None)
        # One by one: a kill −9 repeats one message at most, which the answer log knows.
        self._save_position(one.id)

    def _is_for_us(self, message: Element) -> bool:
        """True for a person's chat message; programs have repeated theirs, or given up."""
        is_ours = bare(message.get("from", "")) == str(self._agent.jid)
        is_chat = message.get("type", "normal") in ("chat", "normal")
        is_kept = all(message.find(f"{{{HINTS}}}{hint}") is None for hint in _KEPT_OUT)
        has_body = bool(message.findtext("{jabber:client}body"))
        return not is_ours and is_chat and is_kept and has_body and not codec.read_metadata(message)

    def _load_position(self) -> tuple[str, datetime] | None:
        if self._position is not None:
            return self._position
        try:
            known = json.loads(self._path.read_text("utf-8"))
            return str(known["id"]), datetime.fromisoformat(known["at"])
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError) as error:
            logger.warning("the archive position in %s cannot be read: %s", self._path, error)
            return None

    def _save_position(self, id: str) -> None:
        """Store the position atomically."""
        now = datetime.now(UTC)
        self._position = id, now
        text = json.dumps({"id": id, "at": now.isoformat()})
        new = self._path.with_suffix(".new")
        try:
            new.write_text(text, "utf-8")
            os.replace(new, self._path)
        except OSError as error:
            logger.warning("the archive position in %s cannot be written: %s", self._path, error)


def _read(fin: ET.Element | None, collected: list[ArchivedMessage]) -> ArchivePage:
    if fin is None:
        return ArchivePage((), "", is_last=True)
    last = fin.findtext(f"{{{_RSM}}}set/{{{_RSM}}}last") or ""
    return ArchivePage(tuple(collected), last, is_last=fin.get("complete") == "true" or not last)


def _query(query_id: str, since: datetime | None, rsm: dict[str, str]) -> ET.Element:
    query = ET.Element(f"{{{MAM}}}query", {"queryid": query_id})
    if since is not None:
        start = since.strftime("%Y-%m-%dT%H:%M:%SZ")
        query.append(typed_form("submit", MAM, {"start": start}))
    paging = ET.SubElement(query, f"{{{_RSM}}}set")
    for name, value in rsm.items():
        ET.SubElement(paging, f"{{{_RSM}}}{name}").text = value
    return query


class _Result(MatcherBase):
    def match(self, xml: Stanza) -> bool:
        return xml.xml.tag == _MESSAGE and xml.xml.find(_RESULT) is not None
