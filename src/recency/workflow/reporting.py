"""Content of the report: experiments' files with captions, corpora, LMs and methods."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import SimpleNamespace

from jinja2 import Environment, Template

from recency import grids
from recency.evaluations import registry
from recency.evaluations.explore import spec
from recency.evaluations.report import prose
from recency.workflow import products
from recency.workflow.study import Study

#: Figures and tables of reading times that come first, and last; others are in between.
FIRST = (
    *("figure_delta_loglik", "table_delta_loglik", "table_significance"),
    "figure_delta_loglik_by_response",
)
LAST = ("figure_training", "table_observations")
#: The parameters of the page's rule.
SETTINGS = ("study", "notes", "doubts", "experiments", "corpora", "made", "lms", "labels")
#: Keys of the config with free text, which is never interpreted as markup.
TEXT = ("label", "title", "cite", "licence", "note")


def experiments(study: Study) -> list[dict]:
    """Return `file` and `caption` of each figure and table, by experiment.

    The run's experiments come first, in its order, then others that provide numbered tables and
    figures.
    """
    numbered: dict[str, list[str]] = {}
    for name, target in study.targets.items():
        if target["experiment"] not in study.config["run"] and products.covered(study, name):
            numbered.setdefault(target["experiment"], []).extend(target["of"])
    config = _own_text(study.config | study.for_report())
    summaries = products.summaries(study)
    parts = []
    for name in dict.fromkeys([*study.config["run"], *numbered]):
        ranked = name in products.ranked(study)
        folder = f"{products.EXPERIMENT}/".format(experiment=name)
        listed = [row for row in summaries if row["file"].startswith(folder)]
        shown = [
            {
                "file": row["file"],
                "title": row["title"],
                "caption": caption(row["rst"], config, {"experiment": name} | row["wildcards"]),
            }
            for row in _shown(study, name, numbered.get(name))
        ]
        title = study.experiment(name)["title"]
        parts.append(
            {"name": name, "title": title, "ranked": ranked, "shown": shown, "summaries": listed}
        )
    return parts


def caption(path: Path, config: Mapping, wildcards: Mapping[str, str]) -> str:
    """Return a caption filled in with the config, as in Snakemake's report."""
    job = SimpleNamespace(config=config, wildcards=SimpleNamespace(**wildcards))
    return _template(path.read_text(encoding="utf-8")).render(snakemake=job)


@cache
def _template(text: str) -> Template:
    """Compile a caption, which many experiments share."""
    return Environment(trim_blocks=True, autoescape=False).from_string(text)


def _own_text(value, key: str = ""):
    """Return a config with free text escaped."""
    if isinstance(value, Mapping):
        return {name: _own_text(item, name) for name, item in value.items()}
    if isinstance(value, list):
        return [_own_text(item) for item in value]
    return prose.plain(value) if isinstance(value, str) and key in TEXT else value


def _shown(study: Study, experiment: str, only: list[str] | None) -> list[dict]:
    """Return the figures and tables of an experiment: file, title, the caption's path, wildcards."""
    numbers = study.for_report()["numbered"]
    rows = []
    for product in products.of_experiment(study, experiment):
        for stem, title in product.makes.values():
            number = numbers.get(f"{experiment}/{stem}")
            title = f"{number}: {title}" if number else title
            file = products.shown(experiment, stem)
            rst = product.caption(stem)
            rows.append({"file": file, "title": title, "rst": rst, "wildcards": {}, "stem": stem})
    if only is not None:
        return [entry for entry in rows if entry["stem"] in only]
    order = {stem: n for n, stem in enumerate(FIRST)} | {stem: 98 for stem in LAST}
    rows.sort(key=lambda entry: order.get(entry["stem"], 50))
    return rows + [
        entry
        for evaluation in registry.evaluations()
        for entry in _additional(study, experiment, evaluation)
    ]


