"""Figures and tables of experiments: their files, inputs, and entries in the report.

Content of the report: experiments' files with captions, corpora, LMs and methods.
"""

from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from types import SimpleNamespace

from jinja2 import Environment, Template
from snakemake.io import report

from recency import config as configuration
from recency import grids, overrides
from recency.evaluations import registry
from recency.evaluations.explore import spec
from recency.evaluations.registry import Product
from recency.evaluations.report import prose
from recency.workflow.plan import regressions
from recency.workflow.plan.study import Study

#: The parameters of the summary's rule.
SUMMARY = ("study", "experiments", "sections", "files", "notes", "doubts")
EXPERIMENT = "<results>/experiments/{experiment}"
#: Formats of figures and tables; the report shows the first.
FORMATS = {"figure": ("svg", "pdf", "png", "csv"), "table": ("html", "csv", "tex")}
#: Inputs and parameters that any product may use, in addition to those of its evaluation's spec.py.
INPUTS = {"not_run": lambda study, experiment: "<results>/not_run.csv"}
SETTINGS = {
    "lms": Study.lms_of,
    "responses": Study.all_responses,
    "baseline": lambda study, experiment: study.experiment(experiment)["baseline"],
    "title": lambda study, experiment: study.experiment(experiment)["title"],
    **{name: getattr(Study, name) for name in ("ranked_lms", "ranked_baseline", "plain_lms")},
    "variants": Study.variants,
}


def of_experiment(study: Study, experiment: str) -> list[Product]:
    """Return the products of an experiment, given its available files."""
    return [
        product
        for product in registry.products()
        if (evaluation := registry.evaluations()[product.evaluation]).applies(study, experiment)
        and (product.when is None or evaluation.conditions[product.when](study, experiment))
    ]


def experiments_of(study: Study, product: Product) -> list[str]:
    """Return the experiments that have a product."""
    evaluation = registry.evaluations()[product.evaluation]
    return [name for name in study.config["experiments"] if evaluation.applies(study, name)]


def outputs(study: Study, experiment: str) -> list[str]:
    """Return the figures and tables of an experiment in all formats, and their input tables.

    Snakemake notices a deleted file only if a target names it.
    """
    products = of_experiment(study, experiment)
    paths = [path for product in products for s in product.stems for path in formats(experiment, s)]
    folder = EXPERIMENT.format(experiment=experiment)
    read = [file for product in products for file in read_by(study, product, experiment).values()]
    paths += [file for file in read if isinstance(file, str) and file.startswith(f"{folder}/")]
    for evaluation in registry.evaluations().values():
        if evaluation.also and evaluation.applies(study, experiment):
            paths += evaluation.also(study, experiment)
    if registry.ranking().applies(study, experiment):
        paths.append(f"{folder}/methods.md")
    return list(dict.fromkeys(paths))


def formats(experiment: str, stem: str) -> list[str]:
    """Return the files of a figure or table; the report shows the first."""
    path = f"{EXPERIMENT}/{stem}".format(experiment=experiment)
    return [f"{path}.{ending}" for ending in FORMATS[stem.split("_")[0]]]


def shown(experiment: str, stem: str) -> str:
    """Return the file of a figure or table that the report shows."""
    return formats(experiment, stem)[0]


def target_files(study: Study, target: str) -> list[str]:
    """Return the files of a numbered table or figure."""
    entry = study.targets[target]
    return [
        path
        for experiment in configuration.experiments_of(entry)
        for stem in entry["of"]
        for path in formats(experiment, stem)
    ]


def is_covered(study: Study, target: str) -> bool:
    """Return whether a numbered table or figure needs only LMs and data of `run`."""

    def used(names: list[str]) -> set:
        settings = [study.experiment(name) for name in names]
        lms = {lm for entry in settings for lm in entry["lms"]}
        times = {(r["dataset"], r["measure"]) for name in names for r in study.all_responses(name)}
        keys = registry.data()
        data = {(key, n) for entry in settings for key in keys for n in registry.named(entry, key)}
        asked = [value for entry in settings for value in entry.values() if isinstance(value, dict)]
        read = {entry["dataset"] for entry in asked if "dataset" in entry}
        return lms | times | data | {("datasets", name) for name in read | {d for d, _ in times}}

    available = used(study.config["run"]) - study.no_data.keys()
    return used(configuration.experiments_of(study.targets[target])) <= available


