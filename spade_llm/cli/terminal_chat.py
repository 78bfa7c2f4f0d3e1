"""Chat in a terminal: a prompt below the growing answer, history, completion, Ctrl-C.

prompt_toolkit draws the prompt and, above it, the unfinished block of the answer; finished blocks
are printed into the terminal's scrollback (cli/markdown.py).
"""

from __future__ import annotations

import asyncio
import os
import re
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from prompt_toolkit import PromptSession
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.formatted_text import ANSI
from prompt_toolkit.history import FileHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.patch_stdout import patch_stdout

from spade_llm.cli.chat import QUIT_COMMANDS, describe_waiting, write_answer
from spade_llm.cli.factory.model_choice import CONNECT_HINT
from spade_llm.cli.markdown import MarkdownStream
from spade_llm.cli.signals import on_ctrl_c
from spade_llm.cli.terminal import has_colour, sanitize_line, sanitize_text, style
from spade_llm.core.errors import RequestError

if TYPE_CHECKING:
    from spade_llm.agents import ChatAgent

PROMPT = "you> "
APPROVAL_PROMPT = "yes or no> "
CONTINUATION = "...> "
MAX_WAITING = 16
"""Maximum number of messages that wait while an answer is written."""
MAX_HISTORY = 1000
"""Maximum number of entries of the input history."""
MAX_ENTRY_CHARS = 10_000
"""Longer input, such as a pasted file, is not kept in the history."""
ROWS_BELOW = 10
"""Rows of the terminal that the growing answer leaves to the prompt and its menu."""
LEAVE_WITHIN_S = 2.0
"""Time in seconds within which a second Ctrl-C leaves the chat."""
TICK_S = 0.5
COMMANDS_TIMEOUT_S = 10.0
_COMMAND_LINE = re.compile(r"^(?P<usages>/\S.*?) – (?P<meaning>.*)$", re.MULTILINE)
_FIXED_WORDS = re.compile(r"/[a-z]+(?: [a-z]+)*(?=$| [A-Z\[])|/[a-z]+(?: [a-z]+)*")


