"""How a study's config comes together: corpus files, config.yaml, overlays, groups of LMs."""

import copy
import re
import shutil
from collections import Counter

import pytest
import yaml
from snakemake.utils import update_config

from project import ROOT, copy_project, load, plan
from recency.errors import InputError
from recency.workflow.config import checks, loading

CORPUS = """
datasets:
  mine: &mine
    label: Mine
    words: {times: &times {url: "https://x.org/a", sha256: aa}}
    responses: {times: *times}
    filters: {times: "time_ms > 0", edges: "not sentence_first"}
  mine_areas: {<<: *mine, label: Mine by area}
treebanks: {mine: {label: Mine}}
"""
CONFIG = """
datasets: {other: {label: Other}}
lm_groups: {all-I: [b-I, c-I]}
experiments: {one: {lms: [a, all-I, b-TI]}, two: {lms: [b-I, all-I, all-J]}}
"""


@pytest.fixture
def root(tmp_path):
    """Return a folder with a config and one corpus file."""
    (tmp_path / loading.FOLDER).mkdir(parents=True)
    (tmp_path / loading.FOLDER / "mine.yaml").write_text(CORPUS)
    (tmp_path / "config.yaml").write_text(CONFIG)
    return tmp_path


def test_corpus_files_lie_below_the_config_and_overlays(root):
    (root / "over.yaml").write_text(
        "datasets: {mine: {words: {times: {local: a.csv}}, filters: {times: 'time_ms > 9'}}}"
    )
    config = loading.load(root, "over.yaml")
    assert set(config["datasets"]) == {"mine", "mine_areas", "other"}
    mine, areas = config["datasets"]["mine"], config["datasets"]["mine_areas"]
    file = {"url": "https://x.org/a", "sha256": "aa"}
    # What the file writes once, by an anchor, an overlay changes in one place.
    assert mine["words"] == {"times": file | {"local": "a.csv"}}
    assert mine["responses"] == areas["words"] == {"times": file}
    assert mine["filters"] == {"times": "time_ms > 9", "edges": "not sentence_first"}
    assert areas["filters"]["times"] == "time_ms > 0" and areas["label"] == "Mine by area"
    assert config["treebanks"] == {"mine": {"label": "Mine"}}


def test_included_files_lie_below_the_config(tmp_path):
    (tmp_path / "a.yaml").write_text("lms: {x: {bias: none, seed: 1}, y: {bias: none}}")
    (tmp_path / "b.yaml").write_text("lms: {z: {bias: none}}\nprobe: {rank: 3}")
    (tmp_path / "config.yaml").write_text(
        "include: [a.yaml, b.yaml]\nlms: {w: {bias: none}, x: {seed: 2}}"
    )
    config = loading.load(tmp_path)
    assert list(config["lms"]) == ["w", "x", "y", "z"]
    assert config["lms"]["x"] == {"bias": "none", "seed": 2}
    assert config["probe"] == {"rank": 3} and "include" not in config
    (tmp_path / "b.yaml").write_text("lms: {y: {bias: none}}")
    with pytest.raises(InputError, match="b.yaml: lms → y is in a.yaml already"):
        loading.load(tmp_path)
    (tmp_path / "b.yaml").write_text("study: other\nlms: {z: {bias: none}}")
    with pytest.raises(InputError, match="include: b.yaml sets study, .* --configfile b.yaml"):
        loading.load(tmp_path)
    (tmp_path / "b.yaml").unlink()
    with pytest.raises(InputError, match="b.yaml"):
        loading.load(tmp_path)


def test_a_group_stands_for_its_lms(root):
    experiments = loading.load(root)["experiments"]
    assert experiments["one"]["lms"] == ["a", "b-I", "c-I", "b-TI"]
    assert experiments["two"]["lms"] == ["b-I", "c-I", "all-J"]  # no such group: for the check
    (root / "over.yaml").write_text(
        "lm_groups: {all-I: [d-I]}\nexperiments: {two: {lms: [all-I, a]}, three: {lms: 5}}"
    )
    experiments = loading.load(root, "over.yaml")["experiments"]
    assert experiments["one"]["lms"] == ["a", "d-I", "b-TI"]
    assert experiments["two"]["lms"] == ["d-I", "a"] and experiments["three"]["lms"] == 5


