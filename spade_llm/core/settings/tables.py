"""Tables of agent.toml: admission, HTTP, chat clients, rooms, models, guardrails, tools; faults in
them, one line each."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    field_validator,
    model_validator,
)

from spade_llm.core.errors import ConfigurationError
from spade_llm.core.text import suggestion

if TYPE_CHECKING:
    from pydantic import ValidationError
    from pydantic_core import ErrorDetails


Name = Annotated[str, Field(min_length=1)]
Seconds = Annotated[float, Field(gt=0, le=3600)]
Count = Annotated[int, Field(ge=1, le=100_000)]

_ACTION_OF_KEY = {"message": "block", "early_parts": "block", "replacement": "modify"}
_KEYS_OF_GUARDRAIL = {
    "keyword": {"keywords", "case_sensitive", "action", "replacement", "early_parts"},
    "regex": {"patterns", "action", "replacement", "early_parts"},
    "model": {"rules", "provider", "timeout_s"},
}
MAX_HUMAN_SECONDS_OF_TOOLS = 570
"""A tool agent works on one request for 600 s at most."""
_LOOPBACK = {"localhost", "127.0.0.1", "::1"}


class Table(BaseModel):
    """An unknown key is an error, and so is `3` where text belongs."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


def read_text(path: Path, *, named_in: str = "") -> str:
    """Read a UTF-8 text file. Raises ConfigurationError, prefixed with `named_in`, the source of
    the path."""
    where = f"{named_in}: " if named_in else ""
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        reason = error.strerror or "unreadable"
        raise ConfigurationError(f"{where}cannot read {str(path)!r}: {reason}") from None
    except UnicodeDecodeError:
        raise ConfigurationError(f"{where}{str(path)!r} is not UTF-8 text") from None


class AdmissionTable(Table):
    """0 is no limit."""

    allow: list[Name] = ["*"]
    """JIDs and domains that may talk to the agent; `*`: all, those of other domains as guests."""
    guests: list[Name] = []
    """JIDs and domains that may talk as guests."""
    messages_per_minute: int = Field(default=600, ge=0, le=1_000_000)
    """Rate limit for messages of one JID to a model."""
    messages_at_once: int = Field(default=200, ge=1, le=100_000)
    guest_messages_per_minute: int = Field(default=60, ge=0, le=1_000_000)
    guest_messages_at_once: int = Field(default=20, ge=1, le=100_000)
    domain_messages_per_minute: int = Field(default=1200, ge=0, le=1_000_000)
    """Rate limit for messages of all JIDs of one other domain together."""
    domain_messages_at_once: int = Field(default=240, ge=1, le=100_000)
    requests_per_second: int = Field(default=500, ge=0, le=1_000_000)
    """Rate limit for requests of one program to services."""
    requests_at_once: int = Field(default=2500, ge=1, le=1_000_000)
    signals_per_second: int = Field(default=20, ge=0, le=1_000_000)
    """Rate limit for signals of one JID: IQ requests, presences, marks, chat states, reactions."""
    signals_at_once: int = Field(default=100, ge=1, le=1_000_000)


class HttpTable(Table):
    """`[http]`: address and access control of a gateway."""

    host: Name = "127.0.0.1"
    port: int = Field(default=8000, ge=0, le=65535)
    """0: any free one."""
    local_principal: Name | None = "you"
    """Principal of requests without a token, if `host` is a loopback address; it may do what an
    admin token may. `none`: a token is required, as at any other address."""
    language: Literal["en", "es"] = "es"
    """Language of the headings in `context_text`."""
    hosts: list[Name] = []
    """Names that requests may address us by, beside `host` and those of the loopback."""
    cors_origins: list[Name] = []
    """Origins of web pages, such as `https://app.example.org`, that may use us; empty: none."""
    requests_per_minute: int = Field(default=6000, ge=0, le=1_000_000)
    """Rate limit of one principal; 0: no limit."""
    max_body_kb: Count = 1024
    """Maximum size of a JSON body; for uploads see `[upload]`."""
    max_upload_mb: Count = 50
    max_streams: Count = 512
    """Answers that are being written at once, of all together."""
    console: bool = True
    """The web console at /console."""

    @field_validator("local_principal")
    @classmethod
    def _none_to_null(cls, name: str | None) -> str | None:
        return None if name == "none" else name


