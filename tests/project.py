"""How tests run Snakemake: on a copy of the project, as a user would.

Nothing of the package is imported here at the top: a run is a fork that imports this module, and
the package of the project that it runs.
"""

import copy
import fcntl
import functools
import hashlib
import multiprocessing
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import forked

ROOT = Path(__file__).resolve().parents[1]


def sources(folder):
    """Return PYTHONPATH for the packages of a checkout or a copy of it."""
    below = [f"{folder}/packages/{name}/src" for name in ("crosslmm", "readingtimes")]
    return os.pathsep.join([f"{folder}/src", *below])


SOURCES = sources(ROOT)
SCHEMA = ROOT / "config.schema.yaml"
TINY = ["config/demo.yaml", "tests/config.tiny.yaml"]


#: Names the file of what the project's scripts depend on, as `prepare` found it for all copies.
KNOWN = "RECENCY_TEST_CODE"
PREPARE = """
import compileall, re, sys
from pathlib import Path
from recency.workflow.plan import code

code.remember(Path(sys.argv[1]))
rules = "".join(file.read_text() for file in Path("rules").glob("*.smk"))
for script in Path("workflow/scripts").rglob("*.py"):
    code.reached((script.resolve(),))
for module in re.findall(r'main="([\\w.:]+)"', rules):
    code.reached(code.starts_of(Path("workflow/scripts/run.py"), module))
compileall.compile_dir("src", quiet=2)
compileall.compile_dir("packages", quiet=2)
"""


def prepare(folder):
    """Begin to find and compile what the first run in every copy else would: a second of each."""
    os.environ[KNOWN] = str(Path(folder, "code.json"))
    variables = os.environ | {"PYTHONPATH": SOURCES}
    subprocess.Popen([sys.executable, "-c", PREPARE, os.environ[KNOWN]], cwd=ROOT, env=variables)


def copy_project(folder):
    """Copy what git would clone, so that a run touches nothing of the developer's; and what is compiled."""
    folder.mkdir(exist_ok=True)
    for name in (
        "Snakefile",
        "rules",
        "src",
        "packages",
        "studies",
        "workflow",
        "envs",
        "config",
        "profiles",
        "data/corpora",
        "data/published",
        "data/sources",
    ):
        source = ROOT / name
        if source.is_dir():
            passing = shutil.ignore_patterns("*.pyc.*")  # while it is written
            shutil.copytree(source, folder / name, ignore=passing, copy_function=_put)
        else:
            shutil.copy(source, folder / name)
    shutil.copy(ROOT / "tests" / "record_modules.py", folder / "src" / "sitecustomize.py")
    shutil.copy(ROOT / "tests" / "job_server.py", folder / "src")
    (folder / "tests").mkdir(exist_ok=True)
    for path in (*ROOT.glob("*.yaml"), *ROOT.glob("tests/*.yaml")):
        shutil.copy(path, folder / path.relative_to(ROOT))
    if os.path.exists(known := os.environ.get(KNOWN, "")):
        (folder / ".snakemake").mkdir(exist_ok=True)
        shutil.copy(known, folder / ".snakemake" / "recency-code.json")
    return folder


def copy_finished(finished, folder):
    """Copy a project with its results and what Snakemake knows of them; times of files stay."""
    return Path(shutil.copytree(finished, folder, symlinks=True, copy_function=_put))


def _put(source, target):
    """Copy a file; byte code, which Python puts in place and never writes into, is linked."""
    try:
        if str(source).endswith(".pyc"):
            os.link(source, target)
            return
    except OSError:  # on another disk
        pass
    shutil.copy2(source, target)


def environment():
    tools = [ROOT / ".venv" / "bin", ROOT / ".tools" / "bin", ROOT / ".tools" / "kenlm" / "bin"]
    path = ":".join([str(Path(sys.executable).parent), *map(str, tools), os.environ["PATH"]])
    return os.environ | {"PATH": path, "RPY2_CFFI_MODE": "ABI", "OPENBLAS_NUM_THREADS": "1"}


def command(*arguments, configs=()):
    overlays = ["--configfile", *configs] if configs else []
    return [sys.executable, "-m", "snakemake", *overlays, "--cores", "2", *arguments]


#: What Snakemake and the Snakefile import, but for the package itself, which is each folder's own.
PRELOADED = [
    "snakemake.cli",
    "snakemake.dag",
    "snakemake.executors.dryrun",
    "smart_open",
    "jsonschema",
    "yaml",
]


def snakemake(folder, *arguments, configs=(), **variables):
    """Run Snakemake, in a fork that has it loaded; return what it printed and how it ended.

    A process of its own takes more than a second more; `./run` and killed runs have one.
    """
    forks = multiprocessing.get_context("forkserver")
    forks.set_forkserver_preload(PRELOADED)
    printed = Path(folder) / ".printed.txt"
    words = command(*arguments, configs=configs)
    process = forks.Process(
        target=forked.become_snakemake, args=(words[3:], str(folder), environment() | variables)
    )
    process.start()
    process.join()
    text = printed.read_text()
    printed.unlink()
    return subprocess.CompletedProcess(words, process.exitcode, text)


def plan(folder, *arguments, configs=()):
    """Do a dry run."""
    return snakemake(folder, "-n", *arguments, configs=configs)


def run_once(path, run):
    """Return a run that is the same for all tests and workers: its code and text stay in a file."""
    with open(f"{path}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # ends with the process
        if not path.exists():
            done = run()
            path.write_text(f"{done.returncode}\n{done.stdout}")
    code, _, text = path.read_text().partition("\n")
    return subprocess.CompletedProcess([], int(code), text)


def plan_once(*arguments, configs=()):
    """Do a dry run of the project as it is, unless a test or worker has done the same one."""
    name = hashlib.sha256(repr((arguments, configs)).encode()).hexdigest()[:16]
    folder = Path(os.environ[KNOWN]).parent / f"plan-{name}"
    path = folder.with_suffix(".txt")
    return run_once(path, lambda: plan(copy_project(folder), *arguments, configs=configs))


def planned(output):
    """Return rule → number of jobs of a dry run; of rules that differ in their batch the sum."""
    table = output.split("Job stats:")[1].split("\n\n")[0] if "Job stats:" in output else ""
    found = {}
    for name, number in re.findall(r"^(\w+) +(\d+)$", table, re.MULTILINE):
        kind = name.partition("_of_")[0]
        found[kind] = found.get(kind, 0) + int(number)
    return found


def merged(base, over):
    """Lay one config over another, in place, as an overlay that is read after the corpus files."""
    from recency.workflow.config import loading

    return loading.merge(base, copy.deepcopy(over))


def assert_is_refused(overlay, reason, *names):
    """Assert that a config with an overlay (YAML) is refused by short lines, one with the reason."""
    import pytest
    import yaml

    from recency.errors import REFUSALS
    from recency.workflow.config import checks

    with pytest.raises(REFUSALS) as error:
        checks.check(merged(load(*names), yaml.safe_load(overlay)), SCHEMA)
    lines = str(error.value).splitlines()[1:]
    assert any(reason in line for line in lines), lines
    assert all(len(line) < 300 for line in lines) and len(lines) < 25


def load(*names):
    """Return the complete config of config.yaml and overlays, sharing nothing with another call."""
    return copy.deepcopy(_loaded(*names))


@functools.cache
def _loaded(*names):
    from recency.workflow.config import loading

    return loading.load(ROOT, *names)


def show(function, **given):
    """Call the function of a figure or table as its rule does, with a view of the LMs, title and others."""
    from recency.figures.comparison import View

    return function(View.of_job(given), **given)
