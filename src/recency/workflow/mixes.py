"""Interpolated LMs: inputs for their weights, and checks of their settings."""

from collections.abc import Mapping

from recency import config as configuration

#: Keys of an interpolated LM in addition to its LMs.
KEYS = ("shares", "held_out", "cache")


class Mix:
    """An interpolated LM of a study."""

    def __init__(self, study, lm: str):
        self.study, self.config = study, study.config
        self.lm, self.entry = lm, study.config["lms"][lm]
        self.lms: list[str] = self.entry["interpolate"]

    @property
    def unknown_as(self) -> list[str | None]:
        """Return the token of each LM for unknown words (networks of words only)."""
        return [self._unknown(lm) for lm in self.lms]

    def _unknown(self, lm: str) -> str | None:
        words = configuration.rows_of(self.config, lm) == configuration.WORDS
        if not words or "ngram" in self.config["lms"][lm]:
            return None
        named = configuration.language_model(self.config, lm)["tokenizer"]
        return self.config["tokenizers"][named].get("unknown", "<unk>")

    def text(self, corpus: str) -> dict[str, object]:
        """Return the files for scoring a text token by token."""
        return {
            "scores": [f"<results>/text_perplexity/{lm}/{corpus}.parquet" for lm in self.lms],
            "text": f"<results>/corpora/{corpus}/text.parquet",
        }

    def words(self, dataset: str) -> dict[str, object]:
        """Return the files for scoring a dataset word by word."""
        where = [f"<results>/surprisal/{lm}/{dataset}" for lm in self.lms]
        return {
            "words": f"<results>/datasets/{dataset}/words.parquet",
            "scores": [f"{stem}.parquet" for stem in where],
            "ledgers": [f"{stem}.ledger.csv" for stem in where],
        }

    def held_out(self) -> dict[str, object]:
        """Return the files for estimating the weights, and LMs' histories; none if weights are given."""
        on = self.entry.get("held_out", {})
        if not on:
            return {}
        histories = {"histories": list(filter(None, map(self._history, self.lms)))}
        if "dataset" in on:
            return histories | self.words(on["dataset"])
        if not configuration.mix_over_tokens(self.config, self.lm):
            return histories | self.text(on["corpus"])
        where = [f"<results>/mixes/{on['corpus']}/{lm}" for lm in self.lms]
        return histories | {
            "words": f"<results>/mixes/{on['corpus']}/words.parquet",
            "scores": [f"{stem}.parquet" for stem in where],
            "ledgers": [f"{stem}.ledger.csv" for stem in where],
        }

    def _history(self, lm: str) -> str | None:
        """Return the file that has the history of an LM of this study."""
        if configuration.kind_of(self.config["lms"][lm]) == "ngram":
            return self.study.ngram_file(lm)
        return next(iter(self.study.weights(lm)), None)


def problems(config: Mapping, name: str) -> list[str]:
    """List faults in an LM's `interpolate`."""
    entry, where = config["lms"][name], f"lms → {name}"
    lms, number = entry["interpolate"], len(entry["interpolate"]) + ("cache" in entry)
    faults = []
    if number < 2:
        faults.append(
            f"{where} → interpolate: one LM cannot be interpolated; name another, or add a `cache`"
        )
    faults += [
        f"{where} → interpolate: {lm!r} is itself a mixture; name its LMs"
        for lm in lms
        if "interpolate" in config["lms"][lm]
    ]
    if ("shares" in entry) == ("held_out" in entry):
        faults.append(
            f"{where}: set either `held_out`, the corpus or dataset on whose text the weights are estimated, "
            "or `shares`"
        )
    given = entry.get("shares")
    if given is not None and (len(given) != number or abs(sum(given) - 1) > 1e-6):
        of = f"{number} LMs" + ", the cache the last" * ("cache" in entry)
        faults.append(f"{where} → shares: {number} numbers that sum to 1, one for each of the {of}")
    faults += _vocabulary_problems(config, where, lms)
    if "corpus" in entry.get("held_out", {}):
        tables = [lm for lm in lms if configuration.kind_of(config["lms"][lm]) == "table"]
        faults += [
            f"{where} → held_out → corpus: {lm!r} is a table of surprisals and cannot score other text; use a `dataset`, "
            "or `shares`"
            for lm in tables
        ]
    return faults


def _vocabulary_problems(config: Mapping, where: str, lms: list[str]) -> list[str]:
    """List LMs whose probabilities are defined over other words than the others'."""
    faults, rules = [], {}
    for lm in lms:
        entry = config["lms"][lm]
        rule = entry.get("ngram", {}).get("text_rule", "displayed")
        rules[lm] = "displayed" if rule == "split" else rule
        if {"metric", "future"} & entry.get("scoring", {}).keys() or configuration.is_masked(
            config, lm
        ):
            faults.append(
                f"{where} → interpolate: {lm!r} is masked; its word scores are not probabilities of the "
                "next word, and cannot be interpolated"
            )
    if len(set(rules.values())) > 1:
        lm, rule = next((lm, rule) for lm, rule in rules.items() if rule != "displayed")
        faults.append(
            f"{where} → interpolate: {lm!r} has `text_rule: {rule}`, so its probabilities are over other "
            "words than those of the rest; use displayed or split"
        )
    return faults


def experiment_problems(config: Mapping, name: str) -> list[str]:
    """List mixtures of an experiment whose weights are estimated on the text of the comparison."""
    experiment, faults = config["experiments"][name], []
    scored = {r["dataset"] for r in configuration.responses(config, name)}
    scored |= {configuration.owner_of_words(config, d) for d in scored}
    for lm in experiment["lms"]:
        entry = config["lms"][lm]
        on = entry.get("held_out", {}).get("dataset")
        if on and configuration.owner_of_words(config, on) in scored:
            faults.append(
                f"experiments → {name} → responses: the weights of {lm!r} are estimated on {on}'s text, on which it is "
                "compared here; use another `held_out`"
            )
    return faults
