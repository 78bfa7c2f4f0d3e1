"""Language model of an agent: configured, local Ollama or offline; writer of its settings."""

from __future__ import annotations

import asyncio
import logging
import stat
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal
from urllib.parse import urlsplit, urlunsplit

from spade_llm.cli.ollama import list_models, ollama_url
from spade_llm.core.concurrency import concurrent_task
from spade_llm.core.errors import ConfigurationError, ModelError, ModelFailure
from spade_llm.core.settings import (
    Environment,
    FallbackTable,
    ProviderTable,
    load_network_model,
    read_environment,
    read_secret,
    variable,
)
from spade_llm.core.settings.tables import read_text
from spade_llm.providers.openai.request_body import TOKEN_LIMIT_FIELD
from spade_llm.providers.retry import ModelLimits

if TYPE_CHECKING:
    from spade_llm.cli.factory.deployment_spec import DeploymentSpec
    from spade_llm.providers import OfflineProvider
    from spade_llm.providers.fallback import ModelHealth
    from spade_llm.providers.openai.model import OpenAIModel

logger = logging.getLogger(__name__)

DEFAULT_OPENAI_MODEL = "gpt-5-mini"
OPENAI_URL = "https://api.openai.com/v1"
URLS = {
    "openai": OPENAI_URL,
    "ollama": "http://localhost:11434/v1",
    "lm_studio": "http://localhost:1234/v1",
    "vllm": "http://localhost:8000/v1",
}
CONNECT_COMMAND = "spade-llm model set PROVIDER/NAME"
CONNECT_HINT = f"`{CONNECT_COMMAND}` connects one, for instance ollama/qwen3"

_SET = f"`{CONNECT_COMMAND}`"
REMEDIES = {
    ModelFailure.UNKNOWN_HOST: f"correct the address: {_SET} with --url URL",
    ModelFailure.CONNECTION_REFUSED: (
        f"start the model's server (Ollama: `ollama serve`), or set another model: {_SET}"
    ),
    ModelFailure.UNREACHABLE: f"check the network, or correct the address: {_SET} with --url URL",
    ModelFailure.TIMEOUT: "try again when the model is loaded, or raise timeout_s in [provider]",
    ModelFailure.WRONG_KEY: f"set another key: {_SET} with --key-file FILE, or type it in",
    ModelFailure.UNKNOWN_MODEL: f"set a model that it has (Ollama: `ollama pull NAME`): {_SET}",
    ModelFailure.RATE_LIMIT: "wait, or raise the limit at the provider",
    ModelFailure.QUOTA: f"check the account at the provider, or set another model: {_SET}",
    ModelFailure.INCOMPATIBLE: f"set the API's address, usually …/v1: {_SET} with --url URL",
    ModelFailure.SERVER_ERROR: "see the log of the model's server",
    ModelFailure.OTHER: f"see log/ in the data directory, or set another model: {_SET}",
}
"""Remedies of a model's failure, each in one line."""

MODEL_CHECK_TIMEOUT_S = 60.0
"""Timeout in seconds of the test call at start-up: a local server may load the model first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelChoice:
    kind: Literal["openai", "local", "offline"]
    """`openai`: the server requires a key. `local`: it requires none."""
    model: str = ""
    base_url: str = ""
    # Kept out of repr(), and with it out of logs and tracebacks.
    api_key: str = field(default="", repr=False)
    table: ProviderTable = ProviderTable()
    source: str = ""
    """File or variable that says so."""
    has_idle_ollama: bool = False
    """An Ollama runs here, and has no model that can chat."""

    @property
    def description(self) -> str:
        """Description of the model in one line, printed at start-up."""
        if self.kind == "offline":
            why = "" if self.table.kind == "offline" else "none is configured and no Ollama runs: "
            if self.has_idle_ollama:
                why = "the Ollama of this machine has no model yet: "
            return f"{why}rules instead of a model ({CONNECT_HINT})"
        return f"{self.model} at {self.shown_url or 'an invalid URL'}"

    @property
    def shown_url(self) -> str:
        """URL without user, password and query, which may be secret; empty: there is none."""
        try:
            parts = urlsplit(self.base_url)
        except ValueError:
            return ""
        host = parts.netloc.rpartition("@")[2]
        return urlunsplit((parts.scheme, host, parts.path, "", ""))


async def choose_model(spec: DeploymentSpec, data: Path) -> ModelChoice:
    """Choose the model of an assistant. Raises ConfigurationError if its table is incomplete."""
    return await configured_choice(spec.settings.provider, spec.path, key="provider", data=data)


async def choose_fallback(spec: DeploymentSpec, data: Path) -> ModelChoice | None:
    """Fallback for an assistant's model; None: not configured. Raises as `choose_model` does."""
    table = spec.settings.fallback
    if table is None:
        return None
    return await configured_choice(table, spec.path, key="fallback", data=data)