def of_run(study: Study) -> list[str]:
    """Return all outputs of a run: summary, report, figures and tables, and quality reports."""
    run = study.config["run"]
    paths = ["<results>/summary.txt", "<results>/report.html"]
    paths += [path for name in run for path in outputs(study, name)]
    numbered = [name for name in study.targets if is_covered(study, name)]
    paths += [path for name in numbered for path in target_files(study, name)]
    return paths + [path for name in run for path in check_pages(study, name)]


def check_pages(study: Study, experiment: str) -> list[str]:
    """Return the quality reports of an experiment's available datasets."""
    return [
        f"<results>/datasets/{name}/check.html" for name in sorted(study.datasets_of(experiment))
    ]


def read_by(study: Study, product: Product, experiment: str) -> dict:
    """Return keyword → input files of a product."""
    own_inputs = registry.evaluations()[product.evaluation].inputs
    files = {}
    for role in product.reads:
        keyword, _, name = role.partition("=")
        function = (INPUTS | dict(own_inputs)).get(name or keyword)
        path = f"{EXPERIMENT}/{name or keyword}.csv".format(experiment=experiment)
        files[keyword] = function(study, experiment) if function else path
    table = study.experiment(experiment).get("published", {}).get(product.published)
    return files | (
        {"published": study.files.shipped(f"data/published/{table}.csv")} if table else {}
    )


def inputs(study: Study, evaluation: str, name: str, wildcards):
    """Return an input declared in an evaluation's spec.py, for the wildcards' experiment."""
    return registry.evaluations()[evaluation].inputs[name](study, wildcards.experiment)


def setting(study: Study, evaluation: str, name: str):
    """Return a setting declared in an evaluation's spec.py that is the same for all experiments."""
    return registry.evaluations()[evaluation].settings[name](study, None)


def setting_of(study: Study, evaluation: str, name: str, wildcards):
    """Return a setting declared in an evaluation's spec.py, for the wildcards' experiment."""
    return registry.evaluations()[evaluation].settings[name](study, wildcards.experiment)


def entry(study: Study, evaluation: str, name: str) -> dict:
    """Return an entry of an evaluation's data without its labels and files."""
    data = registry.evaluations()[evaluation].data
    about = {"label", "licence", "cite", *data.roles}
    return {k: v for k, v in study.config[data.table][name].items() if k not in about}


def parameter(study: Study, product: Product, setting: str):
    """Return a function of wildcards: one of a product's parameters."""
    own_settings = registry.evaluations()[product.evaluation].settings
    keyword, _, name = setting.partition("=")
    function = (SETTINGS | dict(own_settings))[name or keyword]
    return lambda wildcards: function(study, wildcards.experiment)


def parameters(study: Study, product: Product) -> dict:
    """Return keyword → function of wildcards, for the parameters of a product's rule."""
    named = {name.partition("=")[0]: parameter(study, product, name) for name in product.settings}
    return {"module": product.module, "function": product.function} | named


# The summary


def summaries(study: Study) -> list[dict]:
    """Return file, module and heading of each table in the summary."""
    products_of = {name: of_experiment(study, name) for name in study.config["run"]}
    return [
        {
            "file": f"{EXPERIMENT}/{product.summary[0]}".format(experiment=name),
            "module": product.module,
            "function": (*product.summary, "summary")[2],
            "heading": product.summary[1].format(title=study.experiment(name)["title"]),
        }
        for product in registry.products()
        if product.summary
        for name, products in products_of.items()
        if product in products
    ]


def ranked(study: Study) -> list[str]:
    """Return the experiments of this run whose LMs are ranked by ΔLogLik."""
    applies = registry.ranking().applies
    return [name for name in study.config["run"] if applies(study, name)]


def verdict_files(study: Study, experiment: str) -> dict[str, str]:
    """Return the inputs of a verdict: the held-out tests and effects, if any."""
    of = f"{EXPERIMENT}/{{}}.csv".replace("{experiment}", experiment).format
    files = {"delta_loglik": of("delta_loglik"), "intervals": of("delta_loglik_intervals")}
    if regressions.comparisons(study, experiment):
        files["permutation"] = of("permutation")
    if (study.experiment(experiment).get("smallest_effect") or {}).get("ms_per_bit"):
        files["effects"] = of("table_effects")
    return files | {"not_run": "<results>/not_run.csv"}


