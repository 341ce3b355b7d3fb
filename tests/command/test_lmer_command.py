"""`recency lmer`: tables of three formats in, the summary and the fixed effects out."""

import io
import re
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow
import pytest

import recency
from recency.command.main import main

FORMULA = "rt ~ day + cond + (1 | subject)"


@pytest.fixture(scope="module")
def data():
    random = np.random.default_rng(1)
    table = pd.DataFrame({"subject": np.repeat(list("abcdefgh"), 10), "day": [*range(10)] * 8})
    table["cond"] = ["None", "null"] * 40  # levels, not missing values
    effect = np.repeat(random.normal(0, 30, 8), 10)
    return table.assign(rt=250.0 + 10 * table["day"] + effect + random.normal(0, 20, 80))


def written(data, name):
    if name.endswith(".parquet"):
        data.to_parquet(name)
    else:
        data.to_csv(name, index=False, sep="\t" if name.endswith(".tsv") else ",")


def summary(data, **settings):
    return recency.lmer(FORMULA, data, engine="search", **settings).summary()


def call(*arguments):
    return main(["lmer", *arguments, "--engine", "search"])


@pytest.mark.parametrize("name", ["times.csv", "times.tsv", "times.parquet"])
def test_the_summary_is_the_function_s(name, data, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    written(data, name)
    assert call(name, FORMULA) == 0
    shown = capsys.readouterr()
    assert shown.out == summary(data) + "\n" and "condnull" in shown.out and shown.err == ""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(Path(name).read_bytes())))
    assert call("-", FORMULA) == 0
    assert capsys.readouterr().out == shown.out


