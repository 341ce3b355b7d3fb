"""docs/mixed_models.md: its examples run, and its table names what there is."""

import re
import runpy
from pathlib import Path

import numpy as np
import pandas as pd

import crosslmm
from test_lmer import effects

PAGE = Path(__file__).resolve().parents[1] / "docs" / "mixed_models.md"


def times():
    """Make the data that the page's examples speak of."""
    random = np.random.default_rng(0)
    n = 400
    subject, item = random.integers(0, 20, n), random.integers(0, 12, n)
    data = pd.DataFrame(
        {"length": random.integers(2, 12, n), "condition": random.choice(["a", "b", "c"], n)}
    )
    data["subject"] = [f"s{code}" for code in subject]
    data["item"] = [f"i{code}" for code in item]
    of_subject = effects(random, subject, 60, 5)
    data["rt"] = 400 + (12 + of_subject[:, 1]) * data["length"] + of_subject[:, 0]
    data["rt"] += effects(random, item, 20)[:, 0] + random.gamma(4, 25, n)
    return data


def test_examples_run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    data = times()
    there = {"data": data, "new": data.head(3)}
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) == 5
    script = tmp_path / "page.py"
    script.write_text("\n".join(blocks), encoding="utf-8")
    runpy.run_path(str(script), there)
    printed = capsys.readouterr().out
    assert "Fixed effects:" in printed and "Pr(>Chisq)" in printed
    assert (tmp_path / "diagnostics.png").stat().st_size > 10_000


def test_the_table_for_users_of_lme4_names_attributes():
    fit = crosslmm.lmer("rt ~ length + condition + (1 | subject)", times(), engine="search")
    rows = re.findall(r"^\| (.+?) \| (.+) \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    code = [cell for _, ours in rows for cell in re.findall(r"`([^`]+)`", ours)]
    used = {name for cell in code for name in re.findall(r"\bfit\.(\w+)", cell)}
    assert len(used) > 15 and all(hasattr(fit, name) for name in used)
    assert {name for cell in code for name in re.findall(r"\bcrosslmm\.(\w+)", cell)} == {
        "lmer",
        "anova",
    }
