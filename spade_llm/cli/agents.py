"""`spade-llm agents`: who is there, what they are, and which tools they have.

Asked are the agents of the deployment, and with --roster those of one's contacts that say that they
are agents: never a person's chat. Who does not answer is named, too.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from spade_llm.cli.definition import read_deployment, standard_deployment
from spade_llm.cli.person import logged_in, person_jid
from spade_llm.cli.place import find_place
from spade_llm.cli.plain import one_line
from spade_llm.cli.stopping import run_until_stopped
from spade_llm.errors import RequestError

if TYPE_CHECKING:
    import argparse

    from spade_llm.agent import ChatAgent
    from spade_llm.cli.place import Place
    from spade_llm.providers.model import ToolSpec

TIMEOUT_S = 5.0
LOOK_S = 1.0
"""Presences of a roster come at once."""
MAX_ASKED = 200
"""The rest is not."""
MAX_LINE_CHARS = 100
"""Of what others say: it stays in its line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    jid: str
    kind: str
    summary: str
    features: tuple[str, ...] = ()
    tools: tuple[ToolSpec, ...] = ()


def main(options: argparse.Namespace) -> int:
    return run_until_stopped(_agents(options))


async def _agents(options: argparse.Namespace) -> int:
    place = find_place(options)
    async with logged_in(person_jid(options, place), place) as person:
        seen = await person.look_around(LOOK_S) if options.roster else frozenset()
        wanted = sorted(_deployed(options, place) | seen)[:MAX_ASKED]
        found = await asyncio.gather(*(_ask(person, jid) for jid in wanted))
    for one in found:
        for line in _lines(one):
            print(line)
    return 0 if any(one.features for one in found) else 1


def _deployed(options: argparse.Namespace, place: Place) -> frozenset[str]:
    folder = Path(options.agents) if options.agents else standard_deployment()
    domain = place.jid("x").partition("@")[2]
    return frozenset(one.jid for one in read_deployment(folder, domain=domain))


async def _ask(person: ChatAgent, jid: str) -> Found:
    try:
        status, address = await person.locate(jid, timeout_s=TIMEOUT_S)
    except RequestError as error:
        return Found(jid=jid, kind="-", summary=f"does not answer ({error.code})")
    return Found(
        jid=jid,
        kind=status.kind,
        summary=status.summary,
        features=await _features(person, address, status.ontologies),
        tools=await _tools(person, jid, status.ontologies),
    )


async def _features(
    person: ChatAgent, address: str, ontologies: tuple[str, ...]
) -> tuple[str, ...]:
    """By service discovery; on a server that does not carry it, what the status says."""
    from spade_llm.xmpp.announcement import feature_of

    own = tuple(map(feature_of, ontologies))
    try:
        said = await person.discover(address, timeout_s=TIMEOUT_S)
    except RequestError:
        return own
    return tuple(one for one in sorted(said.features) if one.startswith("urn:spade-llm:")) or own


async def _tools(person: ChatAgent, jid: str, ontologies: tuple[str, ...]) -> tuple[ToolSpec, ...]:
    from spade_llm.services.tools import ONTOLOGY, ToolsClient

    if ONTOLOGY not in ontologies:
        return ()
    try:
        return tuple(await ToolsClient(person.node.requester, jid, timeout_s=TIMEOUT_S).list())
    except RequestError:
        return ()


def _lines(found: Found) -> list[str]:
    lines = [f"{found.jid:32} {_line(found.kind):10} {_line(found.summary)}"]
    if found.features:
        lines.append(f"    features  {' '.join(map(_line, found.features))}")
    for spec in found.tools:
        asks = " (asks first)" if spec.needs_approval else ""
        lines.append(f"    tool      {_line(spec.name)}{asks}: {_line(spec.description)}")
    return lines


def _line(text: str) -> str:
    """Of what somebody else says."""
    line = one_line(" ".join(text.split()))
    return line if len(line) <= MAX_LINE_CHARS else f"{line[:MAX_LINE_CHARS]}…"
