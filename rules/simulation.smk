# The simulated study: generated text, and readers that follow the surprisal of a known LM.


rule simulate_text:
    "Write the training text of the simulated study: stories in a small, English-like language."
    output:
        "<results>/corpora/{corpus}/text.parquet",
    log:
        "<logs>/simulate_text/{corpus}.log",
    wildcard_constraints:
        corpus=any_of(study.corpora_with("simulate")),
    conda:
        "../envs/lm.yaml"
    params:
        main="simulation.text",
        documents=lambda wildcards: config["corpora"][wildcards.corpus]["simulate"]["documents"],
        seed=lambda wildcards: config["corpora"][wildcards.corpus]["simulate"]["seed"],
    script:
        "../workflow/scripts/run.py"


rule simulate_stimuli:
    "Write the stimuli of the simulated reading experiments: stories outside the training data."
    output:
        "<results>/simulation/{dataset}/stimuli.csv",
    log:
        "<logs>/simulate_stimuli/{dataset}.log",
    conda:
        "../envs/lm.yaml"
    params:
        main="simulation.stimuli",
        stories=lambda wildcards: study.simulated(wildcards.dataset)["stories"],
        seed=lambda wildcards: study.simulated(wildcards.dataset)["stimuli_seed"],
    script:
        "../workflow/scripts/run.py"


rule simulate_readers:
    "Write reading times of simulated readers, whose expectations are an LM's surprisal."
    input:
        words="<results>/datasets/{dataset}/words.parquet",
        surprisal=lambda wildcards: study.readers_surprisal(wildcards.dataset),
        unigram=f"<results>/surprisal/{study.scale['unigram']}/{{dataset}}.parquet",
    output:
        responses="<results>/simulation/{dataset}/responses.csv",
        truth="<results>/simulation/{dataset}/truth.json",
    log:
        "<logs>/simulate_readers/{dataset}.log",
    conda:
        "../envs/plot.yaml"
    params:
        main="simulation.responses",
        measure=lambda wildcards: study.simulated(wildcards.dataset)["measure"],
        reader=lambda wildcards: study.simulated(wildcards.dataset)["reader"],
        settings=lambda wildcards: study.simulated(wildcards.dataset)["readers"],
    script:
        "../workflow/scripts/run.py"


rule recovery:
    "Compare the effects estimated for simulated readers with their true effects."
    input:
        truth="<results>/simulation/{dataset}/truth.json",
        fits=lambda wildcards: regressions.recovery_fits(
            study, wildcards.experiment, wildcards.dataset, wildcards.measure
        ),
    output:
        products.files(
            study,
            "<results>/experiments/{experiment}/recovery.{dataset}.{measure}",
            f"{EVALUATIONS}/reading_times/recovery.rst",
            "{dataset} {measure}: effects put in and found",
        ),
    log:
        "<logs>/recovery/{experiment}.{dataset}.{measure}.log",
    conda:
        "../envs/plot.yaml"
    params:
        main="evaluations.reading_times.recovery",
        lms=lambda wildcards: study.recovered(wildcards.experiment, wildcards.dataset),
    script:
        "../workflow/scripts/run.py"
