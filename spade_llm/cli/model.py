"""`spade-llm model`: shows the language model in use, tests it by a call, sets another one."""

from __future__ import annotations

import getpass
import sys
import time
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from spade_llm.cli import ollama
from spade_llm.cli.chat import is_terminal
from spade_llm.cli.context import agent_directories, data_directory, is_named
from spade_llm.cli.factory import model_choice
from spade_llm.cli.factory.deployment_spec import read_deployment, read_spec, standard_deployment
from spade_llm.cli.factory.model_record import ModelRecord, explain_refusal, read_model_record
from spade_llm.cli.health import with_replicas
from spade_llm.cli.terminal import note, sanitize_line, show
from spade_llm.core.concurrency import run_event_loop
from spade_llm.core.errors import ConfigurationError, ModelError, ModelFailure, RateLimited
from spade_llm.core.settings import ProviderTable, get_variable
from spade_llm.providers.offline.provider import OfflineProvider
from spade_llm.xmpp.servers.data_directory import read_run_record

if TYPE_CHECKING:
    import argparse

    from spade_llm.cli.factory.deployment_spec import DeploymentSpec
    from spade_llm.cli.factory.model_choice import ModelChoice
    from spade_llm.providers.openai.probe import ModelProbe

TEST_TIMEOUT_S = 60.0
"""Deadline of the test call in seconds: a local server may have to load the model first."""
TAKEOVER_TIMEOUT_S = 10.0
"""Deadline in seconds for a running assistant to use the model that was set: it reads its settings
every 2 s, and tests the model, which the test of this command has loaded."""
TAKEOVER_POLL_S = 0.1
COMPATIBLE = "openai_compatible"
WITHOUT_NAME = ("auto", "offline")
"""Kinds that have no name of a model."""
_TOOLS = {
    "called": "calls tools",
    "ignored": "did not call the tool of the test",
    "refused": "takes no tools, so memory, documents and tools are only quoted to it",
}


@dataclass(frozen=True, slots=True)
class ModelProvider:
    """Provider of models that has a name on the command line."""

    kind: str
    """The `kind` of `[provider]`."""
    url: str
    key_variable: str = ""
    """Usual environment variable of the API key; empty: none is needed."""


PROVIDERS = {
    "openai": ModelProvider("openai", model_choice.OPENAI_URL, "OPENAI_API_KEY"),
    "ollama": ModelProvider("ollama", model_choice.URLS["ollama"]),
    "lmstudio": ModelProvider("lm_studio", model_choice.URLS["lm_studio"]),
    "vllm": ModelProvider("vllm", model_choice.URLS["vllm"]),
    "llamacpp": ModelProvider(COMPATIBLE, "http://localhost:8080/v1"),
    "anthropic": ModelProvider(COMPATIBLE, "https://api.anthropic.com/v1", "ANTHROPIC_API_KEY"),
    "deepseek": ModelProvider(COMPATIBLE, "https://api.deepseek.com/v1", "DEEPSEEK_API_KEY"),
    "gemini": ModelProvider(
        COMPATIBLE, "https://generativelanguage.googleapis.com/v1beta/openai", "GEMINI_API_KEY"
    ),
    "groq": ModelProvider(COMPATIBLE, "https://api.groq.com/openai/v1", "GROQ_API_KEY"),
    "mistral": ModelProvider(COMPATIBLE, "https://api.mistral.ai/v1", "MISTRAL_API_KEY"),
    "openrouter": ModelProvider(COMPATIBLE, "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"),
}


def main(options: argparse.Namespace) -> int:
    if options.action == "set":
        return _set(options)
    data = data_directory(options)
    target = _find_target(options, data)
    report = run_event_loop(_test(target.assistant, data))
    _show_report(report, options)
    for home, record in _running(target.assistant, data).items():
        if record.refused is not None or record.description != report.choice.description:
            note(options, f"running     {_label(home, data)} {_state(record, report)}")
    return 0 if report.probe else 1


