"""What a pool of workers is, and those of this machine: threads, processes, any `concurrent.futures.Executor`."""

from __future__ import annotations

import concurrent.futures as futures
import contextlib
import itertools
import multiprocessing
import os
import pickle
import re
import shutil
import sys
import tempfile
import threading
import types
import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any, Protocol

from . import watch
from .worker import Mapped, Sent, Source, forget


class Job(Protocol):
    """What workers are made from: a small header, and the entries of the tensor (anything with a buffer)."""

    @property
    def header(self) -> bytes: ...

    @property
    def entries(self) -> Any: ...


def processors() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1


class Pool(ABC):
    """Workers that run functions of a module."""

    #: What it is called in messages.
    name: str = "pool"
    #: Whether functions travel by name only, as `pickle` sends them.
    by_name: bool = True
    #: The seconds that a task takes beside what it does, about (docs/clusters.md).
    overhead: float = 0.001

    def __init__(self, workers: int) -> None:
        self._workers = max(1, workers)
        self._job: Job | None = None
        self._directory: str | None = None
        #: Held for as long as the folder is in use.
        self._lock: int | None = None
        #: Names the job in the memory of workers.
        self.key = ""
        #: Whether workers need what the caller's script defines, such as a function of one's own.
        self.needs_main = False

    @property
    def workers(self) -> int:
        """How many tasks run at a time."""
        return self._workers

    def count(self) -> int:
        """Counts them again, where they come and go."""
        return self._workers

    @abstractmethod
    def submit(self, function: Callable[..., Any], *arguments: Any) -> futures.Future[Any]:
        """Runs a function somewhere."""

    def cancel(self, future: Any) -> None:
        """What a task gives is of no use any more."""
        future.cancel()

    def rebuild(self) -> None:
        """Makes it usable again after workers were lost."""

    def close(self) -> None:
        """Ends what was started for it; what it was given stays as it is. May be called again."""
        forget(self.key)
        if self._directory is not None:
            shutil.rmtree(self._directory, ignore_errors=True)
            self._directory = None
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def is_loss(self, error: BaseException) -> bool:
        """Whether a worker was lost, not the request at fault."""
        return isinstance(error, (futures.BrokenExecutor, futures.CancelledError, ConnectionError, EOFError))

    def place(self, job: Job) -> None:
        """Brings the data to where workers find it."""
        self._job, self.key = job, uuid.uuid4().hex

    def source(self) -> Any:
        """What a task is given to find the data with: often `None` or a path. Workers that find nothing ask for
        `whole_source`."""
        return None

    def whole_source(self) -> Source:
        """The data itself."""
        assert self._job is not None
        return Sent(self._job.header, _bytes(self._job.entries))

    def check(self, name: str, thing: Any) -> None:
        """Refuses what cannot be sent to a worker, and says what it is."""
        if not self.by_name:
            return
        how = "define it at the top level of a module, or use parallel='threads'"
        try:
            sent = pickle.dumps(thing)
        except Exception as error:
            raise TypeError(f"{name} cannot be pickled for {self.name}: {error}; {how}") from error
        # A function of the caller's script, however deep inside.
        if b"__main__" in sent:
            if not hasattr(sys.modules["__main__"], "__file__"):
                raise TypeError(f"{name} was defined at a prompt, where {self.name} cannot import it from; {how}")
            self.needs_main = True

    def _folder(self, size: int = 0) -> str:
        """A folder for processes of this machine, in memory, where there is room; or for those of all machines."""
        if self._directory is None:
            place = shared() or ("/dev/shm" if _has_room("/dev/shm", 2 * size) else tempfile.gettempdir())
            if not shared():
                remove_stale(place)
            self._directory = tempfile.mkdtemp(prefix=PREFIX, dir=place)
            # Other machines may know no locks of this one: what is left in a shared folder stays.
            if not shared():
                self._lock = _lock(self._directory, new=True)
        return self._directory

    def _to_file(self) -> str:
        """Writes the entries to a file that processes of this machine map."""
        assert self._job is not None
        entries = memoryview(_bytes(self._job.entries)).cast("B")
        path = os.path.join(self._folder(len(entries)), self.key)
        with open(path, "wb") as file:
            file.write(entries)
        return path


def _bytes(entries: Any) -> Any:
    """The entries as one buffer of bytes, without a copy."""
    import numpy as np

    if isinstance(entries, np.ndarray):
        return np.ascontiguousarray(entries).reshape(-1).view(np.uint8)
    return entries


def shared() -> str | None:
    """A folder that all machines see, where one is named in `TNSEARCH_SHARED`: data is mapped from there."""
    return os.environ.get("TNSEARCH_SHARED") or None


#: How the names of folders for data begin.
PREFIX = "tnsearch-"


def _lock(folder: str, new: bool = False) -> int | None:
    """An open file that says that a folder is in use, until it is closed or its process ends; `None` where another
    process has it, or nobody can."""
    # It gets its name once it is locked: whoever finds it without a lock knows that nobody uses the folder.
    path = os.path.join(folder, "lock.new" if new else "lock")
    flags = os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW | (os.O_CREAT | os.O_EXCL if new else 0)
    try:
        import fcntl

        file = os.open(path, flags, 0o600)
    except (ImportError, OSError):
        return None
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if new:
            os.rename(path, os.path.join(folder, "lock"))
    except OSError:
        os.close(file)
        return None
    return file


