"""Jobs as forks of a resident worker (snakemake_executor_plugin_recency): each is as a Python of its own."""

import contextlib
import json
import os
import re
import resource
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

import faulty
import snakemake_executor_plugin_recency as resident
from project import ROOT, SOURCES, TINY, copy_project, environment
from snakemake_executor_plugin_recency import ForkedScript

SNAKEFILE = """
rule state:
    input: lambda wildcards: "first.state" if wildcards.name == "second" else []
    output: "{name}.state"
    benchmark: "{name}.tsv"
    threads: lambda wildcards: 2 if wildcards.name == "threads" else 1
    resources: gpu=lambda wildcards: int(wildcards.name == "gpu")
    script: "state.py"

rule failure:
    output: "{name}.failed"
    script: "failure.py"

rule wait:
    output: "{name}.waited"
    benchmark: "{name}.tsv"
    script: "wait.py"
"""
#: What a script sees of its process; afterwards, what it could leave to another one that shares it.
STATE = '''
"""A docstring."""
import json, os, random, resource, signal, sys, warnings
from pathlib import Path
import numpy, pandas

sum(range(5_000_000))  # processor time for the benchmark
files = {os.path.realpath(f"/proc/self/fd/{number}") for number in os.listdir("/proc/self/fd")}
main = sys.modules["__main__"]
state = {
    "arguments": [sys.argv, sys.orig_argv[-1:], str(sys.flags)],
    "path": [name for name in sys.path if name != ".snakemake/pip-deployments"],
    "environment": dict(os.environ), "folder": os.getcwd(),
    "signals": {number: str(signal.getsignal(number)) for number in signal.valid_signals()},
    "blocked": sorted(signal.pthread_sigmask(signal.SIG_BLOCK, [])),
    "limits": [resource.getrlimit(number) for number in range(resource.RLIMIT_NOFILE + 1)],
    "umask": os.umask(0o22), "group": os.getpgid(0) == os.getpgid(os.getppid()),
    "session": os.getsid(0) == os.getsid(os.getppid()), "nice": os.nice(0),
    "files": sorted(name for name in files if not name.startswith("/proc")),
    "main": [main.__name__, main.__doc__, main.__spec__, main.__package__, main.__cached__],
    "real": [__file__, __real_file__, main.snakemake is snakemake, __builtins__ is main.__builtins__],
    "loader": type(main.__loader__).__name__,
    "streams": [str(stream) + str(stream.line_buffering) for stream in (sys.stdout, sys.stderr)],
    "collector": sys.modules["gc"].get_threshold() if "gc" in sys.modules else None,
    "warnings": warnings.filters[0][0] == "error", "errors": numpy.geterr(),
    "spoiled": hasattr(pandas, "spoiled"), "hook": sys.excepthook is sys.__excepthook__,
}
parent = Path(f"/proc/{os.getppid()}/cmdline").read_text()
draws = [random.random(), numpy.random.random()]
found = {"state": state, "is_fork": "worker.py" in parent, "draws": draws}
Path(snakemake.output[0]).write_text(json.dumps(found))
sum(range(10_000_000))  # half a second or so
os.environ["SPOILED"] = "1"
pandas.spoiled = True
signal.signal(signal.SIGTERM, signal.SIG_IGN)
signal.signal(signal.SIGINT, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_NOFILE, (100, 100))
os.umask(0o77)
warnings.simplefilter("error")
numpy.seterr(all="raise")
sys.path.insert(0, "/spoiled")
os.chdir("/")
'''
FAILURE = """
import os, signal, sys

# In one write each, since jobs print at the same time, and before a signal ends this one.
os.write(1, ("out of " + snakemake.wildcards.name + "\\n").encode())
os.write(2, ("err of " + snakemake.wildcards.name + "\\n").encode())
if snakemake.wildcards.name == "status":
    sys.exit(3)
if snakemake.wildcards.name == "words":
    sys.exit("as it says")
if snakemake.wildcards.name == "error":
    raise ValueError("this value")
os.kill(os.getpid(), getattr(signal, snakemake.wildcards.name))
"""
WAIT = """
import os, time
from pathlib import Path

attempts = Path(snakemake.wildcards.name + ".attempts")
with open(attempts, "a") as file:
    file.write(f"{os.getpid()} {os.getppid()}\\n")
deadline = time.monotonic() + 60
while not os.path.exists("go") and time.monotonic() < deadline:
    time.sleep(0.02)
Path(snakemake.output[0]).touch()
"""
FAILURES = ("status", "words", "error", "SIGSEGV", "SIGKILL", "SIGTERM")


