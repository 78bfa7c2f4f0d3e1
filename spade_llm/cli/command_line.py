"""Command line of `spade-llm`: argument parser, late import of commands, exit codes.

Exit codes: 0 success, 1 failure (the reason is on stderr), 2 wrong command line, 3 rules answered
because the model failed (`ask`), 130 Ctrl-C, 141 broken pipe.
"""

from __future__ import annotations

import argparse
import errno
import os
import sys
from collections.abc import Callable, Sequence
from functools import cache
from importlib import import_module
from typing import Any, cast

from spade_llm.cli.argument_parser import (
    CommandParser,
    Commands,
    any_text,
    optional_line,
    port,
    positive,
)
from spade_llm.cli.terminal import sanitize_line, sanitize_lines, style
from spade_llm.core.errors import SpadeLLMError

TOOL_FAMILIES = {
    "memory": "the eleven memory_* tools",
    "further": "memory_explain, memory_similar, memory_deduplicate and links",
    "owner": "decay and grants of your memories",
    "documents": "search_documents, answer_from_documents and list_documents",
    "ask": "ask_agent and list_agents",
    "tools": "the tool agent's tools",
}
DEFAULT_TOOL_FAMILIES = "memory,documents,ask"
"""Default tool families, the most useful ones: a model reads every offered tool in each turn."""
ALL_TOOL_FAMILIES = "all"

SETTINGS_KEYS = ("mcpServers", "servers")
"""Keys of the server list in the settings of MCP clients: of most clients, and of some editors."""

DATA_HELP = "directory of all state (default: $SPADE_LLM_DATA, else ./spade-llm-data)"
ASK_TIMEOUT_S = 600
JSON_HELP = "one JSON object per line"
EXIT_RULES = 3
"""Exit code of `ask` if rules answered because the model failed."""
EXIT_SIGINT = 130
EXIT_SIGPIPE = 141
"""Exit codes of a shell for these signals."""
HTTP_HELP = (
    "address of the gateway (default: its [http], else 127.0.0.1:8000 or the next free port)"
)
ALLOW_HOST_HELP = "host name that clients may use; repeatable"
ONE_ASSISTANT_HELP = "assistant (default: the only one)"
SERVER_HELP = "XMPP server (default: that of the running `spade-llm up` on the same data)"
DATABASE_HELP = (
    "PostgreSQL of agents without [storage] database_url (default: $SPADE_LLM_DATABASE, else files)"
)
AGENTS_HELP = "folder of NAME/agent.toml (default: the five standard agents)"

SHORT_HELP = """\
usage: spade-llm COMMAND …

  spade-llm up          start a server and all agents here, and chat
  spade-llm chat        chat with what `up` has started
  spade-llm ask TEXT    ask one question
  spade-llm rag add DIR let the assistant answer from documents
  spade-llm doctor      find out what is wrong, and how to mend it

`spade-llm --help` lists all commands, `spade-llm COMMAND --help` the options of one."""

_DISK_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
"""Errors of a full disk, or of a reached quota or process limit."""

RAG_QUERY_ACTIONS = {
    "search": "Show the best passages.",
    "answer": "Answer a question from documents, with sources.",
}

MEMORY_ACTIONS = {
    "stats": "Show the number of memories by owner and kind.",
    "verify": "Check the memory for errors.",
    "export": "Write all memories as JSON Lines, or some as Markdown or a Letta agent file.",
    "import": "Import an exported file, or memories and chats of another program.",
    "backup": "Copy the memory file, also while it is in use.",
    "forget": "Delete everything that all agents remember about a person.",
    "reindex": "Compute all embeddings again, with the agent's current embedding model.",
}

IMPORT_FORMAT_NAMES = (
    "spade-llm",
    "spade-llm-0.3",
    "chatgpt",
    "claude",
    "open-webui",
    "letta",
    "mem0",
    "mcp-memory",
    "llm-memory",
    "llm",
)
"""Names of the table in memory/transfer/import_formats.py, which is too slow to import for help."""