def verdict_settings(study: Study) -> dict:
    """Return keyword → function of wildcards, for the parameters of the verdict's rule."""
    return {
        "lms": lambda wildcards: study.ranked_lms(wildcards.experiment),
        "responses": lambda wildcards: study.all_responses(wildcards.experiment),
        "baseline": lambda wildcards: study.ranked_baseline(wildcards.experiment),
        "baselines": lambda wildcards: regressions.ranked_baselines(study, wildcards.experiment),
        "simulated": lambda wildcards: [
            name
            for name in study.datasets_of(wildcards.experiment)
            if "simulate" in study.config["datasets"][name]
        ],
        "smallest_effect": lambda wildcards: study.experiment(wildcards.experiment).get(
            "smallest_effect", study.config.get("smallest_effect")
        ),
        "accepted": lambda wildcards: accepted_checks(study, [wildcards.experiment]),
        "unasked": lambda wildcards: study.reason_unasked(wildcards.experiment),
    }


def summarised_files(study: Study) -> dict[str, list[str] | str]:
    """Return keyword → input files of the summary."""
    of = "<results>/experiments/{}/{}".format
    names = ranked(study)
    asked = [name for name in study.config["run"] if study.experiment(name).get("responses")]
    return {
        "delta_loglik": [of(name, "delta_loglik.csv") for name in names],
        "intervals": [of(name, "delta_loglik_intervals.csv") for name in names],
        "verdicts": [of(name, "verdict.json") for name in names],
        "others": [section["file"] for section in summaries(study)],
        "counts": sorted({path for name in asked for path in regressions.counts(study, name)}),
        "histories": histories(study),
        "not_run": "<results>/not_run.csv",
    }


def histories(study: Study) -> list[str]:
    """Return the config.json of each trained network in the run's experiments."""
    trained, kinds = set(study.lms_that_are("trained")), registry.evaluations()
    names = [
        name
        for name in study.config["run"]
        if any(kinds[product.evaluation].uses_lms for product in of_experiment(study, name))
    ]
    lms = [lm for name in names for lm in study.experiment(name)["lms"]]
    lms = [m for lm in lms for m in study.config["lms"][lm].get("languages", {"": lm}).values()]
    asked = [study.trained_as(lm) for lm in lms]
    return [study.weights(lm)[0] for lm in dict.fromkeys(asked) if lm in trained]


def of_trained(study: Study) -> dict:
    """Return the scale, which describes LMs trained in the study; empty if the run has none."""
    return study.scale if histories(study) else {}


def _pretrained_line(study: Study) -> list[str]:
    """Return a line with the run's LMs that are pretrained networks."""
    labels: dict[str, str] = {}
    for name in study.config["run"]:
        for lm in study.experiment(name)["lms"]:
            network = study.lms[study.lms[lm].get("weights", lm)]
            if "checkpoint" in network:
                labels.setdefault(network["checkpoint"], network["label"])
    return [f"Not trained in this study: {', '.join(labels.values())}."] if labels else []


def summary_parameters(study: Study) -> dict:
    """Return keyword → function of wildcards, for the parameters of the summary's rule.

    They are computed when the job is planned, because Snakemake reads the rules again in every job.
    """
    cached = cache(lambda: summary_settings(study))
    return {key: lambda wildcards, key=key: cached()[key] for key in SUMMARY}


def summary_settings(study: Study) -> dict:
    """Return the parameters of the summary."""
    config, scale = study.config, of_trained(study)
    datasets = config["datasets"]
    return {
        "doubts": study.listed_doubts,
        "study": f"{config['study']} ({scale['label']})" if "label" in scale else config["study"],
        "experiments": [
            {
                "experiment": name,
                "title": study.experiment(name)["title"],
                "lms": study.ranked_lms(name),
                "responses": study.all_responses(name),
                "baseline": study.ranked_baseline(name),
            }
            for name in ranked(study)
        ],
        "sections": [
            {key: row[key] for key in ("module", "function", "heading")} for row in summaries(study)
        ],
        "files": {
            "figures and tables": f"results/{config['study']}/{config['scale']}/experiments/"
        },
        "notes": ([scale["note"]] if "note" in scale else [])
        + _pretrained_line(study)
        + sorted(
            {
                f"Corpus {datasets[name]['label']!r}: readers and their times are simulated."
                for name in study.asked
                if "simulate" in datasets[name]
            }
        )
        + accepted_checks(study, config["run"]),
    }


