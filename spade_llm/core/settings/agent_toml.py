"""Schema of agent.toml: all tables of an agent, their validation and loading."""

from __future__ import annotations

import math
import tomllib
from pathlib import Path
from typing import Annotated, Literal, TypeVar

from pydantic import (
    Field,
    ValidationError,
    field_validator,
    model_validator,
)

from spade_llm.core.errors import ConfigurationError
from spade_llm.core.settings.environment import CollectorUrl, variable
from spade_llm.core.settings.tables import (
    MAX_HUMAN_SECONDS_OF_TOOLS,
    AdmissionTable,
    Count,
    FallbackTable,
    FilesTable,
    GuardrailTable,
    HttpTable,
    HumanName,
    HumanTable,
    IdentityTable,
    MannersTable,
    McpName,
    McpTable,
    Name,
    ProviderTable,
    PythonTable,
    RoomTable,
    Seconds,
    Table,
    TermsTable,
    fault_lines,
    read_text,
)

T = TypeVar("T", bound=Table)

_KEYS_OF_STRATEGY = {
    "none": set[str](),
    "window": {"max_messages"},
    "smart": {"max_messages", "preserve_initial", "prioritize_tools"},
    "tokens": {"token_limit", "tokenizer"},
    "semantic": {"max_messages", "similarity_threshold", "vectors"},
    "compression": {"summary_tokens", "summary_by"},
    "adaptive_window": {"min_messages", "max_messages"},
    "adaptive": {
        *("token_limit", "tokenizer", "similarity_threshold", "vectors", "summary_by"),
        *("compression", "adaptive_window"),
    },
}

MAX_REPLICAS = 16
"""Maximum number of replicas on one machine; each receives the messages to all."""
_KEYS_OF_ALL = {
    *("kind", "jid", "password_file", "password_env", "allowed", "announce_to", "server"),
    *("telemetry", "admission", "identity", "gateways", "storage"),
}
_KEYS_OF_KIND = {
    "assistant": {
        *("provider", "fallback", "context", "services", "memory", "documents", "limits"),
        *("prompt_file", "guardrails", "human", "embeddings", "ending", "files", "manners"),
        *("rooms", "room_invitations", "admins"),
    },
    "memory": {"embeddings", "learning"},
    "rag": {"embeddings", "roots", "namespaces", "upload", "provider"},
    "tools": {"calls", "tools", "python", "human", "mcp"},
    "gateway": {"http", "network"},
}


class ServerTable(Table):
    """`[server]`: where to log in. Without it: the server that `spade-llm up` runs."""

    host: Name | None = None
    port: int = Field(default=5222, ge=1, le=65535)
    endpoints: list[Name] = Field(default=[], max_length=16)
    """`HOST[:PORT]`: further addresses of the same server, tried in turn after `host`."""
    ca: Name | None = None
    """File of a CA to trust beside the system's, relative to the toml."""
    domain: Name | None = None


class ContextTable(Table):
    """`[context]`: what of a conversation reaches the model."""

    strategy: list[Name] = ["smart"]
    """Name of a strategy, or several that together build one context."""
    max_messages: Count | None = None
    """20; `adaptive_window`: 60; `semantic`: none of its own."""
    preserve_initial: int = Field(default=0, ge=0)
    prioritize_tools: bool = False
    token_limit: int = Field(default=4000, ge=64, le=10_000_000)
    tokenizer: Name | None = None
    """A tokenizer.json that tokens are counted by, relative to the toml."""
    similarity_threshold: float = Field(default=0.8, ge=0, le=1)
    vectors: bool = False
    """Nearness by the embedder of `embeddings`, too, and not by words only."""
    summary_tokens: int = Field(default=1000, ge=120, le=100_000)
    summary_by: Literal["words", "model"] = "words"
    min_messages: Count = 8
    compression: bool = True
    adaptive_window: bool = True

    @field_validator("strategy", mode="before")
    @classmethod
    def _as_list(cls, value: object) -> object:
        return [value] if isinstance(value, str) else value

    @field_validator("strategy")
    @classmethod
    def _is_known(cls, names: list[str]) -> list[str]:
        known = ", ".join(_KEYS_OF_STRATEGY)
        for name in names:
            if name not in _KEYS_OF_STRATEGY:
                raise ValueError(f"{name!r} is no strategy; there are {known}")
        if not names or len(set(names)) < len(names):
            raise ValueError(f"name one or several of {known}, each once")
        if "none" in names and len(names) > 1:
            raise ValueError("'none' has no others beside it")
        return names

    @model_validator(mode="after")
    def _is_sound(self) -> ContextTable:
        names = self.strategy
        idle = self.model_fields_set - {"strategy"}.union(
            *(_KEYS_OF_STRATEGY[one] for one in names)
        )
        if idle:
            shown = f'"{names[0]}"' if len(names) == 1 else names
            raise ValueError(f"strategy = {shown} takes no {', '.join(sorted(idle))}")
        if "adaptive_window" in names and self.min_messages > (self.max_messages or math.inf):
            raise ValueError("min_messages is more than max_messages")
        return self


