"""Launcher script: runs a program that the kernel ends together with its parent process.

Run as a script: `python -I -S parent_bound.py PARENT_PID PROGRAM ARGUMENT...`. The process id stays
the same, so the caller's child process is the program. On systems without `PR_SET_PDEATHSIG`
(anything but Linux) it only becomes the program; there the next start ends a left-over process (see
server_process.py).
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def main() -> None:
    """Bind to the parent given as first argument, then run the rest as a command."""
    bind_to_parent(int(sys.argv[1]))
    # The signal that was asked for stays set across `execve` (prctl(2)).
    os.execvp(sys.argv[2], sys.argv[2:])


def bind_to_parent(parent_pid: int) -> None:
    """Ask for SIGTERM when the parent ends; exits at once if it already has."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    # After `prctl`: a parent that ended before sends no signal.
    if os.getppid() != parent_pid:
        sys.exit(0)


if __name__ == "__main__":
    main()
