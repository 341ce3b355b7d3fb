# Cross-checks of the config's tables, and the input functions that several rule files share.
import csv
import glob
import os
import re
import sys
from pathlib import Path

from snakemake.exceptions import WorkflowError
from snakemake.logging import logger

# Jobs find the package here too, in a conda environment and on a cluster.
sys.path.insert(0, str(Path(workflow.basedir) / "src"))
os.environ["PYTHONPATH"] = sys.path[0]
from recency.errors import InputError
from recency.workflow import checks, code, configuration, grids, machine

try:
    checks.check(config, Path(workflow.basedir) / "config.schema.yaml")
except InputError as error:
    raise WorkflowError(str(error)) from None

# Experiments with several seeds or settings → what their LMs' and designs' names mean.
GRIDS = grids.expand(config)

# Where files come from is no part of what is computed, so it reaches jobs through the environment:
# as a parameter it would make every download, and all that follows, run again.
MIRRORS = [
    *config.get("mirror", []),
    *filter(None, os.environ.get("RECENCY_MIRROR", "").split(":")),
]
os.environ["RECENCY_MIRROR"] = ":".join(MIRRORS)


envvars:
    "RECENCY_MIRROR",


SCALE = config["scales"][config["scale"]]
LMS = {name: configuration.language_model(config, name) for name in config["lms"]}


def any_of(names):
    """Return a wildcard constraint that admits these names only."""
    return "|".join(names) or "none"


def corpora_with(*keys):
    """Return the corpora that are made in one of these ways."""
    return [name for name, corpus in config["corpora"].items() if corpus.keys() & set(keys)]


def downloaded(url, byte_range=None):
    """Return where a URL's file is kept; what several studies use is downloaded once."""
    part = f".bytes-{byte_range[0]}-{byte_range[1]}" if byte_range else ""
    return f"<resources>/downloads/{url.split('://', 1)[1].rstrip('/')}{part}"


def sources(entry):
    """Return the rows of an entry's table of files, without the parts that are left out."""
    with open(Path(workflow.basedir) / entry["sources"], newline="") as table:
        rows = list(csv.DictReader(table, delimiter="\t"))
    return [row for row in rows if row.get("part") not in entry.get("exclude", [])]


def dataset_file(dataset, role, file):
    """Return where one file of a dataset is: made here, the user's own, downloaded or from a mirror."""
    if "simulated" in file:
        return f"<results>/simulation/{dataset}/{file['simulated']}.csv"
    if os.path.exists(file.get("local", "")):
        return file["local"]
    if "url" in file:
        return downloaded(file["url"], file.get("byte_range"))
    suffix = "".join(Path(file.get("local") or file["stand_in"]["path"]).suffixes[-2:])
    return f"<resources>/downloads/placed/{dataset}/{role}{suffix}"


def material_file(key, name, role):
    """Return where one file is of what experiments name with `key`, such as a treebank's `train`."""
    table, _ = configuration.MATERIALS[key]
    return dataset_file(f"{table}-{name}", role, config[table][name][role])


def counts_file(file):
    """Return where a list of word counts is: the user's own, or downloaded."""
    return file["local"] if os.path.exists(file.get("local", "")) else downloaded(file["url"])


def dataset_files(dataset, part):
    """Return role → path of a dataset's `words` or `responses` files."""
    files = config["datasets"][dataset][part]
    return {role: dataset_file(dataset, role, file) for role, file in files.items()}


def described_files():
    """Return path → what is known of it, for every file that the config has downloaded or placed."""
    files = {}
    for entry in (*config["corpora"].values(), *config.get("minimal_pairs", {}).values()):
        if "sources" in entry:
            for row in sources(entry):
                known = {key: row[key] for key in ("url", "sha256") if row[key]}
                files[downloaded(row["url"])] = known | (
                    {"bytes": int(row["bytes"])} if row["bytes"] else {}
                )
    for corpus in config["corpora"].values():
        if "pretokenized" in corpus:
            file = corpus["pretokenized"]
            files[downloaded(file["url"], file.get("byte_range"))] = file
    for tokenizer in config["tokenizers"].values():
        if "file" in tokenizer:
            files[downloaded(tokenizer["file"]["url"])] = tokenizer["file"]
    for unigram in config["unigrams"].values():
        if "counts" in unigram:
            files[counts_file(unigram["counts"])] = unigram["counts"]
    for name, dataset in config["datasets"].items():
        for part in ("words", "responses"):
            for role, file in dataset[part].items():
                files[dataset_file(name, role, file)] = file
    for key, (table, roles) in configuration.MATERIALS.items():
        for name, entry in config.get(table, {}).items():
            for role in (role for role in roles if role in entry):
                files[material_file(key, name, role)] = entry[role]
    return {path: file for path, file in files.items() if path.startswith("<resources>/")}


