"""Surprisal by word type, with words' length and frequency."""

from recency import languages
from recency.evaluations.registry import Evaluation, settings
from recency.planned import Planned


def settings_of(config: dict, experiment: str) -> dict:
    """Return an experiment's `word_length` settings with defaults."""
    frequency = config["scales"].get(config["scale"], {}).get("unigram")
    return {"frequency": frequency} | settings("word_length", config, experiment)


def _setting(key: str):
    return lambda study, experiment: settings_of(study.config, experiment)[key]


def _surprisals(study: Planned, experiment: str, lms: list[str]) -> list[str]:
    dataset = settings_of(study.config, experiment)["dataset"]
    return [f"<results>/surprisal/{lm}/{dataset}.parquet" for lm in lms]


def _frequency_of(study: Planned, experiment: str) -> str:
    """Return the label of the larger text for frequencies."""
    settings = settings_of(study.config, experiment)
    named = languages.member(study.config, "unigrams", settings["frequency"], settings["dataset"])
    entry = study.config["unigrams"][named]
    if "wordfreq" in entry:
        return f"wordfreq ({entry['wordfreq']})"
    corpus = entry.get("corpus")
    return study.config["corpora"][corpus].get("label", corpus) if corpus else "a list of counts"


EVALUATION = Evaluation(
    key="word_length",
    inputs={
        "words": lambda study, experiment: (
            f"<results>/datasets/{_setting('dataset')(study, experiment)}/words.parquet"
        ),
        "surprisals": lambda study, experiment: _surprisals(
            study, experiment, study.experiment(experiment)["lms"]
        ),
        "frequency": lambda study, experiment: _surprisals(
            study, experiment, [_setting("frequency")(study, experiment)]
        ),
    },
    settings={"common": _setting("common"), "frequency_of": _frequency_of},
)
