"""The study as an object: its expanded config and the paths of its files, for the rules.

`<results>` and `<resources>` in paths are Snakemake's path variables. Methods here are general.

LMs that an experiment ranks, one for all training seeds, and their baseline models.

Data that a study goes without.

A dataset that the user must supply and that is missing is skipped and reported; a dry run includes it.
One that the config names in `leave_out` is skipped and reported in every run.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path

from recency import config as configuration
from recency import endpoints, grids, languages, overrides, plugins
from recency.evaluations import registry
from recency.figures import bases
from recency.reading import declared_columns
from recency.regression import covered_endpoints, designs
from recency.scoring import measures
from recency.scoring.lm_spec import WEIGHT_KEYS
from recency.workflow import lint
from recency.workflow.engine.faults import ConfigError
from recency.workflow.plan.files import Files

INTERVALS = {
    "crossed": "crossed bootstrap: subjects and sentences resampled jointly, every draw refitted",
    "given_fits": "bootstrap given the fits: subjects, or sentences, resampled; the wider interval",
}
"""Methods for intervals, for captions."""


#: The table whose entries a dataset's `tagger` names.
TAGGED_BY = "treebanks"


#: Defaults of n-gram LMs.
NGRAM = {"order": 5, "memory": "1G", "prune": [], "context": "item", "bos": True}
NGRAM |= {"text_rule": "displayed", "distance": 1}


@dataclass
class Study:
    """A checked config with the project's folder, mirrors, and whether the run is only planned.

    `place` expands path variables (`<results>` …), after the Snakefile has defined them. Experiments
    with several seeds or settings are expanded in `config`; `grids` maps the names of their LMs and
    designs to settings.
    """

    config: dict
    root: Path
    mirrors: list[str] = field(default_factory=list)
    dry_run: bool = False
    resolve: Callable[[str], str] = str

    def __post_init__(self):
        self.declare()
        self.grids = grids.expand(self.config)
        self.scale = self.config["scales"][self.config["scale"]]
        self.lms = {n: configuration.language_model(self.config, n) for n in self.config["lms"]}
        self.files = Files(self.config, self.root)
        self._described: dict[str, dict] = {}

    def experiment(self, name: str) -> dict:
        """Return an experiment's entry."""
        return self.config["experiments"][name]

    def for_report(self) -> dict:
        """Return values for captions and the report's front page, in addition to the config."""
        tables = {key: kind.table for key, kind in registry.data().items()}
        about = ("label", "cite", "licence")
        return {
            "not_run": self.not_run,
            "other_data": [
                {"kind": tables[key].replace("_", " "), "reason": self.no_data.get((key, name))}
                | {key_about: self.config[tables[key]][name].get(key_about) for key_about in about}
                for key, name in self.data_asked
            ],
            "endpoint_captions": {e: self.endpoint_caption(e) for e in self.config["experiments"]},
            "numbered": {
                f"{experiment}/{stem}": target["label"]
                for target in self.targets.values()
                for experiment in configuration.experiments_of(target)
                for stem in target["of"]
            },
        }

    @cached_property
    def targets(self) -> dict[str, dict]:
        """Numbered tables and figures of the config's experiments."""
        return {
            name: target
            for name, target in self.config.get("targets", {}).items()
            if set(configuration.experiments_of(target)) <= self.config["experiments"].keys()
        }

    # Experiments

    def all_responses(self, experiment: str) -> list[dict]:
        """Return every response of an experiment, including skipped ones.

        Responses are dicts of design, dataset, measure and label.
        """
        return [
            response | {"label": self.config["datasets"][response["dataset"]]["label"]}
            for response in configuration.responses(self.config, experiment)
        ]

    def responses(self, experiment: str) -> list[dict]:
        """Return the experiment's available responses."""
        asked = self.all_responses(experiment)
        available = [response for response in asked if response["dataset"] not in self.not_run]
        if asked and not available:
            raise ConfigError(f"experiments → {experiment}: all of its reading times are missing")
        return available

    def datasets_of(self, experiment: str) -> list[str]:
        """Return the available datasets of an experiment."""
        return list(dict.fromkeys(r["dataset"] for r in self.responses(experiment)))

    def all_datasets(self, experiment: str) -> list[str]:
        """Return the datasets of an experiment, including missing ones."""
        return list(dict.fromkeys(r["dataset"] for r in self.all_responses(experiment)))

    def description(self, lm: str) -> dict:
        """Return the description of an LM for figures; see recency.figures.comparison.LM."""
        if lm not in self._described:
            self._described[lm] = configuration.described(lm, self.lms[lm])
        return dict(self._described[lm])

    def lms_of(self, experiment: str) -> list[dict]:
        """Return an experiment's LMs, described."""
        return [self.description(lm) for lm in self.experiment(experiment)["lms"]]

    def all_fitted(self, experiment: str) -> bool:
        """Return whether all observations of an experiment are fitted, and its LMs compared by AIC."""
        asked = self.all_responses(experiment)
        return bool(asked) and not any(self.partitioned(r["dataset"]) for r in asked)

    def partitioned(self, dataset: str) -> bool:
        """Return whether a dataset's observations are divided into three partitions."""
        return self.config["datasets"][dataset].get("partitioned", True)

    def filters(self, dataset: str, measure: str) -> list[dict]:
        """Return the filters of a measure, in order, as name and query."""
        entry = self.config["datasets"][dataset]
        steps = entry["measures"][measure]["filters"]
        return [{"name": step, "keep": entry["filters"][step]} for step in steps]

    def accepted(self, dataset: str, lm: str | None = None) -> list[str]:
        """Return the checks that a dataset, and an LM's surprisal of it, may fail."""
        entries = [("datasets", dataset)] + ([("lms", lm)] if lm else [])
        return [c for table, n in entries for c in overrides.checks(self.config[table][n], table)]

    def offset(self, dataset: str) -> int | None:
        """Return the parser's shift of the times in words, None if it has no such option."""
        entry = self.config["datasets"][dataset]
        options = plugins.keywords(configuration.PARSERS, entry["parser"], "responses")
        return entry.get("options", {}).get("offset", 0) if "offset" in options else None

    def cells(self, experiment: str) -> list[tuple[dict, dict]]:
        """Return every response × LM of an experiment."""
        return [(r, lm) for r in self.responses(experiment) for lm in self.lms_of(experiment)]

    def named_cells(self, experiment: str, *keys: str) -> list[dict]:
        """Return lm, dataset, measure and design of every cell, and the given keys of its LM."""
        about = ("dataset", "measure", "design")
        return [
            {"lm": lm["lm"]} | {k: lm[k] for k in keys} | {k: r[k] for k in about}
            for r, lm in self.cells(experiment)
        ]

    def but_for_seed(self, lm: str) -> str:
        """Return the first LM in the config that differs from this one only in seed and name."""

        def settings(name: str) -> tuple:
            entry = {k: v for k, v in self.lms[name].items() if k not in ("label", "seed")}
            entry.pop("member", None)
            others = [entry.pop(key, None) for key in ("weights", "checkpoint_of")]
            others += entry.pop("languages", {}).values()
            return entry, *(other and settings(other) for other in others)

        wanted = settings(lm)
        return next(name for name in self.lms if settings(name) == wanted)

    def search_responses(self, search: str) -> list[dict]:
        """Return the responses of a search; ConfigError if one is missing."""
        responses = configuration.responses(self.config, search, "searches")
        for response in responses:
            if response["dataset"] in self.not_run:
                raise ConfigError(f"searches → {search}: {self.not_run[response['dataset']]}")
        return responses

    def search_labels(self, search: str) -> dict[str, str]:
        """Return the labels of a search's LM and responses, by key."""
        lm = self.config["searches"][search]["lm"]
        labels = {lm: self.description(lm)["label"]}
        for response in configuration.responses(self.config, search, "searches"):
            label = self.config["datasets"][response["dataset"]]["label"]
            labels[f"{response['dataset']}.{response['measure']}"] = (
                f"{label} {response['measure']}"
            )
        return labels

    # Language models

    def opening(self, lm: str) -> dict:
        """Return the settings for opening an LM: those of `recency.scoring.lm_spec.LMSpec.of_job`."""
        entry = self.lms[lm]
        if "ngram" in entry:
            return {"name": lm, "bos": entry["ngram"].get("bos", NGRAM["bos"])}
        return {
            "name": lm,
            "checkpoint": entry.get("checkpoint"),
            "bias": entry["bias"] if entry["applied"] == "inference" else None,
            "bos": entry.get("bos", True),
            "stride": entry.get("stride"),
            "scoring": {k: v for k, v in entry.get("scoring", {}).items() if k != "tuned_lens"},
            "allow_pickle": entry.get("allow_pickle", False),
            "weights": {key: entry[key] for key in WEIGHT_KEYS if key in entry},
            **({"reader": entry["reader"]} if "reader" in entry else {}),
            **self._lossy(entry),
        }

    def _lossy(self, entry: dict) -> dict:
        """Return the settings of an LM's lossy contexts for a job, {} without lossy contexts."""
        if not entry.get("lossy"):
            return {}
        stated = {key: value for key, value in entry["lossy"].items() if key != "unigram"}
        return {"lossy": {"seed": entry.get("seed", 1), **stated}}

    def erasure_frequencies(self, lm: str, datasets: Iterable[str]) -> list[str]:
        """Return the unigram surprisal of datasets, if an LM erases words by frequency."""
        lossy = self.lms[lm].get("lossy")
        if not lossy or "frequency" not in configuration.erasure_features(lossy["erasure"]):
            return []
        unigram = lossy.get("unigram", self.scale["unigram"])
        return [f"<results>/surprisal/{unigram}/{dataset}.parquet" for dataset in datasets]

    def recipe(self, lm: str) -> dict:
        """Return the recipe of an LM's training, without `gpus`, which its job asks for."""
        recipe = self.config["recipes"][self.lms[lm]["recipe"]]
        return {key: value for key, value in recipe.items() if key != "gpus"}

    def weights(self, name: str) -> list[str]:
        """Return the files of an LM's weights: its own, another LM's, or none for external ones."""
        lm = self.lms[name]
        if "checkpoint" in lm or configuration.kind_of(lm) != "network":
            return []
        files = ("config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json")
        return [f"<results>/lms/{lm.get('weights', name)}/{file}" for file in files]

    def language(self, dataset: str) -> str:
        """Return the ISO 639 code of a dataset's language."""
        return languages.of_dataset(self.config, dataset)

    def surprisal_in_language(self, table: str, name: str, dataset: str, ending: str) -> str:
        """Return the surprisal of a dataset by the LM, or the unigram model, of its language."""
        member = languages.member(self.config, table, name, dataset)
        return f"<results>/surprisal/{member}/{dataset}{ending}"

    def trained_as(self, lm: str) -> str:
        """Return the LM whose training produced an LM's weights."""
        return self.lms[lm].get("checkpoint_of") or self.lms[lm].get("weights", lm)

    def lms_that_are(self, kind: str) -> list[str]:
        """Return the LMs of a kind: `network` (`trained` here, or `kept` at a step), `table`, `ngram` …."""
        of = {"trained": configuration.is_trained, "kept": lambda lm: "checkpoint_of" in lm}
        wanted = of.get(kind, lambda lm: configuration.kind_of(lm) == kind)
        return [name for name, lm in self.config["lms"].items() if wanted(lm)]

    def table_settings(self, lm: str, dataset: str) -> dict:
        """Return the settings for reading a dataset from the table of an LM's surprisals."""
        entry = configuration.surprisals_of(self.lms[lm]["surprisals"], dataset)
        kept = ("columns", "unit", "missing", "measures", "join", "items", "sentences")
        settings = {key: entry[key] for key in kept if key in entry}
        if called := entry.get("datasets", {}).get(dataset):
            settings["called"] = called
        if rows := entry.get("rows"):
            values = {name: [v] if isinstance(v, str) else v for name, v in rows.items()}
            settings["rows"] = {
                name: [value.replace("{dataset}", called or dataset) for value in texts]
                for name, texts in values.items()
            }
        return settings | (
            {"seed": self.lms[lm]["seed"]} if configuration.has_seeds(self.lms[lm]) else {}
        )

    def ngram_text(self, lm: str) -> str:
        """Return the training text of an n-gram LM."""
        return f"<results>/corpora/{self.lms[lm]['ngram']['corpus']}/text.parquet"

    def ngram_file(self, lm: str) -> str:
        """Return the file of an n-gram LM, estimated here or given."""
        entry = self.lms[lm]["ngram"]
        path = f"<results>/lms/{lm}/{'cdlm.npz' if 'cdlm' in entry else 'ngrams.arpa'}"
        return self.files.ngrams(lm) if "file" in entry else path

    def ngram_parameters(self, *keys: str) -> dict:
        """Return functions of wildcards for settings of an n-gram LM, with defaults."""

        def setting(key: str):
            return lambda wildcards: self.lms[wildcards.lm]["ngram"].get(key, NGRAM[key])

        return {key: setting(key) for key in keys}

    def tuned_lens(self, lm: str) -> list[str]:
        """Return the file of an LM's tuned lens, if any."""
        path = self.lms[lm].get("scoring", {}).get("tuned_lens")
        return [path] if path and self._asks(lm, "predictions") else []

    def ngram_reference(self, lm: str) -> list[str]:
        """Return the n-gram model that measures compare an LM's surprisal with, if any."""
        return [self.ngram_file(self.lms[lm]["ngram_lm"])] if self._asks(lm, "ngram") else []

    def ngram_reading(self, lm: str) -> dict:
        """Return the settings of that n-gram model for `ngram_likeness.Reference`."""
        if not self._asks(lm, "ngram"):
            return {}
        entry = self.lms[self.lms[lm]["ngram_lm"]]["ngram"]
        return {key: entry.get(key, NGRAM[key]) for key in ("bos", "context", "text_rule")}

    def _asks(self, lm: str, source: str) -> bool:
        """Return whether any measure of an LM uses a source of `measure_sites.SOURCES`."""
        return bool(measures.check(self.lms[lm].get("measures")).with_sources(source))

    def architecture(self, lm: str) -> dict | None:
        """Return the architecture of an LM that is trained here, including a recurrent LM's memory."""
        entry = self.lms[lm]
        if "checkpoint" in entry:
            return None
        memory = {"memory": entry["memory"]} if "memory" in entry else {}
        return self.config["architectures"][entry["architecture"]] | memory

    def tokens(self, lm: str, corpus: str | None = None) -> tuple[str, str]:
        """Return the tokens of an LM's training corpus, or of another corpus, and their description."""
        lm = self.lms[lm]
        return self.files.token_stream(corpus or lm["corpus"], lm["tokenizer"])

    # Text

    def corpora_with(self, *keys: str) -> list[str]:
        """Return the corpora that have one of these keys."""
        return [
            name for name, corpus in self.config["corpora"].items() if corpus.keys() & set(keys)
        ]

    def unigrams_with(self, key: str) -> list[str]:
        """Return the unigrams that have the key `corpus`, `counts`, `wordfreq` or `languages`."""
        return [name for name, entry in self.config["unigrams"].items() if key in entry]

    def unigram_text(self, unigram: str) -> str:
        """Return the training text of a unigram model."""
        return f"<results>/corpora/{self.config['unigrams'][unigram]['corpus']}/text.parquet"

    def read_measures(self, dataset: str) -> list[str]:
        """Return the measures that a dataset's parser reads: all but events."""
        measures = self.config["datasets"][dataset]["measures"]
        return [name for name, settings in measures.items() if "of" not in settings]

    def first_pass(self, dataset: str) -> str:
        """Return the first-pass measure of a dataset, with which its fixations are compared."""
        return configuration.first_pass(self.config["datasets"][dataset])

    def responses_file(self, dataset: str, measure: str) -> str:
        """Return the responses file of a measure, or of an event's measure."""
        read = self.response_read(dataset, measure).partition(".")[2]
        return f"<results>/datasets/{dataset}/responses.{read}.parquet"

    def response_read(self, dataset: str, measure: str) -> str:
        """Return <dataset>.<measure>, with an event's measure for an event."""
        measures = self.config["datasets"][dataset]["measures"]
        return f"{dataset}.{measures.get(measure, {}).get('of', measure)}"

    def responses_files(self, dataset: str) -> list[str]:
        """Return the responses files of a dataset, by measure."""
        return [self.responses_file(dataset, name) for name in self.read_measures(dataset)]

    def event(self, dataset: str, measure: str) -> str | None:
        """Return the query of a measure's event, None for times."""
        return self.config["datasets"][dataset]["measures"][measure].get("event")

    def scored_by(self, dataset: str) -> list[str]:
        """Return the surprisal files that a dataset's filters use to drop words."""
        lms = self.config["datasets"][dataset].get("scored_by", [])
        return [f"<results>/surprisal/{lm}/{dataset}.parquet" for lm in lms]

    def readers_surprisal(self, dataset: str) -> str:
        """Return the surprisal file that drives a dataset's simulated readers."""
        return f"<results>/surprisal/{self.simulated(dataset)['reader']}/{dataset}.parquet"

    def annotated_words(self, dependencies: str) -> str:
        """Return the words of a table of dependencies."""
        dataset = self.config["dependencies"][dependencies]["dataset"]
        return f"<results>/datasets/{dataset}/words.parquet"

    def simulated(self, dataset: str) -> dict:
        """Return the settings of a dataset's simulated readers."""
        return self.config["datasets"][dataset]["simulate"]

    def recovered(self, experiment: str, dataset: str) -> list[dict]:
        """Return the LMs whose effects are compared with the truth: the experiment's and the readers'."""
        reader = self.simulated(dataset)["reader"]
        others = [lm for lm in self.lms_of(experiment) if lm["lm"] != reader]
        return [*others, self.description(reader)]

    # LMs to rank, one for all training seeds, and their baseline models.

    def one_for_seeds(self, experiment: str) -> dict[str, str]:
        """Return LM → the LM that represents all seeds of the same settings.

        Under `sensitivity` and `steps` combinations are not merged.
        """
        entry = self.experiment(experiment)
        if experiment not in self.grids or grids.is_varied(entry) or grids.has_steps(entry):
            return {lm: lm for lm in entry["lms"]}
        return {lm: about["lm"] for lm, about in self.grids[experiment]["lms"].items()}

    def ranked_lms(self, experiment: str) -> list[dict]:
        """Return the LMs that an experiment ranks, described, one for all seeds."""
        return [
            self.description(lm) for lm in dict.fromkeys(self.one_for_seeds(experiment).values())
        ]

    def named_lms(self, experiment: str, key: str) -> list[str]:
        """Return the LMs in `lms` of an experiment's `key`, with all seeds; default all LMs."""
        named, of = self.experiment(experiment)[key].get("lms"), self.one_for_seeds(experiment)
        return [lm for lm in of if not named or of[lm] in named]

    def variants(self, experiment: str, key: str | None = None) -> list[dict]:
        """Return all LMs, or `named_lms`, with the description shared by seeds; `variant` is the LM."""
        of = self.one_for_seeds(experiment)
        named = self.named_lms(experiment, key) if key else of
        return [self.description(of[lm]) | {"variant": lm} for lm in named]

    def ranked_baseline(self, experiment: str) -> str:
        """Return the LM with which `ranked_lms` are compared."""
        return self.one_for_seeds(experiment)[self.experiment(experiment)["baseline"]]

    def ranked_cells(self, experiment: str) -> list[dict]:
        """Return every cell, with lm and label shared by seeds, and `seed` and `variant`."""
        cells, of = self.named_cells(experiment, "label"), self.one_for_seeds(experiment)
        if not self.several_seeds(experiment):
            return cells
        return [
            cell
            | {"lm": of[cell["lm"]], "label": self.description(of[cell["lm"]])["label"]}
            | {"seed": self.lms[cell["lm"]]["seed"], "variant": cell["lm"]}
            for cell in cells
        ]

    def plain_lms(self, experiment: str) -> list[dict]:
        """Return the LMs in the config of an experiment with several settings or steps."""
        grid = self.grids[experiment]["lms"]
        return [self.description(lm) for lm in dict.fromkeys(cell["lm"] for cell in grid.values())]

    def plain_baseline(self, experiment: str) -> str:
        """Return the baseline in the config of such an experiment."""
        return self.grids[experiment]["lms"][self.experiment(experiment)["baseline"]]["lm"]

    def several_seeds(self, experiment: str) -> bool:
        """Return whether an experiment's LMs are means over seeds."""
        of = self.one_for_seeds(experiment)
        return len(set(of.values())) < len(of)

    def seeded_cells(self, experiment: str) -> list[dict]:
        """Return every cell with the seed of its LM, and the LM that represents all seeds."""
        return [
            cell
            | {"seed": self.lms[cell["lm"]]["seed"], "but_for_seed": self.but_for_seed(cell["lm"])}
            for cell in self.named_cells(experiment)
        ]

    def base(self, experiment: str, secondary: bool = False) -> str:
        """Return the kind of baseline model of an experiment: fixed, all, several, or "" for none.

        With `secondary`, that of the designs' second baseline models.
        """
        asked = dict.fromkeys(r["design"] for r in self.all_responses(experiment))
        entries = [self.config["designs"][design] for design in asked]
        if secondary and all(len(designs.bases(design)) == 1 for design in entries):
            return ""
        return bases.of(self._kinds_of_base[design][-1 if secondary else 0] for design in asked)

    def endpoint(self, experiment: str, secondary: bool = False) -> str:
        """Return the endpoint by which an experiment ranks its LMs; see recency.endpoints.

        Default `crossed`, unless the experiment has a bootstrap given the fits or a design that
        `crossed` does not cover. For the second baseline (`secondary`) it is conditional, or in-sample if
        all observations are fitted.
        """
        entry = self.experiment(experiment)
        if secondary and not self.all_fitted(experiment):
            return endpoints.DEFAULT_ALONE
        if stated := entry.get("endpoint"):
            return stated
        covered = not self.reason_not_crossed(experiment)
        if covered and entry.get("bootstrap", endpoints.CROSSED) == endpoints.CROSSED:
            return endpoints.CROSSED
        return endpoints.DEFAULT_ALONE

    def reason_not_crossed(self, experiment: str) -> str:
        """Return why the crossed endpoint is not an experiment's default; "" if it is."""
        reasons = (
            self._not_crossed[r["design"]][
                declared_columns.is_of_items(self.config["datasets"][r["dataset"]])
            ]
            for r in self.all_responses(experiment)
        )
        return next(filter(None, reasons), "")

    def reason_unasked(self, experiment: str) -> str:
        """Return why an experiment has another endpoint than the default's, "" if it has or asks for it."""
        entry = self.experiment(experiment)
        asked = entry.get("endpoint") or entry.get("bootstrap")
        return "" if asked else self.reason_not_crossed(experiment)

    @cached_property
    def in_sample(self) -> set[tuple[str, str, str]]:
        """Responses (design, dataset, measure) of experiments that rank by `in_sample`."""
        return {
            (response["design"], response["dataset"], response["measure"])
            for name, entry in self.config["experiments"].items()
            if entry.get("endpoint") == endpoints.IN_SAMPLE
            for response in self.all_responses(name)
        }

    @cached_property
    def _not_crossed(self) -> dict[str, tuple[str, str]]:
        """Design → why the crossed endpoint is not its default, for texts and for experiments' items."""
        reason = covered_endpoints.reason_not_by_default
        return {
            name: (reason(design), reason(design, of_items=True))
            for name, design in self.config["designs"].items()
        }

    @cached_property
    def _kinds_of_base(self) -> dict[str, list[str]]:
        """Design → the kind of each of its baseline models."""
        return {
            name: [designs.kind_of_base({**design, "base": base}) for base in designs.bases(design)]
            for name, design in self.config["designs"].items()
        }

    def endpoint_caption(self, experiment: str) -> dict[str, str]:
        """Return baseline model, endpoint and intervals of an experiment's ΔLogLik, for captions."""
        endpoint = self.endpoint(experiment)
        given_fits = self.experiment(experiment).get("bootstrap") == "given_fits"
        crossed = endpoint == endpoints.CROSSED and not given_fits
        of_items = crossed and self.is_of_items(experiment)
        said = endpoints.ENDPOINTS[endpoint].of, INTERVALS["crossed" if crossed else "given_fits"]
        of, intervals = (endpoints.of_units(text, of_items) for text in said)
        first = bases.NAMED.get(self.base(experiment), "")
        return {"first": first, "endpoint": of, "intervals": intervals}

    def is_of_items(self, experiment: str) -> bool:
        """Return whether all responses of an experiment are to items with conditions."""
        read = {response["dataset"] for response in self.all_responses(experiment)}
        return all(declared_columns.is_of_items(self.config["datasets"][name]) for name in read)

    # Data that a study goes without.

    @cached_property
    def absent(self) -> dict[str, str]:
        """Missing and left-out datasets of all experiments and searches → reason."""
        datasets = configuration.datasets_read(self.config, self.config["experiments"])
        for table in registry.fitted_tables():
            for name in self.config.get(table, {}):
                asked = configuration.responses(self.config, name, table)
                datasets |= {response["dataset"] for response in asked}
        entries, asked = self.config["datasets"], {}
        for name in sorted(datasets):
            needed = dict.fromkeys([name, configuration.owner_of_words(self.config, name)])
            if unwanted := needed.keys() & set(self.config.get("leave_out", [])):
                asked[name] = f"{entries[name]['label']} is left out (leave_out: {min(unwanted)})"
            for file in needed:
                if missing := configuration.missing_files(entries[file], self.mirrors):
                    asked.setdefault(name, f"{entries[name]['label']} is not here: {missing[0]}")
            tagger = self.files.with_words(name).get("tagger")
            if reason := self.absent_data.get((registry.key_of(TAGGED_BY), tagger)):
                asked.setdefault(name, reason)
        return asked

    @cached_property
    def absent_data(self) -> dict[tuple[str, str], str]:
        """Missing data of evaluations other than reading times: (key, name) → reason."""
        return {
            (key, name): f"{entry['label']} ({kind.table.replace('_', ' ')}) is not here: "
            f"{missing[0]}"
            for key, kind in registry.data().items()
            for name, entry in self.config.get(kind.table, {}).items()
            if (missing := configuration.missing_data(entry, kind.roles, self.mirrors))
        }

    @property
    def not_run(self) -> dict[str, str]:
        """Skipped datasets → reason."""
        if not self.dry_run:
            return self.absent
        unwanted = set(self.config.get("leave_out", []))
        owner = partial(configuration.owner_of_words, self.config)
        return {n: why for n, why in self.absent.items() if unwanted & {n, owner(n)}}

    @property
    def no_data(self) -> dict[tuple[str, str], str]:
        """Skipped data other than datasets: (key, name) → reason."""
        return {} if self.dry_run else self.absent_data

    @cached_property
    def asked(self) -> set[str]:
        """Datasets whose words or reading times this run needs."""
        return configuration.datasets_read(self.config, self.config["run"])

    @cached_property
    def data_asked(self) -> list[tuple[str, str]]:
        """Data of this run other than reading times, as (key, name)."""
        named = [
            (key, entry)
            for key in registry.data()
            for name in self.config["run"]
            for entry in registry.named(self.experiment(name), key)
        ]
        taggers = (self.files.with_words(name).get("tagger") for name in sorted(self.asked))
        named += [(registry.key_of(TAGGED_BY), treebank) for treebank in taggers if treebank]
        return list(dict.fromkeys(named))

    def left_out(self) -> list[str]:
        """Return one line per missing item that this run needs."""
        reasons = [self.absent_data.get(item) for item in self.data_asked]
        return [
            *(f"not run: {self.absent[name]}" for name in sorted(self.absent.keys() & self.asked)),
            *(f"not run: {reason}" for reason in reasons if reason),
        ]

    def not_run_rows(self) -> list[dict]:
        """Return the rows of not_run.csv: dataset, measure, reason."""
        responses = (r for name in self.config["run"] for r in self.all_responses(name))
        asked = {(r["dataset"], r["measure"]) for r in responses}
        return [
            {"dataset": name, "measure": measure, "reason": self.not_run[name]}
            for name in self.not_run
            if name in self.asked
            for measure, settings in self.config["datasets"][name]["measures"].items()
            if "of" not in settings or (name, measure) in asked
        ] + [
            {"dataset": row["label"], "measure": row["kind"], "reason": row["reason"]}
            for row in self.for_report()["other_data"]
            if row["reason"]
        ]

    def data_here(self, experiment: str, key: str) -> list[str]:
        """Return the available entries that an experiment names under an evaluation's key."""
        named = registry.named(self.experiment(experiment), key)
        return [name for name in named if (key, name) not in self.no_data]

    # Findings of the linter.

    def declare(self) -> None:
        """Keep the config as declared for the rules, and remove what no result depends on.

        These are repeated LMs, and `accept` of designs, which are parameters of jobs.
        """
        config = self.config
        self._declared = {**config, "lms": dict(config["lms"]), "designs": config["designs"]}
        self._declared["experiments"] = {n: dict(e) for n, e in config["experiments"].items()}
        for entry in config["experiments"].values():
            entry["lms"] = list(dict.fromkeys(entry["lms"]))
        config["designs"] = {
            name: {key: value for key, value in design.items() if key != "accept"}
            for name, design in config["designs"].items()
        }

    @property
    def listed_doubts(self) -> dict[str, list]:
        """The findings for summary and report; see recency.evaluations.report.doubts."""
        doubts = self.doubts_of(self.config["run"])
        accepted = lint.lines(doubts, accepted=True)
        return {
            "warnings": lint.lines(doubts),
            "accepted": accepted,
            "noted": lint.noted(self._declared),
        }

    def doubts_of(self, experiments: Iterable[str]) -> list[lint.Doubt]:
        """Return the findings on some experiments."""
        return lint.check(lint.Plan(self._declared, experiments, self.root))
