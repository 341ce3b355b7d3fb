"""Search a bias's parameters for the best fit to mean reading times (de Varda & Marelli 2024, 3.4).

A Tree-structured Parzen Estimator proposes parameters; the bias is applied to the loaded network,
the words are scored, and the log-likelihood of the workflow's regression is maximised.
"""

import json
import math
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from readingtimes.files import atomic
from readingtimes.progress import progress
from recency import plugins
from recency.errors import InputError
from recency.evaluations import job_state
from recency.regression import fit as regression
from recency.regression.inputs import Inputs
from recency.scoring import surprisal
from recency.scoring.lm_spec import LMSpec


def main(
    words: Sequence[str | Path],
    fit: Sequence[str | Path],
    lm: LMSpec,
    out_trials: str | Path,
    out_best: str | Path,
    *,
    responses: Sequence[Mapping[str, Any]],
    search: Mapping[str, Any],
    unigram: Sequence[str | Path] = (),
    mark: Mapping[str, Mapping[str, Any]] | None = None,
    code: Mapping[str, str] | None = None,
) -> None:
    """Write one row per trial (trial, parameters, loglik; CSV), and the best trial (JSON).

    `words`, `fit` and, if a design needs it, `unigram` follow the order of `responses` (dataset,
    measure and `design`, of `engine: ols`), whose log-likelihoods (nats) are summed. `search` has
    form, parameters, trials, seed and optionally layers; `mark` are biases to evaluate as well. The
    LM is opened without a bias. Values and the specification they depend on (including `code`) are
    stored next to `out_trials`, so that a killed search repeats its proposals and resumes.
    """
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    settings = {"bos": lm.bos, "stride": lm.stride, "scoring": dict(lm.scoring)}
    specification = {
        "lm": job_state.lm_identity(lm),
        "responses": [dict(response) for response in responses],
        "files": [job_state.digest(path) for path in (*words, *fit, *unigram)],
        "code": dict(code or {}),
    }
    opened = lm.open(biased=False)

    def evaluate(bias: Mapping[str, Any] | None) -> float | None:
        if bias is not None:
            apply_bias(opened.network, bias)
        return loglik(opened, words, fit, unigram, responses, settings)

    state = Path(out_trials).with_name(f".{Path(out_trials).stem}.state.jsonl")
    value = cache_results(state, specification, evaluate)
    fixed = {key: search[key] for key in ("form", "layers") if key in search}
    fixed |= {k: v for k, v in search["parameters"].items() if not isinstance(v, list)}
    bounds = {k: tuple(v) for k, v in search["parameters"].items() if isinstance(v, list)}
    shown = progress(search["trials"], f"search on {lm.name}", "trials")
    unbiased = value(None)  # before a bias is applied
    if unbiased is None:
        raise InputError(f"search on {lm.name}: the regression on its surprisal failed (see log)")
    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=search["seed"]))
    space = distributions(search["form"], bounds)
    rows, best = [], None
    for number in range(search["trials"]):
        trial = study.ask(space)
        score = value(fixed | trial.params)
        if score is None:
            study.tell(trial, state=optuna.trial.TrialState.FAIL)
        else:
            study.tell(trial, -score)
        rows.append({"trial": number} | trial.params | {"loglik": score})
        if score is not None and (best is None or score > best["loglik"]):
            best = rows[-1]
        shown.update(number + 1, f"best log-likelihood {best['loglik']:.2f}" if best else "")
    if best is None:
        raise InputError(
            f"search on {lm.name}: none of the {len(rows)} trials could be fitted, see the log for why; "
            "the bounds of its `parameters` may be out of reach"
        )
    record = {
        "lm": lm.name,
        "bias": fixed | {name: best[name] for name in bounds},
        "trial": best["trial"],
        "loglik": best["loglik"],
        "unbiased": unbiased,
        "marked": {
            name: {"bias": dict(bias), "loglik": value(bias)} for name, bias in (mark or {}).items()
        },
        "responses": [f"{r['dataset']}.{r['measure']}" for r in responses],
        "searched": {name: list(ends) for name, ends in bounds.items()},
    }
    table = pd.DataFrame(rows, columns=["trial", *bounds, "loglik"])
    with atomic(out_trials) as path:
        table.to_csv(path, index=False, lineterminator="\n")
    with atomic(out_best) as path:
        path.write_text(json.dumps(record, indent=1) + "\n")


