"""`python -m tnsearch.parallel.broker WHERE`: the command line's way to a cluster.

The command `tnsearch search --cluster WHERE` starts it and owns the search; requests come through standard input, and
answers go to standard output. A frame is the length of what follows (8 bytes, little-endian), one byte that says what it
is, and the rest: `J` a job (4 bytes: the length of its header; the header; the entries), `S` a request (8 bytes: the
ticket; the bytes), `C` a ticket that is cancelled, `E` the end. Back: `H` the number of workers (8 bytes), once the pool is
there, or `X` why it is not; then `A` an answer (ticket, bytes), `F` a failure (ticket, text), `W` another number of workers.
"""

from __future__ import annotations

import argparse
import os
import queue
import signal
import struct
import sys
import threading
import types
from typing import Any, BinaryIO, NamedTuple

from .clusters import open_pool
from .drive import Driver


class PipeJob(NamedTuple):
    """A job as it came."""

    header: bytes
    entries: Any


class PipeEngine:
    """The search of another process, as `Driver` knows one."""

    def __init__(self, requests: BinaryIO, answers: BinaryIO) -> None:
        self._requests, self._answers = requests, answers
        self._queue: queue.SimpleQueue[tuple[Any, ...] | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        """Until the end; one that comes without a word is an end, too."""
        try:
            while True:
                (length,) = struct.unpack("<Q", self._exactly(8))
                frame = self._exactly(length)
                kind, rest = bytes(frame[:1]), frame[1:]
                if kind == b"S":
                    self._queue.put(("submit", *struct.unpack("<Q", rest[:8]), bytes(rest[8:])))
                elif kind == b"C":
                    self._queue.put(("cancel", *struct.unpack("<Q", rest)))
                elif kind == b"J":
                    (size,) = struct.unpack("<I", rest[:4])
                    self._queue.put(("job", PipeJob(bytes(rest[4 : 4 + size]), rest[4 + size :])))
                else:
                    break
        except (EOFError, OSError):
            pass
        self._queue.put(("end",))

    def _exactly(self, length: int) -> memoryview:
        frame = memoryview(bytearray(length))
        at = 0
        while at < length:
            read = self._requests.readinto(frame[at:])  # type: ignore[attr-defined]
            if not read:
                raise EOFError
            at += read
        return frame

    def send(self, kind: bytes, *parts: bytes) -> None:
        """Writes a frame. Where nobody reads any more, the end has come, or will at once."""
        with self._lock:
            try:
                self._answers.write(struct.pack("<Q", 1 + sum(map(len, parts))) + kind)
                for part in parts:
                    self._answers.write(part)
                self._answers.flush()
            except OSError:
                self._queue.put(("end",))

    def messages(self, timeout: float) -> list[tuple[Any, ...]]:
        messages = []
        try:
            message = self._queue.get(timeout=timeout)
            while True:
                if message is not None:
                    messages.append(message)
                message = self._queue.get_nowait()
        except queue.Empty:
            return messages

    def answer(self, ticket: int, answer: bytes) -> None:
        self.send(b"A", struct.pack("<Q", ticket), answer)

    def fail(self, ticket: int, text: str) -> None:
        self.send(b"F", struct.pack("<Q", ticket), text.encode())

    def set_workers(self, workers: int) -> None:
        self.send(b"W", struct.pack("<Q", workers))

    def wake(self) -> None:
        self._queue.put(None)

    def stop(self) -> None:
        """Ctrl-C reaches the command, too, which then says what is to end."""


def main() -> int:
    """Serves one search."""
    parser = argparse.ArgumentParser(prog="python -m tnsearch.parallel.broker")
    parser.add_argument("where", help="dask://HOST:PORT, ray://HOST:PORT, dask, ray, mpi, processes or processes:N")
    parser.add_argument("--workers", type=int, default=None)
    asked = parser.parse_args()
    # Workers have no use for the program that this is: MPI would look for a file of its name (`-c`) and run it.
    program = sys.modules["__main__"]
    sys.modules["__main__"] = types.ModuleType("__main__")
    # Ctrl-C is for the command, which says what is to end.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # What libraries print is not for the command.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    engine = PipeEngine(os.fdopen(os.dup(0), "rb", buffering=0), answers)
    with open(os.devnull) as nothing:
        os.dup2(nothing.fileno(), 0)
    try:
        pool = open_pool(asked.where, asked.workers)
    except Exception as error:
        engine.send(b"X", f"{error}".encode())
        return 2
    engine.send(b"H", struct.pack("<Q", pool.workers))
    Driver(engine, pool).run()
    sys.modules["__main__"] = program
    return 0


if __name__ == "__main__":
    sys.exit(main())
