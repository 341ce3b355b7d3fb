"""Bayesian models with few chains or draws."""

from collections.abc import Iterator

from recency.workflow.lint import Finding, Plan

RULE = {
    "table": "designs",
    "why": "Convergence is judged by differences between chains; four chains and 400 draws are the usual minimum.",
    "reference": "Vehtari, Gelman, Simpson, Carpenter & Bürkner (2021), Bayesian Analysis 16, 667-718",
}


def findings(plan: Plan) -> Iterator[Finding]:
    """Yield designs of brms with fewer than four chains, or 400 draws after warm-up."""
    for name, design in plan.designs.items():
        if design.entry["engine"] != "brms":
            continue
        sampling = design.entry.get("sampling", {})
        chains, iterations = sampling.get("chains", 4), sampling.get("iterations", 2000)
        draws = chains * (iterations - sampling.get("warmup", iterations // 2))
        if chains < 4 or draws < 400:
            yield Finding(
                name,
                "sampling",
                f"{chains} chains and {draws:,} draws",
                "write at least `chains: 4` and 100 iterations of each after `warmup`",
            )
