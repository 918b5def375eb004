"""A child process spoken to in lines, in one thread: neither side can block the other (POSIX)."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Sequence

__all__ = ["LineProcess"]

MAX_LINE = 32 << 20
CHUNK = 1 << 16
STDERR_KEPT = 4096
GRACE_SECONDS = 2.0


class LineProcess:
    """Starts a program in its own process group, with pipes to its standard input and output.

    What it writes to standard error is read all the time and its end is kept for messages. Raises OSError if
    the program cannot be started.

    >>> process = LineProcess(["cat"])
    >>> process.write_line("hello")
    >>> process.read_line(timeout=10), process.finish()
    (b'hello', b'')
    """

    def __init__(self, arguments: Sequence[str]) -> None:
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(
            arguments, stdin=pipe, stdout=pipe, stderr=pipe, bufsize=0, start_new_session=True
        )
        streams = (self._process.stdin, self._process.stdout, self._process.stderr)
        self._stdin, self._stdout, self._stderr = (s.fileno() for s in streams if s is not None)
        for descriptor in (self._stdin, self._stdout, self._stderr):
            os.set_blocking(descriptor, False)
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._stdout, selectors.EVENT_READ)
        self._selector.register(self._stderr, selectors.EVENT_READ)
        self._unsent = bytearray()
        self._unread = bytearray()
        self._searched = 0
        self._errors = b""

    def write_line(self, line: str) -> None:
        """Send a line, or keep it until the process takes it (during :meth:`read_line`)."""
        if not self._is_open(self._stdin):
            self._selector.register(self._stdin, selectors.EVENT_WRITE)
        self._unsent += line.encode() + b"\n"
        self._send()

    def read_line(self, timeout: float) -> bytes:
        """The next line. Raises TimeoutError after ``timeout`` seconds, EOFError if the process closed its
        output, ValueError if a line is longer than 32 MB."""
        deadline = time.monotonic() + timeout
        while True:
            end = self._unread.find(b"\n", self._searched)
            if end >= 0:
                line = bytes(self._unread[:end])
                del self._unread[: end + 1]
                self._searched = 0
                return line
            self._searched = len(self._unread)
            if self._searched > MAX_LINE:
                raise ValueError("line too long")
            if not self._is_open(self._stdout):
                raise EOFError
            remaining = deadline - time.monotonic()
            if remaining <= 0:
                raise TimeoutError
            self._exchange(remaining)

    def unread(self) -> bytes:
        """What the process has written and nobody has read, without waiting."""
        self._exchange(0)
        return bytes(self._unread)

    def ending(self) -> str:
        """How a process that closed its output ended, with the last line of its error output."""
        deadline = time.monotonic() + GRACE_SECONDS
        while self._is_open(self._stderr) and (remaining := deadline - time.monotonic()) > 0:
            self._exchange(remaining)
        try:
            status = self._process.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            how = "closed its output"
        else:
            how = f"ended with exit status {status}" if status >= 0 else f"was killed by {_signal(-status)}"
        lines = self._errors.decode(errors="replace").split("\n")
        last = next((line.strip() for line in reversed(lines) if line.strip()), "")
        return f"{how}: {last[:200]}" if last else how

    def finish(self) -> bytes:
        """Close the input, wait shortly for the end, stop the process; what it wrote that nobody read."""
        try:
            self._close_stdin()
            deadline = time.monotonic() + GRACE_SECONDS
            while self._is_open(self._stdout) and (remaining := deadline - time.monotonic()) > 0:
                self._exchange(remaining)
            return bytes(self._unread)
        finally:
            self.kill()

    def kill(self) -> None:
        """End the process and everything it started in its group."""
        self._selector.close()
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            if stream is not None:
                stream.close()
        self._process.wait()

    def _is_open(self, descriptor: int) -> bool:
        return descriptor in self._selector.get_map()

    def _exchange(self, timeout: float) -> None:
        """Send and receive whatever is possible, waiting for at most ``timeout`` seconds."""
        for key, _ in self._selector.select(timeout):
            if key.fd == self._stdin:
                self._send()
                continue
            data = os.read(key.fd, CHUNK)
            if not data:
                self._selector.unregister(key.fd)
            elif key.fd == self._stdout:
                self._unread += data
            else:
                self._errors = (self._errors + data)[-STDERR_KEPT:]

    def _send(self) -> None:
        try:
            del self._unsent[: os.write(self._stdin, self._unsent[:CHUNK])]
        except BlockingIOError:
            return
        except BrokenPipeError:  # the process is gone; reading will tell
            self._unsent.clear()
        if not self._unsent:
            self._selector.unregister(self._stdin)

    def _close_stdin(self) -> None:
        if self._is_open(self._stdin):
            self._selector.unregister(self._stdin)
        if self._process.stdin is not None:
            self._process.stdin.close()


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
