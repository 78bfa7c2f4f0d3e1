"""`spade-llm completion`: script for a shell, which asks this program for completions on Tab."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse


def main(options: argparse.Namespace) -> int:
    from argcomplete.shell_integration import shellcode

    print(shellcode(["spade-llm"], shell=options.shell))
    return 0
