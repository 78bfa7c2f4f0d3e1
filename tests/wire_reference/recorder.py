"""Recorder: sends the example requests as raw stanzas to running agents and keeps the answers.

The sender is a plain slixmpp client. Values that differ between runs (ids, times, accounts, scores)
are replaced by stable ones, so that two recordings can be compared.
"""

from __future__ import annotations

import asyncio
import json
import re
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree
from xml.sax.saxutils import escape

from spade_llm.agents import LLMAgent, Services
from spade_llm.messaging import AclMessage, Performative
from spade_llm.providers.model import Completion, ToolCall
from spade_llm.providers.scripted import ScriptedProvider
from spade_llm.tools import LLMTool
from spade_llm.tools.builtin import builtin_tools
from spade_llm.xmpp.stanzas.message_codec import ACL_NAMESPACE, encode
from tests.integration.network import jid_of
from tests.session.chat_client import Phone
from tests.wire_reference.examples import AGENT, CHAT, EXAMPLES, MEMORY, RAG, SESSIONS, TOOLS

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence
    from pathlib import Path

    from spade_llm.xmpp.agent import XmppAgent
    from tests.integration.network import Network
    from tests.wire_reference.examples import Example

PATIENCE_S = 30.0
"""Bound of one exchange, and of the wait for background work."""
TERMINAL = {"inform", "refuse", "failure", "not-understood"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """One recorded request with everything that the agent sent in return."""

    example: Example
    effect: str
    """Name of the operation's Effect."""
    request: str
    """The stanza as XML text."""
    answers: Sequence[str]
    """Stanzas: `agree` and parts, then the terminal answer."""


@dataclass(slots=True)
class Recorder:
    """Knows which agent serves which ontology, and the values that later requests refer to."""

    client: Phone
    agents: Mapping[str, XmppAgent]
    """By ontology."""
    values: dict[str, str]
    """By the name after `$`."""
    names: Stable
    numbers: count[int] = field(default_factory=lambda: count(1))

    async def record(self, ontology: str, example: Example) -> AsyncIterator[Exchange]:
        """Run one example, repeated where it waits for background work; last, what it triggered."""
        message = self._message(ontology, example)
        async with asyncio.timeout(PATIENCE_S):
            while True:
                exchanges = await self._exchange(example, message)
                body = _content(exchanges[0].answers[-1])
                if not example.until or _at(body, example.until) is not None:
                    break
        for name, path in example.keeps.items():
            self.values[name] = str(_at(body, path))
        for exchange in exchanges:
            yield self._made_stable(exchange)

    async def _exchange(self, example: Example, message: AclMessage) -> list[Exchange]:
        """The first one is the example's own; the others were asked for on the way."""
        request = encode(message)
        self.client.send_raw(request)
        answers: list[str] = []
        inner: list[Exchange] = []
        while not (answers and _is_terminal(answers[-1])):
            answers.append(await self._next_answer(message.reply_with))
            if example.when_asked and (question := _content(answers[-1]).get("question")):
                self.values["question"] = str(question)
                approval = self._message(message.ontology, example.when_asked)
                inner = await self._exchange(example.when_asked, approval)
        effect = self.agents[message.ontology].node.dispatcher.effect_of(message)
        own = Exchange(
            example=example, effect=effect.name, request=canonical(request), answers=answers
        )
        return [own, *inner]

    def _message(self, ontology: str, example: Example) -> AclMessage:
        content = example.request.encode()
        for name, value in self.values.items():
            content = content.replace(f'"${name}"', json.dumps(value))
        return AclMessage(
            performative=Performative.REQUEST,
            sender="",
            receiver=jid_of(self.agents[ontology]),
            content=content,
            ontology=ontology,
            language="json",
            conversation_id=example.thread,
            reply_with=f"request-{next(self.numbers)}",
        )

    async def _next_answer(self, id: str) -> str:
        """The next stanza that answers this request; others (an answered approval) are put back."""
        passed: list[Any] = []
        while True:
            message = await self.client.messages.get()
            acl = message.xml.find(f"{{{ACL_NAMESPACE}}}acl")
            if acl is not None and acl.get("in-reply-to") == id:
                break
            passed.append(message)
        for one in passed:
            self.client.messages.put_nowait(one)
        return canonical(str(message))

    def _made_stable(self, exchange: Exchange) -> Exchange:
        return Exchange(
            example=exchange.example,
            effect=exchange.effect,
            request=self.names.in_text(exchange.request),
            answers=[self.names.in_text(answer) for answer in exchange.answers],
        )


@dataclass(slots=True)
class Stable:
    """Replaces what differs between runs by what does not."""

    fixed: dict[str, str]
    """Exact texts: accounts, folders, addresses."""
    _ids: dict[str, str] = field(default_factory=dict)

    def in_text(self, text: str) -> str:
        for old, new in self.fixed.items():
            text = text.replace(old, new)
        text = _FULL_JID.sub(r"\1/resource", text)
        text = _MOMENT.sub("2026-11-20T12:00:00Z", text)
        text = _ID.sub(self._id, text)
        text = _DAY.sub("2026-11-20", _REQUESTS.sub(r"\g<1>12", text))
        text = _DURATION.sub(r"\g<1>0.01", text)
        return _FRACTION.sub(lambda found: f"{float(found[0]):.2f}", text)

    def _id(self, found: re.Match[str]) -> str:
        """UUIDs and the hexadecimal ids of messages and documents, numbered as they appear."""
        number = format(len(self._ids) + 1, "x")
        length = len(found[0].replace("-", ""))
        plain = number.rjust(length, "0")
        stable = _UUID_PARTS.sub(r"\1-\2-\3-\4-\5", plain) if "-" in found[0] else plain
        return self._ids.setdefault(found[0], stable)


_FULL_JID = re.compile(r"(\w+@localhost)/[\w-]+(?=['\"])")
_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|\+00:00)")
_ID = re.compile(r"(?<![\w.-])([0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{16,64})\b")
_UUID_PARTS = re.compile(r"(.{8})(.{4})(.{4})(.{4})(.{12})")
_DAY = re.compile(r'(?<="day":")[\d-]+')
_REQUESTS = re.compile(r'("(?:answered|per_minute)":)\d+')
_DURATION = re.compile(r'("(?:\w+_)?seconds":|"age_s":|\["\w+",)\d+\.\d+')
_FRACTION = re.compile(r"\b\d+\.\d{3,}(e-?\d+)?\b")

