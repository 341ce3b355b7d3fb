"""What a bias looks like comes from its form and parameters; what the config calls it is no matter."""

import copy
import doctest

import pytest

from project import ROOT, load
from recency import config as configuration
from recency.errors import InputError
from recency.evaluations.reading_times import figure_delta_loglik, figure_perplexity
from recency.figures import comparison, encoding, papers, style

PUBLISHED = ROOT / "data" / "published"


def renamed(config: dict) -> tuple[dict, dict[str, str]]:
    """Name every LM and bias of a config anew, in the opposite order; return old → new LM too."""
    config = copy.deepcopy(config)
    lms = {name: f"x{len(config['lms']) - place}" for place, name in enumerate(config["lms"])}
    biases = {name: f"b{len(lms) - place}" for place, name in enumerate(config["biases"])}
    config["biases"] = {biases[name]: bias for name, bias in config["biases"].items()}
    changed = {}
    for name, lm in config["lms"].items():
        new = {key: value for key, value in lm.items() if key != "label"}
        new |= {"bias": biases[lm["bias"]]} if "bias" in lm else {}
        others = {key: lms[lm[key]] for key in ("base", "weights") if key in lm}
        changed[lms[name]] = new | others
    return config | {"lms": changed}, lms


def models(config: dict, names: list[str]) -> list[comparison.LM]:
    rows = [configuration.described(n, configuration.language_model(config, n)) for n in names]
    return comparison.records(rows, [])[0]


def drawn(lms: list[comparison.LM]) -> dict:
    """Say how LMs are drawn, grouped, matched and told apart, by their places in the list."""
    place = {lm.lm: i for i, lm in enumerate(lms)}
    looks = style.looks(lms)
    published = papers.delta(PUBLISHED / "clark2025_table2.csv", lms)
    return {
        "looks": [looks[lm.lm] for lm in lms],
        "kinds": [lm.kind for lm in lms],
        "slopes": [encoding.slope(lm.bias) for lm in lms],
        "rows": [[place[a.lm] for a in group] for _, group in figure_delta_loglik.rows_of(lms)],
        "lines": [[place[a.lm] for a in group] for group in figure_perplexity.series(lms)],
        "published": {place[lm]: row.tolist() for lm, row in published.iterrows()},
    }


@pytest.mark.parametrize(
    "name", ["clark2025", "controls", "working_memory", "working_memory_100M", "devarda_marelli"]
)
def test_names_change_nothing(name):
    config = load()
    other, lms = renamed(config)
    names = config["experiments"][name]["lms"]
    assert drawn(models(config, names)) == drawn(models(other, [lms[each] for each in names]))


def test_published_values_are_found_by_the_bias():
    """All 19 LMs of Table 2 find their own row, and no other LM of the config finds any."""
    config = load()
    names = [n for n in config["lms"] if not n.startswith(("GPT-2", "gpt2", "MLM"))]
    lms = models(config, names)
    table = papers.rows(PUBLISHED / "clark2025_table2.csv", lms).set_index("lm").Total
    raw = comparison.table(PUBLISHED / "clark2025_table2.csv", ["lm"]).set_index("lm").Total
    label = {lm.lm: lm.label for lm in lms}
    assert {label[lm]: value for lm, value in table.items()} == raw.to_dict()
    few = models(config, config["experiments"]["devarda_marelli"]["lms"])
    assert set(papers.rows(PUBLISHED / "devarda_marelli2024_daic.csv", few).lm) == {"gpt2-dVM"}


def test_a_published_table_must_say_of_which_bias_its_rows_are(tmp_path):
    (tmp_path / "t.csv").write_text("lm,UCL SPR\nPythia,1\n")
    with pytest.raises(
        InputError, match="no column applied, form, parameters, base, endpoint; .*README"
    ):
        papers.delta(tmp_path / "t.csv", [])
    (tmp_path / "t.csv").write_text(
        "lm,applied,form,parameters,base,endpoint,UCL SPR\nw,training,window,,all,modelblocks,1\n"
        "v,training,window,width=4,all,modelblocks,2\n"
    )
    lms = models({**load(), "lms": {"a": {"bias": "window-4"}, "b": {"bias": "window-5"}}}, ["b"])
    assert papers.delta(tmp_path / "t.csv", lms)["UCL SPR"].to_dict() == {"b": 1}
    lms = models({**load(), "lms": {"a": {"bias": "window-4"}}}, ["a"])
    with pytest.raises(InputError, match="two rows have the same bias"):
        papers.delta(tmp_path / "t.csv", lms)


