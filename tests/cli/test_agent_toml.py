"""agent.toml: what is wrong is named by file, key and fix."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from spade_llm.cli.factory.agent_options import build_rooms_options
from spade_llm.core.errors import ConfigurationError
from spade_llm.core.settings import load_agent, read_environment, read_password, read_prompt
from spade_llm.xmpp.features.room_membership import KnownRoom

if TYPE_CHECKING:
    from pathlib import Path

ASSISTANT = 'kind = "assistant"\njid = "ada"\n'
TOOLS = 'kind = "tools"\njid = "t"\n'
MISTAKES = {
    "a missing jid": ('kind = "memory"', "jid: missing"),
    "an unknown kind": ('kind = "memroy"\njid = "m"', "kind: "),
    "an unknown key": (ASSISTANT + "colour = 1", "colour: unknown key"),
    "an unknown key in a table": (ASSISTANT + "[provider]\nmodle = 'x'", "provider.modle: unknown"),
    "a room that is none": (ASSISTANT + "[[rooms]]\njid = 'tea'", "rooms.0.jid: "),
    "a number as text": (ASSISTANT + "[context]\nmax_messages = '20'", "context.max_messages: "),
    "a window of nothing": (ASSISTANT + "[context]\nmax_messages = 0", "context.max_messages: "),
    "a key of another strategy": (
        ASSISTANT + "[context]\nstrategy = 'window'\npreserve_initial = 1",
        'context: strategy = "window" takes no preserve_initial',
    ),
    "a key of none of several strategies": (
        ASSISTANT + "[context]\nstrategy = ['tokens', 'semantic']\nsummary_tokens = 500",
        "context: strategy = ['tokens', 'semantic'] takes no summary_tokens",
    ),
    "a strategy named twice": (
        ASSISTANT + "[context]\nstrategy = ['tokens', 'tokens']",
        "context.strategy: ",
    ),
    "no strategy at all": (ASSISTANT + "[context]\nstrategy = []", "context.strategy: "),
    "others beside none": (
        ASSISTANT + "[context]\nstrategy = ['none', 'window']",
        "context.strategy: 'none' has no others beside it",
    ),
    "a least that is more than the most": (
        ASSISTANT + "[context]\nstrategy = 'adaptive_window'\nmax_messages = 5",
        "min_messages is more than max_messages",
    ),
    "a budget of nothing": (
        ASSISTANT + "[context]\nstrategy = 'tokens'\ntoken_limit = 3",
        "context.token_limit: ",
    ),
    "an unknown strategy": (ASSISTANT + "[context]\nstrategy = 'big'", "context.strategy: "),
    "ollama without a model": (ASSISTANT + "[provider]\nkind = 'ollama'", "provider: kind"),
    "a server of its own without an address": (
        ASSISTANT + "[provider]\nkind = 'openai_compatible'\nmodel = 'm'",
        "needs the key base_url",
    ),
    "a model for auto": (ASSISTANT + "[provider]\nmodel = 'm'", "provider: with kind"),
    "a key that is not sent": (
        ASSISTANT + "[provider]\nkind = 'vllm'\nmodel = 'm'\napi_key_env = 'K'",
        "takes no api_key_env",
    ),
    "a fallback to whatever there is": (
        ASSISTANT + "[fallback]\nafter_s = 5",
        "fallback: [fallback] needs the key kind",
    ),
    "a fallback of a memory": (
        'kind = "memory"\njid = "m"\n[fallback]\nkind = "offline"',
        'kind = "memory" takes no fallback',
    ),
    "a port beyond": (ASSISTANT + "[server]\nhost = 'h'\nport = 70000", "server.port: "),
    "no time at all": (ASSISTANT + "[limits]\nseconds = 0", "limits.seconds: "),
    "no round at all": (ASSISTANT + "[limits]\ntool_rounds = 0", "limits.tool_rounds: "),
    "too many rounds": (ASSISTANT + "[limits]\ntool_rounds = 21", "limits.tool_rounds: "),
    "no call of the model": (ASSISTANT + "[limits]\nmodel_calls = 0", "limits.model_calls: "),
    "no tokens": (ASSISTANT + "[limits]\ntokens = 0", "limits.tokens: "),
    "no answer a day": (ASSISTANT + "[limits.peer]\nturns = 0", "limits.peer.turns: "),
    "an unknown limit of peers": (ASSISTANT + "[limits.peer]\ncalls = 1", "limits.peer.calls: unk"),
    "limits of a memory's peers": (
        'kind = "memory"\njid = "m"\n[limits.peer]\nturns = 1',
        'kind = "memory" takes no limits',
    ),
    "a collector that is no address": (
        ASSISTANT + "[telemetry]\nendpoint = 'localhost:4318'",
        "telemetry.endpoint: 'localhost:4318' is no http",
    ),
    "a collector's password in the file": (
        ASSISTANT + "[telemetry]\nendpoint = 'https://me:secret@x'",
        "telemetry.endpoint: no secrets in addresses",
    ),
    "a question for an hour": (
        ASSISTANT + "[limits]\napproval_seconds = 3600",
        "limits.approval_seconds: ",
    ),
    "a guardrail of no kind": (ASSISTANT + "[[guardrails]]", "guardrails.0.kind: missing"),
    "a guardrail without its words": (
        ASSISTANT + "[[guardrails]]\nkind = 'keyword'",
        'guardrails.0: kind = "keyword" needs the key keywords',
    ),
    "the second guardrail with a key of another kind": (
        ASSISTANT
        + "[[guardrails]]\nkind = 'model'\n[[guardrails]]\nkind = 'regex'\nkeywords = ['x']",
        'guardrails.1: kind = "regex" takes no keywords',
    ),
    "a guardrail of no side": (
        ASSISTANT + "[[guardrails]]\nkind = 'model'\non = 'inside'",
        "guardrails.0.on: ",
    ),
    "a replacement where nothing is replaced": (
        ASSISTANT + "[[guardrails]]\nkind = 'keyword'\nkeywords = ['x']\nreplacement = 'y'",
        'guardrails.0: replacement goes with action = "modify" only',
    ),
    "a message where nothing is blocked": (
        ASSISTANT
        + "[[guardrails]]\nkind = 'regex'\npatterns = ['x']\naction = 'modify'\nmessage = 'no'",
        'guardrails.0: message goes with action = "block" only',
    ),
    "parts of what is said": (
        ASSISTANT
        + "[[guardrails]]\nkind = 'regex'\npatterns = ['x']\non = 'input'\nearly_parts = true",
        "guardrails.0: early_parts is of answers",
    ),
    "guardrails for a memory": (
        'kind = "memory"\njid = "m"\n[[guardrails]]\nkind = "model"',
        'kind = "memory" takes no guardrails',
    ),
    "discovery by a memory": (
        'kind = "memory"\njid = "m"\n[services]\ndiscover = ["x"]',
        'kind = "memory" takes no services',
    ),
    "a prompt for a memory": (
        'kind = "memory"\njid = "m"\nprompt_file = "p.md"',
        'kind = "memory" takes no prompt_file',
    ),
    "embeddings of a server without its address": (
        'kind = "memory"\njid = "m"\n[embeddings]\nkind = "openai_compatible"\nmodel = "m"',
        'embeddings: kind = "openai_compatible" needs the key base_url',
    ),
    "an address for local embeddings": (
        'kind = "rag"\njid = "r"\n[embeddings]\nbase_url = "http://localhost/v1"',
        'embeddings: kind = "auto" takes no base_url',
    ),
    "unknown embeddings": ('kind = "rag"\njid = "r"\nembeddings = "some"', "embeddings.kind: "),
    "embeddings for an assistant": (
        ASSISTANT + 'embeddings = "auto"',
        'kind = "assistant" takes no embeddings',
    ),
    "a server's name with an underscore": (
        TOOLS + '[mcp.my_files]\ncommand = ["x"]',
        "'my_files': a server's name has 1 to 24 letters, digits and '-'",
    ),
    "an MCP server that is nowhere": (TOOLS + "[mcp.files]", "mcp.files: give command"),
    "an MCP server in two places": (
        TOOLS + '[mcp.files]\ncommand = ["x"]\nurl = "https://x.example/mcp"',
        "mcp.files: give command (a program to start) or url",
    ),
    "an MCP server without a program": (
        TOOLS + "[mcp.files]\ncommand = []",
        "mcp.files.command: ",
    ),
    "headers for a program": (
        TOOLS + '[mcp.files]\ncommand = ["x"]\nheaders_env = {A = "B"}',
        "mcp.files: with command leave headers_env out",
    ),
    "an address that is none": (
        TOOLS + '[mcp.files]\nurl = "files.example"',
        "mcp.files: url: 'files.example' is no http:// or https:// address",
    ),
    "a password in an address": (
        TOOLS + '[mcp.files]\nurl = "https://me:secret@x.example"',
        "mcp.files: url: no secrets in files: use headers_env",
    ),
    "a secret in the clear": (
        TOOLS + '[mcp.files]\nurl = "http://x.example"\nheaders_env = {Authorization = "T"}',
        "mcp.files: url: secrets of headers_env need https://",
    ),
    "two passwords": (
        ASSISTANT + 'password_file = "p"\npassword_env = "P"',
        "password_file or password_env, not both",
    ),
    "not TOML": ("kind = assistant", "not valid TOML"),
}


def write(folder: Path, text: str) -> Path:
    path = folder / "agent.toml"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(("text", "said"), MISTAKES.values(), ids=MISTAKES.keys())
def test_a_mistake_is_named_by_file_and_key(tmp_path: Path, text: str, said: str) -> None:
    path = write(tmp_path, text)

    with pytest.raises(ConfigurationError) as error:
        load_agent(path)

    assert str(path) in str(error.value)
    assert said in str(error.value)


def test_every_mistake_of_a_file_is_named_at_once(tmp_path: Path) -> None:
    path = write(tmp_path, 'kind = "memory"\ncolour = 1\n[server]\nport = 0')

    with pytest.raises(ConfigurationError) as error:
        load_agent(path)

    assert all(key in str(error.value) for key in ("jid", "colour", "server.port"))


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"agent\.toml"):
        load_agent(tmp_path / "agent.toml")


def test_a_missing_prompt_is_named_by_file_and_key(tmp_path: Path) -> None:
    path = write(tmp_path, ASSISTANT + 'prompt_file = "away.md"')

    with pytest.raises(ConfigurationError, match=r"agent\.toml: prompt_file: .*away\.md"):
        read_prompt(path, load_agent(path))


def test_a_password_comes_from_the_file_beside_the_toml(tmp_path: Path) -> None:
    path = write(tmp_path, ASSISTANT + 'password_file = "secret"')
    (tmp_path / "secret").write_text("correct horse\n", encoding="utf-8")

    assert read_password(path, load_agent(path)) == "correct horse"


def test_a_password_comes_from_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path, ASSISTANT + 'password_env = "ADA_PASSWORD"')
    monkeypatch.setenv("ADA_PASSWORD", "correct horse")

    assert read_password(path, load_agent(path)) == "correct horse"


def test_a_variable_that_is_not_set_is_named_with_file_and_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path, ASSISTANT + 'password_env = "ADA_PASSWORD"')
    monkeypatch.delenv("ADA_PASSWORD", raising=False)

    with pytest.raises(ConfigurationError, match=r"agent\.toml: password_env: .*ADA_PASSWORD"):
        read_password(path, load_agent(path))


def test_an_empty_variable_counts_as_not_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPADE_LLM_SERVER", "")

    assert read_environment().server == "auto"


def test_a_key_is_not_shown_with_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")

    assert "sk-secret" not in repr(read_environment())


@pytest.mark.parametrize("size", ["0", "1001", "many", "1.5"])
def test_a_batch_size_out_of_range_is_an_error_that_names_the_variable(
    monkeypatch: pytest.MonkeyPatch, size: str
) -> None:
    monkeypatch.setenv("LLM_MEMORY_BATCH_MAX_SIZE", size)

    with pytest.raises(ConfigurationError, match="LLM_MEMORY_BATCH_MAX_SIZE"):
        read_environment()


def test_the_batch_size_is_a_hundred_unless_it_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LLM_MEMORY_BATCH_MAX_SIZE", raising=False)
    assert read_environment().memory_batch_max_size == 100

    monkeypatch.setenv("LLM_MEMORY_BATCH_MAX_SIZE", "1000")
    assert read_environment().memory_batch_max_size == 1000


def test_the_memory_tools_are_the_three_unless_others_are_chosen(tmp_path: Path) -> None:
    assert load_agent(write(tmp_path, ASSISTANT)).memory.tools == "base"
    assert load_agent(write(tmp_path, ASSISTANT + '[memory]\ntools = "all"')).memory.tools == "all"
    with pytest.raises(ConfigurationError, match="tools"):
        load_agent(write(tmp_path, ASSISTANT + '[memory]\ntools = "some"'))


@pytest.mark.parametrize(
    ("limits", "rounds", "calls"),
    [
        ("", 5, 24),
        ("tool_rounds = 3", 3, 24),
        ("model_calls = 6", 5, 6),
        ("model_calls = 60", 20, 60),
        ("tool_rounds = 3\nmodel_calls = 10", 3, 10),
    ],
)
def test_older_files_say_rounds_by_calls_of_the_model(
    tmp_path: Path, limits: str, rounds: int, calls: int
) -> None:
    path = tmp_path / "agent.toml"
    path.write_text(f"{ASSISTANT}[limits]\n{limits}\n", encoding="utf-8")

    read = load_agent(path).limits

    assert (read.rounds, read.effective_model_calls) == (rounds, calls)


def test_timeouts_of_people_are_limited_in_a_tool_agent(tmp_path: Path) -> None:
    person = '[human.eve]\njid = "eve"\nseconds = {}\n'

    assistant = load_agent(write(tmp_path, ASSISTANT + person.format(86_400)))
    assert assistant.human["eve"].seconds == 86_400
    load_agent(write(tmp_path, 'kind = "tools"\njid = "t"\n' + person.format(570)))
    with pytest.raises(ConfigurationError, match="570 at most"):
        load_agent(write(tmp_path, 'kind = "tools"\njid = "t"\n' + person.format(571)))
    with pytest.raises(ConfigurationError, match="human"):
        load_agent(write(tmp_path, ASSISTANT + '[human."a b"]\njid = "eve"\n'))


def test_the_collector_of_the_environment_is_checked_and_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector:4318")
    assert read_environment().collector == "http://collector:4318"

    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "collector")
    with pytest.raises(ConfigurationError, match="OTEL_EXPORTER_OTLP_ENDPOINT: .*'collector'"):
        read_environment()


def test_rooms_are_those_of_the_file_and_invitations_are_followed_unless_it_says_no(
    tmp_path: Path,
) -> None:
    path = tmp_path / "agent.toml"
    path.write_text(ASSISTANT)
    as_it_is = build_rooms_options(load_agent(path))
    path.write_text(
        ASSISTANT + "room_invitations = false\n"
        "[[rooms]]\njid = 'Tea@rooms.example.org'\nnick = 'tea helper'\npassword = 'x'\n"
        "[[rooms]]\njid = 'work@rooms.example.org'\n"
    )
    said = build_rooms_options(load_agent(path))

    assert (as_it_is.rooms, as_it_is.takes_invitations) == ((), True)
    assert not said.takes_invitations
    assert said.rooms == (
        KnownRoom(jid="tea@rooms.example.org", nick="tea helper", password="x"),
        KnownRoom(jid="work@rooms.example.org"),
    )
