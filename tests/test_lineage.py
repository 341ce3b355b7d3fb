"""Records of files: jobs refuse inputs that are edited, another file's, or made from others."""

import json
import os
import sys
from dataclasses import replace
from types import SimpleNamespace

import pytest

from recency import digests, lineage
from recency.errors import REFUSALS
from recency.workflow.engine import results_folder
from recency.workflow.engine.job import logged


class Named(list):
    """A job's files, parameters or wildcards, as Snakemake gives them."""

    def __init__(self, **values):
        flat = [v if isinstance(v, list) else [v] for v in values.values()]
        super().__init__(item for part in flat for item in part)
        self.values = values

    def items(self):
        return self.values.items()


def job(rule, inputs, outputs, params=(), wildcards=()):
    files = {"made": list(map(str, outputs))}
    return SimpleNamespace(
        rule=rule,
        input=list(map(str, inputs)),
        output=Named(**files),
        params=Named(**dict(params)),
        wildcards=Named(**dict(wildcards)),
        resources={},
    )


def run(rule, inputs, outputs, text="", **more):
    """Do what a rule's job does: read its inputs, write its outputs."""
    made = job(rule, inputs, outputs, **more)
    digests_of_inputs = lineage.require(made.input, made.output)
    for path in outputs:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{rule} {text} of {path.name}: {[p.read_text() for p in inputs]}")
    lineage.write(made, digests_of_inputs)
    return made


@pytest.fixture
def root(tmp_path):
    """Words and the surprisal of two LMs, of a raw file that lies elsewhere."""
    root = tmp_path / "results" / "study" / "cores"
    results_folder.open_root(root, "study", "cores")
    raw = tmp_path / "raw.txt"
    raw.write_text("the cat sat")
    run("words", [raw], [root / "datasets/cats/words.parquet"])
    for lm in ("gpt2", "window"):
        out = root / f"surprisal/{lm}/cats.parquet"
        words = root / "datasets/cats/words.parquet"
        run("surprisal", [words], [out], lm, params={"lm": lm, "seed": 3, "files": {"a": 1}})
    return root


def surprisals(root):
    return [root / f"surprisal/{lm}/cats.parquet" for lm in ("gpt2", "window")]


def swap(first, second):
    """Swap two files, with their times."""
    spare = first.with_name("spare")
    first.rename(spare), second.rename(first), spare.rename(second)


def edit(path, text="edited"):
    """Edit a file and set its times back."""
    before = path.stat()
    path.write_text(text)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def require(root, *inputs):
    return lineage.require(inputs or surprisals(root), [root / "regression/fit.json"])


def test_a_record_says_which_file_it_is_and_what_it_was_made_from(root):
    path = surprisals(root)[0]
    record = lineage.read(root, "surprisal/gpt2/cats.parquet")
    assert (record.rule, record.role, record.sha256) == ("surprisal", "made", digests.sha256(path))
    assert record.identity == {"lm": "gpt2", "dataset": "cats", "seed": 3}
    words = "datasets/cats/words.parquet"
    assert record.inputs == {words: digests.sha256(root / words)}
    raw = lineage.read(root, words).outside
    assert list(raw.values()) == [digests.sha256(root.parents[2] / "raw.txt")]
    assert set(require(root).values()) == {digests.sha256(p) for p in surprisals(root)}


def test_equal_runs_have_equal_records(root):
    before = {path: path.read_bytes() for path in root.rglob("lineage/**/[!.]*.json")}
    words = root / "datasets/cats/words.parquet"
    run("words", [root.parents[2] / "raw.txt"], [words])
    run("surprisal", [words], surprisals(root)[:1], "gpt2", params={"lm": "gpt2", "seed": 3, "files": {"a": 1}})  # fmt: skip
    assert len(before) == 4
    assert {path: path.read_bytes() for path in before} == before


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (lambda root: edit(surprisals(root)[1]), "not what the workflow wrote .edited by hand"),
        (lambda root: edit(surprisals(root)[1], "x" * 99), "not what the workflow wrote"),
        (lambda root: swap(*surprisals(root)), "that of surprisal/window/cats.parquet"),
        (
            lambda root: surprisals(root)[1].write_bytes(surprisals(root)[0].read_bytes()),
            "that of surprisal/gpt2/cats.parquet",
        ),
        (lambda root: edit(root / "lineage/surprisal/window/cats.parquet.json"), "is damaged"),
        (lambda root: (root / "lineage/surprisal/gpt2/cats.parquet.json").unlink(), "no record"),
    ],
)
def test_what_is_not_as_it_was_written_is_refused(root, damage, reason):
    damage(root)
    with pytest.raises(REFUSALS, match=rf"surprisal/\w+/cats.parquet: .*{reason}.*: rm /"):
        require(root)


