"""KenLM's build in a conda environment: by the environment's own compilers and libraries."""

import os
import subprocess
from pathlib import Path

import pytest

from project import ROOT

SCRIPT = ROOT / "envs" / "kenlm.post-deploy.sh"
#: Stand-ins for the environment's programs: pip "downloads" a source without content, and cmake notes its call.
PIP = """#!/bin/bash
while [ "$1" != --dest ]; do shift; done
mkdir -p "$2/kenlm-0" && echo "  system" >"$2/kenlm-0/CMakeLists.txt"
tar -czf "$2/kenlm-0.tar.gz" -C "$2" kenlm-0
"""
CMAKE = """#!/bin/bash
echo "CXX=$CXX CC=$CC" "$@" >>"$CALLS"
mkdir -p build/bin
for program in lmplz build_binary query; do
    printf '#!/bin/sh\\ncat >/dev/null\\n' >build/bin/$program && chmod +x build/bin/$program
done
"""


def program(path, text="#!/bin/sh\n"):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)


@pytest.fixture
def build(tmp_path):
    """Return a function that builds into a prefix, on a machine with a cmake and compiler of its own."""
    system, prefix = tmp_path / "system", tmp_path / "env"
    program(system / "cmake", CMAKE)
    program(prefix / "bin" / "python", PIP)
    calls = tmp_path / "calls"

    def run():
        environment = {"PATH": f"{system}:{os.environ['PATH']}", "CONDA_PREFIX": str(prefix)}
        words = ["bash", str(SCRIPT)]
        environment |= {"CALLS": str(calls), "CXX": "/usr/bin/c++"}
        done = subprocess.run(words, env=environment, check=False, capture_output=True, text=True)
        return done, calls.read_text() if calls.exists() else ""

    return prefix, run


def test_an_environment_s_own_compilers_build(build):
    prefix, run = build
    (prefix / "conda-meta").mkdir()
    program(prefix / "bin" / "cmake", CMAKE.replace("CXX=", "own CXX="))
    for name in ("c++", "cc"):
        program(prefix / "bin" / f"x86_64-conda-linux-gnu-{name}")
    done, calls = run()
    assert done.returncode == 0, done.stderr
    compiler = f"{prefix}/bin/x86_64-conda-linux-gnu"
    assert calls.startswith(f"own CXX={compiler}-c++ CC={compiler}-cc -S . -B build")
    assert f"-DCMAKE_PREFIX_PATH={prefix} -DCMAKE_BUILD_RPATH={prefix}/lib" in calls
    assert {"lmplz", "build_binary", "query"} <= {p.name for p in Path(prefix, "bin").iterdir()}


def test_an_environment_without_a_compiler_is_refused(build):
    prefix, run = build
    (prefix / "conda-meta").mkdir()
    done, calls = run()
    assert done.returncode and "has no C++ compiler: cxx-compiler is missing" in done.stderr
    assert not calls


def test_elsewhere_the_system_s_compilers_build(build):
    _, run = build
    done, calls = run()
    assert done.returncode == 0, done.stderr
    assert calls.startswith("CXX=/usr/bin/c++ CC= -S . -B build -DCMAKE_BUILD_TYPE=Release\n")