@pytest.mark.parametrize(
    ("name", "read"),
    [
        ("fixed.csv", pd.read_csv),
        ("fixed.tsv", lambda path: pd.read_csv(path, sep="\t")),
        ("fixed.parquet", pd.read_parquet),
    ],
)
def test_fixed_effects_are_written(name, read, data, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    written(data, "times.csv")
    assert call("times.csv", FORMULA, "--out", name) == 0
    assert capsys.readouterr().out == summary(data) + "\n"
    expected = recency.lmer(FORMULA, data, engine="search").fixed
    found = read(name)
    assert found["term"].tolist() == ["(Intercept)", "day", "condnull"]
    np.testing.assert_allclose(found[["estimate", "se", "t"]], expected.to_numpy())
    assert call("times.csv", FORMULA, "--out", "-") == 0
    assert capsys.readouterr().out.startswith("term,estimate,se,t\n(Intercept),")


def test_p_values_are_printed_and_written(data, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    written(data, "times.csv")
    options = ["--reml", "--ddf", "Kenward-Roger"]
    assert call("times.csv", FORMULA, *options, "--out", "fixed.csv") == 0
    settings = {"reml": True, "ddf": "Kenward-Roger"}
    assert capsys.readouterr().out == summary(data, **settings) + "\n"
    fixed = pd.read_csv("fixed.csv").set_index("term")
    expected = recency.lmer(FORMULA, data, engine="search", **settings).fixed
    np.testing.assert_allclose(fixed[["df", "p"]], expected[["df", "p"]])
    assert 60 < fixed.loc["day", "df"] < 80 and fixed.loc["day", "p"] < 1e-6


def test_the_whole_fit_is_written(data, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    data = data.assign(w=1.0 + data.index % 3, o=data["day"] / 2)
    written(data, "times.csv")
    formula = "rt ~ day + (1 + day | subject)"
    options = ["--weights", "w", "--offset", "o", "--tables", "fit"]
    assert call("times.csv", formula, *options) == 2
    assert "--tables fit: no such folder" in capsys.readouterr().err
    Path("fit").mkdir()
    assert call("times.csv", formula, *options) == 0
    fit = recency.lmer(formula, data, engine="search", weights="w", offset="o")
    assert capsys.readouterr().out == fit.summary() + "\n"
    tables = {path.stem: pd.read_csv(path) for path in Path("fit").iterdir()}
    row = tables["fit"].loc[0]
    assert (row.loglik, row.sigma) == (pytest.approx(fit.loglik), pytest.approx(fit.sigma))
    assert (row.npar, row.nobs, row.reml, row.converged) == (6, 80, False, True)
    np.testing.assert_allclose(tables["fixed"].iloc[:, 1:], fit.fixed)
    np.testing.assert_allclose(tables["covariance"].iloc[:, 1:], fit.covariance)
    np.testing.assert_allclose(tables["random"].sd, fit.random.sd)
    pairs = tables["correlations"].set_index(["group", "term", "other"]).correlation
    wanted = fit.correlations["subject"].loc["(Intercept)", "day"]
    assert pairs["subject", "day", "(Intercept)"] == pytest.approx(wanted)
    modes = tables["modes"].pivot(index="level", columns="term", values="mode")
    np.testing.assert_allclose(modes, fit.modes["subject"][modes.columns])


@pytest.mark.parametrize("missing", ["", "NA", "NaN", "."])
def test_missing_values_are_dropped_and_counted(missing, data, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    holed = data.astype({"rt": "object"})
    holed.loc[3, "rt"] = missing
    written(holed, "times.csv")
    assert call("times.csv", FORMULA) == 0
    shown = capsys.readouterr().out
    assert "Note: 1 of 80 rows lack a value" in shown
    assert shown == summary(data.assign(rt=data["rt"].mask(data.index == 3))) + "\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["absent.csv", FORMULA], "absent.csv: No such file or directory"),
        (["times.xlsx", FORMULA], "times.xlsx must end in .csv, .tsv or .parquet"),
        (["empty.csv", FORMULA], "empty.csv is empty"),
        (["torn.csv", FORMULA], "torn.csv, line 3: "),
        (["torn.parquet", FORMULA], "torn.parquet is no whole Parquet file ("),
        (["times.csv", "rt ~ dya + (1 | subject)"], "no column 'dya'; did you mean 'day'?"),
        (["times.csv", "rt ~ "], "formula 'rt ~ '"),
        (["times.csv", FORMULA, "--ddf", "Kenward-Roger"], "REML"),
        (["times.csv", FORMULA, "--out", "fixed.xlsx"], "fixed.xlsx must end in .csv"),
    ],
)
def test_input_at_fault_is_one_line(arguments, message, data, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    written(data, "times.csv")
    (tmp_path / "empty.csv").write_text("\n")
    for name in ("torn.csv", "torn.parquet"):
        (tmp_path / name).write_text('a,b\n1,2\n"3,4\n')
    assert call(*arguments) == 2
    shown = capsys.readouterr()
    assert shown.out == "" and shown.err.count("\n") == 1
    assert shown.err.startswith("recency lmer: ") and message in shown.err


HEADER, ROW = "subject,day,cond,rt\n", "a,1,None,250\n"
REFUSED = {
    "a separator at each end": (
        HEADER + (ROW.strip() + ",\n") * 9,
        "line 2: 5 fields .* at the end",
    ),
    "row names without a name": (HEADER + f"1,{ROW}" * 9, "line 2: 5 fields .* row names"),
    "a field less": (HEADER + ROW * 9 + "a,1,250\n", "line 11: 3 fields"),
    "a name twice": ("subject,day,day,rt\n" + ROW * 9, "the header has day 2 times"),
    "the header again": (HEADER + ROW * 3 + HEADER + ROW, "line 5: the header again"),
    "another encoding": ((HEADER + ROW + "ä,1,x,2\n").encode("latin-1"), "line 3: byte 0xe4"),
    "a quote that is open": (HEADER + ROW + '"a,1,None,250\n' + ROW, "line [34]"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_damaged_table_is_refused_by_line(name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    text, message = REFUSED[name]
    Path("times.csv").write_bytes(text if isinstance(text, bytes) else text.encode())
    assert call("times.csv", FORMULA) == 2
    assert re.search(message, capsys.readouterr().err)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda day: [f"{each},5" for each in day], "day is read as numbers, '0,5' as 0.5"),
        (lambda day: ["n/a" if n == 3 else each for n, each in enumerate(day)], "'n/a' of day"),
        (
            lambda day: ["3 d" if n == 3 else each for n, each in enumerate(day)],
            "day is '3 d' in line 5, no number (1 such",
        ),
    ],
)
def test_what_is_no_plain_number_is_said(change, said, data, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    changed = data.assign(day=change(data["day"]))
    changed.to_csv("times.csv", index=False)
    assert call("times.csv", FORMULA) == 0
    shown = capsys.readouterr()
    assert said in shown.err and shown.err.count("\n") == 1
    if "0,5" in said:
        assert shown.out == summary(data.assign(day=data["day"] + 0.5)) + "\n"
    elif "n/a" in said:
        assert shown.out == summary(data.assign(day=data["day"].mask(data.index == 3))) + "\n"
    else:
        assert "day3 d" in shown.out


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda d: d.assign(rt=d.rt.mask(d.index % 50 == 3, -999)), "rt is -999 in"),
        (lambda d: d.assign(rt=d.rt.mask(d.index % 50 == 3, 99999)), "rt is 99999 in"),
        (
            lambda d: d.assign(subject=d.subject.astype(str).where(d.index % 9 > 0, d.subject.astype(str).str.upper())),
            "subject has labels in two spellings",
        ),
        (lambda d: d.assign(day=[f"{each} d" for each in d.day]), "day has labels such as"),
    ],
)  # fmt: skip
def test_what_may_be_no_value_or_another_label_is_said(
    change, said, data, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    changed = change(data.assign(subject="s" + data.subject.astype(str)))
    changed.to_csv("times.csv", index=False)
    assert call("times.csv", FORMULA) == 0
    assert f"data: {said}" in (shown := capsys.readouterr().err) and shown.count("\n") == 1
    for frame in (changed, pyarrow.Table.from_pandas(changed)):
        with pytest.warns(recency.InputWarning, match=said) as warned:
            summary(frame)
        assert [each.filename for each in warned] == [__file__]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda day: [f"{each},5" for each in day], "day holds numbers as text, such as '0,5'"),
        (lambda day: [each if n != 3 else "n/a" for n, each in enumerate(day)], "'n/a' in row 3, no"),
        (lambda day: day.astype(str).astype("category"), "day holds numbers as text, such as '0'"),
    ],
)  # fmt: skip
def test_numbers_that_are_text_in_a_data_frame_are_warned_of(change, said, data):
    with pytest.warns(recency.InputWarning, match=said):
        summary(data.assign(day=change(data["day"])))