def test_a_file_that_is_swapped_with_its_record_is_refused(root):
    first, second = surprisals(root)
    swap(first, second)
    swap(*(root / f"lineage/surprisal/{lm}/cats.parquet.json" for lm in ("gpt2", "window")))
    with pytest.raises(REFUSALS, match="its record is not that of surprisal/gpt2/cats.parquet"):
        require(root)


def test_a_changed_digest_in_a_record_is_refused(root):
    path = root / "lineage/surprisal/gpt2/cats.parquet.json"
    edit(surprisals(root)[0])
    values = json.loads(path.read_text())
    path.write_text(json.dumps(values | {"sha256": digests.sha256(surprisals(root)[0])}))
    with pytest.raises(REFUSALS, match="damaged"):
        require(root)


def test_what_was_made_from_other_files_is_refused(root):
    words, raw = root / "datasets/cats/words.parquet", root.parents[2] / "raw.txt"
    edit(raw, "the dog sat")
    with pytest.raises(REFUSALS, match=r"words.parquet: it was made from another version of .*raw"):
        require(root, words)
    run("words", [raw], [words])
    require(root, words)
    with pytest.raises(
        REFUSALS, match="gpt2/cats.parquet: it was made from another version of dat"
    ):
        require(root)


def test_files_that_are_gone_are_no_fault(root):
    (root.parents[2] / "raw.txt").unlink()
    require(root, root / "datasets/cats/words.parquet")
    (root / "datasets/cats/words.parquet").unlink()
    require(root)


def test_a_folder_of_results_may_move(root, tmp_path):
    moved = tmp_path / "elsewhere"
    root.rename(moved)
    require(moved, *surprisals(moved))


def test_no_file_is_hashed_twice(root, monkeypatch):
    read = []
    monkeypatch.setattr(digests, "sha256", lambda path: read.append(path) or "0" * 64)
    for path in surprisals(root):
        os.utime(path)  # as Snakemake does when a job ends
    lineage.stamp(surprisals(root))
    require(root), require(root)
    assert read == []
    edit(surprisals(root)[0])
    with pytest.raises(REFUSALS):
        require(root)
    assert read == [str(surprisals(root)[0])]


def test_a_touched_file_is_known_only_if_it_kept_its_size(root):
    first = surprisals(root)[0]
    first.write_text("short")
    lineage.stamp([first])
    with pytest.raises(REFUSALS, match="gpt2"):
        require(root)


def test_a_job_refuses_an_edited_input_and_records_its_output(root, monkeypatch, capsys):
    fit = root / "regression/spr/cats.SPR/gpt2.full.json"
    snakemake = job("regression", surprisals(root), [fit])
    monkeypatch.setattr(sys.modules["__main__"], "snakemake", snakemake, raising=False)
    with logged(root / "logs/fit.log"):
        fit.parent.mkdir(parents=True)
        fit.write_text("{}")
    record = lineage.read(root, "regression/spr/cats.SPR/gpt2.full.json")
    names = {"design": "spr", "dataset": "cats", "measure": "SPR", "lm": "gpt2", "model": "full"}
    assert record.identity == names and len(record.inputs) == 2
    edit(surprisals(root)[0])
    with pytest.raises(SystemExit), logged(root / "logs/fit.log"):
        raise AssertionError("the job ran")
    assert f"error: {surprisals(root)[0]}: its content is not" in capsys.readouterr().err


def test_a_folder_that_leaves_the_results_contains_its_chain(root):
    folder = root / "exports/gpt2"
    folder.mkdir(parents=True)
    made = job("export", surprisals(root)[:1], [folder])
    lineage.write(made, lineage.require(made.input, made.output))
    files = json.loads((folder / "lineage.json").read_text())["files"]
    assert list(files) == ["datasets/cats/words.parquet", "surprisal/gpt2/cats.parquet"]
    assert list(files["datasets/cats/words.parquet"]["outside"]) == ["raw.txt"]
    require(root, folder)
    (folder / "lineage.json").write_text("{}")
    with pytest.raises(REFUSALS, match="exports/gpt2: its content"):
        require(root, folder)


@pytest.mark.parametrize(
    ("stored", "reason"),
    [
        (None, "another version of the workflow .records of format none"),
        ({"format": 0, "study": "study", "scale": "cores"}, "records of format 0, not 1"),
        ({"format": 1, "study": "other", "scale": "cores"}, "the results of study other"),
        ({"format": 1, "study": "study", "scale": "gpu"}, "scale gpu, not of study study"),
        ([], "is damaged"),
        ({"format": 1}, "is damaged"),
    ],
)
def test_results_of_another_version_or_study_are_refused(root, stored, reason):
    results_folder.require_root(root, "study", "cores")
    marker = root / "lineage/root.json"
    marker.unlink() if stored is None else marker.write_text(json.dumps(stored))
    with pytest.raises(REFUSALS, match=reason) as error:
        results_folder.require_root(root, "study", "cores")
    assert "\n" not in str(error.value)


