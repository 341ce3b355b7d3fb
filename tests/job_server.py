"""A process that has the libraries loaded, of which the jobs of tests' runs are forks.

To start Python with PyTorch and pandas takes a job of a tiny study far longer than its work. In a
project that tests copy, a job's Python asks this server for a fork with its files, folder,
environment and path, before it loads anything (record_modules.py). The package is loaded by each
fork anew, from its own project. A job that has no server runs by itself, as the users' do.
"""

import functools
import gc
import importlib
import json
import os
import signal
import socket
import sys

#: The environment variable that names the server's socket.
NAME = "RECENCY_TEST_JOB_SERVER"
LIBRARIES = (
    "PIL.PngImagePlugin",
    "concurrent.futures.process",
    "fontTools.subset",
    "jsonschema",
    "matplotlib.backends.backend_agg",
    "matplotlib.backends.backend_pdf",
    "matplotlib.backends.backend_svg",
    "matplotlib.figure",
    "matplotlib.patheffects",
    "matplotlib.style",
    "pandas",
    "pyarrow.dataset",
    "pyarrow.pandas_compat",
    "pyarrow.parquet",
    "scipy.optimize",
    "scipy.stats",
    "snakemake.script",
    "tokenizers",
    "torch",
    "transformers.modeling_utils",
    "transformers.models.auto.modeling_auto",
    "transformers.models.gpt2.modeling_gpt2",
    "transformers.models.gpt_neox.modeling_gpt_neox",
    "transformers.models.roberta.modeling_roberta",
    "transformers.tokenization_utils_tokenizers",
    "yaml",
)
LIMIT = 1 << 20  # bytes of what a job says of itself


def start() -> str:
    """Start a server that ends with this process; return its address.

    It loads the libraries when the first job asks.
    """
    import atexit
    import subprocess
    import tempfile

    address = os.path.join(tempfile.mkdtemp(prefix="jobs"), "socket")
    process = subprocess.Popen([sys.executable, __file__, address], stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"ready\n", "tests/job_server.py did not start"
    atexit.register(process.kill)
    return address


def ask() -> None:
    """Let a fork of the server be this job, and end as it does; return if there is no server."""
    address = os.environ.pop(NAME, None)
    words = sys.orig_argv[1:]
    if not address or len(words) != 1 or "/.snakemake/scripts/" not in words[0]:
        return
    server = socket.socket(socket.AF_UNIX)
    try:
        server.connect(address)
    except OSError:
        return
    job = {"script": words[0], "folder": os.getcwd(), "path": sys.path}
    socket.send_fds(
        server, [json.dumps(job | {"environment": dict(os.environ)}).encode()], [0, 1, 2]
    )
    answer = server.recv(16)
    if not answer:
        os.kill(os.getpid(), signal.SIGKILL)  # as the fork was
    os._exit(int(answer))


def serve(address: str) -> None:
    """Fork a process for every job that asks, until whoever started this is gone."""
    parent = os.getppid()
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(address)
    listener.listen(64)
    listener.settimeout(1)
    print("ready", flush=True)
    forks = 0
    while os.getppid() == parent:
        while forks and os.waitpid(-1, os.WNOHANG)[0]:
            forks -= 1
        try:
            asker, _ = listener.accept()
        except TimeoutError:
            continue
        _load()
        if os.fork() == 0:
            listener.close()
            _be_job(asker)
        asker.close()
        forks += 1


@functools.cache
def _load() -> None:
    """Load the libraries, and R with its packages where R is."""
    gc.disable()
    for name in LIBRARIES:
        importlib.import_module(name)
    gc.freeze()
    gc.enable()
    os.environ.setdefault("RPY2_CFFI_MODE", "ABI")
    try:
        from rpy2.robjects import r
    except (ImportError, OSError, ValueError):
        return
    r("suppressPackageStartupMessages(require(lme4, quietly = TRUE))")
    r("invisible(solve(diag(2)))")  # R loads LAPACK when it is first used; a fork no longer can


def _be_job(asker: socket.socket) -> None:
    """Become a job: its files, folder, environment, path and main module; say how it ended."""
    import atexit
    import runpy
    import threading
    import types

    code = 1
    try:
        atexit._clear()  # what the libraries registered would end the server's R
        asker.setblocking(True)
        message, files, *_ = socket.recv_fds(asker, LIMIT, 3)
        job = json.loads(message)
        for number, file in enumerate(files):
            os.dup2(file, number)
            os.close(file)
        # A Python that asked and was killed takes its fork along.
        threading.Thread(target=lambda: asker.recv(1) or os._exit(1), daemon=True).start()
        os.chdir(job["folder"])
        os.environ.clear()
        os.environ.update(job["environment"])
        script = job["script"]
        sys.argv[:] = sys.orig_argv[1:] = [script]
        sys.path[:] = [os.path.dirname(script), *job["path"]]
        importlib.invalidate_caches()
        main = sys.modules["__main__"] = types.ModuleType("__main__")
        main.__file__ = script
        runpy.run_path(os.path.join(job["folder"], "src", "sitecustomize.py"))
        with open(script, encoding="utf-8") as file:
            exec(compile(file.read(), script, "exec"), main.__dict__)  # noqa: S102, the job itself
        code = 0
    except SystemExit as end:
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
        else:
            code = end.code or 0
    finally:
        if sys.exc_info()[0]:
            sys.excepthook(*sys.exc_info())
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
        asker.sendall(str(code).encode())
        os._exit(code)


if __name__ == "__main__":
    serve(sys.argv[1])