def _additional(study: Study, experiment: str, name: str) -> list[dict]:
    """Return additional figures of an evaluation: `<caption>.<…>.svg`."""
    evaluation, entries = registry.evaluations()[name], []
    if not evaluation.also or not evaluation.applies(study, experiment):
        return []
    labels = _labelled(_responses(study, experiment))
    for file in evaluation.also(study, experiment):
        stem, *of = Path(file).stem.split(".")
        rst = registry.folder(name) / f"{stem}.rst"
        if not file.endswith(".svg") or not rst.exists():
            continue
        wildcards = dict(zip(("dataset", "measure"), of)) | {"search": Path(file).parent.name}
        words = stem.removeprefix("figure_").replace("_", " ").capitalize()
        title = f"{words}: {labels[of[0]]}" if of else words
        entries.append({"file": file, "title": title, "rst": rst, "wildcards": wildcards})
    return entries


def _responses(study: Study, experiment: str) -> list:
    from recency.figures import comparison  # imports pandas, which checks of a config avoid

    # One entry per measure and design; a grid has many designs.
    once = {(r["dataset"], r["measure"]): r for r in study.all_responses(experiment)}
    return comparison.records([], once.values())[1]


def _labelled(responses: list) -> dict[str, str]:
    from recency.figures import comparison

    return comparison.dataset_labels(dict.fromkeys(responses))


def labels(study: Study) -> dict[str, str]:
    """Return dataset → unique label, for the datasets of the run."""
    return _labelled([r for name in study.config["run"] for r in _responses(study, name)])


def corpora(study: Study) -> list[dict]:
    """Return the corpora of the run with licence, citation and quality report."""
    named, checks = labels(study), _checks(study)
    measures: dict[str, dict[str, None]] = {}
    for name in study.config["run"]:
        for row in study.all_responses(name):
            measures.setdefault(row["dataset"], {})[row["measure"]] = None
    rows = []
    for dataset, asked in measures.items():
        entry = study.config["datasets"][dataset]
        check = f"datasets/{dataset}/check.html"
        rows.append(
            {
                "dataset": dataset,
                "label": named[dataset],
                "measures": ", ".join(asked),
                "cite": entry.get("cite", ""),
                "licence": entry.get("licence", ""),
                "check": check if f"<results>/{check}" in checks else "",
            }
        )
    for row in study.for_report()["other_data"]:
        about = {key: row[key] or "" for key in ("label", "cite", "licence")}
        rows.append(about | {"dataset": row["label"], "measures": row["kind"], "check": ""})
    return rows


def _checks(study: Study) -> list[str]:
    pages = [page for name in study.config["run"] for page in products.check_pages(study, name)]
    return list(dict.fromkeys(pages))


def _lms(study: Study) -> list[tuple[str, str, str]]:
    """Return label, bias and training of each LM of the run, without steps of learning curves."""
    names = dict.fromkeys(
        lm
        for name in study.config["run"]
        for lm in study.experiment(name)["lms"]
        if not grids.has_steps(study.experiment(name)) or "step" not in study.lms[lm]
    )
    rows = []
    for name in names:
        lm = study.lms[name]
        bias, how = lm.get("bias"), ""
        if bias and bias["form"] != "none":
            settings = ", ".join(f"{key} {value}" for key, value in bias.items() if key != "form")
            how = f"{bias['form']} ({settings})" if settings else bias["form"]
            how += ", in training too" if lm.get("applied") == "training" else ", at inference only"
        if "surprisals" in lm:
            source = "a table of surprisals"
        elif "checkpoint" in lm:
            source = f"checkpoint {lm['checkpoint']}"
        elif "languages" in lm:
            source = ", ".join(f"{code}: {member}" for code, member in lm["languages"].items())
        elif "ngram" in lm:
            source = "an n-gram model"
        elif "interpolate" in lm:
            source = (
                f"a mix of {' and '.join([*lm['interpolate'], *(['a cache'] * ('cache' in lm))])}"
            )
        else:
            recipe = study.config["recipes"][lm["recipe"]]
            steps = lm.get("step", recipe.get("steps", 0))
            tokens = steps * recipe["batch_sequences"] * recipe["sequence_length"]
            seen = f"{tokens:,} tokens" if steps else f"{recipe['epochs']} epochs"
            source = f"{_corpus(study, lm['corpus'])}, {seen}, seed {lm['seed']}"
        rows.append((lm.get("label", name), how or "none", source))
    return rows


