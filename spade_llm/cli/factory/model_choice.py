"""Language model of an agent: configured, local Ollama or offline; model.json."""

from __future__ import annotations

import asyncio
import http.client
import logging
import os
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal
from urllib.parse import urlsplit, urlunsplit

from pydantic import BaseModel, ConfigDict, ValidationError

from spade_llm.core.directory_lock import is_locked
from spade_llm.core.errors import ConfigurationError, ModelError
from spade_llm.core.settings import (
    Environment,
    FallbackTable,
    ProviderTable,
    read_environment,
    variable,
)
from spade_llm.providers.fallback import ModelFault
from spade_llm.providers.openai.request import TOKEN_LIMIT_FIELD
from spade_llm.providers.retry import ModelLimits

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path

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
OLLAMA = ("localhost", 11434)
# Short, as on the loopback a closed port refuses at once.
OLLAMA_DEADLINE_S = 0.3
MAX_ANSWER_BYTES = 1_000_000

MODEL_RECORD_FILE = "model.json"
MODEL_CHECK_TIMEOUT_S = 10.0
"""Timeout in seconds of the model check at start-up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelChoice:
    kind: Literal["openai", "local", "offline"]
    """`openai`: the server requires a key. `local`: it requires none."""
    model: str = ""
    base_url: str = ""
    # Kept out of repr(), and with it out of logs and tracebacks.
    api_key: str = field(default="", repr=False)
    table: ProviderTable = ProviderTable()

    @property
    def description(self) -> str:
        """Description of the model in one line, printed at start-up."""
        if self.kind == "offline":
            why = "" if self.table.kind == "offline" else "none is configured and no Ollama runs: "
            return f"{why}rules instead of a model (OPENAI_API_KEY or Ollama give a real one)"
        try:
            parts = urlsplit(self.base_url)
        except ValueError:
            return f"{self.model} at an invalid URL"
        # User, password and query may be secret.
        host = parts.netloc.rpartition("@")[2]
        return f"{self.model} at {urlunsplit((parts.scheme, host, parts.path, '', ''))}"


async def choose_model(spec: DeploymentSpec) -> ModelChoice:
    """Choose the model of an assistant. Raises ConfigurationError if its table is incomplete."""
    return await configured_choice(spec.settings.provider, named_in=f"{spec.path}: provider")


async def choose_fallback(spec: DeploymentSpec) -> ModelChoice | None:
    """Choose the fallback for an assistant's model; None if none is configured. Raises as
    `choose_model` does."""
    table = spec.settings.fallback
    return await configured_choice(table, named_in=f"{spec.path}: fallback") if table else None


async def choose_learning_model(spec: DeploymentSpec) -> ModelChoice | None:
    """Choose the model by which a memory agent learns facts; None means by rules only. Raises as
    `choose_model` does."""
    learning = spec.settings.learning
    if not learning.enabled or learning.provider is None:
        return None
    choice = await configured_choice(learning.provider, named_in=f"{spec.path}: learning.provider")
    return None if choice.kind == "offline" else choice


async def configured_choice(table: ProviderTable, *, named_in: str) -> ModelChoice:
    """Raises ConfigurationError if the table or the environment is incomplete."""
    environment = read_environment()
    match table.kind:
        case "auto":
            return await _automatic(environment)
        case "offline":
            return ModelChoice(kind="offline", table=table)
        case "openai" | "openai_compatible":
            return _with_key(table, environment, named_in=named_in)
        case _:
            url = table.base_url or URLS[table.kind]
            return ModelChoice(kind="local", model=table.model or "", base_url=url, table=table)


def build_model(choice: ModelChoice) -> OpenAIModel | OfflineProvider:
    """Create the provider of this choice; the caller closes it."""
    from spade_llm.providers import OfflineProvider

    if choice.kind == "offline":
        return OfflineProvider(is_stand_in=isinstance(choice.table, FallbackTable))
    return _openai_model(choice)


class ModelRecord(BaseModel):
    model_config = ConfigDict(frozen=True)

    description: str
    """Name and address of the model, or the reason that there is none."""
    is_offline: bool = False
    fault: ModelFault | None = None

    def write(self, home: Path) -> None:
        """Write the record atomically. A disk error is logged, and the assistant continues."""
        temporary_path = home / f"{MODEL_RECORD_FILE}.new"
        try:
            temporary_path.write_text(self.model_dump_json(indent=2) + "\n", encoding="utf-8")
            os.replace(temporary_path, home / MODEL_RECORD_FILE)
        except OSError as error:
            logger.warning("%s cannot be written: %s", home / MODEL_RECORD_FILE, error)


@contextmanager
def maintain_model_record(home: Path, record: ModelRecord, health: ModelHealth) -> Iterator[None]:
    """Keep the record up to date for the block."""
    record.write(home)
    health.on_change.append(
        lambda fault: record.model_copy(update={"fault": fault}).write(home),
    )
    try:
        yield
    finally:
        (home / MODEL_RECORD_FILE).unlink(missing_ok=True)


def read_model_record(home: Path) -> ModelRecord | None:
    """Read the record; None if the agent does not run now, or has no model of its own."""
    # A killed agent leaves its record behind, but its lock ends with the process.
    if not is_locked(home):
        return None
    try:
        return ModelRecord.model_validate_json(
            (home / MODEL_RECORD_FILE).read_text(encoding="utf-8")
        )
    except (OSError, ValidationError):
        return None


@asynccontextmanager
async def check_in_background(model: OpenAIModel, health: ModelHealth) -> AsyncIterator[None]:
    """Check the model's server concurrently: a wrong key shows before the first question."""
    checking = asyncio.create_task(_check_model(model, health))
    try:
        yield
    finally:
        checking.cancel()
        await asyncio.wait((checking,))


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
    model = await asyncio.to_thread(_first_ollama_model)
    if model is None:
        return ModelChoice(kind="offline")
    return ModelChoice(kind="local", model=model, base_url=URLS["ollama"])