class TerminalChat:
    """Chat of a person with one agent, until the person leaves."""

    def __init__(self, client: ChatAgent, peer: str, *, history: Path) -> None:
        self._client = client
        self._peer = peer
        self._completer = CommandCompleter()
        self._history = BoundedHistory(history)
        self._session: PromptSession[str] = PromptSession(
            self._message,
            multiline=True,
            prompt_continuation=CONTINUATION,
            history=self._history,
            completer=self._completer,
            key_bindings=self._keys(),
            reserve_space_for_menu=6,
            # What was entered is printed again when its turn comes.
            erase_when_done=True,
        )
        self._lines: asyncio.Queue[str] = asyncio.Queue(MAX_WAITING)
        self._answering: asyncio.Task[bool] | None = None
        self._answer = self._new_answer()
        self._status = ""
        """What the answer waits for; empty: it is being written."""
        self._elapsed_s = 0
        self._question: asyncio.Future[str] | None = None
        """Reply to a request for approval, while one is shown."""
        self._draft = Document()
        """Input that a request for approval has interrupted."""
        self._unprinted = ""
        self._printing: asyncio.Task[None] | None = None
        self._interrupted_at = -LEAVE_WITHIN_S

    async def run(self) -> None:
        self._print(f"Chatting with {self._peer} (/help: its commands, Ctrl-D: leave)\n")
        work = (self._answer_lines(), self._learn_commands(), self._tell_missing_model())
        tasks = [asyncio.create_task(one) for one in work]
        for task in tasks:
            task.add_done_callback(self._end_if_failed)
        try:
            # Ctrl-C is a key while the prompt reads, a signal while something is printed.
            with patch_stdout(raw=True), on_ctrl_c(self._interrupt):
                while (text := await self._read()) is not None:
                    self._enter(text)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
            self._flush()

    def _end_if_failed(self, task: asyncio.Task[None]) -> None:
        """End the prompt with the error of a task beside it, which would otherwise be silent."""
        failure = None if task.cancelled() else task.exception()
        if failure is not None:
            self._end_prompt(failure)

    def _end_prompt(self, reason: BaseException) -> None:
        """Raise an exception in `_read`, unless the prompt has just ended."""
        app = self._session.app
        if app.is_running and not app.is_done:
            app.exit(exception=reason)

    async def _tell_missing_model(self) -> None:
        """Say how to connect a model, if rules answer instead of one."""
        with suppress(RequestError):
            status = await self._client.status(self._peer, timeout_s=COMMANDS_TIMEOUT_S)
            if status.facts.get("provider") == "Offline":
                hint = f"No language model is connected: rules answer. {CONNECT_HINT}."
                self._print(f"{style(hint, 'dim')}\n")

    async def _read(self) -> str | None:
        """Read the person's next input; None means that they leave."""
        default, self._draft = self._draft, Document()
        with suppress(EOFError):
            # prompt_toolkit's handler of SIGINT would displace ours in the loop.
            text = await self._session.prompt_async(default=default, handle_sigint=False)
            if text.strip() not in QUIT_COMMANDS:
                return text.strip()
        return None

    def _enter(self, text: str) -> None:
        if self._question is not None:
            if not self._question.done():
                self._question.set_result(text)
        elif text == "/stop" and self._answering is not None:
            self._stop()
        elif text:
            try:
                self._lines.put_nowait(text)
            except asyncio.QueueFull:
                self._print(f"({MAX_WAITING} messages wait already: this one is not sent)\n")
                self._draft = Document(text)

    async def _answer_lines(self) -> None:
        """Send what was entered, one message after the other, and show the answers."""
        while True:
            text = await self._lines.get()
            shown = sanitize_text(text).replace("\n", f"\n{CONTINUATION}")
            self._print(f"{style(PROMPT, 'bold')}{shown}\n")
            self._answer = self._new_answer()
            task = asyncio.create_task(write_answer(self._client, self._peer, text, self))
            waiting = asyncio.create_task(
                describe_waiting(self._client, self._peer, self._set_status)
            )
            self._answering, begun = task, time.monotonic()
            self._status, self._elapsed_s = f"waiting for {self._peer}", 0
            try:
                while not (await asyncio.wait([task], timeout=TICK_S))[0]:
                    self._elapsed_s = int(time.monotonic() - begun)
                    self._session.app.invalidate()
            finally:
                self._answering, self._status = None, ""
                for one in (task, waiting):
                    one.cancel()
                await asyncio.wait([task, waiting])
                self._print(self._answer.close())
            if task.cancelled():
                self._print(style("(stopped)\n", "dim"))
            else:
                task.result()
            self._print("\n")

    # Output of the answer (cli/chat.py)

    def add(self, piece: str) -> None:
        self._status = ""
        self._print(self._answer.add(piece))

    def note(self, line: str) -> None:
        self._print(self._answer.close())
        self._print(f"{style(line, 'dim')}\n")

    async def ask(self, question: str) -> str:
        """Show a question, and wait for the reply. What is being written is put aside."""
        self._print(self._answer.close())
        self._print(f"\n{question}\n")
        buffer = self._session.default_buffer
        draft = buffer.document
        buffer.document = Document()
        self._question = asyncio.get_running_loop().create_future()
        self._history.is_recording = False
        try:
            return await self._question
        finally:
            self._question = None
            self._history.is_recording = True
            if self._session.app.is_running:
                buffer.document = draft
            else:
                self._draft = draft

    def _set_status(self, status: str) -> None:
        if self._status:  # Otherwise, the answer is being written.
            self._status = status
        self._session.app.invalidate()

    def _new_answer(self) -> MarkdownStream:
        size = self._session.app.output.get_size()
        return MarkdownStream(width=size.columns, has_colour=has_colour())

    def _message(self) -> ANSI:
        """The unfinished part of the answer, what is waited for, and the prompt."""
        if self._question is not None:
            return ANSI(style(APPROVAL_PROMPT, "bold"))
        rows = [style(PROMPT, "bold")]
        if self._answering is not None:
            size = self._session.app.output.get_size()
            waiting = self._lines.qsize()
            hints = [f"{self._status}, {self._elapsed_s} s"] if self._status else []
            hints += [f"{waiting} more to send"] if waiting else []
            hints.append("Ctrl-C stops")
            tail = self._answer.tail(max(size.rows - ROWS_BELOW, 1))
            rows = [*([tail] if tail else []), style(f"({'; '.join(hints)})", "dim"), *rows]
        return ANSI("\n".join(rows))

    def _print(self, text: str) -> None:
        """Print above the prompt, in order, and soon."""
        if not text:
            return
        is_idle, self._unprinted = not self._unprinted, self._unprinted + text
        if not self._session.app.is_running:
            self._flush()
        elif is_idle:
            self._printing = asyncio.create_task(self._print_above())
        self._session.app.invalidate()

    async def _print_above(self) -> None:
        """Erase the prompt, print, and draw it again. Unlike prompt_toolkit's run_in_terminal, keys
        stay keys meanwhile: its terminal mode would echo what is typed, and lose a Ctrl-D."""
        app = self._session.app
        if app.output.responds_to_cpr:
            await app.renderer.wait_for_cpr_responses()
        if app.is_running and not app.is_done:
            app.renderer.erase()
            self._flush()
            app.renderer.request_absolute_cursor_position()
            app.invalidate()
        else:
            self._flush()

    def _flush(self) -> None:
        text, self._unprinted = self._unprinted, ""
        output = self._session.app.output
        output.write_raw(text.replace("\n", "\r\n"))
        output.flush()

    # Keys

    def _interrupt(self) -> None:
        """Ctrl-C: stops the answer, else clears the input; a second one leaves."""
        if self._answering is not None:
            self._stop()
            return
        now_s, buffer = time.monotonic(), self._session.default_buffer
        is_second = now_s - self._interrupted_at < LEAVE_WITHIN_S
        self._interrupted_at = now_s
        if buffer.text:
            buffer.reset()
        elif is_second:
            self._end_prompt(EOFError())
        else:
            self._print(style("(Ctrl-C again or Ctrl-D leaves)\n", "dim"))

    def _stop(self) -> None:
        """Stop the answer that is written, and drop what waits behind it."""
        while not self._lines.empty():
            self._lines.get_nowait()
        if self._answering is not None:
            self._answering.cancel()

    def _keys(self) -> KeyBindings:
        keys = KeyBindings()

        @keys.add("c-c")
        def _(_event: KeyPressEvent) -> None:
            self._interrupt()

        @keys.add("escape", "enter")
        def _(event: KeyPressEvent) -> None:
            event.current_buffer.insert_text("\n")

        @keys.add("enter")
        def _(event: KeyPressEvent) -> None:
            buffer = event.current_buffer
            if buffer.document.text_before_cursor.endswith("\\"):
                buffer.delete_before_cursor()
                buffer.insert_text("\n")
            else:
                buffer.validate_and_handle()

        return keys

    async def _learn_commands(self) -> None:
        """Ask the agent for its commands, for completion; an agent without any has none."""
        with suppress(RequestError, TimeoutError):
            async with asyncio.timeout(COMMANDS_TIMEOUT_S):
                reply = await self._client.say(self._peer, "/help")
            self._completer.commands += parse_commands(reply.text)
            buffer = self._session.default_buffer
            if buffer.text.startswith("/") and self._session.app.is_running:
                buffer.start_completion()


