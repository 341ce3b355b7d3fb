"""Overlays on a shipped study: valid YAML and doubtful science, and the sound ones next to them."""

#: A design and an experiment of simulated readers, which the overlays on the demo change.
MINE = """
run: [mine]
designs:
  mine:
    formula: >-
      time_ms ~ length + position + unigram + surprisal + previous_surprisal
      + (1 + surprisal + previous_surprisal | subject) + (1 | sentence)
    of_interest: [surprisal, previous_surprisal]
    base: all
    engine: cross_products
    response: raw
    surprisal: plain
experiments:
  mine:
    title: Mine
    lms: [Pythia, dVM-I, ALiBi-mix-TI, ALiBi-1-TI]
    baseline: Pythia
    responses: {mine: [simulated_spr.SPR]}
    accept: [single_training]
"""

#: Names of overlays on config.yaml.
DEMO, OPEN = ("config/demo.yaml",), ("config/open.yaml",)


def spr(formula, **settings):
    """Return an overlay with a formula of self-paced reading."""
    more = "".join(f", {key}: {value}" for key, value in settings.items())
    return f"designs: {{mine: {{formula: '{formula}'{more}}}}}"


SLOPES = "(1 + surprisal + previous_surprisal | subject)"
CONTROLS = "time_ms ~ length + position + unigram + "
BOTH = f"{CONTROLS}surprisal + previous_surprisal + "
READERS = "datasets: {simulated_spr: {simulate: {readers: "
RECIPE = "recipes: {demo: "
EXPERIMENT = "experiments: {mine: "
READER_LIKE = (
    "lms: {Twin: {bias: ALiBi-1, corpus: simulated-reader, seed: 2}}\n"
    "experiments: {mine: {lms: [Pythia, Twin]}}"
)
TABLE = "{table: {local: README.md}, unit: %s, columns: {surprisal: %s, word_id: id}}"
TABLES = "lms: {A: {surprisals: %s}, B: {surprisals: %s}}\n" + EXPERIMENT + "{lms: [Pythia, A, B]}}"

#: Contexts of readers, and those of other readers, under designs with and without saccades.
SACCADES = "designs: {mine: {formula: 'time_ms ~ length + position + unigram%s + surprisal + previous_surprisal + (1 + surprisal + previous_surprisal | subject) + (1 | sentence)'}}\n"
SEEN = "lms: {Seen: {weights: Pythia, reader: {}}, Others: {weights: Pythia, reader: {of: another, seed: 3}}}\n"
EYES = "responses: {mine: [simulated_eye_tracking.FP]}}}"

