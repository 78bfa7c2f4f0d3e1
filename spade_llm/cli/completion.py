"""`spade-llm completion`: script for a shell, which asks this program for completions on Tab."""

from __future__ import annotations

import argparse
from collections.abc import Iterable

from argcomplete.completers import BaseCompleter, DirectoriesCompleter, FilesCompleter
from argcomplete.shell_integration import shellcode

from spade_llm.core.errors import SpadeLLMError

ZSH_INIT = "(( $+functions[compdef] )) || { autoload -Uz compinit && compinit }"
"""Loads zsh's completion system, which a zsh without a configuration of its own has not loaded."""
AGENT_ARGUMENTS = frozenset({"agent", "jid", "memory", "owner", "rag", "tool_agent"})
"""Destinations of the arguments that name an agent."""


def main(options: argparse.Namespace) -> int:
    script = shellcode(["spade-llm"], shell=options.shell)
    if options.shell == "zsh":
        # The first line stays first: a file of zsh's $fpath begins with it.
        script = script.replace("\n", f"\n{ZSH_INIT}\n", 1)
    print(script)
    return 0


class ArgumentCompleter(BaseCompleter):
    """Completer of arguments without fixed choices: agents of the data directory, directories,
    files."""

    def __call__(
        self,
        *,
        prefix: str,
        action: argparse.Action,
        parser: argparse.ArgumentParser,
        parsed_args: argparse.Namespace,
    ) -> Iterable[str]:
        if action.metavar == "JID":
            return _agent_jids(parsed_args) if action.dest in AGENT_ARGUMENTS else ()
        kind = DirectoriesCompleter if action.metavar == "DIR" else FilesCompleter
        return list(kind()(prefix))


def _agent_jids(options: argparse.Namespace) -> list[str]:
    from spade_llm.cli.context import agent_directories, data_directory

    try:
        return [home.name for home in agent_directories(data_directory(options))]
    except SpadeLLMError:
        return []  # --data or the environment is wrong; the command itself reports it.
