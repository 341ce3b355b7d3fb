"""An experiment's ΔLogLik for figures and tables: LMs × responses, missing results, totals."""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import pandas as pd

from recency.endpoints import BY_ITEMS, ENDPOINTS, of_units
from recency.errors import InputError
from recency.figures import bases, encoding, fonts
from recency.figures.paths import File

FAILED = "failed: "
"""Beginning of a note on a fit that failed."""
APPLIED = ("none", "inference", "training")
Thing = TypeVar("Thing")
Described = Iterable[Mapping]
"""Descriptions of LMs or responses from a rule's params; see `records`."""


@dataclass(frozen=True)
class LM:
    """One language model: key, label, bias (form and parameters), and when the bias applies.

    `network` has other properties, such as architecture, corpus and seed.
    """

    lm: str
    label: str
    bias: Mapping = field(hash=False)
    applied: str
    network: Mapping = field(default_factory=dict, hash=False)

    @property
    def kind(self) -> str:
        """The kind of bias, or of memory for an LM without attention, as in legends."""
        if "memory" in self.network:
            return encoding.memory_kind(self.network["memory"])
        of = {"ngram": "n-gram", "mix": "mix"}
        return next(
            (kind for key, kind in of.items() if key in self.network), encoding.kind(self.bias)
        )

    @property
    def memory(self) -> str:
        """The kind of memory of earlier words: recurrent, attention, or biased attention."""
        if "memory" in self.network or self.kind in ("n-gram", "mix"):
            return self.kind
        if "table" in self.network:
            return ""  # unknown
        return "attention" if self.kind == "none" else "biased attention"


@dataclass(frozen=True)
class Response:
    """One measure of one dataset, with its label ("UCL SPR")."""

    dataset: str
    measure: str
    label: str

    @property
    def dataset_label(self) -> str:
        """The label without the measure, or the whole label if it is only the measure."""
        return self.label.removesuffix(self.measure).strip() or self.label


@dataclass(frozen=True)
class Comparison:
    """ΔLogLik in nats by an experiment's endpoint, and missing results."""

    lms: list[LM]
    responses: list[Response]
    delta: pd.DataFrame  # index: lm, columns: response labels; NaN where a pair was not run
    observations: pd.Series  # scored observations by response label
    unconverged: frozenset[tuple[str, str]] = frozenset()  # (lm, response label)
    not_run: list[str] = field(default_factory=list)  # notes on missing responses
    not_summed: list[str] = field(default_factory=list)  # notes on responses that some LMs lack
    bases: Mapping[str, str] = field(default_factory=dict)  # response label → fixed or all
    endpoint: str = "conditional"  # see recency.endpoints
    seeds: int = 1  # maximum number of training runs averaged per LM
    of_items: bool = False  # whether all responses are to an experiment's items

    @property
    def missing(self) -> list[str]:
        """All notes on missing results."""
        return [*self.not_run, *self.not_summed]

    @property
    def base(self) -> str:
        """The predictors that the base omits: `fixed`, `all`, or `several` if responses differ."""
        return bases.of(self.bases.values())

    @property
    def described(self) -> str:
        """The baseline model and the log-likelihood: " relative to …; log-likelihood of …"."""
        return bases.relative_to(self.base) + f"; log-likelihood {self.likelihood}"

    @property
    def likelihood(self) -> str:
        """The description of the log-likelihood."""
        return of_units(ENDPOINTS[self.endpoint].of, self.of_items)

    @property
    def summed(self) -> list[str]:
        """Labels of the responses that every LM has, over which totals are comparable."""
        return [label for label in self.delta.columns if self.delta[label].notna().all()]

    @property
    def summed_over(self) -> str:
        """The responses of totals in words: the single response, or their number."""
        many = len(self.summed)
        return self.summed[0] if many == 1 else f"summed over {many} responses"

    def note(self, *texts: str) -> str:
        """Join the base, if known, and texts to one note."""
        return "; ".join(filter(None, [bases.SHORT.get(self.base, ""), *texts]))

    @property
    def totals(self) -> pd.Series:
        """ΔLogLik summed over `summed`, by lm; empty if all LMs share no response."""
        if not self.summed:
            return pd.Series(dtype=float)
        return self.delta[self.summed].sum(axis=1)