#: (overlay, rule that warns), on the demo.
DOUBTFUL = [
    # Random effects.
    (spr(f"{BOTH}(1 | subject) + (1 | sentence)"), "random_slopes"),
    (spr(f"{BOTH}(1 + surprisal | subject) + (1 | sentence)"), "random_slopes"),
    (spr(f"{BOTH}(1 + length || subject) + (1 | sentence)"), "random_slopes"),
    (spr(f"{BOTH}(1 | subject) + (1 + surprisal + previous_surprisal | sentence)"), "random_slopes"),
    ("designs: {eye_tracking: {accept: []}}\n" + EXPERIMENT + "{responses: {eye_tracking: [simulated_eye_tracking.FP]}}}", "random_slopes"),
    (spr(f"{BOTH}(1 | sentence)"), "cluster_effects"),
    (spr(f"{BOTH}{SLOPES}"), "cluster_effects"),
    (spr(f"{BOTH}(1 + surprisal + previous_surprisal + previous_length | subject) + (1 | sentence)"), "slope_without_effect"),
    # Logarithms.
    ("designs: {mine: {response: log, family: lognormal}}", "log_twice"),
    ("designs: {mine: {family: lognormal}}\n" + EXPERIMENT + "{sensitivity: {response: [raw, log]}}}", "log_twice"),
    (EXPERIMENT + "{sensitivity: {response: [raw, log], family: [gaussian, lognormal]}}}", "log_twice"),
    ("datasets: {simulated_spr: {options: {columns: {SPR: log_rt}}}}\ndesigns: {mine: {family: lognormal}}", "log_twice"),
    ("datasets: {simulated_spr: {options: {columns: {SPR: logRT}}}}\ndesigns: {mine: {response: log}}", "log_twice"),
    # Predictors.
    (spr(f"{BOTH}I(2*surprisal) + {SLOPES} + (1 | sentence)"), "dependent_predictors"),
    (spr(f"{BOTH}I(length + 1) + {SLOPES} + (1 | sentence)"), "dependent_predictors"),
    (spr(f"{BOTH}log(length) + log2(length) + {SLOPES} + (1 | sentence)"), "dependent_predictors"),
    (spr(f"{BOTH}I(length + unigram) + {SLOPES} + (1 | sentence)"), "dependent_predictors"),
    (spr(f"{BOTH}scale(unigram) + {SLOPES} + (1 | sentence)"), "dependent_predictors"),
    (spr(f"{BOTH}abs(length) + {SLOPES} + (1 | sentence)"), "dependent_predictors"),
    (spr(f"{BOTH}poly(length, 2) + {SLOPES} + (1 | sentence)"), "dependent_predictors"),
    (spr(f"{BOTH}surprisal_bits + {SLOPES} + (1 | sentence)"), "dependent_predictors"),
    (spr(f"{BOTH}previous_position + {SLOPES} + (1 | sentence)"), "dependent_predictors"),
    (spr(f"{BOTH}length:unigram + I(length*unigram) + {SLOPES} + (1 | sentence)"), "dependent_predictors"),
    (spr(f"{BOTH}(1 + surprisal + I(3*surprisal) + previous_surprisal | subject) + (1 | sentence)"), "dependent_predictors"),
    (spr(f"time_ms ~ position + unigram + surprisal + previous_surprisal + {SLOPES} + (1 | sentence)"), "length_and_frequency"),
    (spr(f"time_ms ~ length + position + surprisal + previous_surprisal + {SLOPES} + (1 | sentence)"), "length_and_frequency"),
    (spr(f"{CONTROLS}surprisal + (1 + surprisal | subject) + (1 | sentence)", of_interest="[surprisal]"), "spillover"),
    (spr(f"{BOTH}next_surprisal + {SLOPES} + (1 | sentence)"), "later_words"),
    (spr(f"{BOTH}next_length + {SLOPES} + (1 | sentence)"), "later_words"),
    (spr(f"time_ms ~ length + position + length:unigram + surprisal + previous_surprisal + {SLOPES} + (1 | sentence)"), "interaction_without_effects"),
    (spr(f"{BOTH}entropy + {SLOPES} + (1 | sentence)") + "\nlms: {Pythia: {measures: [entropy]}, ALiBi-mix-TI: {measures: [entropy]}, ALiBi-1-TI: {measures: [entropy]}}", "entropy_of_tokens"),
    (spr(f"{BOTH}word_entropy + {SLOPES} + (1 | sentence)") + "\nlms: {Pythia: {measures: [word_entropy]}, ALiBi-mix-TI: {measures: [word_entropy]}, ALiBi-1-TI: {measures: [word_entropy]}}", "baseline_lacks_predictors"),
    (spr(f"{BOTH}{SLOPES} + (1 | sentence)", of_interest="[surprisal]"), "baseline_lacks_predictors"),
    (spr(f"time_ms ~ 0 + length + position + unigram + surprisal + previous_surprisal + {SLOPES} + (1 | sentence)"), "no_intercept"),
    (spr(f"{BOTH}(0 + surprisal + previous_surprisal | subject) + (1 | sentence)"), "no_intercept"),
    (spr(f"{BOTH}{SLOPES} + (1 | sentence)", of_interest="[length]"), "interest_without_lm"),
    ("designs: {mine: {linking: 8}}", "implausible_linking"),
    (EXPERIMENT + "{sensitivity: {linking: [linear, 0.01]}}}", "implausible_linking"),
    ("unigrams: {simulated: {order: 3}}", "frequency_order"),
    # Fits and endpoints.
    (spr(f"{BOTH}{SLOPES} + (1 | word)"), "other_endpoint"),
    ("designs: {mine: {base: fixed}}", "fixed_base"),
    ("designs: {mine: {base: [fixed, all]}}", "fixed_base"),
    ("designs: {mine: {confirm: 0}}", "unconfirmed_fits"),
    (EXPERIMENT + "{endpoint: in_sample}}", "in_sample_ranking"),
    (EXPERIMENT + "{bootstrap: given_fits}}", "intervals_given_fits"),
    (EXPERIMENT + "{draws: 50}}", "few_draws"),
    (EXPERIMENT + "{draws: 1000000}}", "few_draws"),
    ("smallest_effect: {relative: 5}", "smallest_effect"),
    ("smallest_effect: {relative: 0}", "smallest_effect"),
    ("smallest_effect: {relative: null, nats_per_1000: 100}", "smallest_effect"),
    (EXPERIMENT + "{smallest_effect: {relative: 0.0001}}}", "smallest_effect"),
    (EXPERIMENT + "{endpoint: modelblocks}}", "replication_endpoint"),
    (EXPERIMENT + "{sensitivity: {response: [raw]}}}", "idle_sensitivity"),
    (EXPERIMENT + "{measured_memory: {dataset: simulated_spr, replacements: 2}}}", "few_draws"),
    (SACCADES % " + words_since_fixation" + SEEN + EXPERIMENT + "{lms: [Pythia, Seen], " + EYES, "scanpaths_without_controls"),
    (SACCADES % "" + SEEN + EXPERIMENT + "{lms: [Pythia, Seen, Others], " + EYES, "scanpaths_without_controls"),
    ("searches: {dVM: {trials: 1}}", "few_trials"),
    ("power: {two_lms: {repeats: 2}}", "implausible_power"),
    ("power: {two_lms: {closeness: {a: 0.5, b: 0.9}}}", "implausible_power"),
    # LMs.
    (EXPERIMENT + "{lms: [Pythia, ALiBi-1-TI, ALiBi-1-TI]}}", "twins"),
    ("lms: {Again: {label: again}}\n" + EXPERIMENT + "{lms: [Pythia, Again]}}", "twins"),
    ("biases: {same: {form: linear, slopes: 1}}\nlms: {Same: {bias: same}}\n" + EXPERIMENT + "{lms: [Pythia, ALiBi-1-TI, Same]}}", "twins"),
    ("biases: {same: {form: exponential}}\nlms: {Same: {bias: same, applied: inference, weights: Pythia}}\n" + EXPERIMENT + "{lms: [Pythia, dVM-I, Same]}}", "twins"),
    ("lms: {A: {ngram: {corpus: simulated, order: 3}}, B: {ngram: {corpus: simulated, order: 3, memory: 1G}}}\n" + EXPERIMENT + "{lms: [Pythia, A, B]}}", "twins"),
    ("biases: {wide: {form: window, width: 600}}\nlms: {Wide: {bias: wide, applied: inference, weights: Pythia}}\n" + EXPERIMENT + "{lms: [Pythia, Wide]}}", "twins"),
    ("biases: {wide: {form: window, width: 600}}\nlms: {Wide: {bias: wide, applied: inference, weights: Pythia}}\n" + EXPERIMENT + "{lms: [Pythia, Wide]}}", "idle_bias"),
    ("biases: {warm: {form: temperature}}\nlms: {Warm: {bias: warm}}\n" + EXPERIMENT + "{lms: [Pythia, Warm]}}", "idle_bias"),
    ("lms: {ALiBi-1-TI: {corpus: simulated-reader}}", "unlike_trainings"),
    ("lms: {ALiBi-1-TI: {tokenizer: large}}\ntokenizers: {large: {corpus: simulated, vocabulary: 2048}}", "unlike_trainings"),
    ("recipes: {longer: {steps: 400, batch_sequences: 16, sequence_length: 256, micro_batch: 16, order: shuffled, learning_rate: 4.0e-3, schedule: as_worded, minimum_learning_rate: 4.0e-4, warmup_steps: 10, betas: [0.9, 0.95], epsilon: 1.0e-8, weight_decay: 0.1, clip: 1.0, precision: fp32, checkpoints: [], device: cpu}}\nlms: {ALiBi-1-TI: {recipe: longer}}", "unlike_trainings"),
    ("recipes: {demo: {checkpoints: [50]}}\nlms: {Early: {checkpoint_of: Pythia, step: 50}}\n" + EXPERIMENT + "{lms: [Pythia, ALiBi-1-TI, Early]}}", "unlike_trainings"),
    ("lms: {Hub: {checkpoint: gpt2}}\n" + EXPERIMENT + "{lms: [Pythia, ALiBi-1-TI, Hub]}}", "unlike_trainings"),
    (EXPERIMENT + "{accept: []}}", "single_training"),
    (EXPERIMENT + "{accept: [], seeds: [7]}}", "single_training"),
    (EXPERIMENT + "{baseline: ALiBi-mix-TI}}", "biased_baseline"),
    (EXPERIMENT + "{lms: [ALiBi-mix-I, ALiBi-mix-TI], baseline: ALiBi-mix-I}}", "biased_baseline"),
    ("lms: {ALiBi-1-TI: {bos: false}}", "unlike_scoring"),
    ("lms: {ALiBi-1-TI: {stride: 1}}", "unlike_scoring"),
    ("architectures: {short: {family: gpt_neox, layers: 2, heads: 4, width: 128, feed_forward: 512, context: 256, rotary_fraction: 0.25}}\nlms: {ALiBi-1-TI: {architecture: short}}", "unlike_scoring"),
    ("lms: {Frequency: {ngram: {corpus: simulated, order: 1}}}\n" + EXPERIMENT + "{lms: [Pythia, Frequency]}}", "frequency_as_lm"),
    (TABLES % (TABLE % ("bits", "a"), TABLE % ("nats", "b")), "mixed_units"),
    ("lms: {A: {surprisals: {table: {local: README.md}, unit: bits, missing: 0.5, columns: {surprisal: a, word_id: id}}}}\n" + EXPERIMENT + "{lms: [Pythia, A]}}", "missing_words"),
    ("lms: {Mix: {interpolate: [Pythia, ALiBi-1-TI], shares: [1, 0]}}\n" + EXPERIMENT + "{lms: [Pythia, Mix]}}", "twins"),
    ("architectures: {wide: {family: gpt_neox, layers: 2, heads: 4, width: 256, feed_forward: 1024, context: 512, rotary_fraction: 0.25}}\nlms: {ALiBi-1-TI: {architecture: wide}}", "unlike_trainings"),
    ("lms: {Corrected: {weights: Pythia, scoring: {correction: oh_schuler}}}\n" + EXPERIMENT + "{lms: [Pythia, Corrected]}}", "unlike_scoring"),
    ("scales: {cores: {stride: 512}}", "long_stride"),
    ("architectures: {gpt-neox-2-4-128: {context: 8}}\nrecipes: {demo: {sequence_length: 8}}", "implausible_architecture"),
    ("architectures: {gpt-neox-2-4-128: {dropout: 0.9}}", "implausible_architecture"),
    # Training.
    (RECIPE + "{learning_rate: 1.0, minimum_learning_rate: 0}}", "implausible_training"),
    (RECIPE + "{learning_rate: 1.0e-9, minimum_learning_rate: 0}}", "implausible_training"),
    (RECIPE + "{weight_decay: 5}}", "implausible_training"),
    (RECIPE + "{clip: 1.0e-6}}", "implausible_training"),
    (RECIPE + "{warmup_steps: 150}}", "implausible_training"),
    (RECIPE + "{betas: [0.99, 0.9]}}", "implausible_training"),
    (RECIPE + "{steps: 5, warmup_steps: 1}}", "implausible_training"),
    (RECIPE + "{minimum_learning_rate: 4.0e-3}}", "implausible_training"),
    # Simulated readers.
    ("lms: {reader: {bias: ALiBi-1}}\n" + EXPERIMENT + "{lms: [Pythia, reader]}}", "reader_is_candidate"),
    (READER_LIKE, "reader_is_candidate"),
    ("lms: {Reader-dVM: {bias: dVM, applied: inference, weights: Plain}, Plain: {bias: none}}\ndatasets: {simulated_spr: {simulate: {reader: Plain}}}\n" + EXPERIMENT + "{lms: [Pythia, Reader-dVM]}}", "reader_is_candidate"),
    ("datasets: {simulated_spr: {simulate: {reader: ALiBi-1-TI}}}", "reader_is_candidate"),
    ("datasets: {simulated_spr: {simulate: {stimuli_seed: 1}}}", "same_seed"),
    (READERS + "{seed: 1}}}}", "same_seed"),
    (READERS + "{seed: 2}}}}", "same_seed"),
    (READERS + "{seed: 4}}}}\n" + EXPERIMENT + "{responses: {eye_tracking: [simulated_eye_tracking.FP]}}}", "same_seed"),
    ("lms: {reader: {corpus: simulated, seed: 1}}", "same_seed"),
    ("corpora: {simulated-reader: {simulate: {seed: 1}}}", "same_seed"),
    (EXPERIMENT + "{seeds: [3, 7]}}", "same_seed"),
    (READERS + "{subjects: 6}}}}", "few_units"),
    ("datasets: {simulated_spr: {simulate: {stories: 4}}}", "few_units"),
    (READERS + "{residual_sd: 0}}}}", "implausible_readers"),
    (READERS + "{coefficients: {surprisal: 200}}}}}", "implausible_readers"),
    (READERS + "{lapses: 0.5}}}}", "implausible_readers"),
    ("datasets: {simulated_spr: {filters: {times: 100 < time_ms < 300}}}", "severe_filter"),
    ("datasets: {simulated_spr: {filters: {times: 400 < time_ms < 3000}}}", "severe_filter"),
    ("datasets: {simulated_spr: {task: self_paced, filters: {times: time_ms < 3000}}}", "one_sided_filter"),
    ("datasets: {simulated_spr: {task: self_paced, filters: {times: 100 < time_ms}}}", "one_sided_filter"),
    (EXPERIMENT + "{responses: {spr: [ucl_spr.SPR]}}}", "synthetic_training"),
    ("designs: {again: {formula: 'time_ms ~ length + unigram + surprisal + previous_surprisal + (1 + surprisal + previous_surprisal | subject) + (1 | sentence)', of_interest: [surprisal, previous_surprisal], base: all, engine: cross_products, response: raw, surprisal: plain}}\n" + EXPERIMENT + "{responses: {spr: [simulated_spr.SPR], again: [simulated_spr.SPR]}}}", "repeated_responses"),
]  # fmt: skip

