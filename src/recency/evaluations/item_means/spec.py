"""Corpora fitted without partitions, as word means (de Varda & Marelli 2024) or observations: AIC."""

from recency.evaluations.registry import Evaluation


def _problems(config, name) -> list[str]:
    """List settings of an experiment that require partitions of datasets without them."""
    experiment, where = config["experiments"][name], f"experiments → {name}"
    listed = [
        (design, response.partition(".")[0])
        for design, responses in experiment.get("responses", {}).items()
        for response in responses
    ]
    datasets = config["datasets"]
    fitted = {d for _, d in listed if not datasets[d].get("partitioned", True)}
    if not fitted:
        return []
    problems, first = [], min(fitted)
    if others := sorted({dataset for _, dataset in listed} - fitted):
        problems.append(
            f"{where} → responses: all of {first!r} is fitted (`partitioned: false`), {others[0]!r} "
            "is not; give each a separate experiment"
        )
    for key in ("compare", "seeds", "sensitivity"):
        if key in experiment:
            problems.append(
                f"{where} → {key}: {first!r} has no partition other than the fitted one "
                f"(`partitioned: false`); remove `{key}`"
            )
    return problems


EVALUATION = Evaluation(
    key="responses",
    applies=lambda study, experiment: study.all_fitted(experiment),
    problems=_problems,
)