def _from_environment(environment: Environment) -> ModelChoice:
    if environment.openai_base_url and not environment.openai_model:
        raise ConfigurationError("OPENAI_BASE_URL is set without OPENAI_MODEL: set both")
    key = environment.openai_api_key or ""
    return ModelChoice(
        kind="openai" if key else "local",
        model=environment.openai_model or DEFAULT_OPENAI_MODEL,
        base_url=environment.openai_base_url or OPENAI_URL,
        api_key=key,
    )


def _with_key(table: ProviderTable, environment: Environment, *, named_in: str) -> ModelChoice:
    key = _key(table, environment, named_in)
    if table.kind == "openai":
        model = table.model or environment.openai_model or DEFAULT_OPENAI_MODEL
        url = table.base_url or environment.openai_base_url or OPENAI_URL
    else:
        model, url = table.model or "", table.base_url or ""
    kind: Literal["openai", "local"] = "openai" if key else "local"
    return ModelChoice(kind=kind, model=model, base_url=url, api_key=key, table=table)


def _key(table: ProviderTable, environment: Environment, named_in: str) -> str:
    if table.api_key_env:
        return variable(table.api_key_env, named_in=f"{named_in}.api_key_env")
    if table.kind == "openai_compatible":
        return ""
    if not environment.openai_api_key:
        raise ConfigurationError(
            f"{named_in}.kind: openai needs a key: set OPENAI_API_KEY, or name another variable"
            " in api_key_env"
        )
    return environment.openai_api_key


class _OllamaModel(BaseModel):
    name: str


class _OllamaTags(BaseModel):
    models: list[_OllamaModel] = []


def _first_ollama_model() -> str | None:
    """The first model of a local Ollama that can chat; None without one. Uses no proxy."""
    connection = http.client.HTTPConnection(*OLLAMA, timeout=OLLAMA_DEADLINE_S)
    try:
        connection.request("GET", "/api/tags")
        body = connection.getresponse().read(MAX_ANSWER_BYTES)
        tags = _OllamaTags.model_validate_json(body)
    except (OSError, http.client.HTTPException, ValidationError) as error:
        logger.info("no Ollama at %s:%s: %s", *OLLAMA, type(error).__name__)
        return None
    finally:
        connection.close()
    return next((one.name for one in tags.models if "embed" not in one.name), None)


async def _check_model(model: OpenAIModel, health: ModelHealth) -> None:
    try:
        await model.check(within_s=MODEL_CHECK_TIMEOUT_S)
    except ModelError as error:
        logger.warning("model %s: %s", model.name, error)
        health.fail(error)
