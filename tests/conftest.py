"""What all tests share: one thread each, the order they start in, real data and a finished study."""

import os

# Before NumPy or PyTorch is imported: tests run side by side, each on a core of its own.
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import gc
import json
import random
import shutil
import sysconfig
import tempfile
import time
from datetime import date
from pathlib import Path

import pytest

import job_server
from project import TINY, copy_finished, copy_project, prepare, run_once, snakemake

pytest_plugins = ["benchmark_scripts", "training_job", "masked_job", "real_data"]  # their fixtures
HEADERS = Path(sysconfig.get_path("include"), "Python.h")
without_compiler = pytest.mark.skipif(
    not (shutil.which("g++") and HEADERS.exists()),
    reason=f"torch.compile needs g++ and Python's headers ({HEADERS}) here",
)


def needs_compiler(test):
    """Mark a test of torch.compile: on one worker, the first of them compiles what all include."""
    return pytest.mark.merge(pytest.mark.xdist_group("compiled")(without_compiler(test)))


#: Where programs look for libraries. R, started by a test, puts its own folders there, in which a later
#: Python would find another Python's.
LIBRARIES = os.environ.get("LD_LIBRARY_PATH")


def pytest_runtest_setup(item):
    minutes = item.config.getoption("minutes")
    if minutes and time.monotonic() - STARTED > 60 * minutes:
        pytest.skip(f"{minutes:g} minutes are over")
    os.environ.pop("LD_LIBRARY_PATH", None)
    if LIBRARIES is not None:
        os.environ["LD_LIBRARY_PATH"] = LIBRARIES


#: Files, or tests that are marked `apart`, that take longest; they start first, in this order.
LONGEST = (
    "workflow/test_workflow.py::test_whole_run",
    "evaluations/test_models_workflow.py",
    "networks/test_compiled.py",
    "networks/test_training.py",
    "workflow/test_workflow.py::test_a_killed_run_ends_with_the_same_bytes",
    "test_tutorial.py::test_every_command_runs",
    "evaluations/test_least_squares_workflow.py",
    "evaluations/test_nested_workflow.py",
    "workflow/test_tables_as_lms.py::test_a_copied_model_is_fitted_and_tested_as_the_model_itself",
    "reading/test_dataset_damage.py",
    "reading/test_dataset_everything.py",
    "networks/test_network.py",
    "evaluations/test_minimal_pairs.py",
    "benchmarks/test_benchmark_train.py",
    "evaluations/test_probe_workflow.py",
    "workflow/test_training_guard.py",
    "workflow/test_plans.py::test_the_paper_s_figures_and_tables_are_targets",
    "reading/test_datasets.py",
    "benchmarks/test_benchmark_regression_paper.py",
    "attention/test_biases.py",
    "reading/test_dataset_formats_eye_tracking.py",
    "figures/test_figures.py",
    "workflow/test_code.py",
    "workflow/test_configuration.py",
)


#: Names the file that says which tests go to one worker: {test's id: group}.
GROUPS = "RECENCY_TEST_GROUPS"


def pytest_addoption(parser):
    parser.addoption("--require-tests", action="store_true", help="fail if all tests are skipped")
    parser.addoption(
        "--require-peers", action="store_true", help="fail tests that are skipped without a peer"
    )
    parser.addoption(
        "--minutes",
        type=float,
        help="begin with other tests every day, and skip those that would start after so many minutes",
    )


#: When this process began, for `--minutes`.
STARTED = time.monotonic()


def pytest_configure(config):
    """Run the default tier where neither a marker nor a file is named; prepare what tests share."""
    if config.args_source is config.ArgsSource.TESTPATHS and not config.option.markexpr:
        config.option.markexpr = "not merge and not long"
    if not hasattr(config, "workerinput"):  # one for all workers, which have it from here
        os.environ[job_server.NAME] = job_server.start()
        folder = tempfile.mkdtemp(prefix="recency-tests-")
        os.environ[GROUPS] = os.path.join(folder, "groups.json")
        os.environ["RECENCY_CACHE"] = os.path.join(folder, "cache")  # not the user's
        prepare(folder)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item):
    """Fail a test that a peer is missing for, where peers are required."""
    report = yield
    is_peer = item.get_closest_marker("peer") is not None
    if report.skipped and is_peer and item.config.getoption("require_peers"):
        report.outcome, report.longrepr = "failed", f"skipped, but required: {report.longrepr[-1]}"
    return report


def pytest_sessionfinish(session):
    """Fail a session that was asked to run tests, and skipped them all."""
    config = session.config
    if config.getoption("require_tests") and not hasattr(config, "workerinput"):
        terminal = config.pluginmanager.get_plugin("terminalreporter")
        if not session.exitstatus and not terminal.stats.get("passed"):
            terminal.ensure_newline()
            terminal.write_line("all tests were skipped, for the reasons below", red=True)
            session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_unconfigure(config):
    if not hasattr(config, "workerinput"):
        shutil.rmtree(os.path.dirname(os.environ[GROUPS]), ignore_errors=True)


def pytest_collection_modifyitems(config, items):
    """Keep a file's tests on one worker, so that what they share is made once; start the longest first.

    With `--minutes`, the tests that start first change from day to day. A test that is marked `apart`, or all of a file that is, goes to any worker.
    """
    places, groups = {}, {}
    for item in items:
        own = item.get_closest_marker("xdist_group")
        if own or not item.get_closest_marker("apart"):
            groups[item.nodeid] = own.args[0] if own else item.nodeid.split("::")[0]
        name = item.nodeid.removeprefix("tests/")
        places[item] = next((n for n, long in enumerate(LONGEST) if name.startswith(long)), 99)
    items.sort(key=places.get)
    if config.getoption("minutes"):
        random.Random(date.today().toordinal()).shuffle(items)
    path = Path(os.environ[GROUPS])
    part = path.with_name(f"{os.getpid()}.json")  # the same of every worker
    part.write_text(json.dumps(groups))
    part.replace(path)


def pytest_collection():
    """Search nothing for cycles while tests are loaded: a quarter of the time that takes."""
    gc.disable()


def pytest_collection_finish():
    """Search what is loaded by now, which stays, no more: that takes a second each time."""
    gc.freeze()
    gc.set_threshold(50_000)
    gc.enable()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Send a group to one worker: xdist's own `loadgroup` does nothing under pytest 9.2.

    It writes groups into the ids of tests, which can no longer be changed.
    """
    if config.getvalue("dist") != "loadgroup":
        return None
    from xdist.scheduler import LoadScopeScheduling

    class Groups(LoadScopeScheduling):
        known = None

        def _split_scope(self, nodeid):
            self.known = self.known or json.loads(Path(os.environ[GROUPS]).read_text())
            return self.known.get(nodeid, nodeid)

    return Groups(config, log)


@pytest.fixture(scope="session")
def finished(tmp_path_factory) -> Path:
    """Return a project folder in which the tiny study has been run: made once, not to be changed."""
    base = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        base = base.parent  # the workers' common folder
    folder = base / "finished"
    run = run_once(base / "finished.txt", lambda: snakemake(copy_project(folder), configs=TINY))
    assert run.returncode == 0, run.stdout[-6000:]
    return folder


@pytest.fixture
def study(finished, tmp_path) -> Path:
    """Return a copy of the finished tiny study, to be changed."""
    return copy_finished(finished, tmp_path / "study")