@pytest.mark.parametrize(
    ("bias", "kind"),
    [
        ({"form": "linear", "slopes": "mix"}, "ALiBi-mix"),
        ({"form": "linear"}, "ALiBi-mix"),
        ({"form": "linear", "slopes": 4}, "ALiBi-uniform"),
        ({"form": "linear", "slopes": [2, 2]}, "ALiBi-uniform"),
        ({"form": "linear", "slopes": [2, 1]}, "ALiBi-by-head"),
        ({"form": "linear_both", "slopes": 1}, "ALiBi-uniform in both directions"),
        ({"form": "linear_both", "offset": 0}, "ALiBi-mix in both directions, symmetric"),
        ({"form": "two_slopes", "back": 1}, "ALiBi, two slopes"),
        ({"form": "primacy_recency", "parts": "both"}, "primacy-recency"),
        ({"form": "primacy_recency", "parts": "primacy"}, "primacy"),
        ({"form": "exponential", "decay": 3}, "dVM"),
        ({"form": "exponential", "layers": [0, 2]}, "dVM, layers 0, 2"),
        ({"form": "mine", "width": 3}, "mine"),
    ],
)
def test_kinds(bias, kind):
    assert encoding.kind(bias) == kind


def test_recurrent_lms_are_drawn_by_their_kind_of_memory():
    """None looks like unbiased attention; every memory of the config has a style of its own."""
    memories = load("config/open.yaml")["memories"]
    rows = [
        {"lm": name, "label": name, "bias": {"form": "none"}, "applied": "none"}
        | {"network": {"memory": memory}}
        for name, memory in memories.items()
    ]
    lms, _ = comparison.records(rows, [])
    kinds = {lm.lm: lm.memory for lm in lms}
    assert kinds["window-4"] == "window of words" and kinds["FOFE-units"] == kinds["SRNN"]
    assert (kinds["FOFE-0_7"], kinds["RNN"], kinds["LSRC"]) == ("fading", "rewritten", "gated")
    assert set(kinds.values()) <= encoding.STYLES.keys()
    assert "#404040" not in {look.colour for look in style.looks(lms).values()}


def test_every_form_of_the_config_has_a_style_of_its_own():
    kinds = {encoding.kind(bias) for bias in load()["biases"].values()}
    assert kinds - encoding.STYLES.keys() == {"dVM, last layer"}
    assert len(set(encoding.STYLES.values())) == len(encoding.STYLES)


def test_biases_without_a_style_take_what_is_free():
    primacy = {"form": "primacy_recency", "parts": "primacy"}
    styles = encoding.styles(["new", encoding.kind(primacy), "newer"])
    assert styles["primacy"] == encoding.STYLES["primacy"] and len(set(styles.values())) == 3


def test_networks_of_several_seeds_are_not_joined():
    """A line or a row is of LMs that differ in one respect; those of another seed stand apart."""
    config = load()
    for name in ("ALiBi-1-TI", "ALiBi-4-TI"):
        config["lms"][f"{name} again"] = config["lms"][name] | {"seed": 2}
    names = ["ALiBi-1-I", "ALiBi-1-TI", "ALiBi-4-TI", "ALiBi-1-TI again", "ALiBi-4-TI again"]
    lms = models(config, names)
    lines = [[lm.lm for lm in group] for group in figure_perplexity.series(lms)]
    assert lines == [names[:1], names[1:3], names[3:]]
    rows = [(name, len(group)) for name, group in figure_delta_loglik.rows_of(lms)]
    assert rows == [("ALiBi-1", 2)] + [(name, 1) for name in names[2:]]


@pytest.mark.parametrize(
    ("labels", "name"),
    [
        (["dVM-I", "dVM-TI"], "dVM"),
        (["window 4", "window 4, trained"], "window 4"),
        (["window 4", "window 48"], "window"),
        (["x12", "x13"], "x12 / x13"),
    ],
)
def test_a_row_is_named_by_what_its_labels_share(labels, name):
    bias = {"form": "window", "width": 4}
    rows = [
        {"lm": label, "label": label, "bias": bias, "applied": applied}
        for label, applied in zip(labels, ("inference", "training"), strict=True)
    ]
    assert [row for row, _ in figure_delta_loglik.rows_of(comparison.records(rows, [])[0])] == [
        name
    ]


def test_lms_of_one_kind_are_told_apart_where_a_legend_names_them():
    lms = models(load(), load()["experiments"]["clark2025"]["lms"])
    alone, apart = style.looks(lms), style.looks(lms, apart=True)
    assert list(apart) == list(alone) and len(set(alone.values())) < len(lms)
    assert len({(look.colour, look.marker, look.face) for look in apart.values()}) == len(lms)
    assert all((apart[n].face == "white") == (alone[n].face == "white") for n in alone)
    assert style.looks(lms[:2], apart=True) == style.looks(lms[:2])  # what is alone has its own


def test_examples_of_kinds():
    found = doctest.testmod(encoding)
    assert found.attempted and not found.failed
