"""The person's own login, for `chat`, `ask`, `doctor` and the chat of `up`. Knows no terminal."""

from __future__ import annotations

from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING

from spade_llm.cli.stopping import uninterrupted

if TYPE_CHECKING:
    import argparse
    from collections.abc import AsyncIterator

    from spade_llm.agent import ChatAgent
    from spade_llm.cli.place import Place

PERSON = "you"
ASSISTANT = "assistant"


def person_jid(options: argparse.Namespace, place: Place) -> str:
    return place.jid(options.person or PERSON)


def assistant_jid(options: argparse.Namespace, place: Place) -> str:
    return place.jid(options.jid or ASSISTANT)


@asynccontextmanager
async def logged_in(jid: str, place: Place) -> AsyncIterator[ChatAgent]:
    """The person, connected as long as the block runs.

    Raises:
        ConfigurationError: no password, or the server does not let them in.
    """
    password = place.accounts.get(jid)
    from spade_llm.agent.chat import ChatAgent
    from spade_llm.xmpp.agent import AgentOptions

    # Not available: messages for this person go on to their other clients.
    options = AgentOptions(
        connection=place.connection(),
        is_available=False,
        read_password=partial(place.accounts.get, jid),
    )
    agent = ChatAgent(jid, password, options=options)
    await agent.start()
    try:
        yield agent
    finally:
        await uninterrupted(agent.stop())