def accepted_checks(study: Study, experiments: Iterable[str]) -> list[str]:
    """Return one line per check that `accept` permits a corpus or LM of experiments to fail."""
    names = list(experiments)
    datasets = {r["dataset"] for name in names for r in study.all_responses(name)}
    lms = {lm for name in names for lm in study.experiment(name)["lms"]}
    return overrides.lines(
        [
            (study.config["datasets"][name]["label"], study.accepted(name))
            for name in datasets - study.not_run.keys()
        ],
        [
            (study.lms[study.but_for_seed(lm)]["label"], study.config["lms"][lm].get("accept", ()))
            for lm in lms
        ],
    )


def chosen(study: Study, rule: str, wildcards) -> dict[str, list[str]]:
    """Return the modules that a rule's job selects by name; see recency.workflow.plan.code."""
    modules = [product.module for product in registry.products() if product.rule == rule]
    if rule in ("summary", "report_page"):
        modules = [section["module"] for section in summaries(study)]
    by_name = configuration.chosen(study.config, wildcards, study.root)
    for evaluation in registry.evaluations().values():
        by_name |= evaluation.chooses(study.config, wildcards) if evaluation.chooses else {}
    return by_name | {registry.PACKAGE: modules}


# The report


def flagged(study: Study, product: Product) -> dict[str, list]:
    """Return keyword → files of a product, flagged for the report."""
    return {
        keyword: files(study, f"{EXPERIMENT}/{stem}", product.caption(stem), title)
        for keyword, (stem, title) in product.makes.items()
    }


def files(
    study: Study, path: str, caption: Path | str, title: str, category: str | None = None
) -> list:
    """Return the files of a figure (PDF, SVG, PNG, data) or table (CSV, HTML, LaTeX).

    The SVG or HTML is flagged for the report: under `category`, or that of its experiment's title.
    """
    if Path(path).name.startswith("table_") or category == "Random effects":
        return [
            f"{path}.csv",
            in_report(study, f"{path}.html", caption, title, category),
            f"{path}.tex",
        ]
    shown = in_report(study, f"{path}.svg", caption, title, category)
    return [f"{path}.pdf", shown, f"{path}.png", f"{path}.csv"]


def in_report(
    study: Study, path: str, caption: Path | str, title: str, category: str | None = None
):
    """Flag a file for the report, under a category, with the title that it is listed by.

    The default category is the experiment's title; a number in a paper precedes the title.
    """
    stem = Path(path).stem

    def of_experiment(wildcards) -> str:
        return study.experiment(wildcards.experiment)["title"]

    def numbered(wildcards) -> dict:
        numbers = study.config["numbered"]
        number = numbers.get(f"{wildcards.experiment}/{stem}")
        return {"what": f"{number}: {title}" if number else title}

    labels = {"what": title} if category else numbered
    return report(path, caption=str(caption), category=category or of_experiment, labels=labels)


#: Figures and tables of reading times that come first, and last; others are in between.
FIRST = (
    *("figure_delta_loglik", "table_delta_loglik", "table_significance"),
    *("figure_delta_loglik_by_response", "figure_difference"),
)
LAST = ("figure_training", "table_observations")
#: The parameters of the page's rule.
REPORT_SETTINGS = ("study", "notes", "doubts", "experiments", "corpora", "made", "lms", "labels")
#: Keys of the config with free text, which is never interpreted as markup.
TEXT = ("label", "title", "cite", "licence", "note")


