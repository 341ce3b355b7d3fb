"""The R package: its own tests, and R CMD check."""

import os
import re
import shutil
import subprocess

import pytest

from project import ROOT, environment

SOURCE = ROOT / "r"
#: The R that setup.sh found to have lme4, else the machine's.
RSCRIPT = shutil.which("Rscript", path=environment()["PATH"])
MIRROR = os.pathsep.join(str(ROOT.parent / "shared" / name) for name in ("mirror", "data"))

pytestmark = pytest.mark.skipif(RSCRIPT is None, reason="no R here")


def call(*arguments, folder):
    """Run R; return what it printed."""
    variables = environment() | {
        "R_LIBS": str(folder),
        "RECENCY_MIRROR": MIRROR,
        "LC_ALL": "C.UTF-8",
    }
    done = subprocess.run(
        arguments, cwd=folder, env=variables, text=True, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return done.stdout + done.stderr


def has(*packages, folder):
    """Return whether R has packages."""
    quoted = ", ".join(f'"{name}"' for name in packages)
    script = f"cat(all(sapply(c({quoted}), requireNamespace, quietly = TRUE)))"
    return call(RSCRIPT, "-e", script, folder=folder).endswith("TRUE")


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    folder = tmp_path_factory.mktemp("library")
    call("R", "CMD", "INSTALL", "--no-docs", "-l", str(folder), str(SOURCE), folder=folder)
    return folder


@pytest.mark.merge
@pytest.mark.parametrize("name", ["against_lme4.R", "words.R"])
def test_the_package_s_tests(name, library):
    assert "skipped" not in call(RSCRIPT, str(SOURCE / "tests" / name), folder=library)


@pytest.mark.merge
def test_the_page_s_examples(library):
    text = (ROOT / "docs" / "r.md").read_text(encoding="utf-8")
    blocks = [part.partition("\n```")[0] for part in text.split("```r\n")[1:]]
    assert len(blocks) == 5
    (library / "page.R").write_text("\n".join(blocks), encoding="utf-8")
    assert "Subject  Days        35.07    5.922    0.07" in call(RSCRIPT, "page.R", folder=library)


@pytest.mark.long
def test_r_cmd_check_is_clean(tmp_path):
    """Vignettes are made where R has what they need."""
    without = [] if has("knitr", "markdown", folder=tmp_path) else ["vignettes"]
    call(
        "R",
        "CMD",
        "build",
        *(f"--no-build-{each}" for each in without),
        str(SOURCE),
        folder=tmp_path,
    )
    (built,) = tmp_path.glob("recency_*.tar.gz")
    options = ["--no-manual", *(f"--ignore-{each}" for each in without)]
    variables = "_R_CHECK_FORCE_SUGGESTS_=false"  # suggested packages may be absent
    printed = call("env", variables, "R", "CMD", "check", *options, built.name, folder=tmp_path)
    notes = re.findall(r"^\* .* (?:NOTE|WARNING|ERROR)$", printed, re.MULTILINE)
    if re.search("suggested but not available for checking", printed):
        notes.remove("* checking package dependencies ... NOTE")
    assert "Status: " in printed and not notes, printed[-4000:]
