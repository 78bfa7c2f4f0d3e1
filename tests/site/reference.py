"""Reference pages of the site, generated from the code: Python API, commands, agent.toml, HTTP."""

from __future__ import annotations

import argparse
import ast
import inspect
import re
from importlib import import_module
from textwrap import dedent
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from spade_llm.agents import GatewayAgent
from spade_llm.cli.command_line import build_parser
from spade_llm.core.settings import AgentSettings
from spade_llm.gateway.agent_clients import AgentAddresses
from spade_llm.gateway.app import build_app
from spade_llm.gateway.options import HttpOptions

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pydantic.fields import FieldInfo

API_PACKAGES = {
    "": "Agents and networks",
    "agents": "Agents",
    "context": "Context strategies",
    "guardrails": "Guardrails",
    "mcp": "Model Context Protocol",
    "memory": "Memory",
    "messaging": "Messaging",
    "providers": "Models and embedders",
    "rag": "Documents",
    "tools": "Tools",
}
"""Public packages below `spade_llm`, with the titles of their pages."""
BASES = {"agents": ["spade_llm.agents.assistant_controls.AssistantControls"]}
"""Base classes with public methods that a package does not export."""


def reference_pages() -> Iterator[tuple[str, str]]:
    """Generated pages, as (path in the site, Markdown)."""
    for package, title in API_PACKAGES.items():
        yield f"reference/api/{package or 'spade_llm'}.md", api_page(package, title)
    yield "reference/commands.md", commands_page()
    yield "reference/agent-toml.md", settings_page()
    yield "reference/http-operations.md", http_page()


def api_page(package: str, title: str) -> str:
    """Page of a public package: each of its names, rendered by mkdocstrings."""
    name = f"spade_llm.{package}".rstrip(".")
    module = import_module(name)
    parts = [f"# {title}", f"`{name}`", inspect.cleandoc(module.__doc__ or "")]
    # A name that two packages export is described in the more specific one.
    described = set(module.__all__) - ({"__version__"} if package else _names_of_packages())
    parts += [f"::: {name}.{one}" for one in sorted(described)]
    parts += [f"::: {one}" for one in BASES.get(package, ())]
    if elsewhere := sorted(set(module.__all__) & _names_of_packages()) if not package else []:
        rows = [f"- `{one}`: [{home}]({home}.md)" for one in elsewhere for home in _homes(one)[:1]]
        parts += ["## Described with their packages", "\n".join(rows)]
    return "\n\n".join(parts) + "\n"


def _homes(name: str) -> list[str]:
    """Packages that export a name."""
    packages = [package for package in API_PACKAGES if package]
    return [one for one in packages if name in import_module(f"spade_llm.{one}").__all__]


def _names_of_packages() -> set[str]:
    packages = [package for package in API_PACKAGES if package]
    return {name for one in packages for name in import_module(f"spade_llm.{one}").__all__}


def commands_page() -> str:
    """Page of the command line: each command with its arguments and options."""
    parts = [
        "# Commands",
        f"{build_parser().description} `spade-llm COMMAND --help` shows the same.",
    ]
    for words, parser in _commands("spade-llm", build_parser()):
        rows = [row for action in parser._actions if (row := _argument_row(action))]
        parts += [f"## {words}", parser.description or ""]
        if rows:
            parts.append("\n".join(["| argument | meaning |", "|---|---|", *rows]))
    return "\n\n".join(parts) + "\n"


def _commands(
    words: str, parser: argparse.ArgumentParser
) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """Commands without subcommands."""
    groups = [one for one in parser._actions if isinstance(one, argparse._SubParsersAction)]
    if not groups:
        yield words, parser
    for group in groups:
        for name, inner in group.choices.items():
            yield from _commands(f"{words} {name}", inner)


def _argument_row(action: argparse.Action) -> str:
    if action.help == argparse.SUPPRESS or isinstance(action, argparse._HelpAction):
        return ""
    value = action.metavar or "|".join(action.choices or ()) or action.dest.upper()
    shown = "" if action.nargs == 0 else str(value)
    if action.option_strings:
        shown = f"{', '.join(action.option_strings)} {shown}".strip()
    elif action.nargs in {"+", "*"}:
        shown += " …"
    elif action.nargs == "?":
        shown = f"[{shown}]"
    text = (action.help or "") % {**vars(action), "prog": "spade-llm"}
    return f"| {_code(shown)} | {_cell(text)} |"