@dataclass(frozen=True)
class View:
    """The parts of an experiment that its figures and tables share.

    A product's function that has a parameter of this type gets it from the files and params of its
    rule with these names; the entry of `PRODUCTS` lists those that it needs.

    Attributes
    ----------
    lms, responses
        The language models and measures, in the config's order.
    baseline
        The name of the baseline LM.
    title
        The experiment's title, or the table's where the rule has none.
    published
        CSV of published values.
    not_run
        not_run.csv, which has the reasons for missing responses.
    runs
        The LM of each description: one LM has several if its seeds are described.
    """

    lms: list[LM]
    responses: list[Response]
    baseline: str = ""
    title: str = ""
    published: File | None = None
    not_run: File | None = None
    runs: list[str] = field(default_factory=list)

    @classmethod
    def of_job(cls, given: dict[str, Any], threads: int = 1) -> "View":
        """Take the parts of a view out of a job's arguments."""
        described = list(given.pop("lms", ()))
        lms, _ = of_seeds(described, described)
        # Listed once, although an experiment may have them by several designs.
        once = {(row["dataset"], row["measure"]): row for row in given.pop("responses", ())}
        _, responses = records([], once.values())
        names = ("baseline", "title", "published", "not_run")
        more = {name: given.pop(name) for name in names if name in given}
        return cls(lms, responses, **more, runs=[lm["lm"] for lm in described])

    def of_runs(self, files: Iterable[Thing]) -> dict[str, list[Thing]]:
        """Return LM → its files, which are in the order of `runs`."""
        return by_lm(self.runs, files)

    @property
    def labels(self) -> dict[str, str]:
        """LM → label."""
        return {lm.lm: lm.label for lm in self.lms}

    @property
    def response_labels(self) -> dict[tuple[str, str], str]:
        """(dataset, measure) → label."""
        return response_labels(self.responses)

    def rows(
        self, path: File, columns: Iterable[str]
    ) -> tuple[pd.DataFrame, list[Response], list[str]]:
        """Read the rows of the LMs and responses from a CSV with the columns lm, dataset and measure.

        Returns
        -------
        tuple
            The rows with `response`, the label; the responses that were run; notes on the others.
        """
        rows = with_responses(table(path, columns), self.responses, self.lms)
        labels = set(rows.response)
        done = [response for response in self.responses if response.label in labels]
        return rows.reset_index(drop=True), done, self.absent(labels)

    def published_rows(self, columns: Iterable[str]) -> pd.DataFrame | None:
        """Read the published values, a CSV with these columns; None without one."""
        return None if self.published is None else table(self.published, columns)

    def absent(self, labels: Collection[str]) -> list[str]:
        """Return notes on the responses whose labels are not among these."""
        without = [response for response in self.responses if response.label not in labels]
        return absent_responses(without, reasons(self.not_run))


def find(lms: Iterable[LM], lm: str | None) -> LM | None:
    """Return the LM with this name, or None."""
    return next((model for model in lms if model.lm == lm), None)


def grouped(lms: Iterable[LM], same: Callable[[LM], object]) -> list[list[LM]]:
    """Group LMs with equal values of `same`, in order; unbiased LMs form single groups."""
    groups: list[list[LM]] = []
    for lm in lms:
        alike = (g for g in groups if lm.applied != "none" and same(g[0]) == same(lm))
        if group := next(alike, None):
            group.append(lm)
        else:
            groups.append([lm])
    return groups


def by_lm(lms: Iterable[str], things: Iterable[Thing]) -> dict[str, list[Thing]]:
    """Return LM → its things (files of seeds), given the LM of each."""
    grouped: dict[str, list[Thing]] = {}
    for lm, thing in zip(lms, things, strict=True):
        grouped.setdefault(lm, []).append(thing)
    return grouped


def of_seeds(things: Iterable[Thing], lms: Described) -> tuple[list[LM], dict[str, list[Thing]]]:
    """Return the distinct LMs, and LM → its things (files of seeds); `lms` describe the things."""
    described = list(lms)
    runs = [lm["lm"] for lm in described]
    models, _ = records([of_lm[0] for of_lm in by_lm(runs, described).values()], [])
    return models, by_lm(runs, things)