RoomJid = Annotated[str, StringConstraints(pattern=r"^[^@/\s]+@[^@/\s]+$")]


class IdentityTable(Table):
    """`[identity]`: what contacts see of an agent."""

    name: Annotated[str, Field(min_length=1, max_length=100)] | None = None
    """Display name. Default: the first part of the JID, with a capital."""
    description: Annotated[str, Field(max_length=1000)] | None = None
    """Description. Default: a sentence on what agents of this kind do."""
    url: Name | None = None
    avatar: Name | None = None
    """A PNG, relative to the toml. Without it: a picture of its kind."""
    publish: bool = True
    """False: the account's card and picture are left as they are."""
    status: bool = True
    """The status line says which model it uses and how busy it is."""
    busy_at: Count = 16
    """Number of concurrent requests from which the agent shows "do not disturb"."""
    status_every_s: float = Field(default=10.0, ge=1, le=3600)
    """Minimum interval between two changes of the presence status."""


class MannersTable(Table):
    """`[manners]`: what people's chat clients see of an answer."""

    styling: bool = True
    """Markdown becomes Message Styling (XEP-0393)."""
    streaming: bool = True
    """Answers grow, in clients that show corrections (XEP-0308)."""
    first_s: float = Field(default=1.0, ge=0, le=60)
    """Answers that are complete within this time are sent as a whole."""
    edit_every_s: float = Field(default=2.5, ge=1, le=60)
    """Interval between two corrections of a growing answer."""


class FilesTable(Table):
    """`[files]`: what an assistant does with files that people share, and with long answers."""

    take: bool = True
    """Documents that people share are read by the agent of `[services] rag`."""
    max_files: int = Field(default=200, ge=1, le=10_000)
    """Maximum number of files per person."""
    seconds: float = Field(default=1800.0, gt=0, le=21_600)
    """Time limit for ingesting one file."""
    long_answer_chars: int = Field(default=12_000, ge=0, le=1_000_000)
    """A longer answer is sent as a file; 0: none is."""


class RoomTable(Table):
    """Multi-user chat that the agent joins at every start."""

    jid: RoomJid
    """`name@conference.domain`."""
    nick: Name | None = None
    """Nickname in the room; None: the name that contacts see."""
    password: str = Field(default="", max_length=1024)


class ProviderTable(Table):
    """`[provider]`: the language model."""

    kind: Literal[
        "auto", "openai", "ollama", "lm_studio", "vllm", "openai_compatible", "offline"
    ] = "auto"
    model: Name | None = None
    base_url: Name | None = None
    api_key_env: Name | None = None
    """Name of the environment variable that holds the key."""
    api_key_file: Name | None = None
    """File that holds the key, relative to the toml; instead of `api_key_env`."""
    temperature: float | None = Field(default=None, ge=0, le=2)
    max_tokens: Count | None = None
    timeout_s: Seconds = Field(default=60.0)
    max_concurrent: Count = 64
    """Calls at once; the others wait in order."""

    @model_validator(mode="after")
    def _is_complete(self) -> ProviderTable:
        key = "api_key_file" if self.api_key_file else "api_key_env" if self.api_key_env else ""
        if self.api_key_env and self.api_key_file:
            raise ValueError("give api_key_env or api_key_file, not both")
        if self.kind == "auto" and (self.model or self.base_url or key):
            raise ValueError(
                'with kind = "auto" leave model, base_url, api_key_env and api_key_file out'
            )
        if self.kind in {"ollama", "lm_studio", "vllm", "openai_compatible"} and not self.model:
            raise ValueError(f'kind = "{self.kind}" needs the key model')
        if key and self.kind not in {"openai", "openai_compatible"}:
            raise ValueError(f'kind = "{self.kind}" takes no {key}; "openai_compatible" does')
        if self.kind == "openai_compatible" and not self.base_url:
            raise ValueError('kind = "openai_compatible" needs the key base_url')
        return self


class FallbackTable(ProviderTable):
    """`[fallback]`: the model that answers while that of `[provider]` is away."""

    after_s: Seconds = Field(default=30.0)
    """Maximum wait for the primary model; for a stream, until it begins."""

    @model_validator(mode="after")
    def _is_named(self) -> FallbackTable:
        if self.kind == "auto":
            raise ValueError('[fallback] needs the key kind, for instance kind = "offline"')
        return self