def parse_commands(help: str) -> list[tuple[str, str]]:
    """Commands in the answer to /help, each as far as it is fixed, with its meaning."""
    return [
        (match.group(), sanitize_line(line["meaning"]))
        for line in _COMMAND_LINE.finditer(help)
        for match in _FIXED_WORDS.finditer(line["usages"])
    ]


class CommandCompleter(Completer):
    """Completes the commands of an agent, which begin with a slash."""

    def __init__(self) -> None:
        self.commands: list[tuple[str, str]] = [("/quit", "leave the chat")]

    def get_completions(self, document: Document, _event: CompleteEvent) -> Iterator[Completion]:
        text = document.text
        if not text.startswith("/"):
            return
        for command, meaning in self.commands:
            if command.startswith(text.lower()) and command != text:
                yield Completion(command, start_position=-len(text), display_meta=meaning)


class BoundedHistory(FileHistory):
    """Input history in a file that only its owner can read, of at most MAX_HISTORY entries."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        # With its mode from the start; FileHistory would create it with the umask.
        descriptor = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
        os.fchmod(descriptor, 0o600)
        os.close(descriptor)
        super().__init__(str(path))
        self.is_recording = True
        newest: Sequence[str] = list(super().load_history_strings())
        if len(newest) > MAX_HISTORY:
            path.write_bytes(b"")
            for entry in reversed(newest[:MAX_HISTORY]):
                super().store_string(entry)

    def append_string(self, string: str) -> None:
        if self.is_recording and len(string) <= MAX_ENTRY_CHARS:
            super().append_string(string)

    def load_history_strings(self) -> Iterable[str]:
        return list(super().load_history_strings())[:MAX_HISTORY]