def _of_trained(study: Study) -> list[tuple[str, str]]:
    """Return the settings of the LMs trained at the scale."""
    config, scale = study.config, study.scale
    text = config["corpora"][scale["corpus"]]
    rows = [("Scale", scale.get("label", config["scale"]))]
    if scale.get("architecture"):
        settings = config["architectures"][scale["architecture"]].items()
        rows.append(("Architecture", ", ".join(f"{k.replace('_', ' ')} {v}" for k, v in settings)))
    about = [text.get("label", scale["corpus"]), text.get("cite"), text.get("licence")]
    return [*rows, ("Training text", "; ".join(filter(None, about)))]


def _corpus(study: Study, name: str) -> str:
    return study.config["corpora"][name].get("label", name)


def _made(study: Study) -> list[tuple[str, str]]:
    """Return the settings of the scale."""
    rows = _of_trained(study) if products.of_trained(study) else []
    rows.append(("Unigram surprisal", f"estimated from {_unigram(study, study.scale['unigram'])}"))
    rows.append(("Method", "Clark, Oh & Schuler (COLING 2025), docs/regression.md"))
    return rows


def _unigram(study: Study, name: str) -> str:
    """Return the source of a unigram model."""
    entry = study.config["unigrams"][name]
    if "languages" in entry:
        return ", ".join(
            f"{_unigram(study, member)} ({code})" for code, member in entry["languages"].items()
        )
    if "wordfreq" in entry:
        return f"wordfreq ({entry['wordfreq']})"
    return _corpus(study, entry["corpus"]) if "corpus" in entry else "counts"


def inputs(study: Study) -> dict[str, list[str] | str]:
    """Return keyword → input files of the page."""
    parts = experiments(study)
    return {
        "shown": [entry["file"] for part in parts for entry in part["shown"]],
        "verdicts": [
            f"{products.EXPERIMENT}/verdict.json".format(experiment=part["name"])
            for part in parts
            if part["ranked"]
        ],
        "delta_loglik": [
            f"{products.EXPERIMENT}/delta_loglik.csv".format(experiment=part["name"])
            for part in parts
            if part["ranked"]
        ],
        "others": [entry["file"] for part in parts for entry in part["summaries"]],
        "checks": _checks(study),
        "histories": products.histories(study),
        "not_run": "<results>/not_run.csv",
    }


def parameters(study: Study) -> dict:
    """Return keyword → function of wildcards, for the parameters of the page's rule.

    They are computed when the job is planned, because Snakemake reads the rules again in every job.
    """
    cached = cache(lambda: settings(study))
    return {key: lambda wildcards, key=key: cached()[key] for key in SETTINGS}


def _explorer(study: Study, experiment: str) -> str:
    """Return the path of an experiment's explorer relative to the page, "" if this run makes none."""
    is_made = experiment in study.config["run"] and spec.applies(study, experiment)
    return spec.PAGE.format(experiment=experiment).removeprefix("<results>/") if is_made else ""


def settings(study: Study) -> dict:
    """Return the parameters of the page."""
    summary = products.summary_settings(study)
    return {
        "study": summary["study"],
        "notes": summary["notes"],
        "doubts": summary["doubts"],
        "experiments": [
            {
                "title": part["title"],
                "ranked": part["ranked"],
                "explorer": _explorer(study, part["name"]),
                "shown": [{k: entry[k] for k in ("title", "caption")} for entry in part["shown"]],
                "summaries": [{k: s[k] for k in ("module", "heading")} for s in part["summaries"]],
            }
            for part in experiments(study)
        ],
        "corpora": corpora(study),
        "made": _made(study),
        "lms": _lms(study),
        "labels": labels(study),
    }