class GuardrailTable(Table):
    """`[[guardrails]]`: what may not be said to an assistant, or by it. In the file's order."""

    kind: Literal["keyword", "regex", "model"]
    on: Literal["input", "output", "both"] = "both"
    name: Name | None = None
    """Name in the log. Default: its number in the file, from 0."""
    action: Literal["block", "modify", "warning"] = "block"
    message: Name | None = None
    """Message sent instead of a blocked text. Default: a sentence in English or Spanish."""
    keywords: list[Name] = []
    case_sensitive: bool = False
    patterns: list[Name] = []
    """Regular expressions in the syntax of Python's `re`."""
    replacement: str = "[REDACTED]"
    early_parts: bool = False
    """Allow the parts of an answer before a blocking match to be sent early."""
    rules: Name | None = None
    """Description of safe and unsafe texts, for the model."""
    provider: ProviderTable | None = None
    """The model that judges. Without it: the assistant's own."""
    timeout_s: Seconds = Field(default=20.0)
    """Time limit for one verdict; after it, the text is blocked."""

    @model_validator(mode="after")
    def _check_kind_keys(self) -> GuardrailTable:
        own = _KEYS_OF_GUARDRAIL[self.kind]
        if idle := sorted(self.model_fields_set - own - {"kind", "on", "name", "message"}):
            raise ValueError(f'kind = "{self.kind}" takes no {", ".join(idle)}')
        needed = {"keyword": "keywords", "regex": "patterns"}.get(self.kind)
        if needed and not getattr(self, needed):
            raise ValueError(f'kind = "{self.kind}" needs the key {needed}')
        return self

    @model_validator(mode="after")
    def _check_action_keys(self) -> GuardrailTable:
        for key, action in _ACTION_OF_KEY.items():
            if key in self.model_fields_set and self.action != action:
                raise ValueError(f'{key} goes with action = "{action}" only')
        if self.early_parts and self.on == "input":
            raise ValueError('early_parts is of answers: it does not go with on = "input"')
        return self


HumanName = Annotated[str, Field(pattern=r"^[a-zA-Z0-9_-]{1,40}$")]


class TermsTable(Table):
    """Access and limits of tools. Omitted keys take the value of the next wider table."""

    allowed: list[Name] | None = None
    """JIDs and domains of callers; `*`: all; empty: no caller. Default: the agent's own domain."""
    approval: Literal["never", "ask"] | None = None
    """`ask`: a person must say yes to each call."""
    timeout_s: float | None = Field(default=None, gt=0, le=600)
    """Time limit of one call; at most the time that an agent works on one request."""
    max_concurrent: Count | None = None
    """Calls of one tool that run at the same time."""
    max_result_chars: int | None = Field(default=None, ge=500, le=50_000)
    """A longer result is given in pages of this size."""


class HumanTable(Table):
    """`[human.NAME]`: a person that a model may ask by chat while it works, with `ask_NAME`."""

    jid: Name
    """A name without `@` is on our own domain."""
    knows: str = ""
    """Topics to ask this person about, for the model."""
    seconds: float = Field(default=300.0, gt=0, le=86_400)
    """Maximum wait for the person's answer; at most 570 for a tool agent."""


class PythonTable(Table):
    """`[python]`: tools of your own."""

    tools: list[Name] = []
    """`file.py`, relative to the toml, `package.module`, or either with `:name`."""


class McpTable(TermsTable):
    """`[mcp.NAME]`: an MCP server; its tools become `NAME_tool`."""

    command: list[Name] | None = Field(default=None, min_length=1)
    """A program that is started, with its arguments: it speaks MCP on its standard streams."""
    env: list[Name] = []
    """Names of environment variables that are passed on to it."""
    cwd: Name | None = None
    """Its working directory, relative to the toml."""
    url: Name | None = None
    """A server that runs already."""
    transport: Literal["http", "sse"] = "http"
    headers_env: dict[Name, Name] = {}
    """HTTP headers, each with the name of the environment variable that holds its value."""
    tools: list[Name] | None = None
    """The server's own names of the tools that are offered. Without it: all."""
    new_tools: Literal["review", "accept"] = "review"
    """Policy for tools that the server adds later. `review`: an operator must accept them."""

    @model_validator(mode="after")
    def _is_one_kind(self) -> McpTable:
        if (self.command is None) == (self.url is None):
            raise ValueError("give command (a program to start) or url (a server that runs)")
        of_other = {"env", "cwd"} if self.command is None else {"transport", "headers_env"}
        if idle := self.model_fields_set & of_other:
            given = "url" if self.command is None else "command"
            raise ValueError(f"with {given} leave {', '.join(sorted(idle))} out")
        if self.url is not None:
            _check_url(self.url, has_secrets=bool(self.headers_env))
        return self


