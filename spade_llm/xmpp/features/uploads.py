"""File uploads (XEP-0363): upload slots, HTTP transfer, and files sent to a chat (XEP-0066).

Every holder of the URL can fetch the file until the server deletes it.
"""

from __future__ import annotations

import asyncio
import logging
import mimetypes
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, TYPE_CHECKING
from xml.etree.ElementTree import Element

import httpx
from slixmpp.exceptions import IqError, IqTimeout

from spade_llm.core.errors import (
    PeerUnavailable,
    RequestError,
    RequestFailed,
    RequestRefused,
    TooLarge,
)
from spade_llm.messaging import AclMessage, Performative
from spade_llm.xmpp.connection.settings import tls_context
from spade_llm.xmpp.stanzas.namespaces import DATA_FORM, DISCO_INFO, DISCO_ITEMS

if TYPE_CHECKING:
    from spade_llm.xmpp.agent import XmppAgent

logger = logging.getLogger(__name__)

NAMESPACE = "urn:xmpp:http:upload:0"
HEADERS = ("authorization", "cookie", "expires")
"""HTTP headers that a server may request (XEP-0363 §5); others are ignored."""
ASK_TIMEOUT_S = 10.0
UPLOAD_TIMEOUT_S = 300.0
MAX_ITEMS = 50
"""Parts of a server that are asked what they can do."""
_PIECE_BYTES = 1 << 18

SEND_FILE_TIMEOUT_S = 30.0
"""Timeout of the transfer in seconds; a person waits for the answer to which the file belongs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UploadService:
    """Upload service: the JID that gives slots, and its size limit."""

    jid: str
    max_bytes: int | None
    """Maximum file size in bytes; None: not announced."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UploadSlot:
    """Upload slot of a file: URLs to upload to and to download from."""

    put_url: str
    get_url: str
    headers: dict[str, str]


async def upload(
    agent: XmppAgent, path: Path, *, name: str = "", timeout_s: float = UPLOAD_TIMEOUT_S
) -> str:
    """Upload a file to the agent's server; return its download URL.

    Raises:
        RequestRefused: the server takes no uploads, or not one of this size.
        RequestError: it did not answer, or the transfer failed.
        OSError: the file cannot be read.
    """
    service = await find_upload_service(agent)
    with await asyncio.to_thread(path.open, "rb") as file:
        size = (await asyncio.to_thread(path.stat)).st_size
        if service.max_bytes is not None and size > service.max_bytes:
            raise RequestRefused(
                f"{path.name!r} has {size} bytes and the server takes {service.max_bytes}; split "
                "it, or put it below a document root and name its path",
                peer=service.jid,
                wire_code=TooLarge.code,
            )
        slot = await request_slot(agent, service, name=name or path.name, size=size)
        try:
            async with asyncio.timeout(timeout_s):
                await _put(agent, service, slot, _file_chunks(file), size)
        except TimeoutError:
            raise RequestFailed(
                f"the upload of {path.name!r} took longer than {timeout_s:.0f} s", peer=service.jid
            ) from None
    return slot.get_url


async def upload_host(agent: XmppAgent) -> str:
    """Return `HOST:PORT` that uploads of our server are fetched from.

    Only the URL of a slot tells it: this requests a slot and leaves it unused. Raises as `upload`.
    """
    service = await find_upload_service(agent)
    slot = await request_slot(agent, service, name="nothing.txt", size=1)
    url = httpx.URL(slot.get_url)
    return f"{url.host}:{url.port or (443 if url.scheme == 'https' else 80)}"


async def allowed_upload_hosts(agent: XmppAgent) -> frozenset[str]:
    """Hosts that shared files may be fetched from: our server's uploads; none if it takes none."""
    try:
        return frozenset({await upload_host(agent)})
    except RequestError as error:
        logger.info("the server of %s offers no file upload: %s", agent.jid, error)
        return frozenset()


async def find_upload_service(agent: XmppAgent) -> UploadService:
    """Find the upload service of the server or its components (XEP-0030). Raises as `upload`."""
    domain = agent.jid.domain
    items = await _query(agent, domain, Element(f"{{{DISCO_ITEMS}}}query"))
    parts = [item.get("jid", "") for item in items]
    for jid in [domain, *parts[:MAX_ITEMS]]:
        service = await _service_at(agent, jid)
        if service is not None:
            return service
    raise RequestRefused(
        f"the server of {domain!r} takes no uploads (XEP-0363); the embedded one never does: use "
        "Prosody, or put the file below a document root and name its path",
        peer=domain,
        wire_code="no-uploads",
    )