class EmbeddingsTable(Table):
    """`[embeddings]`: what makes vectors of texts; `embeddings = "auto"` is short for its kind."""

    kind: Literal["auto", "installed", "none", "openai_compatible"] = "auto"
    """`auto`: all-MiniLM-L6-v2 here, downloaded if it is missing; `installed`: not downloaded;
    `none`: keywords only."""
    base_url: Name | None = None
    model: Name | None = None
    api_key_env: Name | None = None
    """Name of the environment variable that holds the key."""
    dimension: int | None = Field(default=None, ge=1, le=16_384)
    """Dimension to request from a model that can shorten its vectors. Default: the model's own."""

    @model_validator(mode="after")
    def _is_complete(self) -> EmbeddingsTable:
        idle = sorted(self.model_fields_set - {"kind"})
        if self.kind != "openai_compatible" and idle:
            raise ValueError(f'kind = "{self.kind}" takes no {", ".join(idle)}')
        missing = [key for key in ("base_url", "model") if not getattr(self, key)]
        if self.kind == "openai_compatible" and missing:
            raise ValueError(f'kind = "openai_compatible" needs the key {" and ".join(missing)}')
        return self


class StorageTable(Table):
    """`[storage]`: servers that keep an agent's data, instead of files below --data."""

    database_url: Name | None = Field(default=None, repr=False)
    """`postgresql://USER:PASSWORD@HOST:PORT/DATABASE`: PostgreSQL for the small databases,
    memories and documents. Default: --database."""
    memories: Literal["database", "files"] = "database"
    """memory: `files` keeps the memories in memory.db although there is a database."""
    replicas: int | None = Field(default=None, ge=1, le=MAX_REPLICAS)
    """Every process of this agent is a replica, of which `spade-llm run` starts so many; they share
    the database. Default: --replicas, else one process that is none."""
    chroma_url: Name | None = None
    """rag: address of a server that `chroma run` started, for the vectors."""
    documents: Literal["database", "files"] = "database"
    """rag: `files` keeps documents and their vectors in files although there is a database."""


class UploadTable(Table):
    """`[upload]`: from where a RAG agent fetches documents on request."""

    hosts: list[Name] = []
    """`HOST:PORT`, compared literally. Without any: the uploads of its own server (XEP-0363)."""
    max_mb: Count = 100


class ServicesTable(Table):
    """`[services]`: the agents that an assistant uses; a name without `@` is on its own domain."""

    memory: Name | None = None
    rag: Name | None = None
    tools: list[Name] = []
    discover: list[Name] = []
    """JIDs and domains: tools of their agents are used, too, once their presence reaches us."""


class NetworkTable(Table):
    """`[network]`: the agents that a gateway speaks to; a name without `@` is on its own domain."""

    assistants: list[Name] = Field(default=["assistant"], min_length=1)
    """The first answers /llm/chat; each is a model of /v1."""
    memory: Name | None = "memory"
    """Shown in the console only: sessions are the assistants' to answer."""
    rag: Name | None = "rag"
    tools: list[Name] = ["tools"]


class MemoryTable(Table):
    """`[memory]`: what a model may do with its memory, and what it is reminded of."""

    tools: Literal["base", "entries", "all"] = "base"
    """`base`: store_memory, search_memories, list_memories; `entries`: the eleven memory_* tools;
    `all`: both, and further ones."""
    recall_tokens: int = Field(default=800, ge=0, le=100_000)
    """Maximum number of tokens of memories quoted to the model before each turn; 0: none are
    quoted."""