def _checked_server_name(name: str) -> str:
    # No `_`, which ends the name in NAME_tool: no two servers can claim one tool name.
    if not re.fullmatch(r"[a-zA-Z0-9][a-zA-Z0-9-]{0,23}", name):
        raise ValueError(
            f"{name!r}: a server's name has 1 to 24 letters, digits and '-',"
            " so that NAME_tool is a tool's name everywhere"
        )
    return name


McpName = Annotated[str, AfterValidator(_checked_server_name)]


def _check_url(url: str, *, has_secrets: bool) -> None:
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ValueError(f"url: {url!r} is no http:// or https:// address")
    if parts.username or parts.password:
        raise ValueError("url: no secrets in files: use headers_env")
    # A token in clear text can be read by everybody on the way.
    if has_secrets and parts.scheme == "http" and parts.hostname not in _LOOPBACK:
        raise ValueError("url: secrets of headers_env need https:// beyond this machine")


_PLAIN = {
    "string_type": "must be text in quotes",
    "int_type": "must be a whole number",
    "float_type": "must be a number",
    "bool_type": "must be true or false, without quotes",
    "list_type": 'must be a list, for instance ["one"]',
    "tuple_type": 'must be a list, for instance ["one"]',
    "dict_type": "must be a table",
    "model_type": "must be a table",
    "missing": "missing: add it",
    "greater_than": "must be greater than {gt}",
    "greater_than_equal": "must be at least {ge}",
    "less_than": "must be less than {lt}",
    "less_than_equal": "must be at most {le}",
}
"""Plain words for pydantic's types of errors, with the values of its context."""


def fault_lines(error: ValidationError, schema: type[BaseModel]) -> list[str]:
    """A line for each fault; no value of a field is in it, except a misspelt choice."""
    return [
        f"{'.'.join(map(str, one['loc']))}: {_reason(one, schema)}".removeprefix(": ")
        for one in error.errors(include_url=False)
    ]


def _reason(fault: ErrorDetails, schema: type[BaseModel]) -> str:
    kind, context = fault["type"], _plain_numbers(fault.get("ctx", {}))
    if kind in _PLAIN:
        return _PLAIN[kind].format_map(context)
    if kind == "extra_forbidden":
        near = suggestion(str(fault["loc"][-1]), _known_keys(schema, fault["loc"][:-1]))
        return f"unknown key{near or ': remove it, or check its spelling'}"
    if kind == "literal_error" and isinstance(fault["input"], str):
        words = str(context["expected"]).replace(" or ", ", ").replace("'", "").split(", ")
        near = suggestion(fault["input"], words)
        return f"must be one of {', '.join(words)}{near}"
    return fault["msg"].removeprefix("Value error, ")


def _plain_numbers(context: Mapping[str, Any]) -> dict[str, Any]:  # pydantic's own type
    """Context with 0 instead of 0.0."""
    whole = {key: isinstance(one, float) and one.is_integer() for key, one in context.items()}
    return {key: int(one) if whole[key] else one for key, one in context.items()}


def _known_keys(schema: type[BaseModel], location: tuple[int | str, ...]) -> list[str]:
    """Keys of the table at this location; indices of lists and names of unions have no fields."""
    tables = [schema]
    for part in location:
        fields = [one.model_fields[str(part)] for one in tables if str(part) in one.model_fields]
        if fields:
            tables = [table for field in fields for table in _tables(field.annotation)]
    return [key for table in tables for key in table.model_fields]


def _tables(annotation: Any) -> Iterator[type[BaseModel]]:  # any type expression
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for inner in get_args(annotation):
        yield from _tables(inner)
