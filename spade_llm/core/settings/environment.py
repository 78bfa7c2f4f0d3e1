"""Environment variables: reading them, `.env` files, and secrets by agent.

SPADE_LLM_DATA, SPADE_LLM_SERVER, SPADE_LLM_DOMAIN, SPADE_LLM_CA and SPADE_LLM_DATABASE are the
defaults of --data, --server, --domain, --ca and --database; the first four say to agents that were
told no server where theirs is;
SPADE_LLM_REGISTER lets those make their account; OPENAI_API_KEY, OPENAI_BASE_URL and OPENAI_MODEL
say which model `kind = "auto"` takes, OLLAMA_HOST where Ollama is; LLM_MEMORY_BATCH_MAX_SIZE bounds
the batches of the memory tools; OTEL_EXPORTER_OTLP_ENDPOINT is the default of telemetry.endpoint
(the exporter reads its other variables itself); password_env, api_key_env, env and headers_env name
variables of your own.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from spade_llm.core.errors import ConfigurationError
from spade_llm.core.settings.tables import ProviderTable, read_text

if TYPE_CHECKING:
    from spade_llm.core.settings.agent_toml import AgentSettings

_VARIABLES = {
    "data": "SPADE_LLM_DATA",
    "server": "SPADE_LLM_SERVER",
    "domain": "SPADE_LLM_DOMAIN",
    "ca": "SPADE_LLM_CA",
    "database": "SPADE_LLM_DATABASE",
    "register_accounts": "SPADE_LLM_REGISTER",
    "openai_api_key": "OPENAI_API_KEY",
    "openai_base_url": "OPENAI_BASE_URL",
    "openai_model": "OPENAI_MODEL",
    "ollama_host": "OLLAMA_HOST",
    "memory_batch_max_size": "LLM_MEMORY_BATCH_MAX_SIZE",
    "collector": "OTEL_EXPORTER_OTLP_ENDPOINT",
}

_ASSIGNMENT = re.compile(
    r"""\s*(?:export\s+)?(?P<name>[A-Za-z_]\w*)\s*=\s*
    (?:"(?P<double>[^"]*)"|'(?P<single>[^']*)'|(?P<bare>[^#]*?))\s*(?:\#.*)?""",
    re.VERBOSE,
)
DATABASE_VARIABLE = _VARIABLES["database"]
MODEL_VARIABLES = frozenset({"OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_MODEL"})


def _checked_collector(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ValueError(f"{url!r} is no http:// or https:// address of a collector")
    if parts.username or parts.password:
        raise ValueError("no secrets in addresses: use OTEL_EXPORTER_OTLP_HEADERS")
    return url


CollectorUrl = Annotated[str, AfterValidator(_checked_collector)]


def variable(name: str, *, named_in: str) -> str:
    """An environment variable that the settings name.

    Raises:
        ConfigurationError: it is not set.
    """
    value = os.environ.get(name, "")
    if not value:
        raise ConfigurationError(f"{named_in}: the environment variable {name} is not set: set it")
    return value


def get_variable(name: str) -> str | None:
    """An environment variable that a program's libraries name; empty counts as not set."""
    return os.environ.get(name) or None


class Environment(BaseModel):
    """The environment variables that we read ourselves."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    data: str = "spade-llm-data"
    server: str = "auto"
    domain: str | None = None
    ca: str | None = None
    # It may hold a password: not in `repr`, which ends up in logs and tracebacks.
    database: str | None = Field(default=None, repr=False)
    # Variables are always text, which the strict model would refuse for other types.
    register_accounts: bool = Field(default=False, strict=False)
    # Not in `repr`, which ends up in logs and tracebacks.
    openai_api_key: str | None = Field(default=None, repr=False)
    openai_base_url: str | None = None
    openai_model: str | None = None
    ollama_host: str | None = None
    memory_batch_max_size: int = Field(default=100, ge=1, le=1000, strict=False)
    collector: CollectorUrl | None = None


def read_environment() -> Environment:
    """Read the variables that are set now; an empty variable counts as not set.

    Raises:
        ConfigurationError: a variable's value is wrong.
    """
    found = {field: os.environ.get(name) for field, name in _VARIABLES.items()}
    try:
        return Environment.model_validate({field: value for field, value in found.items() if value})
    except ValidationError as error:
        problems = (
            f"the environment variable {_VARIABLES[str(one['loc'][0])]}: {one['msg']}"
            for one in error.errors()
        )
        raise ConfigurationError("; ".join(problems)) from None


def load_env_vars(env_file: str = ".env") -> dict[str, str]:
    """Load variables from a file of `NAME=value` lines and return them; variables that are already
    set keep their values.

    Raises:
        ConfigurationError: the file cannot be read, or one of its lines is invalid.
    """
    path = Path(env_file)
    found = dict(_assignments(path)) if path.is_file() else {}
    for name, value in found.items():
        os.environ.setdefault(name, value)
    return found


def secret_variables(settings: AgentSettings, network: ProviderTable) -> frozenset[str]:
    """Names of the variables that this agent's settings name, and OPENAI_* if it may call a model
    by them. `network`: the model of agents with `kind = "auto"`."""
    names = {settings.password_env, settings.embeddings.api_key_env}
    for server in settings.mcp.values():
        names |= {*server.env, *server.headers_env.values()}
    providers = [settings.fallback, settings.learning.provider]
    providers += [guardrail.provider for guardrail in settings.guardrails]
    if settings.kind in ("assistant", "rag"):
        providers.append(settings.provider)
    for provider in filter(None, providers):
        names.add(network.api_key_env if provider.kind == "auto" else provider.api_key_env)
        if provider.kind in ("auto", "openai", "openai_compatible"):
            names |= MODEL_VARIABLES
    return frozenset(name for name in names if name)


def _assignments(path: Path) -> Iterator[tuple[str, str]]:
    for number, line in enumerate(read_text(path).splitlines(), start=1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        found = _ASSIGNMENT.fullmatch(line)
        if found is None:
            raise ConfigurationError(f"{path}, line {number}: write NAME=value")
        yield found["name"], found["double"] or found["single"] or found["bare"] or ""
