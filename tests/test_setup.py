"""setup.sh on machines that lack this or that, made of stub programs."""

import fcntl
import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
COREUTILS = (
    "bash",
    "cat",
    "cmp",
    "cp",
    "dirname",
    "env",
    "ln",
    "mkdir",
    "rm",
    "tail",
    "touch",
    "tr",
)

# Stub programs: each writes down how it was called. `installs` is what apt-get and conda bring.
WORKS = "exit 0"
OLD_PYTHON = "exit 1"
GOOD_R = "echo {lme4}"
R_WITHOUT_LME4 = "exit 1"
ROOT_ID, USER_ID = "echo 0", "echo 1000"


class Machine:
    """A folder with a copy of setup.sh, and a PATH that holds stubs and a few core programs only."""

    def __init__(self, folder: Path):
        self.folder = folder / "checkout"
        self.bin = folder / "bin"
        self.installs = folder / "installs"
        self.calls = folder / "calls"
        self.lme4 = folder / "lme4"
        for path in (self.folder, self.bin, self.installs, self.lme4):
            path.mkdir()
        self.calls.touch()
        shutil.copytree(ROOT / "setup", self.folder / "setup")
        shutil.copy(ROOT / "setup.sh", self.folder)
        (self.folder / "envs").mkdir()
        shutil.copy(ROOT / "envs/requirements.lock", self.folder / "envs")
        for name in COREUTILS:
            (self.bin / name).symlink_to(shutil.which(name))
        self.add(id=USER_ID, sudo="exit 1")

    def write(self, path: Path, body: str) -> None:
        """Write a stub program."""
        body = body.format(lme4=self.lme4, installs=self.installs, bin=self.bin)
        path.write_text(f'#!/bin/bash\necho "{path.name} $*" >>{self.calls}\n{body}\n')
        path.chmod(0o755)

    def add(self, **stubs: str) -> None:
        """Put stubs on the PATH: `python3_11` is python3.11, `cxx` is c++."""
        for name, body in stubs.items():
            self.write(self.bin / stub_name(name), body)

    def offer(self, **stubs: str) -> None:
        """Let apt-get and conda bring these stubs."""
        for name, body in stubs.items():
            self.write(self.installs / stub_name(name), body)

    def with_apt(self) -> None:
        """Add an apt that installs what is offered, on a release that has Python 3.12."""
        self.add(
            apt_get='[[ $* != *" install "* ]] || cp {installs}/* {bin}',
            apt_cache="[[ $2 == python3.12-venv ]]",
            dpkg=WORKS,
        )

    def run(self, command: str) -> subprocess.CompletedProcess:
        """Run a command after sourcing setup.sh."""
        script = f"source ./setup.sh; mkdir -p .tools; {command}"
        return subprocess.run(
            ["bash", "-c", script],
            cwd=self.folder,
            env={"PATH": str(self.bin), "HOME": str(self.folder)},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    def called(self, start: str) -> list[str]:
        """Return the calls that begin so."""
        return [line for line in self.calls.read_text().splitlines() if line.startswith(start)]


def stub_name(name: str) -> str:
    """Return a program's name for a Python identifier."""
    names = {"cxx": "c++", "python3_11": "python3.11", "python3_12": "python3.12"}
    return names.get(name, name.replace("_", "-"))


BUILD = {"cmake": WORKS, "make": WORKS, "cxx": WORKS}
EVERYTHING = {"python3_12": WORKS, "Rscript": GOOD_R, "R": WORKS, **BUILD}


@pytest.fixture
def machine(tmp_path):
    """Return a machine with nothing on it."""
    return Machine(tmp_path)


def test_what_is_there_is_used(machine):
    machine.with_apt()
    machine.add(id=ROOT_ID, conda=WORKS, **EVERYTHING)
    result = machine.run("get_missing; link_r")
    assert result.returncode == 0, result.stderr
    assert not machine.called("apt-get") and not machine.called("conda")
    assert (machine.folder / ".tools/bin/Rscript").resolve() == machine.bin / "Rscript"


def test_old_python_and_r_without_lme4_count_as_missing(machine):
    machine.add(python3_11=OLD_PYTHON, Rscript=R_WITHOUT_LME4)
    result = machine.run("missing")
    assert result.stdout.split() == ["python", "r", "build"]


def test_second_rscript_is_taken_when_the_first_lacks_lme4(machine, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    machine.write(other / "Rscript", R_WITHOUT_LME4)
    machine.add(**EVERYTHING)
    result = machine.run(f"PATH={other}:$PATH; link_r")
    assert result.returncode == 0, result.stderr
    assert (machine.folder / ".tools/bin/Rscript").resolve() == machine.bin / "Rscript"


def test_root_gets_what_is_missing_from_apt(machine):
    machine.with_apt()
    machine.add(id=ROOT_ID, conda=WORKS)
    machine.offer(**EVERYTHING)
    result = machine.run("get_missing; link_r")
    assert result.returncode == 0, result.stderr
    calls = machine.called("apt-get")
    assert calls[0].endswith("update")
    assert "python3.12 python3.12-venv python3.12-dev r-base-core r-cran-lme4 cmake" in calls[1]
    assert not machine.called("sudo") and not machine.called("conda")


def test_only_what_is_missing_is_asked_of_apt(machine):
    machine.with_apt()
    machine.add(id=ROOT_ID, python3_12=WORKS, **BUILD)
    machine.offer(Rscript=GOOD_R, R=WORKS)
    result = machine.run("get_missing")
    assert result.returncode == 0, result.stderr
    assert machine.called("apt-get")[1].endswith("recommends r-base-core r-cran-lme4")


def test_headers_are_fetched_where_they_can_be(machine):
    """Compiling a network for a GPU needs them; without root the set-up goes on without."""
    lacks = "[[ $* != *Python.h* ]] || echo python3.12-dev"
    machine.add(**EVERYTHING | {"python3_12": lacks})
    result = machine.run("get_missing")
    assert result.returncode == 0, result.stderr
    machine.with_apt()
    machine.add(id=ROOT_ID, apt_cache="[[ $2 == python3.12-dev ]]")
    machine.offer(python3_12=WORKS)
    result = machine.run("get_missing; get_missing")
    assert result.returncode == 0, result.stderr
    (installed,) = [call for call in machine.called("apt-get") if " install " in call]
    assert installed.endswith("recommends python3.12-dev")


def test_sudo_without_password_serves_as_well(machine):
    machine.with_apt()
    machine.add(sudo='shift; "$@"')
    machine.offer(**EVERYTHING)
    result = machine.run("get_missing")
    assert result.returncode == 0, result.stderr
    assert machine.called("sudo -n env DEBIAN_FRONTEND=noninteractive")
    assert machine.called("apt-get")


CONDA = """
if [[ $1 == create ]]; then
    mkdir -p "$4/bin"
    cp {installs}/* "$4/bin"
    cp {installs}/python3.12 "$4/bin/python"
fi
"""


@pytest.mark.parametrize("name", ["conda", "mamba", "micromamba"])
def test_conda_is_used_where_apt_may_not_be(machine, name):
    machine.with_apt()
    machine.add(**{name: CONDA})
    machine.offer(**EVERYTHING)
    result = machine.run("get_missing; link_r; find_python")
    assert result.returncode == 0, result.stderr
    assert not machine.called("apt-get")
    (call,) = machine.called(name)
    assert call.startswith(f"{name} create --yes --prefix {machine.folder}/.tools/conda")
    assert "--channel conda-forge" in call and "r-lme4" in call
    tools = machine.folder / ".tools"
    assert (tools / "bin/Rscript").resolve() == tools / "conda/bin/Rscript"
    assert result.stdout.splitlines()[-1].endswith(".tools/conda/bin/python")


def test_unfinished_conda_environment_is_made_anew(machine):
    machine.add(conda=CONDA)
    machine.offer(**EVERYTHING)
    left = machine.folder / ".tools/conda/half"
    left.mkdir(parents=True)
    result = machine.run("get_missing")
    assert result.returncode == 0, result.stderr
    assert not left.exists() and (machine.folder / ".tools/conda/complete").exists()


def test_without_any_route_the_error_names_three(machine):
    machine.with_apt()
    machine.add(python3_12=WORKS)
    result = machine.run("get_missing")
    assert result.returncode == 1
    assert "missing: r build" in result.stderr
    assert "apt-get install r-base-core r-cran-lme4 cmake" in result.stderr
    assert "conda, mamba or micromamba" in result.stderr
    assert "put these on the PATH yourself" in result.stderr
    assert not machine.called("apt-get")


def test_failed_installation_shows_the_end_of_its_log(machine):
    machine.with_apt()
    machine.add(id=ROOT_ID, apt_get="echo no such package; exit 100")
    result = machine.run("get_missing")
    assert result.returncode == 1
    assert "no such package" in result.stderr
    assert ".tools/logs/apt-update.log" in result.stderr


def test_r_is_linked_again_when_its_lme4_is_gone(machine):
    machine.add(**EVERYTHING)
    assert machine.run("link_r; r_linked").returncode == 0
    machine.lme4.rmdir()
    assert machine.run("r_linked").returncode == 1


VENV = """
if [[ $* == *"-m venv"* ]]; then mkdir -p .venv/bin; cp "$0" .venv/bin/python; fi
"""


def test_packages_cut_off_are_removed_before_pip_and_a_second_run_does_nothing(machine):
    machine.add(**{**EVERYTHING, "python3_12": VENV})
    site = machine.folder / ".venv/lib/python3.12/site-packages"
    whole, cut_off = site / "numpy-1.dist-info", site / "torch-1.dist-info"
    for package in (whole, cut_off):
        package.mkdir(parents=True)
    (whole / "INSTALLER").touch()
    result = machine.run("new_venv; install_packages")
    assert result.returncode == 0, result.stderr
    assert whole.exists() and not cut_off.exists()
    hashed, rest = [line for line in machine.called("python") if "pip install" in line]
    assert hashed.endswith("--no-compile --no-deps --require-hashes -r setup/hashes.txt")
    assert rest.endswith("--no-compile -r envs/requirements.lock")

    machine.calls.write_text("")
    assert machine.run("new_venv; install_packages").returncode == 0
    assert len(machine.called("python")) == 1 and not machine.called("python3.12 -m pip")


def test_byte_code_of_imports_is_written_where_it_may_not_be_later(machine):
    machine.add(**{**EVERYTHING, "python3_12": VENV})
    assert machine.run("new_venv; install_packages").returncode == 0
    assert not machine.called("python3.12 setup/imports.py")
    (machine.folder / ".venv/requirements.lock").unlink()
    forbidden = "export PYTHONDONTWRITEBYTECODE=1; install_packages"
    assert machine.run(forbidden).returncode == 0
    assert machine.called("python3.12 setup/imports.py")


PATIENT = """
make_kenlm() {
    local tries
    for tries in {1..300}; do
        [[ -e .venv/requirements.lock ]] && return
        read -rt 0.1 <> <(:) || :
    done
    return 1
}
"""


def test_kenlm_is_built_while_packages_are_installed(machine):
    """A build that ends only once the packages are there is waited for; one that fails is told."""
    machine.add(**{**EVERYTHING, "python3_12": VENV})
    result = machine.run(PATIENT + "main")
    assert result.returncode == 0 and "ready" in result.stdout, result.stderr
    failed = machine.run("make_kenlm() { fail no such library; }; main")
    assert failed.returncode == 1 and "no such library" in failed.stderr
    assert "ready" not in failed.stdout


def test_the_package_is_linked_once_and_anew_where_the_checkout_was_moved(machine):
    machine.add(**{**EVERYTHING, "python3_12": VENV})
    assert machine.run("new_venv; install_packages; link_package; link_package").returncode == 0
    (install,) = [line for line in machine.called("python") if "--editable=. " in line]
    assert "--no-deps --no-build-isolation --editable=. --editable=packages/crosslmm" in install
    moved = machine.folder.rename(machine.folder.with_name("moved"))
    machine.folder = moved
    assert machine.run("link_package").returncode == 0
    assert (
        moved / ".venv/package"
    ).read_text() == f"{moved}: . packages/crosslmm packages/readingtimes\n"


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess:
    """Run the folder's ./run."""
    return subprocess.run(
        [folder / "run", *arguments], capture_output=True, text=True, check=False, timeout=60
    )


def test_run_says_what_to_do_before_set_up(tmp_path):
    shutil.copy(ROOT / "run", tmp_path)
    result = run(tmp_path)
    assert result.returncode == 1 and "make setup" in result.stderr


# A job in the background, with the standard input that it gets from Snakemake.
SNAKEMAKE = """#!/bin/bash
sleep "${NAP:-0}" <&0 &
echo "started $*"
wait
"""


@pytest.fixture
def checkout(tmp_path):
    """Return a folder with ./run and stubs of Snakemake and of Python, which reads configs before."""
    shutil.copy(ROOT / "run", tmp_path)
    for name, text in {"snakemake": SNAKEMAKE, "python": "#!/bin/bash\n"}.items():
        tool = tmp_path / ".venv/bin" / name
        tool.parent.mkdir(parents=True, exist_ok=True)
        tool.write_text(text)
        tool.chmod(0o755)
    return tmp_path


@pytest.mark.skipif(not shutil.which("flock"), reason="no flock here: Snakemake's own lock is used")
def test_runs_exclude_each_other_until_the_last_job_ends(checkout):
    first = subprocess.Popen(
        [checkout / "run"], env={**os.environ, "NAP": "2"}, stdout=subprocess.PIPE, text=True
    )
    assert first.stdout.readline() == "started --executor=recency --nolock --logger=recency\n"
    first.kill()  # its job lives on for two seconds
    second = run(checkout, "again")
    assert "waiting for it" in second.stdout
    assert second.stdout.endswith("started --executor=recency --nolock --logger=recency again\n")


def test_a_plan_waits_for_no_run(checkout):
    (checkout / ".snakemake").mkdir()
    with open(checkout / ".snakemake" / "run.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for words, short in (
            ("-n", True),
            ("all --dry-run", True),
            ("-np", False),
            ("-n -p", False),
        ):
            more = "--quiet=rules --logger=recency " if short else ""
            assert run(checkout, *words.split()).stdout == f"started --nolock {more}{words}\n"


def test_snakemake_keeps_its_own_lock_for_jobs_on_a_cluster(checkout):
    result = run(checkout, "--workflow-profile", "profiles/slurm")
    assert result.stdout == "started --logger=recency --workflow-profile profiles/slurm\n"


@pytest.mark.parametrize(
    "words",
    [
        "--no-resident",
        "--executor local",
        "--executor=local",
        "-e local",
        "--profile mine",
        "-n",
        "",
    ],
)
def test_jobs_are_forks_on_one_machine_unless_a_profile_may_choose(checkout, words, monkeypatch):
    """Of a resident worker: the executor `recency`."""
    assert "--executor=recency " in run(checkout, "exp1").stdout
    if not words:
        monkeypatch.setenv("SNAKEMAKE_PROFILE", "mine")
    result = run(checkout, "exp1", *words.split())
    assert result.returncode == 0 and "--executor=recency" not in result.stdout
    assert result.stdout.endswith(f"exp1 {words}".removesuffix("--no-resident").rstrip() + "\n")
    (checkout / "profiles" / "default").mkdir(parents=True)
    profile = checkout / "profiles" / "default" / "config.yaml"
    for text, is_resident in (("cores: all\n", not words), ("executor: slurm\n", False)):
        profile.write_text(text)
        monkeypatch.delenv("SNAKEMAKE_PROFILE", raising=False)
        assert ("--executor=recency" in run(checkout, *words.split()).stdout) == is_resident


def test_a_target_is_not_taken_for_a_config_file(checkout):
    (checkout / "mine.yaml").touch()
    asked = run(checkout, "--cores", "1", "--configfile", "mine.yaml", "power")
    assert asked.returncode == 1 and "no config file power" in asked.stderr
    assert "./run power" in asked.stderr
    first = run(checkout, "power", "--configfile", "mine.yaml", "--cores", "1")
    assert first.returncode == 0, first.stderr
