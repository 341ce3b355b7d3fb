"""Every conda environment has what the scripts of its rules import."""

import ast
import re
import sys
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
import yaml

from recency.evaluations import registry
from recency.workflow.plan import code

pytestmark = pytest.mark.merge

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = ROOT / "workflow" / "scripts"
#: environment → packages that its scripts reach, and why their jobs don't come to import them.
NOT_NEEDED = {
    "plot": {"rpy2": "reads what was fitted"},
    "search": {"rpy2": "its regressions are least squares"},
    "lm": {"matplotlib": "fonts are looked up for figures alone"},
    "hub": {
        "numpy": "no text is compared with a training history",
        "pyarrow": "no text is compared with a training history",
    },
}
DISTRIBUTIONS = dict(packages_distributions())
DISTRIBUTIONS.setdefault("wordfreq", ["wordfreq"])  # an optional package
#: Packages that a user installs for one setting (`precision: int8`), which is refused without them, or has
#: since the data are its frames.
ON_REQUEST = {"torchao", "polars"}
DISTRIBUTIONS["huggingface_hub"] = ["huggingface-hub", "transformers"]  # which depends on it
#: Programs that scripts start → what an environment has that brings them.
PROGRAMS = {"Rscript": "r-base", "lmplz": "cmake"}  # KenLM is built in its environment


def scripts() -> dict[str, set[Path]]:
    """Return environment → modules, or scripts, of the rules that name it."""
    found: dict[str, set[Path]] = {}
    for path in sorted((ROOT / "rules").glob("*.smk")):
        for block in re.split(r"^(?= *rule\b)", path.read_text(), flags=re.MULTILINE)[1:]:
            conda = re.search(r'conda:\s*"\.\./envs/(\w+)\.yaml"', block)
            script = re.search(r'script:\s*"\.\./([^"]+)"', block)
            if conda and script:
                main = re.search(r'\bmain="([\w.:]+)"', block)
                start = code.starts_of(ROOT / script[1], main and main[1])[-1]
                found.setdefault(conda[1], set()).add(start)
    return found


def imports(path: Path) -> set[str]:
    """Return the top-level packages that a file imports, wherever in it."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add(node.module.partition(".")[0])
    return found - set(sys.stdlib_module_names) - {code.PACKAGE, *code.BELOW}


def needed(script: Path) -> dict[str, str]:
    """Return package → a module that imports it, over a script's closure.

    Of evaluations the modules that make figures and tables are chosen by name.
    """
    return {package: name for name, path in closure(script).items() for package in imports(path)}


def closure(script: Path) -> dict[str, Path]:
    """Return module → file of all that a script reaches, and itself."""
    drawn = [product.module for product in registry.products()]
    reached = code.fingerprints((script,), {registry.PACKAGE: drawn})
    modules = {code.name_of(script): script}
    modules |= {name: code.file_of(name) for name in reached}
    todo = [path for path in modules.values() if path is not None and path.suffix == ".py"]
    while todo:  # modules that are exempt from fingerprints are imported all the same
        exempt = code._reads(todo.pop())[0] & code.EXEMPT.keys() - modules.keys()
        modules |= {name: code.file_of(name) for name in exempt}
        todo += [modules[name] for name in exempt]
    return {name: path for name, path in modules.items() if path is not None}


def started(script: Path) -> set[str]:
    """Return which of PROGRAMS the modules of a script's closure name."""
    found = set()
    for path in closure(script).values():
        if path.suffix == ".py":
            nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
            found |= {node.value for node in nodes if isinstance(node, ast.Constant)} & {*PROGRAMS}
    return found


def installed(environment: str) -> set[str]:
    """Return the distributions of an environment, conda's and pip's."""
    entries = yaml.safe_load((ROOT / "envs" / f"{environment}.yaml").read_text())["dependencies"]
    pinned = [line for entry in entries if isinstance(entry, dict) for line in entry["pip"]]
    pinned += [entry for entry in entries if isinstance(entry, str)]
    return {re.split(r"[=<>\[]", line)[0] for line in pinned}


def test_every_script_is_in_some_rule_that_names_an_environment():
    named = {path for path in set().union(*scripts().values()) if SCRIPTS in path.parents}
    assert named == set(SCRIPTS.rglob("*.py")) - {SCRIPTS / "run.py"}


@pytest.mark.parametrize("environment", sorted(scripts()))
def test_environment_has_what_its_scripts_import(environment):
    has, missing = installed(environment), set()
    for script in scripts()[environment]:
        for package, module in needed(script).items():
            if package in ON_REQUEST:
                continue
            given = has & {name.lower().replace("_", "-") for name in DISTRIBUTIONS[package]}
            if not given and package not in NOT_NEEDED.get(environment, {}):
                missing.add(f"{package} (by {module} for {code.name_of(script)})")
    assert not missing


def test_environment_has_the_programs_that_its_scripts_start():
    """MECO's words are R's data, which R itself reads."""
    without_conda = {
        "recency.export.ro_crate"
    }  # it asks R for its version only where there is no environment
    missing, found = set(), set()
    for environment, all_of in scripts().items():
        for script in all_of:
            programs = started(script) if code.name_of(script) not in without_conda else set()
            found |= programs
            lacks = {name for name in programs if PROGRAMS[name] not in installed(environment)}
            missing |= {f"{name} for {code.name_of(script)} in {environment}" for name in lacks}
    assert not missing and found == set(PROGRAMS)


def test_environments_that_compile_networks_have_a_compiler():
    """`torch.compile` builds Triton's launchers with $CC on a GPU."""
    compiling = set()
    for environment, all_of in scripts().items():
        for script in all_of:
            modules = [path for path in closure(script).values() if path.suffix == ".py"]
            if any("torch.compile(" in path.read_text(encoding="utf-8") for path in modules):
                compiling.add(environment)
    with_network = {name for name in compiling if "torch" in installed(name)}
    assert with_network == {"lm", "search"}
    assert all("cxx-compiler" in installed(name) for name in with_network)