async def choose_learning_model(spec: DeploymentSpec, data: Path) -> ModelChoice | None:
    """Model by which a memory agent learns facts; None: rules only. Raises as `choose_model`."""
    learning = spec.settings.learning
    if not learning.enabled or learning.provider is None:
        return None
    choice = await configured_choice(
        learning.provider, spec.path, key="learning.provider", data=data
    )
    return None if choice.kind == "offline" else choice


async def configured_choice(
    table: ProviderTable, path: Path, *, key: str, data: Path
) -> ModelChoice:
    """Choose the model that the table names; for `auto`: that of DATA/model.toml, of the
    environment, of a local Ollama, else rules. `path` and `key`: the place of the table. Raises
    ConfigurationError: the table or the environment is incomplete."""
    if table.kind == "auto":
        path, key = data / MODEL_FILE, "provider"
        table = load_network_model(path)
    environment, source = read_environment(), f"{path}: {key}"
    match table.kind:
        case "auto":
            return await _automatic(environment)
        case "offline":
            return ModelChoice(kind="offline", table=table, source=source)
        case "openai" | "openai_compatible":
            return _with_key(table, environment, path, key)
        case _:
            url = table.base_url or URLS[table.kind]
            return ModelChoice(
                kind="local", model=table.model or "", base_url=url, table=table, source=source
            )


def build_model(choice: ModelChoice) -> OpenAIModel | OfflineProvider:
    """Create the provider of this choice; the caller closes it."""
    from spade_llm.providers import OfflineProvider

    if choice.kind == "offline":
        return OfflineProvider(is_stand_in=isinstance(choice.table, FallbackTable))
    return _openai_model(choice)


@asynccontextmanager
async def check_in_background(
    model: OpenAIModel | OfflineProvider, health: ModelHealth
) -> AsyncIterator[asyncio.Task[None]]:
    """Check the model's server concurrently: a wrong key shows before the first question. The task
    may be cancelled, when another model has replaced this one."""

    async def check() -> None:
        try:
            await check_model(model)
        except ModelError as error:
            logger.warning("model %s: %s", model.name, error)
            health.fail(error)

    async with concurrent_task(check()) as checking:
        yield checking


async def check_model(model: OpenAIModel | OfflineProvider) -> None:
    """Test the model by one short call. Raises ModelError."""
    from spade_llm.providers import OfflineProvider

    if not isinstance(model, OfflineProvider):
        await model.check(within_s=MODEL_CHECK_TIMEOUT_S)
        logger.info("model %s answers", model.name)


def _openai_model(choice: ModelChoice) -> OpenAIModel:
    from spade_llm.providers.openai.model import NO_KEY, OpenAIModel

    table = choice.table
    # OpenAI's newer models refuse `max_tokens`; other servers know only that name.
    bound = "max_completion_tokens" if choice.base_url == OPENAI_URL else TOKEN_LIMIT_FIELD
    given = {"model": choice.model, "temperature": table.temperature, bound: table.max_tokens}
    return OpenAIModel(
        base_url=choice.base_url,
        api_key=choice.api_key or NO_KEY,
        settings={name: value for name, value in given.items() if value is not None},
        timeout=table.timeout_s,
        limits=_limits(table),
        token_limit_field=bound,
    )


def _limits(table: ProviderTable) -> ModelLimits:
    """Limits of calls; the deadline is at least the timeout of a single attempt."""
    usual = ModelLimits(max_concurrency=table.max_concurrent)
    return replace(usual, deadline_s=max(usual.deadline_s, table.timeout_s))


async def _automatic(environment: Environment) -> ModelChoice:
    if environment.openai_api_key or environment.openai_base_url:
        return _from_environment(environment)
    url = ollama_url()
    models = await asyncio.to_thread(list_models, url)
    if not models:
        return ModelChoice(kind="offline", has_idle_ollama=models is not None)
    return ModelChoice(
        kind="local", model=models[0], base_url=f"{url}/v1", source="the Ollama of this machine"
    )