def records(lms: Described, responses: Described) -> tuple[list[LM], list[Response]]:
    """Convert a rule's params into records, ignoring other keys.

    LMs have lm, label, bias (form and parameters), applied and optionally network. If a response's
    `label` is its dataset's, the measure is appended.
    """
    models = [
        LM(
            str(row["lm"]),
            str(row["label"]),
            row["bias"],
            str(row["applied"]),
            row.get("network", {}),
        )
        for row in lms
    ]
    for model in models:
        if model.applied not in APPLIED:
            raise InputError(
                f"lms: {model.lm}: applied is {model.applied!r}; it must be one of {', '.join(APPLIED)}"
            )
    measured = []
    for row in responses:
        dataset, measure, label = (str(row[name]) for name in ("dataset", "measure", "label"))
        with_measure = label if label.split()[-1:] == [measure] else f"{label} {measure}"
        measured.append(Response(dataset, measure, with_measure))
    for what, labels in (
        ("lms", [m.label for m in models]),
        ("responses", [r.label for r in measured]),
    ):
        if twice := [label for label in dict.fromkeys(labels) if labels.count(label) > 1]:
            raise InputError(f"{what}: two have the label {twice[0]!r}; use distinct labels")
    for model in models:
        fonts.stand_for(model.label, model.lm)
    for response in measured:
        fonts.stand_for(response.dataset_label, response.dataset)
    return models, measured


def joined(lms: Iterable[LM], parts: Iterable[pd.DataFrame]) -> pd.DataFrame:
    """Concatenate the tables of LMs, adding the columns `lm` and `label`."""
    labelled = [part.assign(lm=lm.lm, label=lm.label) for lm, part in zip(lms, parts, strict=True)]
    return pd.concat(labelled, ignore_index=True)


def response_labels(responses: Iterable[Response]) -> dict[tuple[str, str], str]:
    """Return (dataset, measure) → label."""
    return {(r.dataset, r.measure): r.label for r in responses}


def with_responses(
    rows: pd.DataFrame, responses: Iterable[Response], lms: Iterable[LM] | None = None
) -> pd.DataFrame:
    """Return the rows of these responses (and LMs), with the label in the column `response`."""
    names = response_labels(responses)
    labels = pd.Series(
        [names.get(key) for key in zip(rows.dataset, rows.measure)], rows.index, object
    )
    rows = rows.assign(response=labels)[labels.notna()]
    return rows if lms is None else rows[rows.lm.isin([lm.lm for lm in lms])]


def refuse_twice(path: File, rows: pd.DataFrame) -> None:
    """Raise InputError if an LM has two rows of one response."""
    for row in rows[rows.duplicated(["lm", "response"])].itertuples():
        raise InputError(
            f"{path}: two rows of {row.lm} on {row.response}; "
            "give each design a separate experiment"
        )


def dataset_labels(responses: Iterable[Response]) -> dict[str, str]:
    """Return dataset → label, with the measures added where labels are not unique.

    >>> ucl = [Response("spr", "SPR", "UCL SPR"), Response("eyes", "FP", "UCL FP")]
    >>> dataset_labels(ucl)
    {'spr': 'UCL (SPR)', 'eyes': 'UCL (FP)'}
    """
    measures: dict[str, list[Response]] = {}
    for response in responses:
        measures.setdefault(response.dataset, []).append(response)
    plain = {dataset: group[0].dataset_label for dataset, group in measures.items()}
    return {
        dataset: label
        if list(plain.values()).count(label) == 1
        else f"{label} ({', '.join(r.measure for r in measures[dataset])})"
        for dataset, label in plain.items()
    }


def reasons(path: File | None) -> pd.DataFrame:
    """Read not_run.csv (`dataset,measure,reason`); an empty measure means all of a dataset."""
    columns = ["dataset", "measure", "reason"]
    if path is None:
        return pd.DataFrame(columns=columns)
    return table(path, columns)[columns].astype(object).fillna("").astype(str)


def table(
    path: File,
    columns: Iterable[str],
    remedy: str = "delete the file, so that the workflow computes it again",
) -> pd.DataFrame:
    """Read a CSV with these columns, keeping "NA" and similar text in text columns."""
    try:
        rows = pd.read_csv(path, keep_default_na=False, na_values=[""])
    except pd.errors.EmptyDataError:
        rows = pd.DataFrame()
    absent = [column for column in columns if column not in rows.columns]
    if absent:
        raise InputError(f"{path}: no column {', '.join(absent)}; {remedy}")
    return rows


def why(not_run: pd.DataFrame, dataset: str, measure: str) -> str:
    """Return the reason why a response was not run, or "" if not_run.csv has none."""
    rows = not_run[(not_run.dataset == dataset) & not_run.measure.isin([measure, ""])]
    return "; ".join(dict.fromkeys(rows.reason))


def absent_responses(responses: Iterable[Response], not_run: pd.DataFrame) -> list[str]:
    """Return notes on responses that were not run, by dataset: "not run: Dundee SP, FP (reason)"."""
    groups: dict[tuple[str, str], list[Response]] = {}
    for response in responses:
        key = (response.dataset, why(not_run, response.dataset, response.measure))
        groups.setdefault(key, []).append(response)
    sentences = []
    for (_, reason), group in groups.items():
        first, *rest = group
        names = ", ".join([first.label, *(response.measure for response in rest)])
        sentences.append(f"not run: {names}" + (f" ({reason})" if reason else ""))
    return sentences


