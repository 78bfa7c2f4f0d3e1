"""Command `spade-llm`: each subcommand's module is imported only when it runs."""

from spade_llm.cli.command_line import main

__all__ = ["main"]