RUN = "experiments: {open: {accept: [single_training], "
#: (overlay, rule that warns), on the open study.
DOUBTFUL_OPEN = [
    ("datasets: {natural_stories: {options: {offset: 0}, accept: [shifted]}}\n" + RUN + "published: null}}", "misaligned_times"),
    (RUN + "responses: {spr: [brown.SPR]}}}", "text_in_training"),
    (RUN + "lms: [MLM-baseline, MLM-alibi], baseline: MLM-baseline, compare: []}}", "sees_later_words"),
    (RUN + "responses: {part_of_speech: [natural_stories_pos.SPR], spr: [natural_stories.SPR]}}}", "repeated_responses"),
    ("run: [devarda_marelli]\nexperiments: {devarda_marelli: {accept: []}}", "searched_on_tested"),
    ("run: [mlm]\nexperiments: {mlm: {accept: [sees_later_words]}}", "unlike_trainings"),
    ("run: [part_of_speech]\ndesigns: {part_of_speech: {accept: [random_slopes]}}", "spillover"),
    ("tokenizers: {few: {kind: words, corpus: brown-train, vocabulary: 500}}\nlms: {Few: {memory: LBL-2, architecture: lbl-64, corpus: brown-train, tokenizer: few, recipe: words}}\nrun: [rare_words_begun]\nexperiments: {rare_words_begun: {lms: [LBL, Few]}}", "perplexity_vocabularies"),
    (RUN + "responses: {part_of_speech: [ucl_spr_pos.SPR]}}}", "repeated_responses"),
    ("datasets: {ucl_spr: {published_counts: {subjects: 5}}}", "few_units"),
]  # fmt: skip
#: The same on config.yaml.
DOUBTFUL_PAPER = [
    ("scales: {paper: {accept: []}}", "unseen_begin_token"),
    ("experiments: {exp1: {published: null}}", "misaligned_times"),
]

