"""Argument parser of `spade-llm`: types of arguments, errors of one line with a suggestion."""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

from spade_llm.cli.terminal import style
from spade_llm.core.text import suggestion

MAX_NUMBER = 1_000_000
"""Maximum number for any count argument: days, lines, uses."""

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")

Commands = argparse._SubParsersAction  # the only name that argparse has for it


class CommandParser(argparse.ArgumentParser):
    """Argument parser: arguments are single lines of text unless they have another `type`."""

    def __init__(self, **options: Any) -> None:  # argparse's own, two of them typed Any
        super().__init__(**options)
        self.register("type", None, one_line)

    def error(self, message: str) -> NoReturn:
        """Print one line without the usage, which `--help` shows."""
        prog = style(self.prog, "red", sys.stderr)
        if self._subparsers is not None and message.endswith("required: ACTION"):
            (action,) = self._subparsers._group_actions
            message = f"choose an ACTION: {', '.join(map(str, action.choices or ()))}"
        message = message.replace("the following arguments are required:", "missing")
        self.exit(2, f"{prog}: {message} (see `{self.prog} --help`)\n")

    def parse_known_args(  # type: ignore[override]  # argparse has two overloads
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        """Reject unknown arguments in the parser of the subcommand, which has the right name."""
        options, unknown = super().parse_known_args(args, namespace)
        if unknown and "_ARGCOMPLETE" not in os.environ:
            kind = "option" if unknown[0].startswith("-") else "argument"
            known = self._option_string_actions
            self.error(f"unknown {kind} {unknown[0]!r}{suggestion(unknown[0], known)}")
        return options, unknown

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Suggest the nearest subcommand or choice."""
        if action.choices is None or value in action.choices:
            return
        choices = [str(one) for one in action.choices]
        near = suggestion(str(value), choices) or f": choose one of {', '.join(choices)}"
        # A subcommand is not shown as an argument.
        what = "unknown command" if isinstance(action, Commands) else "invalid choice"
        text = f"{what} {value!r}{near}"
        raise argparse.ArgumentError(None if isinstance(action, Commands) else action, text)

    def add_subparsers(self, **options: Any) -> Commands[Any]:
        """Add subcommands; the parser of a subcommand checks the arguments after its name."""
        action = super().add_subparsers(**options)
        action.type = str
        return action


def one_line(text: str) -> str:
    """Argument of one line. Raises ArgumentTypeError."""
    if _CONTROL.search(any_text(text)):
        raise argparse.ArgumentTypeError(f"{text!r} contains control characters")
    return text


def optional_line(text: str) -> str:
    """Argument of one line; an empty one counts as missing, as Compose passes unset variables.

    Raises ArgumentTypeError.
    """
    return one_line(text) if text else text


def any_text(text: str) -> str:
    """Argument with any text in it. Raises ArgumentTypeError."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise argparse.ArgumentTypeError(f"{text!r} is not valid UTF-8") from None
    if not text.strip():
        raise argparse.ArgumentTypeError("it is empty")
    return text


def positive(text: str) -> int:
    """Number from 1 to MAX_NUMBER. Raises ArgumentTypeError."""
    return _number(text, most=MAX_NUMBER)


def port(text: str) -> int:
    """Number of a TCP port. Raises ArgumentTypeError."""
    return _number(text, most=65535)


def _number(text: str, *, most: int) -> int:
    # int() also takes signs, underscores and other scripts' digits, and fails beyond 4300 of them.
    if not (text.isascii() and text.isdecimal()) or not 1 <= int(text[:20]) <= most:
        raise argparse.ArgumentTypeError(f"{text[:40]!r} is not a number from 1 to {most}")
    return int(text)