def _running(assistant: DeploymentSpec, data: Path) -> dict[Path, ModelRecord]:
    """Records of the processes of this assistant that run on this data, by their folders."""
    name = assistant.settings.jid.partition("@")[0]
    homes = [home for home in agent_directories(data) if is_named(home.name, name)]
    records = {home: read_model_record(home) for home in with_replicas(homes)}
    return {home: record for home, record in records.items() if record is not None}


def _label(home: Path, data: Path) -> str:
    """Agent, and the number of its replica."""
    return str(home.relative_to(data / "agents"))


def _state(record: ModelRecord, report: _Report) -> str:
    """Model that a running assistant uses after it has read the settings of the report."""
    if record.refused is None:
        if record.description == report.choice.description:
            return "uses it now, without a restart"
        return f"uses {record.short_description}, by its own agent.toml: name it with --agents"
    if report.error is not None and record.refused.cause is report.error.cause:
        # The cause and its remedy have just been printed.
        return f"keeps {record.short_description}: after the fix, set it again"
    text, remedy = explain_refusal(record, record.refused)
    return f"{text}\n{'':12}→ {remedy}"


def _note_takeover(
    report: _Report, assistant: DeploymentSpec, data: Path, options: argparse.Namespace
) -> None:
    """Wait until the running assistant has read the settings, and say which model it uses."""
    running = _running(assistant, data)
    if not running:
        note(
            options,
            "running     nothing on this data: `spade-llm up` uses it from its next start on",
        )
    until = time.monotonic() + TAKEOVER_TIMEOUT_S
    for home, found in running.items():
        record: ModelRecord | None = found
        while record and record.settings_read_at < report.set_at and time.monotonic() < until:
            time.sleep(TAKEOVER_POLL_S)
            record = read_model_record(home)
        if record is None:
            continue  # It has ended meanwhile.
        if record.settings_read_at < report.set_at:
            text = f"still uses {record.short_description}; if this stays, restart it"
        else:
            text = _state(record, report)
        note(options, f"running     {_label(home, data)} {text}")


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedModel:
    """Model of the command line."""

    kind: str
    name: str = ""
    url: str = ""
    key_variable: str = ""
    """Usual variable of the provider's key; empty: a key is used only if one is given."""
    has_own_url: bool = False

    @classmethod
    def parse(cls, text: str, url: str | None) -> WantedModel:
        """Parse PROVIDER/NAME, or NAME with a URL. Raises ConfigurationError: the provider is
        unknown and there is no URL, or the URL is wrong."""
        if text in WITHOUT_NAME and not url:
            return cls(kind=text)
        if url:
            from spade_llm.providers.openai.model import server_name

            server_name(url)
            if "@" in urlsplit(url).netloc:
                raise ConfigurationError("--url: no secrets in addresses: use --key-file")
        first, _, name = text.partition("/")
        if (known := PROVIDERS.get(first)) and name:
            own = url
            if first == "ollama" and not url:
                here = f"{ollama.ollama_url()}/v1"
                own = None if here == known.url else here
            return cls(
                kind=known.kind,
                name=name,
                url=own or known.url,
                key_variable="" if url else known.key_variable,
                has_own_url=own is not None,
            )
        if url:
            name = name if first == COMPATIBLE and name else text
            return cls(kind=COMPATIBLE, name=name, url=url, has_own_url=True)
        names = ", ".join(PROVIDERS)
        raise ConfigurationError(
            f"{text!r} names no provider: write PROVIDER/NAME, for instance ollama/qwen3, with one"
            f" of {names}; or NAME --url URL for another server with OpenAI's protocol"
        )

    def table(self, key: dict[str, str]) -> dict[str, str]:
        """Keys of `[provider]`; `key` says where the API key is."""
        if not self.name:
            return {"kind": self.kind}
        takes_key = self.kind in {"openai", COMPATIBLE}
        # A server's own `kind` has no key, and `openai` reads OPENAI_BASE_URL.
        is_general = (key and not takes_key) or (self.kind == "openai" and self.has_own_url)
        kind = COMPATIBLE if is_general else self.kind
        url = {"base_url": self.url} if self.has_own_url or kind == COMPATIBLE else {}
        return {"kind": kind, "model": self.name, **url, **key}