def apply_bias(network, bias: Mapping[str, Any]) -> None:
    """Apply a bias to a network, replacing the previous one."""
    from recency.attention import biased

    biased.attach(network, dict(bias))
    network.to(network.device)  # weights of a learned form are created on the CPU
    if network.device.type == "cuda":
        # Otherwise each trial's constants would be compiled into a new kernel.
        network.config._attn_implementation = biased.WITHOUT_FLEX


def loglik(
    model: surprisal.Model,
    words: Sequence[str | Path],
    fit: Sequence[str | Path],
    unigram: Sequence[str | Path],
    responses: Sequence[Mapping[str, Any]],
    settings: Mapping[str, Any],
) -> float | None:
    """Return the sum of the regressions' log-likelihoods (nats), or None if one has no fit.

    Each dataset is scored once, with the network as it is.
    """
    total, scored = 0.0, {}
    with tempfile.TemporaryDirectory() as folder:
        for index, response in enumerate(responses):
            table = words[index]
            if table not in scored:
                scored[table] = Path(folder) / f"{len(scored)}.parquet"
                given = {"bos": settings["bos"], "stride": settings["stride"]}
                result = surprisal.score_words(
                    pd.read_parquet(table), model, **given, **settings["scoring"]
                )
                result.table.to_parquet(scored[table], index=False)
            fit_path = Path(folder) / "fit.json"
            regression.main(
                Inputs(
                    words=table,
                    fit=fit[index],
                    unigram=unigram[index] if unigram else None,
                    surprisal=scored[table],
                ),
                fit_path,
                lm="search",
                design=response["design"],
                model="full",
            )
            record = json.loads(fit_path.read_text())
            if record["loglik"]["fit"] is None:
                name = f"{response['dataset']}.{response['measure']}"
                print(f"{name}: {record['note'] or 'no log-likelihood'}", file=sys.stderr)
                return None
            total += record["loglik"]["fit"]
    return total


def distributions(form: str, bounds: Mapping[str, tuple[float, float]]) -> dict[str, Any]:
    """Return an Optuna distribution per parameter, an integer one where the form requires it."""
    from optuna.distributions import FloatDistribution, IntDistribution

    parameters = plugins.constant("recency.attention.biases", form, "PARAMETERS")
    integer = {name: parameters[name].get("type") == "integer" for name in bounds}
    return {
        name: IntDistribution(*ends) if integer[name] else FloatDistribution(*map(float, ends))
        for name, ends in bounds.items()
    }


def cache_results(
    state: Path,
    specification: Mapping[str, Any],
    evaluate: Callable[[Mapping[str, Any] | None], float | None],
) -> Callable[[Mapping[str, Any] | None], float | None]:
    """Return `evaluate` with its results cached in the file `state`, which survives a killed job.

    The first line is the specification; a state with another one is not used. A line that was
    cut off while it was being written is skipped.
    """
    head = json.dumps(specification, sort_keys=True)
    lines = state.read_text().splitlines() if state.exists() else []
    cache = {}
    if lines and lines[0] == head:
        for line in lines[1:]:
            try:
                entry = json.loads(line)
            except json.JSONDecodeError:
                continue
            cache[json.dumps(entry["bias"], sort_keys=True)] = entry["loglik"]
    elif lines:
        print(f"{state} has another specification and is not used", file=sys.stderr)
    kept = [json.dumps({"bias": json.loads(k), "loglik": v}) for k, v in cache.items()]
    with atomic(state) as path:
        path.write_text("".join(f"{line}\n" for line in [head, *kept]))

    def value(bias: Mapping[str, Any] | None) -> float | None:
        key = json.dumps(bias, sort_keys=True)
        if key not in cache:
            result = evaluate(bias)
            cache[key] = result if result is not None and math.isfinite(result) else None
            with state.open("a") as file:
                file.write(json.dumps({"bias": bias, "loglik": cache[key]}) + "\n")
        return cache[key]

    return value