def test_a_new_folder_and_one_with_logs_alone_need_no_records(tmp_path):
    results_folder.require_root(tmp_path / "absent", "study", "cores")
    (tmp_path / "logs").mkdir()
    results_folder.require_root(tmp_path, "study", "cores")


def test_files_are_adopted_as_they_are_but_for_those_with_records(root):
    words = root / "datasets/cats/words.parquet"
    jobs = [
        job("words", [root.parents[2] / "raw.txt"], [words]),
        job("surprisal", [words], surprisals(root)[:1], params={"lm": "gpt2"}),
    ]
    (root / "lineage/surprisal/gpt2/cats.parquet.json").unlink()
    edit(words)
    results_folder.adopt(jobs)
    record = lineage.read(root, "surprisal/gpt2/cats.parquet")
    assert record.adopted and record.inputs == {
        "datasets/cats/words.parquet": digests.sha256(words)
    }
    with pytest.raises(REFUSALS, match="words.parquet: its content"):
        require(root, words)


def test_inputs_that_no_rule_makes_are_adopted_too(root):
    words = root / "datasets/cats/words.parquet"
    (root / "lineage/datasets/cats/words.parquet.json").unlink()
    of_fit = job("regression", [words, root.parents[2] / "raw.txt"], [root / "fit.json"])
    results_folder.adopt_inputs([of_fit])
    record = lineage.read(root, "datasets/cats/words.parquet")
    assert record.adopted and record.sha256 == digests.sha256(words)
    require(root, words)
    results_folder.require_up_to_date([job("words", [], [words], params={"any": 1})])


def test_declared_results_accept_their_inputs_but_no_edit_of_their_own(root):
    words, raw = root / "datasets/cats/words.parquet", root.parents[2] / "raw.txt"
    of_words = job(SimpleNamespace(name="words"), [raw], [words], params={"reader": "new"})
    with pytest.raises(REFUSALS, match="words.parquet would be used, but the config .* -R words$"):
        results_folder.require_up_to_date([of_words])
    results_folder.declare([of_words])
    require(root, words)
    edit(raw)
    with pytest.raises(REFUSALS, match=r"words.parquet would be used, but \S*raw.txt has changed"):
        results_folder.require_up_to_date([of_words])
    results_folder.declare([of_words])
    results_folder.require_up_to_date([of_words])
    edit(words)
    results_folder.declare([of_words])
    with pytest.raises(REFUSALS, match="words.parquet: its content"):
        require(root, words)


def test_a_declaration_over_an_edited_input_states_the_one_that_was_written(root):
    words, out = root / "datasets/cats/words.parquet", surprisals(root)[0]
    original = words.read_bytes()
    edit(words)
    results_folder.declare([job("surprisal", [words], [out])])
    words.write_bytes(original)
    require(root, out)


def test_records_of_another_version_are_replaced_when_they_are_adopted(root):
    marker = root / "lineage/root.json"
    marker.write_text(json.dumps({"format": 0, "study": "study", "scale": "cores"}))
    path = root / "lineage/datasets/cats/words.parquet.json"
    path.write_text(path.read_text().replace('"format": 1', '"format": 0'))
    results_folder.require_root(root, "study", "cores", adopted=True)
    results_folder.open_root(root, "study", "cores", is_new=True)
    results_folder.adopt([job("words", [], [root / "datasets/cats/words.parquet"])])
    results_folder.require_root(root, "study", "cores")
    assert lineage.read(root, "datasets/cats/words.parquet").adopted
    with pytest.raises(REFUSALS, match="results of study study"):
        results_folder.require_root(root, "other", "cores", adopted=True)


def test_the_chain_of_many_files_is_followed_in_linear_time(root):
    words = "datasets/cats/words.parquet"
    record = lineage.read(root, words)
    for number in range(300):
        inputs = dict.fromkeys((f"made/{n}" for n in range(max(0, number - 100), number)), "digest")
        lineage.store(replace(record, file=f"made/{number}", inputs=inputs), root)
    assert len(lineage.chain(root, ["made/299"])) == 300


@pytest.mark.parametrize("text", ["[" * 100_000, "[]", "{}", ""])
def test_a_damaged_record_is_refused(root, text):
    (root / "lineage/surprisal/gpt2/cats.parquet.json").write_text(text)
    with pytest.raises(REFUSALS, match="gpt2/cats.parquet: its record .* is damaged"):
        require(root)