def test_a_data_frame_as_it_should_be_is_not_warned_of(data, recwarn):
    summary(data.assign(subject=data.subject.map(dict(zip("abcdefgh", map(str, range(8)))))))
    assert not recwarn.list


def test_a_data_frame_with_a_damage_is_refused_by_column(data):
    again = pd.concat([data, pd.DataFrame([data.columns], columns=data.columns, index=[80])])
    with pytest.raises(recency.InputError, match="'rt' has .* values, .* such as 'rt' in row 80"):
        summary(again)
    with pytest.raises(recency.InputError, match="the data have several columns 'day'"):
        summary(pd.concat([data, data[["day"]]], axis=1))


def test_semicolons_separate_as_commas_do(data, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    data.to_csv("times.csv", index=False, sep=";", decimal=",")
    assert call("times.csv", FORMULA) == 0
    assert capsys.readouterr().out == summary(data) + "\n"


def test_row_names_with_an_empty_name_are_no_fault(data, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    data.to_csv("times.csv")
    assert call("times.csv", FORMULA) == 0
    assert capsys.readouterr().out == summary(data) + "\n"


def test_all_other_columns_are_named(data, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    written(data, "times.csv")
    for engine in ("search", "auto", "lme4"):
        assert (
            main(["lmer", "times.csv", "rt ~ . - subject + (1 | subject)", "--engine", engine]) == 2
        )
        assert "'.' is all other columns" in capsys.readouterr().err