class DocumentsTable(Table):
    """`[documents]`: how an assistant uses the documents that it may read."""

    tools: bool = True
    """The model may search and list them itself."""
    shared: list[Name] = []
    """Documents of others, if they granted access: owners, or `OWNER/NAMESPACE`; a name without `@`
    is on the agent's own domain. Documents that are not listed here are not quoted in chats."""


class ReflectionTable(Table):
    """`[learning.reflection]`: the model of `[learning.provider]` looks for contradictions and
    repetitions, and writes summaries, for people that allowed it by `/learn on`."""

    enabled: bool = False
    runs_per_day: int = Field(default=20, ge=1, le=10_000)
    """People on a day (UTC), each at most once; one call of the model each, two at most."""
    tokens: int = Field(default=6000, ge=2000, le=200_000)
    """Of one prompt, estimated; the newest memories that fit are reflected on."""
    seconds: float = Field(default=120.0, gt=0, le=3600)
    """Deadline of one run."""


class LearningTable(Table):
    """`[learning]`: how a memory turns conversations into episodes and facts."""

    enabled: bool = True
    provider: ProviderTable | None = None
    """`[learning.provider]`: the model that takes facts from episodes. Without it: rules."""
    reflection: ReflectionTable = ReflectionTable()

    @model_validator(mode="after")
    def _check_reflection(self) -> LearningTable:
        if self.reflection.enabled and (self.provider is None or not self.enabled):
            raise ValueError(
                "learning.reflection needs a model: add [learning.provider], or set"
                " learning.reflection.enabled = false"
            )
        return self


class PeerLimitsTable(Table):
    """`[limits.peer]`: what one JID may spend on a day (of UTC); without a key: no limit."""

    turns: int | None = Field(default=None, ge=1)
    model_calls: int | None = Field(default=None, ge=1)
    tool_calls: int | None = Field(default=None, ge=1)
    tokens: int | None = Field(default=None, ge=1)
    """Tokens of prompts and answers; a quarter of the characters if the model's server counts none.
    """
    seconds: float | None = Field(default=None, gt=0)
    """Model time in seconds."""
    concurrent_turns: int | None = Field(default=None, ge=1)
    """Maximum number of concurrent turns, each in a conversation of its own."""


class LimitsTable(Table):
    """`[limits]`: what one turn may cost. One that reaches a limit ends with what there is."""

    tool_rounds: int = Field(default=5, ge=1, le=20)
    """Maximum number of tool-calling rounds; then the model is called once more, without tools."""
    tool_calls: Count = 24
    seconds: Seconds = Field(default=120.0)
    # At most what all questions of one turn together may take (600 s).
    approval_seconds: float = Field(default=300.0, gt=0, le=600)
    """Maximum wait for a person's approval of a call; it does not count towards `seconds`."""
    model_calls: int | None = Field(default=None, ge=1, le=100)
    """All of them: rounds, the answer, what is asked twice. Without `tool_rounds`, as files of
    0.2.0 and before have it, so many rounds that one call is left for the answer."""
    tokens: Annotated[int, Field(ge=1)] | None = None
    """Prompts and answers of all calls of the model together, as its server counts them."""
    peer: PeerLimitsTable = PeerLimitsTable()
    guest: PeerLimitsTable = PeerLimitsTable()
    """`[limits.guest]`: each guest, beside `[limits.peer]`."""
    domain: PeerLimitsTable = PeerLimitsTable()
    """`[limits.domain]`: all of one other domain together."""
    all_guests: PeerLimitsTable = PeerLimitsTable()
    """`[limits.all_guests]`: all guests together."""

    @property
    def rounds(self) -> int:
        if self.model_calls is None or "tool_rounds" in self.model_fields_set:
            return self.tool_rounds
        return min(max(self.model_calls - 1, 1), 20)

    @property
    def effective_model_calls(self) -> int:
        return 24 if self.model_calls is None else self.model_calls