def _set(options: argparse.Namespace) -> int:
    data = data_directory(options)
    target = _find_target(options, data)
    wanted = WantedModel.parse(options.model, options.url)
    key = _find_key(wanted, options, data)
    report = _write_and_test(wanted, key, target, options, data)
    is_typed = not (options.key_file or options.key_env)
    is_key_wrong = report.error is not None and report.error.cause is ModelFailure.WRONG_KEY
    if is_key_wrong and is_typed and _may_ask(options):
        key = {"api_key_file": str(_ask_key(wanted, data))}
        report = _write_and_test(wanted, key, target, options, data)
    _show_report(report, options, target.files)
    _note_takeover(report, target.assistant, data, options)
    return 0 if report.probe or wanted.kind == "offline" else 1


@dataclass(frozen=True, slots=True, kw_only=True)
class _Target:
    """Place of the model's settings."""

    assistant: DeploymentSpec
    files: tuple[Path, ...]


def _find_target(options: argparse.Namespace, data: Path) -> _Target:
    """An agent.toml with a model of its own, or one of the folder --agents, is written itself; the
    agents that come with the package get the model of DATA/model.toml. Raises ConfigurationError:
    there is no assistant, or there are several and none is named."""
    record = read_run_record(data)
    own = Path(options.agents) if options.agents else record and record.agents_folder
    specs = read_deployment(own or standard_deployment(), domain="localhost")
    assistants = [one for one in specs if one.settings.kind == "assistant"]
    if options.agent:
        assistants = [one for one in assistants if is_named(one.jid, options.agent)]
    if len(assistants) != 1:
        found = ", ".join(one.jid for one in assistants) or "none"
        raise ConfigurationError(f"name one assistant with --agent (found: {found})")
    assistant = assistants[0]
    table = assistant.settings.provider
    if own is None and table.kind == "auto":
        return _Target(assistant=assistant, files=(data / model_choice.MODEL_FILE,))
    # Documents are answered by the assistant's model, unless a RAG agent has another one.
    followers = (
        one.path
        for one in specs
        if one.settings.kind == "rag" and one.settings.provider in (table, ProviderTable())
    )
    return _Target(assistant=assistant, files=(assistant.path, *followers))


def _find_key(wanted: WantedModel, options: argparse.Namespace, data: Path) -> dict[str, str]:
    """Place of the API key, as a key of `[provider]`; empty: none is needed. Raises
    ConfigurationError: a file or variable is missing, or there is no terminal to ask in."""
    if options.key_env or options.key_file:
        return _given_key(options)
    if not wanted.name:
        return {}
    if wanted.key_variable and get_variable(wanted.key_variable):
        return {"api_key_env": wanted.key_variable}
    if (kept := model_choice.key_path(data, wanted.url)).is_file():
        return {"api_key_file": str(kept)}
    if not wanted.key_variable:
        return {}
    if not _may_ask(options):
        raise ConfigurationError(
            f"this provider needs an API key: set {wanted.key_variable}, or name a file with"
            " --key-file FILE"
        )
    return {"api_key_file": str(_ask_key(wanted, data))}


def _given_key(options: argparse.Namespace) -> dict[str, str]:
    if options.key_env:
        if not get_variable(options.key_env):
            raise ConfigurationError(f"--key-env: the variable {options.key_env} is not set")
        return {"api_key_env": options.key_env}
    path = Path(options.key_file).absolute()
    if not path.is_file():
        raise ConfigurationError(f"--key-file: there is no file {str(path)!r}")
    if warning := model_choice.close_to_others(path):
        print(f"warning     {warning}", file=sys.stderr)
    return {"api_key_file": str(path)}


def _may_ask(options: argparse.Namespace) -> bool:
    return is_terminal() and not options.json