#: Overlays on the demo that are sound, each next to a doubtful one.
SOUND = [
    spr(f"{BOTH}{SLOPES} + (1 | sentence)"),
    spr(f"{BOTH}(1 + surprisal + previous_surprisal || subject) + (1 | item)"),
    spr(f"{BOTH}I(length^2) + {SLOPES} + (1 | sentence)"),
    spr(f"{BOTH}log(length) + sqrt(unigram) + {SLOPES} + (1 | sentence)"),
    spr(f"{BOTH}length:unigram + {SLOPES} + (1 | sentence)"),
    spr(f"{BOTH}previous_length + previous_unigram + {SLOPES} + (1 | sentence)"),
    spr(f"{BOTH}previous2_surprisal + (1 + surprisal + previous_surprisal + previous2_surprisal | subject) + (1 | sentence)", of_interest="[surprisal, previous_surprisal, previous2_surprisal]"),
    "designs: {mine: {response: log}}",
    "designs: {mine: {family: lognormal}}",
    "datasets: {simulated_spr: {options: {columns: {SPR: dialogue_ms}}}}\ndesigns: {mine: {response: log}}",
    EXPERIMENT + "{sensitivity: {response: [raw, log]}}}",
    "designs: {mine: {base: all}}",
    "designs: {mine: {linking: 1.5}}",
    "designs: {mine: {linking: log}}",
    "scales: {cores: {stride: 256}}",
    "unigrams: {simulated: {order: 1}}",
    "searches: {dVM: {trials: 20}}",
    SACCADES % " + words_since_fixation" + SEEN + EXPERIMENT + "{lms: [Pythia, Seen, Others], " + EYES,
    "lms: {Mix: {interpolate: [Pythia, ALiBi-1-TI], shares: [0.5, 0.5]}}\n" + EXPERIMENT + "{lms: [Pythia, Mix]}}",
    "designs: {mine: {confirm: 1}}",
    EXPERIMENT + "{draws: 100}}",
    "smallest_effect: {relative: null, nats_per_1000: 0.5}",
    EXPERIMENT + "{accept: [], seeds: [11, 12]}}",
    EXPERIMENT + "{accept: [], lms: [Pythia, dVM-I, ALiBi-mix-I]}}",
    EXPERIMENT + "{lms: [Pythia, ALiBi-1-TI, ALiBi-4-TI]}}",
    "biases: {narrow: {form: window, width: 300}}\nlms: {Narrow: {bias: narrow}}\n" + EXPERIMENT + "{lms: [Pythia, Narrow]}}",
    "lms: {Other: {seed: 9}}\n" + EXPERIMENT + "{lms: [Pythia, Other]}}",
    "lms: {Frequency: {ngram: {corpus: simulated, order: 2}}}\n" + EXPERIMENT + "{lms: [Pythia, Frequency]}}",
    TABLES % (TABLE % ("bits", "a"), TABLE % ("bits", "b")),
    RECIPE + "{learning_rate: 6.0e-4, minimum_learning_rate: 6.0e-5, weight_decay: 0.01}}",
    READERS + "{subjects: 8, seed: 13}}}}",
    "datasets: {simulated_spr: {task: self_paced, filters: {times: 150 <= time_ms <= 2000}}}",
]  # fmt: skip
