"""A process that has libraries loaded and forks itself into jobs: `python worker.py ADDRESS KIND`.

It has computed nothing, and has no threads that a fork would lack: pools of OpenMP start with the first
computation, OpenBLAS ends its own before a fork, and R is never loaded. A fork becomes what
`python SCRIPT` is: __main__, paths, signals, random numbers. Its variables, files and limits are those
of this process, which Snakemake starts as it starts jobs.
"""

import builtins
import contextlib
import gc
import importlib
import os
import select
import signal
import socket
import sys
import types
from importlib.machinery import SourceFileLoader

TABLES = (
    *("concurrent.futures.process", "jsonschema", "pandas", "pyarrow.dataset"),
    *("pyarrow.pandas_compat", "pyarrow.parquet", "scipy.optimize", "snakemake.script", "yaml"),
)
#: Kind of job → modules that its jobs import, before which they alter nothing that these read.
LIBRARIES = {
    "tables": (
        *(*TABLES, "fontTools.subset", "matplotlib.backends.backend_agg", "scipy.stats"),
        *("matplotlib.backends.backend_pdf", "matplotlib.backends.backend_svg"),
    ),
    "networks": (
        *(*TABLES, "tokenizers", "torch", "transformers.modeling_utils"),
        *("transformers.models.auto.modeling_auto", "transformers.models.gpt2.modeling_gpt2"),
        *("transformers.models.gpt_neox.modeling_gpt_neox",),
        *("transformers.tokenization_utils_tokenizers",),
    ),
}
#: Signals to all processes of a run that this one outlives, since it ends with Snakemake.
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
#: Threads that a fork can do without: of the C library of pyarrow's memory.
HARMLESS = {"jemalloc_bg_thd"}
LIMIT = 1 << 16  # bytes of a path


def main(address: str, kind: str) -> None:
    """Load the libraries and serve; in a fork, be a job and return at its end."""
    handlers = {number: signal.getsignal(number) for number in SIGNALS}
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    interrupts: list[int] = []
    if handlers[signal.SIGINT] is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, lambda number, _: interrupts.append(number))
    path = sys.path[not sys.flags.safe_path :]  # without this folder
    load(LIBRARIES[kind])
    sys.path[:] = path
    if not is_forkable():
        return
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as control:
        control.connect(address)
        script = serve(control, interrupts, handlers)
    if script is not None:
        become(script)


def load(names: tuple[str, ...]) -> None:
    """Import modules; forks neither collect nor copy what they leave in memory."""
    gc.disable()
    for name in names:
        with contextlib.suppress(ImportError):  # a job that needs it says so
            importlib.import_module(name)
    gc.freeze()
    gc.enable()


def is_forkable() -> bool:
    """Return whether a fork of this process has all that it has: no other thread, no GPU."""
    if (probe := os.fork()) == 0:
        os._exit(0)
    os.waitpid(probe, 0)  # before this fork, OpenBLAS ended its threads
    threads = set()
    for thread in set(os.listdir("/proc/self/task")) - {str(os.getpid())}:
        with open(f"/proc/self/task/{thread}/comm") as file:
            threads.add(file.read().strip())
    files = (os.path.realpath(f"/proc/self/fd/{name}") for name in os.listdir("/proc/self/fd"))
    return threads <= HARMLESS and not any(file.startswith("/dev/nvidia") for file in files)


def serve(control: socket.socket, interrupts: list[int], handlers: dict) -> str | None:
    """Fork for each script asked for and report how forks end, until Snakemake and they have ended.

    A request is a script's path and a socket. It is answered by the fork's process number, then by its
    exit status as subprocess has it and its processor seconds; or by 0 if no fork can be made, and
    after Ctrl-C by its status.
    Returns, in a fork, its script.
    """
    jobs: dict[int, tuple[int, socket.socket]] = {}  # the fork's file → its number, and who asked
    poll = select.poll()
    poll.register(control, select.POLLIN)
    is_open = True
    while is_open or jobs:
        for file, _ in poll.poll():
            if file in jobs:
                number, asker = jobs.pop(file)
                poll.unregister(file)
                os.close(file)
                _, status, used = os.wait4(number, 0)
                _send(asker, os.waitstatus_to_exitcode(status), used.ru_utime + used.ru_stime)
                asker.close()
                continue
            message, files, *_ = socket.recv_fds(control, LIMIT, 1)
            if not message:
                poll.unregister(control)
                is_open = False
                continue
            asker = socket.socket(fileno=files[0])
            number = -signal.SIGINT if interrupts else fork(handlers)
            if number is None:
                for other, (_, other_asker) in jobs.items():
                    os.close(other)
                    other_asker.close()
                with asker:
                    if asker.recv(2) != b"go":  # Snakemake, gone before it measured this job
                        os._exit(1)
                return message.decode()
            if number > 0:
                file = os.pidfd_open(number)
                jobs[file] = number, asker
                poll.register(file, select.POLLIN)
            _send(asker, number)
    return None


def _send(asker: socket.socket, *numbers: float) -> None:
    with contextlib.suppress(OSError):  # Snakemake is gone
        asker.send(" ".join(map(str, numbers)).encode())


def fork(handlers: dict) -> int | None:
    """Fork; return the fork's number, 0 if that fails, and None in the fork, which has these handlers."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)  # none may meet the wrong handler
    try:
        number = os.fork() or None
    except OSError:
        number = 0
    if number is None:
        for which, handler in handlers.items():
            signal.signal(which, handler)
    signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return number


def become(script: str) -> None:
    """Run a script in this process as `python SCRIPT` does."""
    sys.argv[:] = sys.orig_argv[1:] = [script]
    if not sys.flags.safe_path:
        sys.path.insert(0, os.path.dirname(script))
    importlib.invalidate_caches()
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed()  # of the system's randomness, as in a new process
    module = sys.modules["__main__"] = types.ModuleType("__main__")
    loader = SourceFileLoader("__main__", script)
    vars(module).update(__file__=script, __cached__=None, __loader__=loader, __builtins__=builtins)
    try:
        code = loader.source_to_code(loader.get_data(script), script)
        exec(code, vars(module))  # noqa: S102, the job itself
    except (SystemExit, KeyboardInterrupt):
        raise
    except BaseException as error:  # noqa: BLE001, shown as Python does, without this module's lines
        error = error.with_traceback(error.__traceback__.tb_next)
        sys.excepthook(type(error), error, error.__traceback__)
        raise SystemExit(1) from None


if __name__ == "__main__":
    main(*sys.argv[1:])