class EndingTable(Table):
    """`[ending]`: when a conversation is over, until `/new`. Without it: never."""

    markers: Annotated[list[Name], Field(max_length=32)] = []
    """Words with which the model ends its last reply, such as `<DONE>`; they are not shown."""
    max_interactions: Count | None = None
    """Answers in one conversation."""


class TelemetryTable(Table):
    """`[telemetry]`: where traces of OpenTelemetry go. Without it and the variable: nowhere."""

    endpoint: CollectorUrl | None = None
    """Base address of an OTLP/HTTP collector. Without it: OTEL_EXPORTER_OTLP_ENDPOINT."""
    include_text: bool = False
    """Export the texts and identities of people and the texts of models too."""


class AgentSettings(Table):
    """Settings of one agent (agent.toml)."""

    kind: Literal["assistant", "memory", "rag", "tools", "gateway"]
    jid: Name
    """A name without `@` is on the server's domain."""
    password_file: Name | None = None
    """Relative to the toml. Without it and password_env: the file of this JID in DATA/accounts."""
    password_env: Name | None = None
    allowed: list[Name] = []
    """JIDs and domains that may see the agent's presence, in addition to its own domain; `*`: all.
    """
    announce_to: list[Name] = []
    """JIDs that we ask to see each other's presence, so that they discover us."""
    admins: list[Name] = []
    """assistant: JIDs of the people that run it. In chats with them it names the cause of a model's
    failure. The person of the `spade-llm up` that runs on the same data is one, too."""
    gateways: list[Name] = []
    """Agents that may ask for others here, as an HTTP gateway does for its users."""
    admission: AdmissionTable = AdmissionTable()
    server: ServerTable = ServerTable()
    identity: IdentityTable = IdentityTable()
    provider: ProviderTable = ProviderTable()
    fallback: FallbackTable | None = None
    context: ContextTable = ContextTable()
    services: ServicesTable = ServicesTable()
    memory: MemoryTable = MemoryTable()
    documents: DocumentsTable = DocumentsTable()
    files: FilesTable = FilesTable()
    learning: LearningTable = LearningTable()
    limits: LimitsTable = LimitsTable()
    ending: EndingTable = EndingTable()
    manners: MannersTable = MannersTable()
    telemetry: TelemetryTable = TelemetryTable()
    guardrails: list[GuardrailTable] = []
    rooms: list[RoomTable] = Field(default=[], max_length=50)
    room_invitations: bool = True
    """assistant: it follows those of `allowed` and of its own domain into rooms."""
    prompt_file: Name | None = None
    """The system prompt, relative to the toml. Without it: the built-in one."""
    embeddings: EmbeddingsTable = EmbeddingsTable()
    """memory, rag; assistant: with `[context] vectors`."""
    calls: TermsTable = TermsTable()
    """tools: of every tool."""
    tools: dict[Name, TermsTable] = {}
    """tools: `[tools.NAME]`, of one tool, from wherever it comes."""
    python: PythonTable = PythonTable()
    """tools: of your own."""
    human: dict[HumanName, HumanTable] = {}
    """assistant, tools: `[human.NAME]`, people that a model may ask."""
    mcp: dict[McpName, McpTable] = {}
    """tools: of MCP servers."""
    roots: list[Name] = ["documents"]
    """rag: folders with files that agents may ask it to ingest, relative to --data."""
    namespaces: list[Name] = []
    """rag: the only names that documents are taken for; empty: any."""
    storage: StorageTable = StorageTable()
    upload: UploadTable = UploadTable()
    http: HttpTable = HttpTable()
    """gateway."""
    network: NetworkTable = NetworkTable()
    """gateway: the agents behind it."""

    @field_validator("embeddings", mode="before")
    @classmethod
    def _expand_shorthand(cls, value: object) -> object:
        return {"kind": value} if isinstance(value, str) else value

    @model_validator(mode="after")
    def _check_kind(self) -> AgentSettings:
        idle = self.model_fields_set - _KEYS_OF_ALL - _KEYS_OF_KIND.get(self.kind, set())
        if idle:
            raise ValueError(f'kind = "{self.kind}" takes no {", ".join(sorted(idle))}')
        kinds = {"chroma_url": "rag", "documents": "rag", "memories": "memory"}
        for key, kind in kinds.items():
            if key in self.storage.model_fields_set and self.kind != kind:
                raise ValueError(f'kind = "{self.kind}" takes no storage.{key}')
        if self.storage.replicas and (problem := self.replica_problem):
            raise ValueError(f"storage.replicas: {problem}")
        has_vectors = self.kind != "assistant" or self.context.vectors
        if not has_vectors and "embeddings" in self.model_fields_set:
            raise ValueError('kind = "assistant" takes no embeddings without context.vectors')
        if self.password_file and self.password_env:
            raise ValueError("give password_file or password_env, not both")
        self._check_human_timeouts()
        return self

    @property
    def replica_problem(self) -> str:
        """Reason that the agent cannot be several processes, and the fix; empty: it can be."""
        for key in ("memories", "documents"):
            if getattr(self.storage, key) == "files":
                return (
                    f'storage.{key} = "files" is of one process: remove the key (`spade-llm storage'
                    f" move --to database` copies the {key})"
                )
        if self.storage.chroma_url:
            return (
                "storage.chroma_url: replicas keep vectors in PostgreSQL: remove the key, and run"
                " `spade-llm rag reindex`, which embeds the documents again"
            )
        if self.human:
            return (
                "questions to people ([human]) are of one process: remove the table, or ask them"
                " from another agent, without replicas"
            )
        return ""

    def _check_human_timeouts(self) -> None:
        longest = max((person.seconds for person in self.human.values()), default=0.0)
        if self.kind == "tools" and longest > MAX_HUMAN_SECONDS_OF_TOOLS:
            raise ValueError(
                f'with kind = "tools" seconds of a person is {MAX_HUMAN_SECONDS_OF_TOOLS} at most:'
                " ask those who take longer from an assistant"
            )