def project(folder):
    """Write a workflow of jobs that tell of their process, fail or wait."""
    folder.mkdir()
    for name, text in (
        ("Snakefile", SNAKEFILE),
        ("state.py", STATE),
        ("failure.py", FAILURE),
        ("wait.py", WAIT),
    ):
        (folder / name).write_text(text.lstrip("\n"))
    return folder


def start(folder, executor, *words, **variables):
    """Start Snakemake in a process group of its own, which a closed terminal ends even under nohup."""
    command = ["env", "--default-signal=HUP"]
    command += [shutil.which("snakemake", path=environment()["PATH"]), "--nolock", "--cores", "4"]
    variables = environment() | {"PYTHONPATH": SOURCES} | variables
    return faulty.started(
        folder, *command, "--executor", executor, *words, environment=variables, umask=0o22
    )


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Return executor → folder of a run with jobs of every kind, whose failures end no other job."""
    folders = {}
    states = [f"{name}.state" for name in ("first", "second", "threads", "gpu")]
    failures = [f"{name}.failed" for name in FAILURES]
    for executor in ("local", "recency"):
        folders[executor] = folder = project(tmp_path_factory.mktemp(executor) / "run")
        assert start(folder, executor, "--keep-going", *states, *failures).wait() == 1
    return folders


def found(folder, name):
    """Return what a job saw of its process."""
    text = re.sub(r"tmp\w{8}", "tmp", Path(folder, f"{name}.state").read_text())
    return json.loads(text.replace(str(folder), "FOLDER"))


@pytest.mark.merge
@pytest.mark.parametrize("name", ["first", "second", "threads", "gpu"])
def test_a_fork_is_as_a_new_process(runs, name):
    """Also the second, after the first has altered all that it could."""
    expected, seen = found(runs["local"], name), found(runs["recency"], name)
    assert seen["state"] == expected["state"]
    assert not expected["is_fork"] and seen["is_fork"] == (name in ("first", "second"))
    assert seen["state"]["environment"]["OMP_NUM_THREADS"] == ("2" if name == "threads" else "1")


@pytest.mark.merge
def test_forks_draw_other_random_numbers(runs):
    draws = [found(runs["recency"], name)["draws"] for name in ("first", "second")]
    assert len({*draws[0], *draws[1]}) == 4


@pytest.mark.merge
def test_the_benchmark_is_of_the_fork(runs):
    header, values = (runs["recency"] / "first.tsv").read_text().splitlines()
    measured = dict(zip(header.split("\t"), values.split("\t"), strict=True))
    assert float(measured["s"]) > 0.1 and float(measured["max_rss"]) > 50
    assert 0.02 < float(measured["cpu_time"]) < 60  # though Snakemake looks at its beginning alone


@pytest.mark.merge
def test_failures_are_shown_as_by_the_local_executor(runs):
    def shown(folder):
        text = re.sub(r"tmp\w{8}", "tmp", faulty.printed(folder)).replace(str(folder), "FOLDER")
        text = text.replace("set -euo pipefail;  ", "")
        parts = re.findall(r"CalledProcessError in file.*\n.*", text)
        parts += re.findall(r"Traceback \(most.*\n(?:  .*\n)+\w+: .*", text)
        return sorted(parts)

    assert shown(runs["recency"]) == shown(runs["local"])
    assert len(shown(runs["local"])) == len(FAILURES) + 1
    text = faulty.printed(runs["recency"])
    assert "as it says" in text and "died with <Signals.SIGSEGV" in text
    for name in FAILURES:
        assert f"out of {name}" in text and f"err of {name}" in text
        assert not (runs["recency"] / f"{name}.failed").exists()


def alive(process):
    """Return the processes of a run's group."""
    members = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            state, _, group = (path / "stat").read_text().rpartition(") ")[2].split()[:3]
        except OSError:
            continue
        if int(group) == process.pid and state != "Z":
            members.append(int(path.name))
    return members