def settings_page() -> str:
    """Page of agent.toml: each table with its keys, their types, defaults and bounds."""
    parts = [
        "# Keys of agent.toml",
        "Types, defaults and bounds of every key, from the schema that checks the file."
        " [Configuration](../configuration.md) explains what they are for.",
        *_table("", AgentSettings),
    ]
    return "\n\n".join(parts) + "\n"


def _table(name: str, model: type[BaseModel]) -> Iterator[str]:
    documented = _attribute_docstrings(model)
    rows, nested = [], dict[str, type[BaseModel]]()
    for key, field in model.model_fields.items():
        inner = _nested_model(field)
        if inner is not None:
            nested[_header(f"{name.strip('[]')}.{key}".lstrip("."), field)] = inner
            continue
        rows.append(
            f"| `{key}` | {_code(_type_name(field))} | {_default(field)} |"
            f" {_cell(documented.get(key, ''))} |"
        )
    yield f"## `[{name}]`" if name else "## Top level"
    yield inspect.cleandoc(model.__doc__ or "").replace("\n", " ")
    yield "\n".join(["| key | type | default | meaning |", "|---|---|---|---|", *rows])
    for header, inner in nested.items():
        yield from _table(header, inner)


def _header(dotted: str, field: FieldInfo) -> str:
    """Name of a nested table: one of several is `NAME` or, in an array of tables, in brackets."""
    annotation = str(field.annotation)
    if "dict[" in annotation:
        return f"{dotted}.NAME"
    return f"[{dotted}]" if "list[" in annotation else dotted


def _nested_model(field: FieldInfo) -> type[BaseModel] | None:
    """The table that a key stands for, if it stands for one."""
    waiting: list[Any] = [field.annotation]
    while waiting:
        one = waiting.pop()
        if inspect.isclass(one) and issubclass(one, BaseModel):
            return one
        waiting += getattr(one, "__args__", ())
    return None


def _type_name(field: FieldInfo) -> str:
    name = re.sub(r"(?:\w+\.)+(\w+)", r"\1", _plain(field.annotation))
    bounds = [
        f"{sign} {value}"
        for part in field.metadata
        for sign, value in (
            ("≥", getattr(part, "ge", None)),
            (">", getattr(part, "gt", None)),
            ("≤", getattr(part, "le", None)),
        )
        if value is not None
    ]
    return ", ".join([name, *bounds])


def _plain(annotation: Any) -> str:
    """Type in words of TOML."""
    words = {str: "text", int: "integer", float: "number", bool: "true, false"}
    if annotation in words:
        return words[annotation]
    if annotation is type(None):
        return ""
    origin = str(getattr(annotation, "__origin__", ""))
    arguments: list[Any] = list(getattr(annotation, "__args__", ()))
    if "Literal" in origin:
        return ", ".join(f'"{one}"' for one in arguments)
    if hasattr(annotation, "__metadata__"):
        return _plain(annotation.__origin__)
    if inspect.isclass(annotation) and issubclass(annotation, BaseModel):
        return "table"
    if origin in {"<class 'list'>", "<class 'tuple'>"}:
        return f"list of {_plain(arguments[0])}"
    if origin == "<class 'dict'>":
        return f"table of {_plain(arguments[1])}"
    return " or ".join(filter(None, map(_plain, arguments))) or str(annotation)


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    value = field.get_default(call_default_factory=True)
    if value is None or isinstance(value, BaseModel):
        return "–"
    return _code(str(value).lower() if isinstance(value, bool) else str(value))


def _attribute_docstrings(model: type[BaseModel]) -> dict[str, str]:
    """Strings below the attributes of a class and of its bases, by attribute."""
    found: dict[str, str] = {}
    for one in reversed(model.__mro__):
        if not one.__module__.startswith("spade_llm."):
            continue
        (body,) = ast.parse(dedent(inspect.getsource(one))).body
        statements = body.body if isinstance(body, ast.ClassDef) else []
        for before, after in zip(statements, statements[1:], strict=False):
            if (
                isinstance(before, ast.AnnAssign)
                and isinstance(after, ast.Expr)
                and isinstance(after.value, ast.Constant)
            ):
                found[ast.unparse(before.target)] = inspect.cleandoc(str(after.value.value))
    return found