def _ask_key(wanted: WantedModel, data: Path) -> Path:
    """Ask for the key without showing it, and keep it in a private file."""
    host = urlsplit(wanted.url).hostname
    try:
        key = getpass.getpass(f"API key for {host} (not shown): ").strip()
    except EOFError:
        key = ""
    if not key:
        raise ConfigurationError("no API key was given; nothing more was changed")
    path = model_choice.keep_key(data, wanted.url, key)
    print(f"key         {path} (readable by you only)")
    return path


def _write_and_test(
    wanted: WantedModel,
    key: dict[str, str],
    target: _Target,
    options: argparse.Namespace,
    data: Path,
) -> _Report:
    set_at = datetime.now(UTC)
    for path in target.files:
        model_choice.write_provider(path, wanted.table(_relative(key, path)))
    if wanted.kind == "ollama" and _may_ask(options):
        ollama.offer_pull(wanted.url.removesuffix("/v1"), wanted.name)
    # Read again: what is tested is what an agent will read.
    spec = read_spec(target.assistant.path, domain=target.assistant.domain)
    return replace(run_event_loop(_test(spec, data)), set_at=set_at)


def _relative(key: dict[str, str], path: Path) -> dict[str, str]:
    """A key below the folder of the file is named relative to it: the data directory may move."""
    file = key.get("api_key_file")
    if file is None or not Path(file).is_relative_to(path.absolute().parent):
        return key
    return {"api_key_file": str(Path(file).relative_to(path.absolute().parent))}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Report:
    """Model in use, and the result of a test call."""

    choice: ModelChoice
    probe: ModelProbe | None = None
    error: ModelError | None = None
    set_at: datetime = datetime.min.replace(tzinfo=UTC)
    """Time just before the settings were written."""


async def _test(spec: DeploymentSpec, data: Path) -> _Report:
    """Raises ConfigurationError if the settings are incomplete."""
    choice = await model_choice.choose_model(spec, data)
    model = model_choice.build_model(choice)
    async with aclosing(model):
        if isinstance(model, OfflineProvider):
            return _Report(choice=choice)
        try:
            probe = await model.probe(within_s=TEST_TIMEOUT_S)
        except ModelError as error:
            return _Report(choice=choice, error=error)
    if probe.context_tokens is None and choice.table.kind in {"ollama", "auto"}:
        window = ollama.loaded_context(choice.base_url.removesuffix("/v1"), choice.model)
        probe = replace(probe, context_tokens=window)
    return _Report(choice=choice, probe=probe)


def _show_report(report: _Report, options: argparse.Namespace, files: Sequence[Path] = ()) -> None:
    choice, probe, error = report.choice, report.probe, report.error
    lines = [f"written     {path}" for path in files]
    lines.append(f"model       {choice.description}")
    if choice.source:
        lines.append(f"from        {choice.source}")
    if probe is not None:
        window = f"; context {probe.context_tokens} tokens" if probe.context_tokens else ""
        lines.append(
            f"test        answers: begins after {probe.first_s:.2f} s, complete after"
            f" {probe.total_s:.2f} s; {'streams' if probe.streams else 'does not stream'};"
            f" {_TOOLS[probe.tools]}{window}"
        )
    if error is not None:
        lines.append(f"FAILED      {sanitize_line(str(error))}")
        lines.append(f"{'':12}→ {model_choice.REMEDIES[error.cause]}")
    show(options, _record(report, files), lines)


def _record(report: _Report, files: Sequence[Path]) -> dict[str, object]:
    choice, probe, error = report.choice, report.probe, report.error
    found: dict[str, object] = {
        "model": choice.model,
        "url": choice.shown_url,
        "source": choice.source,
        "answers": probe is not None,
    }
    if files:
        found["written"] = [str(path) for path in files]
    if probe is not None:
        found |= {
            "first_s": round(probe.first_s, 3),
            "total_s": round(probe.total_s, 3),
            "streams": probe.streams,
            "tools": probe.tools.value,
            "context_tokens": probe.context_tokens,
        }
    if error is not None:
        found |= {
            "cause": error.cause.value,
            "error": str(error),
            "remedy": model_choice.REMEDIES[error.cause],
            "retry_after_s": error.retry_after if isinstance(error, RateLimited) else None,
        }
    return found