def waiting(folder, *names):
    """Start a run and return it, and the processes of its jobs and their parents, once all wait."""
    process = start(folder, "recency", *(f"{name}.waited" for name in names))
    attempts = [folder / f"{name}.attempts" for name in names]
    until(lambda: all(path.exists() and path.read_text().endswith("\n") for path in attempts))
    return process, [list(map(int, path.read_text().split())) for path in attempts]


def until(condition, seconds=60):
    """Wait for a condition."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_a_killed_worker_costs_nothing_but_time(tmp_path):
    """Its forks end with it, and start again as processes of their own."""
    folder = project(tmp_path / "run")
    process, ((first, worker), (_, same)) = waiting(folder, "one", "two")
    assert worker == same
    os.kill(worker, signal.SIGKILL)
    until(lambda: len((folder / "one.attempts").read_text().splitlines()) == 2)
    assert first not in alive(process)
    (folder / "go").touch()
    assert process.wait(60) == 0 and (folder / "two.waited").exists()
    parents = [line.split()[1] for line in (folder / "one.attempts").read_text().splitlines()]
    assert parents == [str(worker), str(process.pid)] and alive(process) == []


@pytest.mark.merge
@pytest.mark.parametrize(
    ("by", "to", "ends"),
    [
        ("SIGINT", "group", False),  # Ctrl-C
        ("SIGTERM", "group", False),
        ("SIGHUP", "group", False),  # a closed terminal
        ("SIGKILL", "group", False),
        ("SIGTERM", "run", True),  # kill: its jobs end
        ("SIGKILL", "run", True),
        ("SIGKILL", "job", False),
    ],
)
def test_signals_reach_jobs_as_before(tmp_path, by, to, ends):
    """No process is left, whichever was killed."""
    folder = project(tmp_path / "run")
    process, ((job, _),) = waiting(folder, "one")
    number = getattr(signal, by)
    if to == "group":
        os.killpg(process.pid, number)
    else:
        os.kill({"run": process.pid, "job": job}[to], number)
    if ends:
        time.sleep(0.5)
        assert job in alive(process)
        (folder / "go").touch()
    until(lambda: alive(process) == [] or process.poll() is not None)
    until(lambda: alive(process) == [])
    assert process.wait() != 0 and (folder / "one.waited").exists() == ends
    assert len((folder / "one.attempts").read_text().splitlines()) == 1


@pytest.mark.merge
@pytest.mark.parametrize("by", [signal.SIGINT, signal.SIGKILL], ids=["Ctrl-C", "killed"])
def test_a_worker_that_is_stopped_before_its_first_fork(tmp_path, by):
    """After Ctrl-C no job begins; without a worker, each is a process of its own."""
    folder = project(tmp_path / "run")
    (folder / "go").touch()
    process, workers = start(folder, "recency", "one.waited"), []
    until(lambda: workers.extend(filter(is_worker, alive(process))) or workers)
    if by == signal.SIGINT:
        os.killpg(process.pid, by)
    else:
        os.kill(workers[0], by)
    assert (process.wait(60) == 0) == (by == signal.SIGKILL) == (folder / "one.waited").exists()
    assert (folder / "one.attempts").exists() == (by == signal.SIGKILL) and alive(process) == []


def is_worker(number):
    """Return whether a process is a worker, no matter whether it still runs."""
    try:
        return b"worker.py" in Path(f"/proc/{number}/cmdline").read_bytes()
    except OSError:
        return False


def test_a_worker_with_threads_or_a_gpu_does_not_serve():
    """Of OpenBLAS there are threads until the first fork."""
    code = """