def test_null_takes_something_off_an_experiment(root):
    (root / "over.yaml").write_text("experiments: {curves: {minimal_pairs: null, attention: null}}")
    without = loading.load(ROOT, root / "over.yaml")["experiments"]["curves"]
    whole = loading.load(ROOT)["experiments"]["curves"]
    assert whole.keys() - without.keys() == {"minimal_pairs", "attention"}
    assert all(whole[key] == value for key, value in without.items())


def test_a_folder_without_corpus_files_has_none(tmp_path):
    (tmp_path / "config.yaml").write_text("")
    assert loading.load(tmp_path) == {}


BROKEN = {
    "datasets: {a: [}": r"data/corpora/new\.yaml, line 1: ",
    "datasets:\n  a: *b": r"data/corpora/new\.yaml, line 2: found undefined alias",
    "dataset: {a: {}}": r"data/corpora/new\.yaml: unknown key 'dataset'; did you mean 'datasets'\?",
    "lms: {a: {}}": r"data/corpora/new\.yaml: unknown key 'lms'",
    "datasets: [a]": r"data/corpora/new\.yaml: datasets is not a table",
    "- a": r"data/corpora/new\.yaml: not a mapping",
    "a: \x07": r"data/corpora/new\.yaml: not YAML in UTF-8",
    "datasets: {mine: {}}": (
        r"data/corpora/new\.yaml: datasets → mine is in data/corpora/mine\.yaml already; rename one"
    ),
}


@pytest.mark.parametrize("text", BROKEN)
def test_a_broken_corpus_file_is_named(root, text):
    (root / loading.FOLDER / "new.yaml").write_text(text)
    with pytest.raises(InputError, match=BROKEN[text]):
        loading.load(root)


def test_what_the_schema_refuses_is_named_by_file(tmp_path):
    shutil.copytree(ROOT / loading.FOLDER, tmp_path / loading.FOLDER)
    for name in ("config.yaml", "config.schema.yaml"):
        shutil.copy(ROOT / name, tmp_path)
    shutil.copytree(ROOT / "studies", tmp_path / "studies")
    for folder in ("sources", "published"):
        shutil.copytree(ROOT / "data" / folder, tmp_path / "data" / folder)
    checks.check(loading.load(tmp_path), tmp_path / "config.schema.yaml")
    brown = tmp_path / loading.FOLDER / "brown.yaml"
    brown.write_text(brown.read_text().replace("label:", "lable:"))
    with pytest.raises(InputError) as error:
        checks.check(loading.load(tmp_path), tmp_path / "config.schema.yaml")
    listed = str(error.value).splitlines()[1:]
    assert "  data/corpora/brown.yaml: datasets → brown: 'label' is missing" in listed
    unknown = (
        "data/corpora/brown.yaml: datasets → brown: unknown key 'lable'; did you mean 'label'?"
    )
    assert f"  {unknown}" in listed and len(listed) == 2


def test_snakemake_names_a_broken_corpus_file(tmp_path):
    project = copy_project(tmp_path)
    (project / loading.FOLDER / "mine.yaml").write_text("datasets: {mine: }}")
    run = plan(project)
    assert run.returncode != 0 and "Traceback" not in run.stdout
    assert re.search(r"(?m)^data/corpora/mine\.yaml, line 1: ", run.stdout), run.stdout


@pytest.mark.parametrize("overlays", [["config/demo.yaml", "tests/config.tiny.yaml"], []])
def test_a_complete_config_stays_as_it_is(overlays):
    config = load(*overlays)
    before = copy.deepcopy(config)
    loading.complete(config, ROOT)
    assert config == before


@pytest.mark.parametrize("overlay", ["config/demo.yaml", "config/open.yaml"])
def test_overlays_merge_as_snakemake_merges_them(overlay):
    parts = [yaml.safe_load((ROOT / name).read_text()) for name in ("config.yaml", overlay)]

    # Snakemake's reader makes no mapping twice; so does a copy by way of text.
    class Plain(yaml.SafeDumper):
        def ignore_aliases(self, data):
            return True

    theirs, over = (yaml.safe_load(yaml.dump(part, Dumper=Plain)) for part in parts)
    update_config(theirs, over)
    assert loading.merge(*parts) == theirs