def _from_environment(environment: Environment) -> ModelChoice:
    if environment.openai_base_url and not environment.openai_model:
        raise ConfigurationError("OPENAI_BASE_URL is set without OPENAI_MODEL: set both")
    key = environment.openai_api_key or ""
    return ModelChoice(
        kind="openai" if key else "local",
        model=environment.openai_model or DEFAULT_OPENAI_MODEL,
        base_url=environment.openai_base_url or OPENAI_URL,
        api_key=key,
        source="OPENAI_* in the environment",
    )


def _with_key(table: ProviderTable, environment: Environment, path: Path, key: str) -> ModelChoice:
    secret = _read_key(table, environment, path, key)
    if table.kind == "openai":
        model = table.model or environment.openai_model or DEFAULT_OPENAI_MODEL
        url = table.base_url or environment.openai_base_url or OPENAI_URL
    else:
        model, url = table.model or "", table.base_url or ""
    return ModelChoice(
        kind="openai" if secret else "local",
        model=model,
        base_url=url,
        api_key=secret,
        table=table,
        source=f"{path}: {key}",
    )


def _read_key(table: ProviderTable, environment: Environment, path: Path, key: str) -> str:
    if table.api_key_env:
        return variable(table.api_key_env, named_in=f"{path}: {key}.api_key_env")
    if table.api_key_file:
        return read_secret(path, table.api_key_file, key=f"{key}.api_key_file")
    if table.kind == "openai_compatible":
        return ""
    if not environment.openai_api_key:
        raise ConfigurationError(
            f"{path}: {key}.kind: openai needs a key: set OPENAI_API_KEY, name another variable in"
            " api_key_env or a file in api_key_file, or let `spade-llm model set` ask for it"
        )
    return environment.openai_api_key


MODEL_FILE = "model.toml"
KEYS_FOLDER = "keys"
PROVIDER = "provider"
OWNED_KEYS = ("kind", "model", "base_url", "api_key_env", "api_key_file")
"""Keys that are replaced; others of the table, such as `timeout_s`, stay."""

_HEADER = """\
# The model of this network, written by `spade-llm model set`. Agents use it if their agent.toml
# says kind = "auto" in [provider], or has no such table.
"""


def write_provider(path: Path, values: Mapping[str, str]) -> None:
    """Replace the model in the table `[provider]` of a toml; comments and the order of the file
    stay. The file is created if it does not exist. Raises ConfigurationError: the file is not valid
    TOML, or cannot be read."""
    # 30 ms, and needed by this command only.
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    from spade_llm.xmpp.servers.certificates import write_file

    text = read_text(path) if path.exists() else _HEADER
    try:
        document = tomlkit.parse(text)
        if PROVIDER not in document:
            document[PROVIDER] = tomlkit.table()
        table = document[PROVIDER]
        if not isinstance(table, dict):
            raise ConfigurationError(f"{path}: {PROVIDER}: it is not a table: remove it")
        for key in OWNED_KEYS:
            if key in values:
                table[key] = values[key]
            elif key in table:
                del table[key]
        text = tomlkit.dumps(document)
    except TOMLKitError as error:
        raise ConfigurationError(f"{path}: not valid TOML: {error}") from None
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    mode = stat.S_IMODE(path.stat().st_mode) if path.exists() else 0o644
    write_file(path, text.encode(), mode=mode)


def key_path(data: Path, url: str) -> Path:
    """File in which the key for the server of this URL is kept: one per host."""
    return data / KEYS_FOLDER / (urlsplit(url).hostname or "model")


def keep_key(data: Path, url: str, key: str) -> Path:
    """Store the key in a file that only its owner can read; return its path."""
    from spade_llm.xmpp.servers.certificates import write_file

    path = key_path(data, url)
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    write_file(path, key.encode() + b"\n", mode=0o600)
    return path


def close_to_others(path: Path) -> str:
    """Make a file with a key readable by its owner only; return a warning if it was not."""
    mode = stat.S_IMODE(path.stat().st_mode)
    if not mode & 0o077:
        return ""
    with suppress(PermissionError):  # It is not ours, as secrets of containers.
        path.chmod(0o600)
    return (
        f"{str(path)!r} had mode {mode:03o}, 600 is right: other users of this machine may have"
        " read the key"
    )