def failed_responses(rows: pd.DataFrame) -> list[str]:
    """Return notes on responses whose regressions failed for every LM, with the first reason."""
    first = rows.drop_duplicates("response")
    first = first.assign(note=first.get("note", pd.Series("", first.index)).fillna(""))
    return [
        f"{FAILED}{row.response}" + (f" ({row.note})" if row.note else "")
        for row in first.itertuples()
    ]


def failed_fits(rows: pd.DataFrame, value: str) -> list[str]:
    """Return notes on rows (label, response, note) whose `value` is missing because a fit failed."""
    failed = rows[rows[value].isna()].fillna({"note": ""})
    return [
        f"{FAILED}{row.label} on {row.response}" + (f" ({row.note})" if row.note else "")
        for row in failed.itertuples()
    ]


def read(view: View, delta_loglik: File) -> Comparison:
    """Read delta_loglik.csv in the order of the view's LMs and responses, ignoring other rows.

    Raises InputError for two rows of a pair, and for responses whose observations or bases differ
    between LMs.
    """
    models, measured = view.lms, view.responses
    columns = ["lm", "dataset", "measure", "base", "endpoint", "delta_loglik", "n", "converged"]
    rows = table(delta_loglik, columns)
    rows = with_responses(rows, measured, models)
    failed, rows = rows[rows.delta_loglik.isna()], rows[rows.delta_loglik.notna()]
    refuse_twice(delta_loglik, rows)
    for response, sizes in rows.groupby("response", sort=False).n:
        if sizes.nunique() > 1:
            odd = rows.lm[sizes.index[sizes != sizes.iloc[0]][0]]
            raise InputError(
                f"{delta_loglik}: {response} has {sizes.iloc[0]:,.0f} observations for "
                f"{rows.lm[sizes.index[0]]} and others for {odd}: not comparable; "
                "delete the older of their regressions and run again"
            )

    if rows.endpoint.nunique() > 1:
        raise InputError(
            f"{delta_loglik}: ΔLogLik by {' and '.join(rows.endpoint.unique())}: not comparable; delete "
            "the file, so that the workflow computes it again"
        )
    for response, response_bases in rows.groupby("response", sort=False).base:
        if response_bases.nunique() > 1:
            raise InputError(
                f"{delta_loglik}: {response} has the bases {' and '.join(response_bases.unique())}: not "
                "comparable; delete the file, so that the workflow computes it again"
            )
    delta = rows.pivot(index="lm", columns="response", values="delta_loglik")
    done = [model for model in models if model.lm in delta.index]
    measured_done = [response for response in measured if response.label in delta.columns]
    delta = delta.reindex(
        index=[model.lm for model in done], columns=[response.label for response in measured_done]
    ).astype(float)
    delta.index.name = delta.columns.name = None
    once = rows.drop_duplicates("response").set_index("response")
    sizes = once.n
    unconverged = rows[rows.converged.astype(str).str.lower().isin(["false", "0", "0.0"])]

    lost = [r for r in measured if r not in measured_done]
    absent = absent_responses(
        [r for r in lost if r.label not in set(failed.response)], reasons(view.not_run)
    )
    absent += failed_responses(failed[failed.response.isin([r.label for r in lost])])
    unfit = set(failed.lm)
    for word, is_failed in (("not run: ", False), (FAILED, True)):
        labels = [lm.label for lm in models if lm not in done and (lm.lm in unfit) == is_failed]
        absent += [f"{word}{', '.join(labels)}"] if labels else []
    not_summed = []
    for response in measured_done:
        without = [model.label for model in done if pd.isna(delta.loc[model.lm, response.label])]
        if without:
            not_summed.append(
                f"{response.label} has no fit for {', '.join(without)} and is excluded from the total"
            )
    return Comparison(
        lms=done,
        responses=measured_done,
        delta=delta,
        observations=sizes.reindex(delta.columns).astype("int64"),
        unconverged=frozenset(zip(unconverged.lm, unconverged.response)),
        not_run=absent,
        not_summed=not_summed,
        seeds=int(rows.seeds.max()) if "seeds" in rows and len(rows) else 1,
        bases=once.base.reindex(delta.columns).fillna("").to_dict(),
        endpoint=str(rows.endpoint.iloc[0]) if len(rows) else "conditional",
        of_items="by" in rows and set(rows["by"]) == {BY_ITEMS},
    )