def test_a_file_s_address_is_written_once():
    texts = [path.read_text() for path in (ROOT / loading.FOLDER).glob("*.yaml")]
    urls = Counter(url for text in texts for url in re.findall(r"https?://[^\s\"']+", text))
    assert len(urls) > 10 and set(urls.values()) == {1}


def test_every_corpus_of_the_config_has_a_file():
    files = loading.corpus_files(ROOT)
    config = yaml.safe_load((ROOT / "config.yaml").read_text())
    # But for what the papers' replications set of a corpus otherwise than its file.
    overridden = config.pop("datasets")
    assert all(entry.keys() <= {"options", "accept"} for entry in overridden.values())
    assert not config.keys() & set(loading.tables())
    assert load().keys() >= set(loading.tables())
    assert all(re.search(r"\A# .", (ROOT / name).read_text()) for name in files)


NETWORKS = {"lms": {"net": {"label": "Net", "checkpoint": "net"}}}


def test_a_group_of_networks_and_biases_is_each_network_without_and_with_each_bias():
    group = {"weights": ["net"], "biases": ["dVM", "ALiBi-1"]}
    config = NETWORKS | {"lms": dict(NETWORKS["lms"]), "lm_groups": {"all": group}}
    loading.expand_biased(config)
    assert config["lm_groups"]["all"] == ["net", "net-dVM-I", "net-ALiBi-1-I"]
    assert config["lms"]["net-dVM-I"] == {
        "weights": "net", "bias": "dVM", "applied": "inference", "label": "Net + dVM"
    }  # fmt: skip


def test_an_lm_of_the_name_that_is_another_one_is_refused():
    lms = NETWORKS["lms"] | {"net-dVM-I": {"checkpoint": "other"}}
    config = {"lms": lms, "lm_groups": {"all": {"weights": ["net"], "biases": ["dVM"]}}}
    with pytest.raises(InputError, match="lm_groups → all: an LM 'net-dVM-I' already exists"):
        loading.expand_biased(config)


def test_old_keys_get_their_new_names_with_a_notice():
    config = load("config/open.yaml")
    experiment = config["experiments"]["part_of_speech"]["families"]
    reference = experiment.pop("without_part_of_speech")
    experiment["beside"] = reference
    file = config["datasets"]["geco_totals"]["words"]["material"]
    source = file.pop("supplied")
    file["placed"] = source
    notices = "\n".join(loading.complete(config, ROOT))
    assert "experiments → part_of_speech → families → beside: the key is now called" in notices
    assert "datasets → geco_totals → words → material → placed: " in notices
    assert experiment["without_part_of_speech"] == reference and "beside" not in experiment
    file = config["datasets"]["geco_totals"]["words"]["material"]
    assert file["supplied"] == source and "placed" not in file
    assert loading.complete(config, ROOT) == []


def test_the_old_folder_of_supplied_files_is_noticed(tmp_path):
    assert loading.rename({}, tmp_path) == []
    (tmp_path / "data" / "placed").mkdir(parents=True)
    assert "mv data/placed data/supplied" in loading.rename({}, tmp_path)[0]


def test_an_old_key_gets_the_new_name_of_its_entry():
    config = load("config/open.yaml")
    old = {
        "measured_memory": {"dataset": "ucl_spr", "places": 4},
        "rank_metrics": {"dataset": "ucl_spr", "least": 12, "kept": 5},
        "turing_test": {"judgements": {"local": "x.csv"}, "least": 2},
    }
    config["experiments"]["open"] |= old
    config["recipes"]["words-begun"]["vectors"] = {"of": "LBL", "least": 9, "made": False}
    assert len(loading.complete(config, ROOT)) == 6
    assert config["experiments"]["open"]["measured_memory"]["replacements"] == 4
    metrics = config["experiments"]["open"]["rank_metrics"]
    assert (metrics["min_words"], metrics["prompt"]) == (12, 5)
    assert config["experiments"]["open"]["turing_test"]["min_judges"] == 2
    vectors = config["recipes"]["words-begun"]["vectors"]
    assert vectors == {"of": "LBL", "min_count": 9, "compose": False}


def test_names_of_the_user_s_choice_stay():
    config = load("config/open.yaml") | {"treebanks": {"placed": {"label": "x"}, "beside": {}}}
    assert loading.complete(config, ROOT) == []
    assert {"placed", "beside"} <= config["treebanks"].keys()
