"""Faults for tests: processes killed at a file operation of theirs or at any time, results compared."""

import atexit
import hashlib
import os
import random
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path

#: The variable that has each job of a run die once: a seed and a signal's number.
DOOMED = "RECENCY_FAULTS_DOOMED"

#: How a job's file names its log, and with it its rule.
RULE = re.compile(r"/logs/(\w+)[/.]")

#: What changes files, as Python's audit events call it; an "open" counts where it may write.
CHANGES = {"os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.link", "os.symlink", "os.truncate"}
WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT


def die_at(number, below, by=signal.SIGKILL):
    """End this process by a signal just before its `number`th change of a file below a folder."""
    left, below = [number], os.fspath(below)

    def audit(event, arguments):
        changes = event in CHANGES or (event == "open" and (arguments[2] or 0) & WRITES)
        if not changes or not isinstance(arguments[0], str | os.PathLike):
            return
        if os.path.abspath(arguments[0]).startswith(below):
            left[0] -= 1
            if left[0] == 0:
                os.kill(os.getpid(), by)

    sys.addaudithook(audit)


def doom():
    """Let this job of Snakemake die once, at a change of a file or at a time drawn by its rule's name, at the latest when done.

    Projects under test have a src/sitecustomize.py that calls this; `.doomed` has the rules that died.
    """
    words = sys.orig_argv[1:]
    if DOOMED not in os.environ or len(words) != 1 or "/.snakemake/scripts/" not in words[0]:
        return
    rule = RULE.search(Path(words[0]).read_text())[1]
    seed, by = os.environ[DOOMED].split(":")
    mark = Path(".doomed", rule)
    mark.parent.mkdir(parents=True, exist_ok=True)
    try:
        mark.touch(exist_ok=False)
    except FileExistsError:
        return
    atexit.register(os.kill, os.getpid(), int(by))
    draw = random.Random(f"{seed} {rule}")
    if draw.random() < 0.5:
        die_at(draw.randint(2, 5), os.path.abspath("results"), int(by))
    else:
        timer = threading.Timer(draw.uniform(0.3, 3.0), os.kill, (os.getpid(), int(by)))
        timer.daemon = True
        timer.start()


def doom_forks():
    """Let the jobs die once that are forks of this process, if it is a run's resident worker."""
    if sys.orig_argv[1:2] and sys.orig_argv[1].endswith("worker.py"):

        def audit(event, arguments):
            code = arguments[0] if event == "exec" else None
            if "/.snakemake/scripts/" in getattr(code, "co_filename", ""):
                doom()

        sys.addaudithook(audit)


def forked(work):
    """Do some work in a fork; return the number of the signal that ended it, or 0."""
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            work()
            code = 0
        finally:
            os._exit(code)
    status = os.waitpid(child, 0)[1]
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0, os.WEXITSTATUS(status)
    return os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0


#: Files and folders of results that tell of a run, and are no result.
OF_A_RUN = {"logs", "benchmarks", ".kept", "timings.txt"}


def digests(folder):
    """Return the digest of every result, and of its record."""
    folder = Path(folder)
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted((folder / "results").rglob("*"))
        if path.is_file()
        and not OF_A_RUN & set(path.relative_to(folder).parts)
        and path.name[0] != "."
    }


def started(folder, *words, environment, **options):
    """Start a command in a process group of its own, what it prints in .printed.txt of `folder`."""
    with open(Path(folder, ".printed.txt"), "w") as printed:
        return subprocess.Popen(
            words, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=printed,
            stderr=subprocess.STDOUT, start_new_session=True, **options,
        )  # fmt: skip


def printed(folder):
    """Return what the last command in a folder printed."""
    return Path(folder, ".printed.txt").read_text(errors="replace")