def remove_stale(place: str) -> None:
    """Removes folders of data that processes of this user have left behind, by a kill or a crash."""
    with contextlib.suppress(OSError):
        for entry in os.scandir(place):
            with contextlib.suppress(OSError, AttributeError):
                if not re.fullmatch(PREFIX + r"[a-z0-9_]{8}", entry.name) or not entry.is_dir(follow_symlinks=False):
                    continue
                if entry.stat(follow_symlinks=False).st_uid != os.getuid():
                    continue
                lock = _lock(entry.path)
                if lock is not None:
                    shutil.rmtree(entry.path, ignore_errors=True)
                    os.close(lock)


def _has_room(directory: str, size: int) -> bool:
    try:
        return os.access(directory, os.W_OK) and shutil.disk_usage(directory).free > size
    except OSError:
        return False


class ExecutorPool(Pool):
    """Any `concurrent.futures.Executor`. Its workers map a file where they are on this machine, and are sent the data
    where they are not."""

    name = "this executor"

    def __init__(self, executor: futures.Executor, workers: int | None) -> None:
        if workers is None:
            workers = getattr(executor, "_max_workers", None)
        if workers is None:
            raise ValueError("how many workers the executor has is not known; give workers=")
        super().__init__(int(workers))
        self._executor = executor
        self._source: Source | None = None
        # Threads read the data where it is.
        self.by_name = not isinstance(executor, futures.ThreadPoolExecutor)

    def place(self, job: Job) -> None:
        super().place(job)
        self._source = Mapped(job.header, self._to_file()) if self.by_name else self.whole_source()

    def source(self) -> Source | None:
        return self._source

    def submit(self, function: Callable[..., Any], *arguments: Any) -> futures.Future[Any]:
        return self._executor.submit(function, *arguments)

    def rebuild(self) -> None:
        """A broken pool of processes is replaced by a new one; its owner keeps the old one."""
        broken = self._executor
        if isinstance(broken, futures.ProcessPoolExecutor) and _is_broken(broken):
            # One of the same kind.
            self._executor = self._own = futures.ProcessPoolExecutor(
                self.workers,
                mp_context=getattr(broken, "_mp_context", None),
                initializer=getattr(broken, "_initializer", None),
                initargs=getattr(broken, "_initargs", ()),
            )

    def close(self) -> None:
        own = getattr(self, "_own", None)
        if own is not None:
            _end(own)
        super().close()


class ThreadPool(ExecutorPool):
    """Threads of this process: for functions of the user that let the interpreter go, or cannot be sent elsewhere."""

    name = "threads"

    def __init__(self, workers: int) -> None:
        super().__init__(futures.ThreadPoolExecutor(workers), workers)

    def close(self) -> None:
        self._executor.shutdown(wait=False, cancel_futures=True)
        super().close()


def _is_broken(executor: futures.ProcessPoolExecutor) -> bool:
    return bool(getattr(executor, "_broken", False))


def _processes(workers: int) -> futures.ProcessPoolExecutor:
    context = multiprocessing.get_context("spawn")
    # What is set while they start is set for that alone.
    begin = (None if SAFE in os.environ else SAFE,)
    # Its locks have a process that looks after them.
    with starting():
        return futures.ProcessPoolExecutor(workers, mp_context=context, initializer=watch.begin, initargs=begin)


def _end(executor: futures.ProcessPoolExecutor) -> None:
    """Ends a pool: what is still under way is of no use to anybody."""
    processes = list((getattr(executor, "_processes", None) or {}).values())
    executor.shutdown(wait=False, cancel_futures=True)
    for process in processes:
        process.terminate()


#: Python does not look for modules in the working folder where it is set.
SAFE = "PYTHONSAFEPATH"
_start_lock = threading.Lock()


@contextlib.contextmanager
def starting(needs_main: bool = False) -> Iterator[None]:
    """Processes that are started here import nothing from the working folder before they have the caller's `sys.path`
    (they begin as `python -c`, which would look there first), and do not run the caller's script again unless
    `needs_main`: nothing of ours is in it, so scripts need no `if __name__ == "__main__"`."""
    with _start_lock:
        main, safe = sys.modules.get("__main__"), os.environ.get(SAFE)
        os.environ[SAFE] = "1"
        if not needs_main:
            sys.modules["__main__"] = types.ModuleType("__main__")
        try:
            yield
        finally:
            if main is not None:
                sys.modules["__main__"] = main
            if safe is None:
                os.environ.pop(SAFE, None)
            else:
                os.environ[SAFE] = safe


class ProcessPool(Pool):
    """Processes of this machine."""

    name = "processes"
    overhead = 0.0005

    def __init__(self, workers: int | None = None) -> None:
        super().__init__(workers or processors())
        self._executor = _processes(self.workers)
        self._numbers = itertools.count()
        self._flags: dict[Any, str] = {}

    def place(self, job: Job) -> None:
        super().place(job)
        self._path = self._to_file()

    def source(self) -> Source:
        assert self._job is not None
        return Mapped(self._job.header, self._path)

    def submit(self, function: Callable[..., Any], *arguments: Any) -> futures.Future[Any]:
        flag = os.path.join(self._folder(), f"back-{next(self._numbers)}")
        # Processes are started by the first tasks.
        started = len(getattr(self._executor, "_processes", None) or {}) >= self.workers
        with contextlib.nullcontext() if started else starting(self.needs_main):
            future = self._executor.submit(watch.watched, flag, function, *arguments)
        self._flags[future] = flag
        future.add_done_callback(lambda done: self._flags.pop(done, None))
        return future

    def cancel(self, future: Any) -> None:
        """One that runs is told so by a file."""
        flag = self._flags.get(future)
        if not future.cancel() and flag is not None:
            with contextlib.suppress(OSError):
                open(flag, "x").close()

    def rebuild(self) -> None:
        _end(self._executor)
        self._executor = _processes(self.workers)

    def close(self) -> None:
        _end(self._executor)
        super().close()
