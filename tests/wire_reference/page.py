"""The page docs/wire-reference.md: tables from the body types, stanzas from a recording."""

from __future__ import annotations

import ast
import inspect
import json
import re
import sys
import textwrap
from functools import cache
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, TypeAdapter

from spade_llm.core import errors
from spade_llm.messaging import Empty
from spade_llm.messaging.body import MAX_BODY_BYTES
from tests.wire_reference.examples import AGENT, CHAT, EXAMPLES, MEMORY, RAG, SESSIONS, TOOLS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from spade_llm.messaging import Body
    from tests.wire_reference.recorder import Exchange

TITLES = {
    CHAT: "Assistant: chat",
    SESSIONS: "Assistant: sessions",
    MEMORY: "Memory agent",
    RAG: "RAG agent: documents",
    TOOLS: "Tool agent",
    AGENT: "Every agent: status",
}
EFFECTS = {
    "READ": "Reads only: a repeated request runs again.",
    "WRITE": "Writes: a repeated id gets the first answer again.",
    "RESUME": "Long work: a repeated id gets the first answer again; after a crash of the agent it "
    "is resumed.",
    "ONCE": "Runs at most once: after a crash of the agent in the middle the answer is `failure` "
    "with code `interrupted`.",
}
PROGRAM = '''\
import asyncio
import json
import sys
import uuid

import slixmpp

ACL = "urn:spade-llm:acl:1"


class Caller(slixmpp.ClientXMPP):
    """Sends one request at a time and waits for its terminal answer."""

    async def ask(self, agent, ontology, body):
        number, answered = uuid.uuid4().hex, asyncio.get_running_loop().create_future()

        def read(message):
            acl = message.xml.find(f"{{{ACL}}}acl")
            if acl is None or acl.get("in-reply-to") != number or acl.get("sequence"):
                return  # something else, or a part of a streamed answer
            if acl.get("performative") != "agree" and not answered.done():
                answered.set_result((acl.get("performative"), json.loads(message["body"])))

        self.add_event_handler("message", read)
        request = self.make_message(mto=agent, mbody=json.dumps(body), mtype="chat")
        request["id"] = number
        attributes = {"performative": "request", "ontology": ontology, "language": "json"}
        request.xml.append(slixmpp.ET.Element(f"{{{ACL}}}acl", attributes))
        request.send()
        return await asyncio.wait_for(answered, 30)


async def main(jid, password, agent, host, port, ca_file):
    caller = Caller(jid, password)
    caller.ca_certs = ca_file
    caller.connect(host, int(port))
    await caller.wait_until("session_start", 30)
    caller.send_presence()
    draft = {"content": "Ada prefers green tea"}
    print(await caller.ask(agent, "spade-llm.memory/1", {"op": "add", "draft": draft}))
    print(await caller.ask(agent, "spade-llm.memory/1", {"op": "search", "query": "tea"}))
    await caller.disconnect()


asyncio.run(main(*sys.argv[1:]))
'''