MODULES = {"ask": "chat", "account": "access", "invite": "access", "token": "access"}
"""Modules of the commands that have no module of their own name."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the result is the exit code."""
    parser = build_parser()
    if "_ARGCOMPLETE" in os.environ:
        # A shell asks for completions, as the script of `spade-llm completion` tells it to.
        import argcomplete

        from spade_llm.cli.completion import ArgumentCompleter

        argcomplete.autocomplete(
            parser, always_complete_options="long", default_completer=ArgumentCompleter()
        )
    options = parser.parse_args(arguments)
    try:
        done = _run(options, parser)
        # Here, as a closed pipe or a full disk at the interpreter's exit has no handler.
        sys.stdout.flush()
        return done
    except BrokenPipeError:
        # `… | head`: the interpreter flushes stdout at its exit, and would report the pipe again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_SIGPIPE
    except SpadeLLMError as error:
        _print_error(options, sanitize_lines(str(error)))
        return 1
    except OSError as error:
        where = f" for {error.filename!r}" if error.filename else ""
        reason = f"{error.strerror or error}{where}"
        if error.errno in _DISK_FULL:
            reason = f"no space left{where}: {error.strerror}"
        _print_error(options, sanitize_line(reason))
        return 1
    except KeyboardInterrupt:
        return EXIT_SIGINT


def _run(options: argparse.Namespace, parser: argparse.ArgumentParser) -> int:
    """Run the command; without one, chat if an `up` runs here, else print a short help."""
    if options.command is None:
        if not _runs_here():
            print(SHORT_HELP)
            return 0
        options = parser.parse_args(["chat"])
    module = import_module(f"spade_llm.cli.{MODULES.get(options.command, options.command)}")
    # Every command module has `main(options) -> int`; argparse and import_module are untyped.
    return cast("Callable[[argparse.Namespace], int]", module.main)(options)


def _print_error(options: argparse.Namespace, reason: str) -> None:
    name = " ".join(filter(None, ("spade-llm", options.command)))
    print(f"{style(name, 'red', sys.stderr)}: {reason}", file=sys.stderr)


