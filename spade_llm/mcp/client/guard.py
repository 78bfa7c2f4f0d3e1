"""Process guard: runs a program in its own process group and ends the whole group.

Run as a script: `python -I -S guard.py LIFELINE PROGRAM ARGUMENT...`. LIFELINE is the number of an
inherited descriptor, the reading end of a pipe. When its writing end closes, because the parent
closes it or was killed, the group gets SIGTERM, and after GRACE_S SIGKILL. The same happens when
the program has ended by itself, and when the guard itself gets a signal. All descendants are
ended, even those that left the group (Linux). If the guard is killed by SIGKILL, the program is
killed with it (Linux), but not the program's own children.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import signal
import sys
import time
from pathlib import Path

GRACE_S = 1.5
PAUSE_S = 0.01
CANNOT_RUN = 127
_ENDS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36


def main() -> None:
    lifeline, command = int(sys.argv[1]), sys.argv[2:]
    # Orphans of the program become our children instead of init's, so that we find them.
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    woken, wake = os.pipe()
    # `signal.set_wakeup_fd` takes only a descriptor that does not block.
    os.set_blocking(wake, False)
    for sign in (signal.SIGCHLD, *_ENDS):
        signal.signal(sign, lambda *_: None)  # They are read from the pipe.
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    child = os.fork()
    if child == 0:
        _exec_program(command)
    # The standard streams belong to the program: the guard must not keep them open.
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nothing, descriptor)
    status = _wait(child, lifeline, woken)
    _end_group(child)
    os._exit(CANNOT_RUN if status is None else os.waitstatus_to_exitcode(status) & 0xFF)


def _exec_program(command: list[str]) -> None:
    parent = os.getppid()
    # Before exec, so that the group exists when the program starts processes of its own.
    os.setpgid(0, 0)
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    signal.set_wakeup_fd(-1)
    for sign in (signal.SIGCHLD, *_ENDS):
        signal.signal(sign, signal.SIG_DFL)
    # The guard ended before prctl took effect: its death will never be signalled.
    if os.getppid() != parent:
        os._exit(CANNOT_RUN)
    try:
        os.execvp(command[0], command)
    except OSError as error:
        os.write(2, f"cannot run {command[0]!r}: {error.strerror}\n".encode())
        os._exit(CANNOT_RUN)


def _wait(child: int, lifeline: int, woken: int) -> int | None:
    """Wait for the child and return its wait status; None if the lifeline closes, or a signal ends
    the guard, before."""
    while True:
        ready, _, _ = select.select([lifeline, woken], [], [])
        signs = os.read(woken, 4096) if woken in ready else b""
        status = _reap(child)
        if status is not None or lifeline in ready or set(signs) & set(_ENDS):
            return status


def _reap(child: int) -> int | None:
    """Reap ended processes (orphans of the group are reparented to the guard); return the child's
    status if it has ended."""
    found = None
    with contextlib.suppress(ChildProcessError):
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                break
            if pid == child:
                found = status
    return found


def _end_group(group: int) -> None:
    for sign, patience_s in ((signal.SIGTERM, GRACE_S), (signal.SIGKILL, GRACE_S)):
        deadline = time.monotonic() + patience_s
        _signal(group, sign)
        while _signal(group, 0) and time.monotonic() < deadline:
            time.sleep(PAUSE_S)
            _reap(group)
    _end_orphans(group)


def _end_orphans(group: int) -> None:
    """Kill processes that left the group. They are reparented to the guard when their parent ends,
    so their children follow after each kill."""
    deadline = time.monotonic() + GRACE_S
    while (pids := _children()) and time.monotonic() < deadline:
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(PAUSE_S)
        _reap(group)


def _signal(group: int, sign: int) -> bool:
    """Signal the group; False if it has ended. Signal 0 only checks."""
    try:
        os.killpg(group, sign)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def _children() -> list[int]:
    """Processes that left the group and were reparented to the guard when their parent ended
    (Linux)."""
    me = os.getpid()
    try:
        return [int(pid) for pid in Path(f"/proc/{me}/task/{me}/children").read_text().split()]
    except OSError:
        return []


def _prctl(option: int, value: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


if __name__ == "__main__":
    main()
