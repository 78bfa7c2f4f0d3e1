"""A text as a file in somebody's chat: uploaded, and its address sent (XEP-0363, XEP-0066)."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from spade_llm.acl import Performative
from spade_llm.xmpp.uploads import upload

if TYPE_CHECKING:
    from spade_llm.acl import AclMessage
    from spade_llm.xmpp.agent import XmppAgent

TIMEOUT_S = 30.0
"""Of the transfer: somebody waits for the answer that it belongs to."""


async def send_file(agent: XmppAgent, message: AclMessage, text: str, name: str) -> str:
    """To who sent `message`; the address. Clients show an address alone as a file.

    Raises:
        RequestError: the server takes no files, or not this one; or it cannot be reached.
        OSError: the disk refuses.
    """
    with TemporaryDirectory(prefix="spade-llm-") as folder:
        path = Path(folder) / name
        await asyncio.to_thread(path.write_text, text, encoding="utf-8")
        url = await upload(agent, path, timeout_s=TIMEOUT_S)
    reply = message.reply(Performative.INFORM, url, sequence=0)
    id = f"{message.reply_with}.file"
    await agent.send_acl(replace(reply, reply_with=id, said=replace(reply.said, file=url)))
    return url
