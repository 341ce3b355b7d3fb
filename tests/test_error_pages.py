"""An error names the page about its topic, and that page exists."""

import pkgutil

import crosslmm
import readingtimes
import recency
from project import ROOT
from recency import evaluations
from recency.command.main import main
from recency.errors import PAGES, REFUSALS, InputError, with_page


def test_packages_and_pages_exist():
    packages = {
        module.name
        for package in (crosslmm, readingtimes, recency)
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
    } | {"crosslmm", "readingtimes"}
    assert set(PAGES) <= packages
    assert all((ROOT / page).is_file() for page in PAGES.values())


def test_every_evaluation_has_a_page():
    named = {module.name for module in pkgutil.iter_modules(evaluations.__path__)}
    without = {name for name in named if f"recency.evaluations.{name}" not in PAGES}
    assert without == {"job_state", "registry", "report", "summary", "training"}


def test_the_command_shows_it(tmp_path, capsys):
    (tmp_path / "text.txt").write_text("The cat sat.")
    command = ["surprisal", str(tmp_path / "text.txt"), "--model", "small-english", "--bias", "x"]
    assert main(command) == 2
    assert capsys.readouterr().err.endswith("(docs/biases.md)\n")


def test_a_message_that_names_a_page_keeps_it():
    try:
        recency.attention.bias("linear", slope=1)
    except REFUSALS as error:
        assert with_page(error, "see docs/text.md") == "see docs/text.md"
        assert with_page(error, "wrong") == "wrong (docs/biases.md)"
    assert with_page(InputError("never raised"), "wrong") == "wrong"


def test_the_first_cause_decides():
    try:
        try:
            recency.attention.bias("linear", slope=1)
        except REFUSALS as error:
            raise InputError("a job") from error
    except REFUSALS as error:
        assert with_page(error, "a job") == "a job (docs/biases.md)"