def http_page() -> str:
    """Page of the HTTP API: each operation with its parameters, body and responses."""
    agent = GatewayAgent(
        "gateway@localhost",
        "unused",
        addresses=AgentAddresses(assistants=("assistant@localhost",)),
        http=HttpOptions(),
    )
    schema = build_app(agent.gateway).openapi()
    parts = [
        "# HTTP operations",
        f"{schema['info']['title']} {schema['info']['version']}. [HTTP API](../http.md) explains"
        " how to use it; a running gateway shows the same at `/docs` and `/openapi.json`.",
        schema["info"]["description"],
    ]
    operations = [
        (path, method, one) for path, of in schema["paths"].items() for method, one in of.items()
    ]
    operations.sort(key=lambda one: one[2].get("tags", ["other"])[0])
    last = ""
    for path, method, operation in operations:
        if (tag := operation.get("tags", ["other"])[0]) != last:
            parts.append(f"## {tag.capitalize()}")
            last = tag
        parts += _operation(path, method, operation)
    parts += ["## Schemas", *_schemas(schema["components"]["schemas"])]
    return "\n\n".join(parts) + "\n"


def _operation(path: str, method: str, operation: Mapping[str, Any]) -> Iterator[str]:
    yield f"### {method.upper()} {path}"
    yield _text(operation.get("description") or operation.get("summary", ""))
    rows = [
        f"| `{one['name']}` | {one['in']} | {_code(_schema_name(one['schema']))} |"
        f" {_cell(one.get('description', ''))} |"
        for one in operation.get("parameters", ())
    ]
    if rows:
        yield "\n".join(["| parameter | in | type | meaning |", "|---|---|---|---|", *rows])
    answers = [
        f"- {status}: {_cell(_text(one['description']))}{_contents(one)}"
        for status, one in operation["responses"].items()
    ]
    body = _contents(operation.get("requestBody", {}))
    yield "\n".join([*([f"- Body{body}"] if body else []), *answers])


def _contents(part: Mapping[str, Any]) -> str:
    shown = [
        f"`{media}`" + (f" [{name}](#{name.lower()})" if (name := _reference(one)) else "")
        for media, one in part.get("content", {}).items()
    ]
    return f" ({', '.join(shown)})" if shown else ""


def _reference(content: Mapping[str, Any]) -> str:
    return str(content.get("schema", {}).get("$ref", "")).rpartition("/")[2]


def _schemas(schemas: Mapping[str, Any]) -> Iterator[str]:
    for name, schema in sorted(schemas.items()):
        yield f"### {name} {{ #{name.lower()} }}"
        yield _text(schema.get("description", ""))
        required = schema.get("required", ())
        rows = [
            f"| `{key}` | {_code(_schema_name(one))} | {'yes' if key in required else 'no'} |"
            f" {_cell(one.get('description', ''))} |"
            for key, one in schema.get("properties", {}).items()
        ]
        if rows:
            yield "\n".join(["| field | type | required | meaning |", "|---|---|---|---|", *rows])


def _schema_name(schema: Mapping[str, Any]) -> str:
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    if parts := schema.get("anyOf") or schema.get("oneOf"):
        return " or ".join(dict.fromkeys(_schema_name(one) for one in parts))
    if schema.get("type") == "array":
        return f"list of {_schema_name(schema.get('items', {}))}"
    if "enum" in schema:
        return ", ".join(f'"{one}"' for one in schema["enum"])
    return str(schema.get("const") or schema.get("type", "any"))


def _code(text: str) -> str:
    return f"`{text}`".replace("|", "\\|") if text else ""


def _cell(text: str) -> str:
    """Text of one table cell."""
    return _text(" ".join(text.split()).replace("|", "\\|"))


def _text(text: str) -> str:
    """Text of a docstring as Markdown: names in brackets are no links, and tags are none."""
    return re.sub(r"(?<!`)<(?=[A-Za-z/])", "&lt;", text)