async def request_slot(
    agent: XmppAgent, service: UploadService, *, name: str, size: int
) -> UploadSlot:
    """Request an upload slot. Raises as `upload`."""
    kind = mimetypes.guess_type(name)[0] or "application/octet-stream"
    request = Element(f"{{{NAMESPACE}}}request")
    request.attrib.update({"filename": name, "size": str(size), "content-type": kind})
    answer = await _query(agent, service.jid, request)
    put, get = answer.find(f"{{{NAMESPACE}}}put"), answer.find(f"{{{NAMESPACE}}}get")
    if put is None or get is None:
        raise RequestFailed("the server's upload slot has no address", peer=service.jid)
    return UploadSlot(put_url=put.get("url", ""), get_url=get.get("url", ""), headers=_headers(put))


async def send_file(agent: XmppAgent, message: AclMessage, text: str, name: str) -> str:
    """Upload a text and send its URL to the sender of `message`; return the URL. Clients show a
    message that is a URL only as a file.

    Raises:
        RequestError: the server takes no files, or not this one; or it cannot be reached.
        OSError: the disk refuses.
    """
    with TemporaryDirectory(prefix="spade-llm-") as folder:
        path = Path(folder) / name
        await asyncio.to_thread(path.write_text, text, encoding="utf-8")
        url = await upload(agent, path, timeout_s=SEND_FILE_TIMEOUT_S)
    reply = message.reply(Performative.INFORM, url, sequence=0)
    id = f"{message.reply_with}.file"
    await agent.send_acl(replace(reply, reply_with=id, said=replace(reply.said, file=url)))
    return url


def _headers(put: Element) -> dict[str, str]:
    found = {one.get("name", ""): one.text or "" for one in put}
    return {
        # XEP-0363 §5: a line break would begin another header.
        name: value.replace("\r", "").replace("\n", "")
        for name, value in found.items()
        if name.lower() in HEADERS
    }


async def _service_at(agent: XmppAgent, jid: str) -> UploadService | None:
    """Query the upload service at this JID; None if it takes no files or does not answer."""
    info = f"{{{DISCO_INFO}}}"
    try:
        answer = await _query(agent, jid, Element(f"{info}query"))
    except RequestError:
        return None
    if NAMESPACE not in {one.get("var") for one in answer.iter(f"{info}feature")}:
        return None
    return UploadService(jid=jid, max_bytes=_max_bytes(answer))


def _max_bytes(answer: Element) -> int | None:
    data = f"{{{DATA_FORM}}}"
    for field in answer.iter(f"{data}field"):
        value = field.findtext(f"{data}value") or ""
        if field.get("var") == "max-file-size" and value.isdecimal():
            return int(value)
    return None


async def _query(agent: XmppAgent, jid: str, query: Element) -> Element:
    """Send an IQ get; return the payload of the answer."""
    if agent.connection is None:
        raise RuntimeError(f"{agent.jid} is not started")
    iq = agent.connection.client.Iq()
    iq["type"], iq["to"] = "get", jid
    iq.xml.append(query)
    try:
        answer = await iq.send(timeout=ASK_TIMEOUT_S)
    except IqTimeout:
        raise PeerUnavailable(f"{jid} does not answer", peer=jid) from None
    except IqError as error:
        said = error.iq["error"]["text"] or error.condition
        raise RequestRefused(
            f"{jid} refused: {said}", peer=jid, wire_code=error.condition
        ) from None
    return next(iter(answer.xml), Element("nothing"))


async def _put(
    agent: XmppAgent,
    service: UploadService,
    slot: UploadSlot,
    content: AsyncIterator[bytes],
    size: int,
) -> None:
    _check_url(slot.put_url, service)
    # Without a length httpx sends an iterator in chunks, and a slot is for this size.
    headers = {**slot.headers, "Content-Length": str(size)}
    context = tls_context(agent.options.connection.ca_path)
    try:
        async with httpx.AsyncClient(verify=context, trust_env=False, timeout=60.0) as client:
            answer = await client.put(slot.put_url, content=content, headers=headers)
    except httpx.HTTPError as error:
        raise RequestFailed(
            f"the upload to {service.jid} failed ({type(error).__name__})", peer=service.jid
        ) from error
    if answer.status_code not in (200, 201):
        raise RequestFailed(
            f"{service.jid} answered the upload with {answer.status_code}", peer=service.jid
        )


def _check_url(url: str, service: UploadService) -> None:
    try:
        parsed = httpx.URL(url)
    except httpx.InvalidURL as error:
        raise RequestFailed("the server's upload slot has no address", peer=service.jid) from error
    is_local = parsed.host in ("localhost", "127.0.0.1", "::1")
    if parsed.scheme != "https" and not (parsed.scheme == "http" and is_local):
        raise RequestFailed(f"{service.jid} offers uploads without TLS only", peer=service.jid)


async def _file_chunks(file: IO[bytes]) -> AsyncIterator[bytes]:
    while piece := await asyncio.to_thread(file.read, _PIECE_BYTES):
        yield piece