def _runs_here() -> bool:
    """True if a person at a terminal can chat with an `up` on the default data directory."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return False
    from spade_llm.cli.context import default_data_directory
    from spade_llm.xmpp.servers.data_directory import read_run_record

    return read_run_record(default_data_directory()) is not None


@cache
def build_parser() -> argparse.ArgumentParser:
    """Parser of all commands. To build it takes longer than to run many a command."""
    parser = CommandParser(
        prog="spade-llm", description="A network of LLM agents on XMPP.", allow_abbrev=False
    )
    parser.add_argument("--version", action=_VersionAction, help="show the version, and exit")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    _add_up(commands)
    _add_run(commands)
    chat = _add(commands, "chat", "Chat with an agent in the terminal.", has_json=False)
    chat.add_argument("jid", nargs="?", metavar="JID", help="default: assistant@ the domain")
    _add_person(chat)
    ask = _add(commands, "ask", "Ask one question; the answer goes to standard output.")
    ask.add_argument("question", type=any_text, metavar="QUESTION")
    ask.add_argument("--to", metavar="JID", dest="jid", help="default: assistant@ the domain")
    ask.add_argument(
        "--timeout",
        type=positive,
        default=ASK_TIMEOUT_S,
        metavar="SECONDS",
        help=f"give up then, also while the agent is offline (default: {ASK_TIMEOUT_S})",
    )
    _add_person(ask)
    _add_model(commands)
    _add_rag(commands)
    _add_memory(commands)
    _add_tools(commands)
    _add_mcp(commands)
    _add_agents(commands)
    _add_account(commands)
    usage = _add(commands, "usage", "Show the token usage of an assistant by peer and day.")
    usage.add_argument("--agent", metavar="JID", default="assistant", help="default: assistant")
    usage.add_argument("--days", type=positive, default=7, metavar="N", help="default: 7")
    usage.add_argument("--peer", metavar="JID", help="only this peer")
    usage.add_argument("--database", metavar="URL", help=DATABASE_HELP)
    _add_invite(commands)
    _add_token(commands)
    _add_storage(commands)
    _add_doctor(commands)
    _add_host(commands)
    _add(commands, "health", "Exit with 0 if the agents on this data are healthy.")
    help = "Print the script for a shell that completes commands, options and agents on Tab."
    completion = commands.add_parser("completion", help=help, description=help, allow_abbrev=False)
    completion.add_argument("shell", choices=("bash", "zsh", "fish"), metavar="bash|zsh|fish")
    return parser


class _VersionAction(argparse.Action):
    """Prints the version, which is looked up only then."""

    def __init__(self, **options: Any) -> None:  # argparse's own
        super().__init__(nargs=0, **options)

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from importlib.metadata import version

        print(f"spade-llm {version('spade-llm-agents')}")
        parser.exit()


def _add(
    commands: Commands[argparse.ArgumentParser], name: str, help: str, *, has_json: bool = True
) -> argparse.ArgumentParser:
    """Add a command that works on a data directory. `has_json`: its results are shown with
    cli/terminal.py, also as JSON."""
    parser = commands.add_parser(name, help=help, description=help, allow_abbrev=False)
    parser.add_argument("--data", metavar="DIR", help=DATA_HELP)
    if has_json:
        parser.add_argument("--json", action="store_true", help=JSON_HELP)
    return parser


def _add_up(commands: Commands[argparse.ArgumentParser]) -> None:
    help = "Start a server and all agents; in a terminal, open a chat."
    up = _add(commands, "up", help, has_json=False)
    add = up.add_argument
    add(
        "--server",
        metavar="auto|embedded|prosody|HOST[:PORT]",
        help="XMPP server (default: $SPADE_LLM_SERVER, else auto: Prosody if installed)",
    )
    add("--domain", metavar="D", help="default: $SPADE_LLM_DOMAIN, else localhost or HOST")
    add("--port", type=port, metavar="N", help="port of our own server (default: 5222 if free)")
    add("--ca", metavar="FILE", help="CA to trust for HOST, in addition to the system's")
    add(
        "--register",
        action="store_true",
        help="register the accounts on HOST in-band (XEP-0077); waits if HOST limits the rate",
    )
    add("--agents", metavar="DIR", help=AGENTS_HELP)
    add("--database", metavar="URL", help=DATABASE_HELP)
    add("--processes", action="store_true", help="one process per agent, restarted when it dies")
    add("--no-chat", action="store_true", help="serve only, also in a terminal")
    add("--no-download", action="store_true", help="do not download the embedding model (90 MB)")
    add("--http", metavar="HOST[:PORT]|off", help=f"{HTTP_HELP}; off: no gateway")
    add("--allow-host", metavar="NAME", action="append", help=ALLOW_HOST_HELP)


def _add_run(commands: Commands[argparse.ArgumentParser]) -> None:
    run = _add(commands, "run", "Run one agent from its agent.toml.", has_json=False)
    run.add_argument("file", metavar="FILE", help="the agent.toml")
    _add_server(run)
    register_help = "register the account in-band (XEP-0077)"
    run.add_argument("--register", action="store_true", help=register_help)
    no_download_help = "do not download the embedding model"
    run.add_argument("--no-download", action="store_true", help=no_download_help)
    run.add_argument("--database", metavar="URL", help=DATABASE_HELP)
    run.add_argument("--http", metavar="HOST[:PORT]", help=HTTP_HELP)
    run.add_argument("--allow-host", metavar="NAME", action="append", help=ALLOW_HOST_HELP)
    replicas_help = (
        "answer for one agent in N processes that share the database; more may run on other"
        " machines (docs/scaling.md)"
    )
    run.add_argument("--replicas", metavar="N", type=int, help=replicas_help)
    run.add_argument("--replica", type=int, help=argparse.SUPPRESS)
    run.add_argument("--listen-fd", type=int, help=argparse.SUPPRESS)
    run.add_argument("--with-parent", action="store_true", help=argparse.SUPPRESS)
    run.add_argument("--without-rag", action="store_true", help=argparse.SUPPRESS)


def _add_model(commands: Commands[argparse.ArgumentParser]) -> None:
    model = _add(commands, "model", "Show and test the language model, or set another one.")
    model.add_argument("--agents", metavar="DIR", help=AGENTS_HELP)
    model.add_argument("--agent", metavar="JID", help=ONE_ASSISTANT_HELP)
    actions = model.add_subparsers(dest="action", metavar="set")
    help = "Set the model of the network, and test it. API keys are prompted for."
    # A default of an option here would overwrite the value that stands before `set`.
    setting = actions.add_parser(
        "set", help=help, description=help, allow_abbrev=False, argument_default=argparse.SUPPRESS
    )
    add = setting.add_argument
    add("model", metavar="PROVIDER/NAME", help="for instance ollama/qwen3; NAME with --url")
    url_help = "base URL of a server with OpenAI's protocol, usually …/v1"
    add("--url", metavar="URL", help=url_help, default=None)
    key = setting.add_mutually_exclusive_group()
    key_help = "file with the API key (mode 600)"
    key.add_argument("--key-file", metavar="FILE", help=key_help, default=None)
    key_help = "environment variable with the API key"
    key.add_argument("--key-env", metavar="NAME", help=key_help, default=None)
    add("--data", metavar="DIR", help=DATA_HELP)
    add("--agents", metavar="DIR", help=AGENTS_HELP)
    add("--agent", metavar="JID", help=ONE_ASSISTANT_HELP)
    add("--json", action="store_true", help=JSON_HELP, default=argparse.SUPPRESS)


def _add_rag(commands: Commands[argparse.ArgumentParser]) -> None:
    rag = commands.add_parser("rag", help="Add, search, share and delete an assistant's documents.")
    actions = rag.add_subparsers(dest="action", required=True, metavar="ACTION")
    add = _add_rag_action(actions, "add", "Add documents: files, or folders of them.")
    add.add_argument("path", nargs="+", metavar="PATH")
    add.add_argument("--namespace", default="default", help="default: default")
    add.add_argument("--no-recursive", action="store_true", help="without subfolders")
    add.add_argument("--size", type=int, metavar="N", help="characters per passage, 100 to 4000")
    add.add_argument("--overlap", type=int, metavar="N", help="characters of overlap, 0 to 1000")
    listing = _add_rag_action(actions, "list", "List namespaces, or the documents of one.")
    listing.add_argument("namespace", nargs="?", metavar="NAMESPACE")
    stats = _add_rag_action(actions, "stats", "Show the size of a namespace.")
    stats.add_argument("namespace", nargs="?", default="default", metavar="NAMESPACE")
    for name, help in RAG_QUERY_ACTIONS.items():
        asking = _add_rag_action(actions, name, help)
        asking.add_argument("query", type=any_text, metavar="QUERY")
        asking.add_argument("--namespace", action="append", default=[], help="default: all")
        asking.add_argument("-k", type=int, default=5, metavar="N", help="passages, 1 to 20")
    delete = _add_rag_action(actions, "delete", "Delete a document, or a whole namespace.")
    delete.add_argument("namespace", metavar="NAMESPACE")
    delete.add_argument("source", nargs="?", metavar="SOURCE")
    help = "Compute all embeddings again, with the current model."
    reindex = _add_rag_action(actions, "reindex", help)
    reindex.add_argument("namespace", nargs="?", metavar="NAMESPACE", help="default: all")
    grant = _add_rag_action(actions, "grant", "Let a JID or a domain read a namespace.")
    revoke = _add_rag_action(actions, "revoke", "Revoke such a grant.")
    for action in (grant, revoke):
        action.add_argument("namespace", metavar="NAMESPACE")
        action.add_argument("grantee", metavar="JID|DOMAIN")
    grant.add_argument("--write", action="store_true", help="also add and delete documents")
    _add_rag_action(actions, "grants", "List the grants.")


def _add_rag_action(
    actions: Commands[argparse.ArgumentParser], name: str, help: str
) -> argparse.ArgumentParser:
    action = _add(actions, name, help)
    action.add_argument("--for", metavar="JID", dest="owner", default="assistant", help="the owner")
    action.add_argument("--to", metavar="JID", dest="rag", default="rag", help="the RAG agent")
    _add_server(action)
    return action


def _add_memory(commands: Commands[argparse.ArgumentParser]) -> None:
    memory = commands.add_parser("memory", help="Check, export, import or copy an agent's memory.")
    actions = memory.add_subparsers(dest="action", required=True, metavar="ACTION")
    for name, help in MEMORY_ACTIONS.items():
        action = _add(actions, name, help)
        if name in ("export", "import", "backup"):
            action.add_argument("file", metavar="FILE")
        if name == "export":
            action.add_argument(
                "--about", metavar="JID", help="only this person: as a signed passport, or --format"
            )
            action.add_argument(
                "--owner", metavar="JID", help="only this agent: for markdown and letta"
            )
            action.add_argument(
                "--format",
                choices=("jsonl", "markdown", "letta"),
                help="markdown: to read; letta: an agent file (.af); default: jsonl",
            )
        if name == "forget":
            action.add_argument("--about", metavar="JID", required=True, help="the person")
            action.add_argument("--yes", action="store_true", help="delete; default: only count")
        if name == "import":
            action.add_argument("--dry-run", action="store_true", help="only show the effect")
            action.add_argument(
                "--owner",
                metavar="JID",
                help="agent that gets the memories of a passport or another program",
            )
            action.add_argument(
                "--about", metavar="JID", help="person that these memories are about"
            )
            action.add_argument(
                "--person",
                metavar="ID",
                help="of a file with records of several persons: only those of this one",
            )
            action.add_argument(
                "--format",
                metavar="NAME",
                choices=IMPORT_FORMAT_NAMES,
                help=f"default: recognized by content; one of {', '.join(IMPORT_FORMAT_NAMES)}",
            )
        action.add_argument("--agents", metavar="DIR", help=AGENTS_HELP)
        action.add_argument("--agent", metavar="JID", help="default: the only memory below --data")
        action.add_argument("--database", metavar="URL", help=DATABASE_HELP)


def _add_tools(commands: Commands[argparse.ArgumentParser]) -> None:
    tools = commands.add_parser("tools", help="Show a tool agent's tools, calls and reviews.")
    actions = tools.add_subparsers(dest="action", required=True, metavar="ACTION")
    offered = _add(actions, "list", "List the tools you may call; `ask`: a person must approve.")
    log = _add(actions, "log", "Show the tool calls, with caller and outcome.")
    log.add_argument("--last", type=positive, default=50, metavar="N", help="default: 50")
    log.add_argument("--tool", metavar="NAME", help="only calls of this tool")
    log.add_argument("--caller", metavar="JID", help="only calls by this JID or on its behalf")
    review = _add(actions, "review", "Decide on tools that MCP servers have changed or added.")
    name = "SERVER_tool@DIGEST as shown, or SERVER_tool, or SERVER for everything that waits"
    review.add_argument("--accept", action="append", metavar="NAME", help=name)
    review.add_argument("--reject", action="append", metavar="NAME", help=f"never offer it: {name}")
    review.add_argument("--all", action="store_true", help="show rejected definitions, too")
    for action in (offered, log, review):
        action.add_argument("--agent", metavar="JID", default="tools", help="default: tools")
    _add_person(offered)


def _add_mcp(commands: Commands[argparse.ArgumentParser]) -> None:
    help = "Serve the agents as MCP tools, on standard input and output."
    mcp = _add(commands, "mcp", help, has_json=False)
    add = mcp.add_argument
    families = ", ".join(TOOL_FAMILIES)
    add("--tools", metavar="NAMES", help=f"{families}, all (default: {DEFAULT_TOOL_FAMILIES})")
    add("--memory", metavar="JID", help="the memory agent")
    add("--rag", metavar="JID", help="the RAG agent")
    add("--tool-agent", metavar="JID", help="the tool agent")
    add("--agent", metavar="JID", action="append", help="assistant to ask; repeatable")
    add("--http", metavar="HOST[:PORT]", help="serve streamable HTTP instead, at /mcp")
    add("--allow-host", metavar="NAME", action="append", help=ALLOW_HOST_HELP)
    token = mcp.add_mutually_exclusive_group()
    token.add_argument("--token-file", metavar="FILE", help="default: created in DATA/mcp-tokens")
    token.add_argument("--token-env", metavar="VARIABLE", help="variable with the bearer token")
    token.add_argument("--no-token", action="store_true", help="on a loopback address only")
    add(
        "--print-config",
        nargs="?",
        const=SETTINGS_KEYS[0],
        choices=SETTINGS_KEYS,
        help="print the settings of an MCP client, below the key that it uses",
    )
    _add_person(mcp)


def _add_agents(commands: Commands[argparse.ArgumentParser]) -> None:
    agents = _add(commands, "agents", "List the reachable agents and their tools.")
    agents.add_argument("--agents", metavar="DIR", help=AGENTS_HELP)
    agents.add_argument(
        "--roster",
        action="store_true",
        help="also agents among your contacts; they see you online for a second",
    )
    _add_person(agents)


def _add_account(commands: Commands[argparse.ArgumentParser]) -> None:
    account = _add(commands, "account", "Create an account on the server of `up`.")
    account.add_argument("account", metavar="JID", help="or a name at its domain")
    account.add_argument(
        "--password-env", metavar="VARIABLE", help="variable with its password (default: a new one)"
    )
    account.add_argument(
        "--reset",
        action="store_true",
        help="set a new password for an existing account; a running agent rereads its own",
    )


def _add_storage(commands: Commands[argparse.ArgumentParser]) -> None:
    storage = commands.add_parser("storage", help="Move agents' databases to PostgreSQL, or back.")
    actions = storage.add_subparsers(dest="action", required=True, metavar="ACTION")
    help = "Copy databases, memories and documents from files to PostgreSQL, or back, verified."
    move = _add(actions, "move", help)
    add = move.add_argument
    add("--to", choices=("database", "files"), required=True, help="where they are copied to")
    add("--database", metavar="URL", help="PostgreSQL (default: $SPADE_LLM_DATABASE)")
    add("--agent", metavar="JID", help="only this agent (default: all with a folder)")
    add("--dry-run", action="store_true", help="only show what would be copied")
    add("--replace", action="store_true", help="overwrite rows that were not copied there before")


def _add_invite(commands: Commands[argparse.ArgumentParser]) -> None:
    invite = _add(commands, "invite", "Create a code that admits a guest to an agent.")
    add = invite.add_argument
    add("--agent", metavar="JID", default="assistant", help="default: assistant")
    add("--uses", type=positive, default=1, metavar="N", help="number of guests (default: 1)")
    add("--days", type=positive, default=7, metavar="N", help="valid for N days (default: 7)")
    add("--stay", type=positive, metavar="DAYS", help="admission of a guest (default: for good)")
    add("--note", type=str, default="", metavar="TEXT", help="note shown in --list")
    add("--database", metavar="URL", help=DATABASE_HELP)
    what = invite.add_mutually_exclusive_group()
    what.add_argument("--list", action="store_true", help="show open invitations and guests")
    what.add_argument("--revoke", metavar="NAME|JID", help="revoke an invitation, or a guest")


def _add_token(commands: Commands[argparse.ArgumentParser]) -> None:
    token = commands.add_parser("token", help="Create, list and revoke API tokens of a gateway.")
    actions = token.add_subparsers(dest="action", required=True, metavar="ACTION")
    create = _add(actions, "create", "Create a token; it is printed once.")
    create.add_argument("name", metavar="NAME", help="its name in `list` and `revoke`")
    create.add_argument(
        "--principal", metavar="JID", required=True, help="JID that its requests act for"
    )
    create.add_argument("--admin", action="store_true", help="may see and delete all users' data")
    create.add_argument("--days", type=positive, metavar="N", help="default: no expiry")
    create.add_argument("--agents", metavar="DIR", help=AGENTS_HELP)
    listing = _add(actions, "list", "List the tokens, without their secrets.")
    revoke = _add(actions, "revoke", "Revoke a token, from the next request on.")
    revoke.add_argument("name", metavar="NAME")
    for action in (create, listing, revoke):
        action.add_argument("--agent", metavar="JID", default="gateway", help="default: gateway")
        action.add_argument("--database", metavar="URL", help=DATABASE_HELP)


def _add_doctor(commands: Commands[argparse.ArgumentParser]) -> None:
    doctor = _add(commands, "doctor", "Diagnose the installation, and suggest how to fix it.")
    doctor.add_argument("--agents", metavar="DIR", help=AGENTS_HELP)
    doctor.add_argument("--database", metavar="URL", help=DATABASE_HELP)
    doctor.add_argument(
        "--host",
        action="store_true",
        help="check a multi-user server: certificates, names, accounts, limits, clock; that of"
        " --server, else of the folder that `host prepare` made (--data), else of the running `up`",
    )
    doctor.add_argument(
        "--web-url", type=optional_line, metavar="URL", help="URL of its uploads and web chat"
    )
    _add_server(doctor)


def _add_host(commands: Commands[argparse.ArgumentParser]) -> None:
    host = commands.add_parser("host", help="Set up a multi-user server with its agents.")
    actions = host.add_subparsers(dest="action", required=True, metavar="ACTION")
    help = "Write configuration, certificates and passwords; run it again after every change."
    prepare = actions.add_parser("prepare", help=help, description=help, allow_abbrev=False)
    add = prepare.add_argument
    add("--to", metavar="ROOT", required=True, help="folder of the deployment")
    add("--json", action="store_true", help=JSON_HELP)
    add("--domain", metavar="D", required=True, help="XMPP domain: the part of a JID after @")
    add("--agents", metavar="DIR", help=AGENTS_HELP)
    add("--people", metavar="NAMES", default="you", help="first accounts, by commas: you,ada")
    add(
        "--admins",
        type=optional_line,
        metavar="NAMES",
        default="",
        help="accounts that administer the server, by commas",
    )
    add(
        "--certificates",
        type=optional_line,
        metavar="DIR",
        help="folder of fullchain.pem and privkey.pem (default: our own CA)",
    )
    add(
        "--web-url",
        type=optional_line,
        metavar="URL",
        help="URL of uploads and web chat (default: https://D:5281)",
    )
    add(
        "--web-chat",
        type=optional_line,
        metavar="DIR",
        help="folder of the pages built by docker/web/build.sh (default: none)",
    )
    add("--federation", choices=("on", "off"), default="off", help="talk to other servers")
    add("--archive-days", type=positive, default=30, metavar="N", help="default: 30")
    add("--listen", metavar="ADDRESSES", default="*,::", help="by commas (default: all)")
    add("--port", type=port, default=5222, metavar="N", help="port of clients (default: 5222)")


def _add_person(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--as", metavar="JID", dest="person", help="log in as JID (default: you@ the domain)"
    )
    _add_server(parser)


def _add_server(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--server", metavar="HOST[:PORT]", help=SERVER_HELP)
    parser.add_argument("--domain", metavar="D", help="default: $SPADE_LLM_DOMAIN, else HOST")
    parser.add_argument("--ca", metavar="FILE", help="CA to trust in addition to the system's")
