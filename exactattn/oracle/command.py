"""An external command as the oracle: anyone's model, in any language, over JSON lines."""

from __future__ import annotations

import hashlib
import json
import shlex
from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

from exactattn.exceptions import AnswersTimeout, InputError, OracleError
from exactattn.model.query import Query
from exactattn.numbers import NumberSystem
from exactattn.oracle.answers import json_answer, read_answer, shown
from exactattn.oracle.base import Oracle, precision_of
from exactattn.oracle.process import LineProcess

__all__ = ["CommandOracle"]

E = TypeVar("E")

# Requests sent ahead of their answers, so that the command never waits for the next one.
WINDOW = 64
MAX_TIMEOUT = 1_000_000


class CommandOracle(Oracle):
    r"""Runs a command (no shell) that answers queries line by line.

    For each query the command reads one line on standard input,

        {"id": 7, "query": {"runs": [[["1", "0"], 3]], "last": ["1/2", "-2"]}, "precision_bits": null}

    and writes one line on standard output, flushed at once:

        {"id": 7, "value": "22/7"}

    Tokens are lists of exact rationals as text; a run is a token and its count. The value is a string "p/q"
    or a decimal, or a JSON integer. Over balls "precision_bits" is a number, and "error" may give a radius
    that encloses the true value. Up to 64 requests are sent ahead; answers may come in any order, each id
    exactly once. The command ends when its input ends. It starts with the first query, and again after a
    failure.

    ``timeout`` is the longest wait for an answer, in seconds.

    >>> import sys
    >>> from exactattn.model import token
    >>> from exactattn.numbers import LogLattice
    >>> program = (
    ...     "import json, sys\n"
    ...     "for line in sys.stdin:\n"
    ...     "    request = json.loads(line)\n"
    ...     "    value = request['query']['last'][0]\n"
    ...     "    print(json.dumps({'id': request['id'], 'value': value}), flush=True)\n"
    ... )
    >>> with CommandOracle(shlex.join([sys.executable, "-c", program]), dim=1) as oracle:
    ...     list(oracle.answer([Query.of([], last=token("22/7"))], LogLattice()))
    [22/7]
    """

    def __init__(self, command: str, dim: int, timeout: float = 60.0) -> None:
        super().__init__(dim)
        try:
            self._arguments = shlex.split(command)
        except ValueError as error:
            raise InputError(f"cannot be read: {error}; check the quotes", field="oracle command") from None
        if not self._arguments:
            raise InputError("is empty; give a program and its arguments", field="oracle command")
        if not 0 < timeout <= MAX_TIMEOUT:
            raise InputError(
                f"must be more than 0 and at most {MAX_TIMEOUT} s, not {timeout}", field="timeout"
            )
        self.timeout = timeout
        self._child: LineProcess | None = None
        self._next_id = 0

    @property
    def fingerprint(self) -> str:
        """The SHA-256 of the command line."""
        return f"command sha256 {hashlib.sha256(shlex.join(self._arguments).encode()).hexdigest()}"

    def answer(self, queries: Sequence[Query], system: NumberSystem[E, Any]) -> Iterator[E]:
        """The command's values. Raises OracleError if it cannot be started, dies, or writes anything but
        one usable answer for each query; AnswersTimeout if it is silent for too long."""
        try:
            child = self._started()
            self._require_nothing_unread(child.unread())
            yield from self._converse(child, queries, system)
            self._require_nothing_unread(child.unread())
        except BaseException:  # also an interrupt, or a reader who stopped early: answers are still under way
            self._stop()
            raise

    def close(self) -> None:
        """End the command. Raises OracleError if it wrote more than its answers."""
        if self._child is not None:
            child, self._child = self._child, None
            self._require_nothing_unread(child.finish())

    def _converse(
        self, child: LineProcess, queries: Sequence[Query], system: NumberSystem[E, Any]
    ) -> Iterator[E]:
        waiting: dict[int, tuple[int, Query]] = {}
        ready: dict[int, E] = {}
        sent = 0
        for position in range(len(queries)):
            while position not in ready:
                while sent < min(len(queries), position + WINDOW):
                    waiting[self._next_id] = sent, queries[sent]
                    self._send(child, waiting[self._next_id][1], system)
                    sent += 1
                number, answer = self._receive(child)
                if number not in waiting:
                    was_sent = 0 <= number < self._next_id
                    raise OracleError(
                        f"the oracle command contradicts itself: it answered id {number} "
                        + ("twice" if was_sent else "without being asked")
                    )
                place, query = waiting.pop(number)
                try:
                    ready[place] = read_answer(answer, system)
                except InputError as error:
                    raise OracleError(
                        f"the oracle command's answer to the query {shown(query)} cannot be used: {error}"
                    ) from None
            yield ready.pop(position)

    def _send(self, child: LineProcess, query: Query, system: NumberSystem[Any, Any]) -> None:
        request = {"id": self._next_id, "query": query.to_json(), "precision_bits": precision_of(system)}
        self._next_id += 1
        child.write_line(json.dumps(request))

    def _receive(self, child: LineProcess) -> tuple[int, Any]:
        try:
            line = child.read_line(self.timeout)
        except TimeoutError:
            raise AnswersTimeout(
                f"the oracle command gave no answer within {self.timeout:g} s; check that it flushes its "
                "output after each line, or allow more time"
            ) from None
        except EOFError:
            raise OracleError(f"the oracle command {child.ending()}") from None
        except ValueError:
            raise OracleError("the oracle command wrote a line of more than 32 MB") from None
        try:
            number, answer = json_answer(line, "id")
        except InputError as error:
            raise OracleError(f"the oracle command wrote {_start(line)}, not an answer: {error}") from None
        if type(number) is not int:
            raise OracleError(f"the oracle command wrote {_start(line)}, not an answer: id is not an integer")
        return number, answer

    def _started(self) -> LineProcess:
        if self._child is None:
            try:
                self._child = LineProcess(self._arguments)
            except OSError as error:
                raise OracleError(
                    f"the oracle command cannot be started: {self._arguments[0]}: {error.strerror}"
                ) from None
        return self._child

    def _stop(self) -> None:
        if self._child is not None:
            child, self._child = self._child, None
            child.kill()

    @staticmethod
    def _require_nothing_unread(unread: bytes) -> None:
        if unread:
            raise OracleError(f"the oracle command gave more answers than it was asked for: {_start(unread)}")


def _start(line: bytes) -> str:
    text = line.decode(errors="replace")
    return repr(text if len(text) <= 80 else text[:77] + "...")
