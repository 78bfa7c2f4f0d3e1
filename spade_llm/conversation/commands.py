"""Text commands, which cost no model call: `/help /new /status /memories /forget`. Pure parsing.

Every client can type text; menus (XEP-0050) may be missing.
"""

from __future__ import annotations

from dataclasses import dataclass

HELP = """\
I am an assistant in a chat: just write to me. Commands:
/help – this list
/new – begin a new conversation (what I remember stays)
/status – which model I use, and what can be reached
/memories [words] – what I remember about you
/forget NUMBER – forget one of the memories that /memories listed
/forget all – forget everything about you, and this conversation"""

NAMES = frozenset({"help", "new", "status", "memories", "forget"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    name: str
    argument: str = ""


def parse_command(text: str) -> Command | None:
    """The command that a message is; None for anything else, also for `/me waves` and paths."""
    head, _, rest = text.strip().partition(" ")
    name = head[1:].lower()
    if not head.startswith("/") or name not in NAMES:
        return None
    return Command(name=name, argument=rest.strip())
