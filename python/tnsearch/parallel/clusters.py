"""Where the workers are, by name or address: Dask, Ray, MPI, processes of this machine, any executor."""

from __future__ import annotations

import concurrent.futures as futures
import importlib
import re
from collections.abc import Callable
from typing import Any

from .pools import ExecutorPool, Job, Pool, ProcessPool, processors, shared, starting
from .worker import Mapped


class MissingPackage(ImportError):
    """A pool needs a package that is not installed."""


def _import(module: str, package: str, extra: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        if error.name and error.name.split(".")[0] != module.split(".")[0]:
            raise
        raise MissingPackage(
            f"{package} is not installed; pip install 'tnsearch[{extra}]' (or {package})"
        ) from error


class DaskPool(Pool):
    """The workers of a Dask cluster."""

    name = "dask"
    by_name = False
    overhead = 0.01
    #: How long a worker is waited for, in seconds: clusters that grow on demand take their time.
    patience = 600.0

    def __init__(self, client: Any, workers: int | None = None, own: list[Any] | None = None) -> None:
        self._client, self._own, self._cap = client, own or [], workers
        try:
            self._client.wait_for_workers(1, timeout=self.patience)
            super().__init__(1)
            self.count()
            self._executor = client.get_executor(pure=False, retries=3)
        except BaseException:
            self._let_go()
            raise
        self._data: Any = None

    def _let_go(self) -> None:
        """Closes what was started for it."""
        while self._own:
            self._own.pop(0).close()

    def count(self) -> int:
        threads = sum(int(n) for n in self._client.nthreads().values())
        self._workers = max(1, min(threads, self._cap or threads))
        return self._workers

    def _is_local(self) -> bool:
        """Whether all workers are on this machine, and share its files."""
        local = {"127.0.0.1", "localhost", "::1"}
        addresses = self._client.nthreads()
        hosts = {re.sub(r"^\w+://|:\d+$|[\[\]]", "", str(address)) for address in addresses}
        return all(host in local or str(address).startswith("inproc") for host in hosts for address in addresses)

    def place(self, job: Job) -> None:
        super().place(job)
        self._scatter()

    def _scatter(self) -> None:
        assert self._job is not None
        if self._is_local() or shared():
            self._data = Mapped(self._job.header, self._to_file())
        else:
            self._data = self._client.scatter(self.whole_source(), broadcast=True, hash=False)

    def source(self) -> Any:
        return self._data

    def submit(self, function: Callable[..., Any], *arguments: Any) -> futures.Future[Any]:
        future: futures.Future[Any] = self._executor.submit(function, *arguments)
        return future

    def rebuild(self) -> None:
        self._client.wait_for_workers(1, timeout=self.patience)
        self.count()
        self._scatter()

    def is_loss(self, error: BaseException) -> bool:
        names = {"KilledWorker", "FutureCancelledError", "CommClosedError", "NoValidWorkerError", "FuturesCancelledError"}
        return super().is_loss(error) or any(c.__name__ in names for c in type(error).__mro__)

    def close(self) -> None:
        self._data = None
        self._executor.shutdown(wait=False)
        self._let_go()
        super().close()


class RayPool(Pool):
    """The workers of a Ray cluster: the data lies in its object store."""

    name = "ray"
    by_name = False
    overhead = 0.002

    def __init__(self, ray: Any, workers: int | None = None, own: bool = False) -> None:
        self._ray, self._own = ray, own
        super().__init__(workers or int(ray.cluster_resources().get("CPU", 1)))
        self._data: Any = None
        self._remote: dict[Any, Any] = {}

    def place(self, job: Job) -> None:
        super().place(job)
        self._data = self._ray.put(self.whole_source())

    def source(self) -> Any:
        return self._data

    def submit(self, function: Callable[..., Any], *arguments: Any) -> futures.Future[Any]:
        remote = self._remote.get(function)
        if remote is None:
            remote = self._ray.remote(num_cpus=1, max_retries=3)(function)
            self._remote[function] = remote
        reference = remote.remote(*arguments)
        future: futures.Future[Any] = reference.future()
        future.object_ref = reference  # type: ignore[attr-defined]
        return future

    def cancel(self, future: Any) -> None:
        reference = getattr(future, "object_ref", None)
        if reference is not None:
            self._ray.cancel(reference)

    def rebuild(self) -> None:
        assert self._job is not None
        self._data = self._ray.put(self.whole_source())

    def is_loss(self, error: BaseException) -> bool:
        names = {"WorkerCrashedError", "ObjectLostError", "NodeDiedError", "OutOfMemoryError", "RaySystemError"}
        return super().is_loss(error) or any(c.__name__ in names for c in type(error).__mro__)

    def close(self) -> None:
        self._data, self._remote = None, {}
        if self._own:
            self._own = False
            self._ray.shutdown()
        super().close()


class MpiPool(ExecutorPool):
    """The processes of an MPI job (`mpiexec -n 8 python -m mpi4py.futures script.py`)."""

    name = "mpi"

    def __init__(self, workers: int | None = None) -> None:
        module = _import("mpi4py.futures", "mpi4py", "mpi")
        try:
            executor = module.MPIPoolExecutor(max_workers=workers)
        except RuntimeError as error:
            why = str(error).splitlines()[0]
            raise MissingPackage(f"mpi4py finds no MPI ({why}); install one, such as pip install mpich") from error
        count = workers or int(getattr(executor, "num_workers", 0)) or 1
        super().__init__(executor, count)
        self.by_name = True

    def close(self) -> None:
        self._executor.shutdown(wait=False)
        super().close()


#: What `parallel=` may be, in words.
CHOICES = (
    "False, a number, 'threads', 'processes', 'dask', 'dask://HOST:PORT', a dask.distributed.Client, 'ray', "
    "'ray://HOST:PORT', 'mpi' or a concurrent.futures.Executor"
)


def open_pool(parallel: Any, workers: int | None = None) -> Pool:
    """The pool that `parallel=` asks for.

    Parameters
    ----------
    parallel
        A name, an address, a Dask client, or any executor.
    workers
        How many at most; by default as many as there are.
    """
    if workers is not None and (isinstance(workers, bool) or not isinstance(workers, int) or workers < 1):
        raise ValueError(f"workers is {workers!r}; it must be a whole number of at least 1")
    if isinstance(parallel, str):
        return _named(parallel, workers)
    if isinstance(parallel, futures.Executor):
        return ExecutorPool(parallel, workers)
    if hasattr(parallel, "get_executor") and hasattr(parallel, "scatter"):
        return DaskPool(parallel, workers)
    raise TypeError(f"parallel is a {type(parallel).__name__}; it must be {CHOICES}")


def _named(name: str, workers: int | None) -> Pool:
    if match := re.fullmatch(r"processes(?::(\d+))?", name):
        count = int(match[1]) if match[1] else workers
        if count == 0:
            raise ValueError("processes:0 are none; it must be at least 1")
        return ProcessPool(count)
    if name == "dask" or re.match(r"(dask|tcp|tls|ws|wss|ucx)://", name):
        return _dask(name, workers)
    if name == "ray" or name.startswith("ray://"):
        ray = _import("ray", "ray", "ray")
        own = not ray.is_initialized()
        if not own and name.startswith("ray://"):
            raise ValueError(f"Ray is connected already; use parallel='ray' for that cluster, or ray.shutdown() before {name}")
        if own:
            address = name if name.startswith("ray://") else None
            try:
                ray.init(address=address, num_cpus=workers if address is None else None, logging_level="warning",
                         log_to_driver=False, include_dashboard=None if address else False)
            except Exception as error:
                raise ConnectionError(f"no Ray cluster at {name}: {error}") from error
        return RayPool(ray, workers, own)
    if match := re.fullmatch(r"mpi(?::(\d+))?", name):
        return MpiPool(int(match[1]) if match[1] else workers)
    raise ValueError(f"parallel is {name!r}; it must be {CHOICES}")


def _dask(name: str, workers: int | None) -> Pool:
    distributed = _import("distributed", "distributed", "dask")
    if name != "dask":
        address = re.sub(r"^dask://", "tcp://", name)
        try:
            # For as long as Dask's own setting says (`distributed.comm.timeouts.connect`, 30 s unless set).
            client = distributed.Client(address, set_as_default=False)
        except Exception as error:
            said = str(error) or f"no answer in time ({type(error).__name__}); distributed.comm.timeouts.connect sets how long is waited"
            raise ConnectionError(f"no Dask scheduler at {name}: {said}") from error
        return DaskPool(client, workers, own=[client])
    try:
        current = distributed.get_client()
    except ValueError:
        current = None
    if current is not None:
        return DaskPool(current, workers)
    with starting():
        cluster = distributed.LocalCluster(
            n_workers=workers or processors(), threads_per_worker=1, processes=True, dashboard_address=None
        )
    client = distributed.Client(cluster, set_as_default=False)
    return DaskPool(client, workers, own=[client, cluster])