import os, runpy, threading, time
import numpy
worker = runpy.run_path(os.environ["WORKER"])
assert len(os.listdir("/proc/self/task")) == 2 and worker["is_forkable"]()
path = os.path.realpath
os.path.realpath = lambda name: "/dev/nvidia0"
assert not worker["is_forkable"]()
os.path.realpath = path
threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
assert not worker["is_forkable"]()
"""
    variables = {"WORKER": str(Path(resident.__file__).with_name("worker.py"))}
    variables |= {"OPENBLAS_NUM_THREADS": "2"}
    subprocess.run([sys.executable, "-c", code], env=environment() | variables, check=True)


def test_a_limit_on_memory_or_a_shell_of_its_own_takes_a_process_of_its_own(monkeypatch):
    script = ForkedScript.__new__(ForkedScript)
    vars(script).update(
        dict.fromkeys(("conda_env", "container_img", "env_modules", "shadow_dir")),
        resources={}, threads=1, params=[],
    )  # fmt: skip
    assert script._is_forkable()
    others = {"conda_env": "env", "container_img": "image", "env_modules": ["R"], "shadow_dir": "x"}
    for name, value in (others | {"resources": {"shell_exec": "sh"}, "threads": 2}).items():
        before = getattr(script, name)
        setattr(script, name, value)
        assert not script._is_forkable(), name
        setattr(script, name, before)
    script.threads, script.params = 2, ["name", ["recency.attention.biased 0123456789ab"]]
    assert script._is_forkable()
    limits = SimpleNamespace(**{name: getattr(resource, name) for name in dir(resource)})
    limits.getrlimit = lambda which: (10**9, 10**9)
    monkeypatch.setattr(resident, "resource", limits)
    assert not script._is_forkable()


@pytest.mark.merge
def test_the_tiny_study_has_the_same_bytes(finished, tmp_path):
    folder = copy_project(tmp_path / "study")
    (folder / "src" / "sitecustomize.py").unlink()  # of the tests' own server
    shutil.copy(ROOT / "run", folder)
    for name in (".venv", ".tools"):
        (folder / name).symlink_to(ROOT / name)
    words = ["./run", "--cores", "2", "--configfile", *TINY]
    run = faulty.started(folder, *words, environment=environment())
    assert run.wait() == 0, faulty.printed(folder)[-4000:]
    assert faulty.digests(folder) == faulty.digests(finished)


def test_a_fork_that_is_killed_before_it_begins(monkeypatch):
    """Its exit status is returned, and no error of the connection."""
    worker, (worker.connection, control) = (
        resident.Worker(),
        socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET),
    )

    def serve():
        _, files, *_ = socket.recv_fds(control, 1 << 16, 1)
        with socket.socket(fileno=files[0]) as answers:
            child = subprocess.Popen(["sleep", "60"])
            answers.send(str(child.pid).encode())
            child.kill()
            answers.send(b"-9 0.0")
        child.wait()

    server = threading.Thread(target=serve)

    @contextlib.contextmanager
    def after_its_end(*_):
        server.join()
        yield

    monkeypatch.setattr(resident, "benchmarked", after_its_end)
    server.start()
    with control, worker.connection:
        assert worker.run("script", None) == -9


@pytest.mark.merge
def test_a_safe_path_is_that_of_other_jobs(tmp_path):
    paths = {}
    for executor in ("local", "recency"):
        folder = project(tmp_path / executor)
        assert start(folder, executor, "first.state", PYTHONSAFEPATH="1").wait() == 0
        state = found(folder, "first")
        assert state["is_fork"] == (executor == "recency")
        paths[executor] = state["state"]["path"]
    assert paths["recency"] == paths["local"]