class NetworkModel(Table):
    """`model.toml` in the data directory: the model of agents with `[provider] kind = "auto"`."""

    provider: ProviderTable = ProviderTable()


def load_agent(path: Path) -> AgentSettings:
    """The settings in an agent.toml.

    Raises:
        ConfigurationError: names the file, the key and the fix.
    """
    return _load(path, AgentSettings)


def load_network_model(path: Path) -> ProviderTable:
    """The `[provider]` of a data directory's model.toml; `kind = "auto"` if there is no such file.

    Raises:
        ConfigurationError: names the file, the key and the fix.
    """
    return _load(path, NetworkModel).provider if path.is_file() else ProviderTable()


def _load(path: Path, schema: type[T]) -> T:
    try:
        return schema.model_validate(tomllib.loads(read_text(path)))
    except tomllib.TOMLDecodeError as error:
        raise ConfigurationError(f"{path}: not valid TOML: {error}") from None
    except ValidationError as error:
        lines = (f"{path}: {line}" for line in fault_lines(error, schema))
        raise ConfigurationError("\n".join(lines)) from None


def read_prompt(path: Path, settings: AgentSettings) -> str | None:
    """The system prompt that the agent.toml at `path` names; None if it names none.

    Raises:
        ConfigurationError: the file is missing or empty.
    """
    if settings.prompt_file is None:
        return None
    text = read_text(path.parent / settings.prompt_file, named_in=f"{path}: prompt_file").strip()
    if not text:
        raise ConfigurationError(f"{path}: prompt_file {settings.prompt_file!r} is empty")
    return text


def read_password(path: Path, settings: AgentSettings) -> str | None:
    """The password that the agent.toml at `path` names; None if it names none.

    Raises:
        ConfigurationError: the file or the variable is missing or empty.
    """
    if settings.password_env:
        return variable(settings.password_env, named_in=f"{path}: password_env")
    if settings.password_file is None:
        return None
    return read_secret(path, settings.password_file, key="password_file")


def read_secret(path: Path, file: str, *, key: str) -> str:
    """The secret in a file that the toml at `path` names in `key`, relative to the toml.

    Raises:
        ConfigurationError: the file is missing or empty.
    """
    # Editors end a file with a line break, which is no part of the secret.
    secret = read_text(path.parent / file, named_in=f"{path}: {key}").strip()
    if not secret:
        raise ConfigurationError(f"{path}: {key} {file!r} is empty")
    return secret