INTRODUCTION = Template(
    (Path(__file__).parent / "introduction.md").read_text(encoding="utf-8")
).substitute(program=PROGRAM, max_kb=MAX_BODY_BYTES // 1024)


def page(recorded: Mapping[str, Sequence[Exchange]]) -> str:
    """The whole page as Markdown."""
    sections = [INTRODUCTION, _error_codes()]
    bodies: list[type] = []
    for ontology, exchanges in recorded.items():
        sections.append(f"## {TITLES[ontology]} (`{ontology}`)\n")
        for exchange in exchanges:
            if exchange.example.about:
                sections.append(_operation(exchange))
                bodies += [type(exchange.example.request), exchange.example.answer]
                bodies += exchange.example.parts
    sections.append(_records(bodies))
    return "\n".join(sections)


def _operation(exchange: Exchange) -> str:
    example = exchange.example
    request, answer = type(example.request), example.answer
    lines = [f"### {example.op}", "", example.about, "", EFFECTS[exchange.effect], ""]
    lines += [*_table("Request", request), *_block(exchange.request)]
    lines += _table("Answer", answer)
    if example.parts:
        links = ", ".join(f"[{part.__name__}](#{part.__name__.lower()})" for part in example.parts)
        lines += [f"Before it, parts: {links}.", ""]
    for stanza in exchange.answers:
        lines += _block(stanza)
    return "\n".join(lines)


def _table(title: str, body: type[Body]) -> list[str]:
    if body is Empty:
        return [f"{title}: an empty object.", ""]
    rows = list(_rows(body))
    if not rows:
        return [f"{title}: no fields but `op`.", ""]
    return [f"{title} (`{body.__name__}`):", "", *_HEAD, *rows, ""]


_HEAD = ("| field | type | default | meaning |", "|---|---|---|---|")


def _rows(cls: type) -> Iterator[str]:
    schema = _schema(cls)
    required, meanings = schema.get("required", ()), _meanings(cls)
    for name, field in schema.get("properties", {}).items():
        default = "required" if name in required else _default(field.get("default"))
        meaning = meanings.get(name) or field.get("description", "")
        yield f"| `{name}` | {_type(field)} | {default} | {meaning} |"


def _default(value: object) -> str:
    if value is None:
        return "none"
    text = json.dumps(value, ensure_ascii=False)
    return f"`{text}`" if len(text) < 40 else "see the type"


def _type(field: Mapping[str, Any]) -> str:
    """A JSON Schema as a short phrase."""
    if "$ref" in field:
        name = str(field["$ref"]).rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "anyOf" in field:
        return " or ".join(_type(one) for one in field["anyOf"] if one.get("type") != "null")
    if "enum" in field:
        return " \\| ".join(f"`{value}`" for value in field["enum"])
    kind = str(field.get("format") or field.get("type", "any"))
    if kind == "array":
        items = field.get("items") or {}
        inner = [_type(one) for one in field.get("prefixItems", [items])]
        return "list of " + ", ".join(inner)
    if kind == "object" and isinstance(values := field.get("additionalProperties"), dict):
        return f"object of {_type(values)}"
    return kind


def _block(stanza: str) -> list[str]:
    """A stanza as a code block, its children on lines of their own."""
    lines = re.sub(r"(?<=>)(?=<(?!/))", "\n  ", stanza).removesuffix("</message>").splitlines()
    return ["```xml", *lines, "</message>", "```", ""]


def _error_codes() -> str:
    """All codes of error bodies, from the exception classes."""
    lines = ["## Error codes", "", "| performative | code | meaning |", "|---|---|---|"]
    families = (
        ("not-understood", errors.ProtocolError),
        ("refuse", errors.Refusal),
        ("failure", errors.Failure),
        ("failure", errors.ModelError),
    )
    for performative, family in families:
        for cls in _with_subclasses(family):
            meaning = " ".join((cls.__doc__ or "").split("\n\n")[0].split())
            lines.append(f"| {performative} | `{cls.code}` | {meaning} |")
    lines.append("| failure | `internal` | An unexpected error; the agent's log has the details. |")
    return "\n".join(lines) + "\n"


def _with_subclasses(cls: type[errors.SpadeLLMError]) -> Iterator[type[errors.SpadeLLMError]]:
    yield cls
    for subclass in cls.__subclasses__():
        if subclass.__module__ == errors.__name__:
            yield from _with_subclasses(subclass)


def _records(bodies: Sequence[type]) -> str:
    """The types that bodies refer to, each once, by name."""
    parts = {part for examples in EXAMPLES.values() for one in examples for part in one.parts}
    found = {body.__name__: body for body in bodies if body in parts}
    for body in bodies:
        _collect(body, found)
    lines = ["## Records", "", "Optional fields are left out where they have their default.", ""]
    for name in sorted(found):
        lines += [f"### {name}", ""]
        summary = inspect.getdoc(found[name])
        if summary and not summary.startswith(f"{name}("):
            lines += [" ".join(summary.split("\n\n")[0].split()), ""]
        definition = _schema(found[name])
        if "enum" in definition:
            lines += [_type(definition), ""]
        else:
            lines += [*_HEAD, *_rows(found[name]), ""]
    return "\n".join(lines)


def _collect(cls: type, found: dict[str, type]) -> None:
    for name in _schema(cls).get("$defs", {}):
        if name not in found:
            found[name] = _types_by_name()[name]
            _collect(found[name], found)


@cache
def _types_by_name() -> Mapping[str, type]:
    """Record types of the packages whose records travel."""
    from spade_llm.assistant.chat import messages
    from spade_llm.assistant.middleware import quota
    from spade_llm.assistant.turn import turn_options, turn_recorder
    from spade_llm.memory import contract as memory_contract
    from spade_llm.memory import sessions
    from spade_llm.messaging import agent_status, request
    from spade_llm.providers import model
    from spade_llm.rag import cited_answers
    from spade_llm.rag import contract as rag_contract
    from spade_llm.rag.loading import chunking
    from spade_llm.search import memory_query
    from spade_llm.tools import toolbox

    modules = (
        *(quota, turn_recorder, turn_options, sessions, memory_contract, memory_query),
        *(model, cited_answers, rag_contract, chunking, request, agent_status, messages, toolbox),
    )
    return {
        name: value
        for module in modules
        for name, value in vars(module).items()
        if inspect.isclass(value)
    }


@cache
def _schema(cls: type) -> Mapping[str, Any]:
    if issubclass(cls, BaseModel):
        return cls.model_json_schema()
    return TypeAdapter(cls).json_schema()


@cache
def _meanings(cls: type) -> Mapping[str, str]:
    """Field name → its attribute docstring, in the class and its bases."""
    found: dict[str, str] = {}
    for base in reversed(cls.__mro__):
        if base.__module__.startswith("spade_llm.") and _is_in_source(base):
            found |= _own_meanings(base)
    return found


def _is_in_source(cls: type) -> bool:
    """False for bodies that are derived from the signature of a method."""
    return getattr(sys.modules[cls.__module__], cls.__name__, None) is cls


def _own_meanings(cls: type) -> Mapping[str, str]:
    (definition,) = ast.parse(textwrap.dedent(inspect.getsource(cls))).body
    assert isinstance(definition, ast.ClassDef)
    found: dict[str, str] = {}
    for before, node in zip(definition.body, definition.body[1:], strict=False):
        if (
            isinstance(before, ast.AnnAssign)
            and isinstance(before.target, ast.Name)
            and isinstance(node, ast.Expr)
            and isinstance(node.value, ast.Constant)
        ):
            found[before.target.id] = " ".join(str(node.value.value).split()).replace("|", "\\|")
    return found