def experiments(study: Study) -> list[dict]:
    """Return `file` and `caption` of each figure and table, by experiment.

    The run's experiments come first, in its order, then others that provide numbered tables and
    figures.
    """
    numbered: dict[str, list[str]] = {}
    for name, target in study.targets.items():
        for experiment in configuration.experiments_of(target):
            if experiment not in study.config["run"] and is_covered(study, name):
                numbered.setdefault(experiment, []).extend(target["of"])
    config = _own_text(study.config | study.for_report())
    listed_files = summaries(study)
    parts = []
    for name in dict.fromkeys([*study.config["run"], *numbered]):
        is_ranked = name in ranked(study)
        folder = f"{EXPERIMENT}/".format(experiment=name)
        listed = [row for row in listed_files if row["file"].startswith(folder)]
        shown = [
            {
                "file": row["file"],
                "title": row["title"],
                "caption": caption(row["rst"], config, {"experiment": name} | row["wildcards"]),
            }
            for row in _list_products(study, name, numbered.get(name))
        ]
        title = study.experiment(name)["title"]
        parts.append(
            {"name": name, "title": title, "ranked": is_ranked, "shown": shown, "summaries": listed}
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


def _list_products(study: Study, experiment: str, only: list[str] | None) -> list[dict]:
    """Return the figures and tables of an experiment: file, title, the caption's path, wildcards."""
    numbers = study.for_report()["numbered"]
    rows = []
    for product in of_experiment(study, experiment):
        for stem, title in product.makes.values():
            number = numbers.get(f"{experiment}/{stem}")
            title = f"{number}: {title}" if number else title
            file = shown(experiment, stem)
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
    labels = _labels_of_datasets(_responses(study, experiment))
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


def _labels_of_datasets(responses: list) -> dict[str, str]:
    from recency.figures import comparison

    return comparison.dataset_labels(dict.fromkeys(responses))


def labels(study: Study) -> dict[str, str]:
    """Return dataset → unique label, for the datasets of the run."""
    return _labels_of_datasets([r for name in study.config["run"] for r in _responses(study, name)])


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
    pages = [page for name in study.config["run"] for page in check_pages(study, name)]
    return list(dict.fromkeys(pages))


def _lms_of_run(study: Study) -> list[str]:
    """Return the LMs of the run, without steps of learning curves."""
    every = (
        lm
        for name in study.config["run"]
        for lm in study.experiment(name)["lms"]
        if not grids.has_steps(study.experiment(name)) or "step" not in study.lms[lm]
    )
    return list(dict.fromkeys(every))


def lms_in_words(study: Study, lms: Iterable[str]) -> list[tuple[str, str, str]]:
    """Return label, bias and training of LMs."""
    rows = []
    for name in lms:
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


def _settings_of_trained(study: Study) -> list[tuple[str, str]]:
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


def _settings_of_scale(study: Study) -> list[tuple[str, str]]:
    """Return the settings of the scale."""
    rows = _settings_of_trained(study) if of_trained(study) else []
    rows.append(
        ("Unigram surprisal", f"estimated from {unigram_in_words(study, study.scale['unigram'])}")
    )
    asked = {r["design"]: 0 for name in study.config["run"] for r in study.all_responses(name)}
    rows += [(f"Regression {name}", study.config["designs"][name]["formula"]) for name in asked]
    return rows


def unigram_in_words(study: Study, name: str) -> str:
    """Return the source of a unigram model."""
    entry = study.config["unigrams"][name]
    if "languages" in entry:
        return ", ".join(
            f"{unigram_in_words(study, member)} ({code})"
            for code, member in entry["languages"].items()
        )
    if "wordfreq" in entry:
        return f"wordfreq ({entry['wordfreq']})"
    return _corpus(study, entry["corpus"]) if "corpus" in entry else "counts"


def report_inputs(study: Study) -> dict[str, list[str] | str]:
    """Return keyword → input files of the page."""
    parts, of = experiments(study), "<results>/experiments/{}/{}".format
    names = [part["name"] for part in parts if part["ranked"]]
    return {
        "shown": [entry["file"] for part in parts for entry in part["shown"]],
        "verdicts": [of(name, "verdict.json") for name in names],
        "delta_loglik": [of(name, "delta_loglik.csv") for name in names],
        "methods": [of(name, "methods.md") for name in names],
        "others": [entry["file"] for part in parts for entry in part["summaries"]],
        "checks": _checks(study),
        "histories": histories(study),
        "not_run": "<results>/not_run.csv",
    }


def report_parameters(study: Study) -> dict:
    """Return keyword → function of wildcards, for the parameters of the page's rule.

    They are computed when the job is planned, because Snakemake reads the rules again in every job.
    """
    cached = cache(lambda: settings(study))
    return {key: lambda wildcards, key=key: cached()[key] for key in REPORT_SETTINGS}


def _explorer(study: Study, experiment: str) -> str:
    """Return the path of an experiment's explorer relative to the page, "" if this run makes none."""
    is_made = experiment in study.config["run"] and spec.applies(study, experiment)
    return spec.PAGE.format(experiment=experiment).removeprefix("<results>/") if is_made else ""


def settings(study: Study) -> dict:
    """Return the parameters of the page."""
    summary = summary_settings(study)
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
                "summaries": [
                    {k: s[k] for k in ("module", "function", "heading")} for s in part["summaries"]
                ],
            }
            for part in experiments(study)
        ],
        "corpora": corpora(study),
        "made": _settings_of_scale(study),
        "lms": lms_in_words(study, _lms_of_run(study)),
        "labels": labels(study),
    }