_REMEMBERED = ToolCall(
    id="call-1",
    name="store_memory",
    arguments='{"category": "fact", "content": "Ada writes postcards to Ben"}',
)
_POSTCARD = ToolCall(id="call-2", name="send_postcard", arguments='{"to": "Ben"}')


async def start_recorder(network: Network, folder: Path) -> Recorder:
    """Start one agent of each kind and the client; `folder` is the RAG agent's document root."""
    memory, rag = await network.memory(), await network.rag(roots=[folder])
    toolbox = await network.tools(tools=[*builtin_tools(), _postcard()])
    jid = await network.account("assistant")
    services = Services(memory=jid_of(memory), rag=jid_of(rag), tools=(jid_of(toolbox),))
    model = ScriptedProvider(
        [
            Completion(tool_calls=(_REMEMBERED, _POSTCARD)),
            "The postcard to Ben is on its way.",
            "Days in Valencia",
        ]
    )
    assistant = LLMAgent(
        jid, network.passwords[jid], model, services=services, options=network.options(jid)
    )
    await network.start(assistant)
    name = await network.account("ada")
    client = Phone(name, network.passwords[name], network.server.endpoint)
    network.stack.push_async_callback(client.close)
    await client.begin()
    (folder / "opening.md").write_text("Open from nine to five.", encoding="utf-8")
    upload = await client.upload(folder / "opening.md")
    agents = {"assistant": assistant, "memory": memory, "rag": rag, "tools": toolbox}
    fixed = {jid_of(agent): f"{kind}@localhost" for kind, agent in agents.items()}
    fixed |= {name: "ada@localhost", str(folder): "/srv/documents", upload: "https://…/opening.md"}
    return Recorder(
        client=client,
        agents={
            CHAT: assistant,
            SESSIONS: assistant,
            MEMORY: memory,
            RAG: rag,
            TOOLS: toolbox,
            AGENT: memory,
        },
        values={"folder": str(folder), "upload": upload},
        names=Stable(fixed),
    )


async def record_all(recorder: Recorder) -> dict[str, list[Exchange]]:
    """Every example, by ontology."""
    return {
        ontology: [
            exchange
            for example in examples
            async for exchange in recorder.record(ontology, example)
        ]
        for ontology, examples in EXAMPLES.items()
    }


def _postcard() -> LLMTool:
    parameters = {"type": "object", "properties": {"to": {"type": "string"}}}

    def send_postcard(to: str) -> str:
        return f"A postcard to {to} was sent."

    description = "Sends a postcard."
    return LLMTool("send_postcard", description, parameters, send_postcard, needs_approval=True)


def _is_terminal(stanza: str) -> bool:
    acl = _acl(stanza)
    return acl["performative"] in TERMINAL and "sequence" not in acl


def _acl(stanza: str) -> Mapping[str, str]:
    found = ElementTree.fromstring(stanza).find(f"{{{ACL_NAMESPACE}}}acl")
    return found.attrib if found is not None else {}


def _content(stanza: str) -> dict[str, Any]:
    body = ElementTree.fromstring(stanza).findtext("{*}body") or "{}"
    values = json.loads(body)
    assert isinstance(values, dict)
    return values


def _at(value: Any, path: str) -> Any:
    """What is at a dotted path; None where the path ends early."""
    for step in path.split("."):
        if isinstance(value, list):
            value = value[int(step)] if int(step) < len(value) else None
        else:
            value = (value or {}).get(step)
    return value


def canonical(stanza: str) -> str:
    """The stanza with attributes in one order and without the language that servers add."""
    return _written(ElementTree.fromstring(stanza), "jabber:client")


def _written(element: ElementTree.Element, outer: str) -> str:
    namespace, _, name = element.tag.rpartition("}")
    namespace = namespace.removeprefix("{") or "jabber:client"
    attributes = sorted((key, value) for key, value in element.items() if "}" not in key)
    if namespace != outer:
        attributes.insert(0, ("xmlns", namespace))
    head = " ".join([name, *(f"{key}='{escape(value, _QUOTE)}'" for key, value in attributes)])
    inner = escape(element.text or "") + "".join(_written(child, namespace) for child in element)
    return f"<{head}>{inner}</{name}>" if inner else f"<{head}/>"


_QUOTE = {"'": "&apos;"}