FILES = described_files()

# A dataset that only its user can place, and that is not there, is left out and said to be; a dry
# run plans it all the same.
DRY_RUN = any(re.fullmatch(r"--dry-?run|-[a-zA-Z]*n[a-zA-Z]*", argument) for argument in sys.argv)
ASKED = {
    response["dataset"]
    for experiment in config["run"]
    for response in configuration.responses(config, experiment)
}
SELECTABLE = {
    response["dataset"]
    for table in ("experiments", "searches")
    for name in config.get(table, {})
    for response in configuration.responses(config, name, table)
}
READING_TIMES = [name for name in config["run"] if config["experiments"][name].get("responses")]
ABSENT = {
    name: f"{config['datasets'][name]['label']} is not here: {missing[0]}"
    for name in sorted(SELECTABLE)
    if (missing := configuration.missing_files(config["datasets"][name], MIRRORS))
}
# What experiments need beside reading times: (key of the experiment, name) → why it is left out.
MATERIALS_ASKED = {
    (key, config["experiments"][name][key]): 0
    for key in configuration.MATERIALS
    for name in config["run"]
    if key in config["experiments"][name]
}
ABSENT_MATERIALS = {
    (key, name): f"{entry['label']} ({table.replace('_', ' ')}) is not here: {missing[0]}"
    for key, (table, roles) in configuration.MATERIALS.items()
    for name, entry in config.get(table, {}).items()
    if (missing := configuration.missing_material(entry, roles, MIRRORS))
}
if workflow.is_main_process:
    for name in sorted(ABSENT.keys() & ASKED):
        logger.warning(f"not run: {ABSENT[name]}")
    for each in MATERIALS_ASKED:
        if each in ABSENT_MATERIALS:
            logger.warning(f"not run: {ABSENT_MATERIALS[each]}")
NOT_RUN = {} if DRY_RUN else ABSENT
NO_MATERIAL = {} if DRY_RUN else ABSENT_MATERIALS

# For the report's front page.
config["not_run"] = NOT_RUN
config["materials"] = [
    {"kind": table.replace("_", " "), "reason": NO_MATERIAL.get((key, name))}
    | {about: config[table][name].get(about) for about in ("label", "cite", "licence")}
    for key, name in MATERIALS_ASKED
    for table in [configuration.MATERIALS[key][0]]
]

# A paper's tables and figures by number, and "experiment/figure" → what the paper calls it.
TARGETS = {
    name: target
    for name, target in config.get("targets", {}).items()
    if target["experiment"] in config["experiments"]
}
config["numbered"] = {
    f"{target['experiment']}/{stem}": target["label"]
    for target in TARGETS.values()
    for stem in target["of"]
}


def responses(experiment):
    """Return the experiment's responses that can be run: dicts of design, dataset, measure and label."""
    found = [each for each in all_responses(experiment) if each["dataset"] not in NOT_RUN]
    if not found and all_responses(experiment):
        raise WorkflowError(f"experiments → {experiment}: none of its reading times are here")
    return found


def all_responses(experiment):
    """Return every response that the config asks of an experiment, those that are not run too."""
    return [
        response | {"label": config["datasets"][response["dataset"]]["label"]}
        for response in configuration.responses(config, experiment)
    ]


def described(lm):
    """Return what figures need to know of an LM: lm, label, family, applied."""
    return {"lm": lm} | {key: LMS[lm][key] for key in ("label", "family", "applied")}


def lms_of(experiment):
    """Return an experiment's LMs, described."""
    return [described(lm) for lm in config["experiments"][experiment]["lms"]]


def in_report(path, caption, category, name):
    """Flag a file for the report, under a category, with the words that it is listed by.

    In the category {experiment} these are the experiment's title, and the number that a paper has
    for the figure or table, if it has one.
    """
    labels = {"what": name}
    if category == "{experiment}":
        stem = Path(path).stem

        def category(wildcards):
            return config["experiments"][wildcards.experiment]["title"]

        def labels(wildcards):
            number = config["numbered"].get(f"{wildcards.experiment}/{stem}")
            return {"what": f"{number}: {name}" if number else name}

    return report(
        path, caption=f"../workflow/report/{caption}.rst", category=category, labels=labels
    )


def figures(stem, caption, category, name):
    """Return a figure's files: PDF, SVG (in the report), PNG and its data."""
    return [
        f"{stem}.pdf",
        in_report(f"{stem}.svg", caption, category, name),
        f"{stem}.png",
        f"{stem}.csv",
    ]


def table(stem, caption, category, name):
    """Return a table's files: CSV, HTML (in the report) and LaTeX."""
    return [f"{stem}.csv", in_report(f"{stem}.html", caption, category, name), f"{stem}.tex"]
