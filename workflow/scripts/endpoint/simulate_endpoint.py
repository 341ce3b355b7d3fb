"""Rule simulate_endpoint: bias, size, power and coverage of candidate endpoints of ΔLogLik."""

from recency.simulation.repeats import use_one_thread
from recency.workflow.job import code_of, logged

if __name__ == "__main__":
    use_one_thread()
    from recency.evaluations.endpoint.simulate import main

    with logged(snakemake.log[0]):
        main(
            snakemake.output.candidates,
            snakemake.output.tests,
            seed=snakemake.params.seed,
            processes=snakemake.threads,
            code=code_of(snakemake.params),
            **snakemake.params.settings,
        )
