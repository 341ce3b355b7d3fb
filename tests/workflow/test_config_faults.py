"""Faults that a job would meet are met when the config is read: each on a line, with the way out."""

import re

import pytest
import yaml

from project import SCHEMA, load, merged
from recency.errors import InputError
from recency.workflow.config import checks

TABLE = "datasets: {mine: {label: Mine, parser: table, words: {t: {url: 'https://x.org/a.csv'}}, responses: {t: {url: 'https://x.org/a.csv'}}, measures: {SPR: {filters: [f]}}, "
MINE = TABLE + "options: {columns: {SPR: rt, cloze: cloze}}, "
SPR = "datasets: {ucl_spr: {filters: {times: "
READERS = "datasets: {simulated_spr: {simulate: {readers: "
DEMO = "recipes: {demo: "
NET = "architectures: {gpt-neox-2-4-128: "

PAPER = {
    # Filters: a grammar, and columns that are known.
    SPR + "time_ms.rank.__func__.__globals__ > 1}}}": (
        "datasets → ucl_spr → filters → times: 'time_ms.rank.__func__.__globals__' is no part of a filter"
    ),
    SPR + "\"__import__('os').system('true') == 0\"}}}": "times: no method 'system'",
    SPR + "\"@pd.eval('1') == 1\"}}}": "times: @ means a variable of a program",
    SPR + "tim_ms > 3}}}": "times: no column 'tim_ms'; did you mean 'time_ms'?",
    SPR + "time_ms >}}}": "times: it cannot be evaluated (invalid syntax)",
    SPR + "time_ms = 3}}}": "= compares nothing, write ==",
    SPR + "time_ms + 3}}}": "times: it is not true or false of each row; compare a column",
    SPR + "\"time_ms > '100'\"}}}": "compares text with a number or a truth value",
    SPR + "correct > 4}}}": "'correct > 4' compares text with a number",
    SPR + "words_since_fixation <= 4}}}": "no column 'words_since_fixation'",
    SPR + "words_since_unscored > 1}}}": "no column 'words_since_unscored'",
    SPR + "amplitude_uv > 1}}}": "times: no column 'amplitude_uv'",
    SPR + "\"word.str.matches('a')\"}}}": "no method 'str.matches'",
    SPR + "'position in []'}}}": "a list of values is wanted",
    SPR + "3}}}": "datasets → ucl_spr → filters → times: 3 is not of type 'string'",
    "datasets: {ucl_spr: {measures: {SPR: {filters: [edges, edges]}}}}": "SPR → filters: 'edges' stands twice",
    "datasets: {ucl_spr: {filters: {unused: nothing > 1}}}": "filters → unused: no column 'nothing'",
    "datasets: {natural_stories: {filters: {questions: \"correct == 'c'\"}}}": "compares text with a number",
    MINE + "filters: {f: clozee > 0.5}}}": "filters → f: no column 'clozee'; did you mean 'cloze'?",
    MINE + "filters: {f: cloze < 4 and tim_ms > 3}}}": "no column 'tim_ms'",
    "datasets: {ucl_eye_tracking: {measures: {hop: {of: FP, event: tim_ms == 0, filters: []}}}}": (
        "measures → hop → event: no column 'tim_ms'; did you mean 'time_ms'?"
    ),
    MINE
    + "filters: {f: time_ms > 1}}}\nexperiments: {exp1: {responses: {eye_tracking: [mine.SPR]}}}": (
        "designs → eye_tracking → formula: no predictor is called 'previous_fixated'; for eye movements set options → eye_tracking"
    ),
    # GLUE and perplexity by length.
    "experiments: {exp1: {conditions: {dataset: ucl_spr, measure: SPR}}}": (
        "conditions → by: the words of ucl_spr have no column 'condition'"
    ),
    "experiments: {exp1: {glue: {tasks: [CoLA, MNIL]}}}": "exp1 → glue → tasks: no GLUE task is called 'MNIL'; did you mean 'MNLI'?",
    "experiments: {exp1: {glue: {tasks: [CoLA], lms: [gpt2]}}}": "exp1 → glue → lms: not among the experiment's 'gpt2'",
    "experiments: {exp1: {glue: {tasks: [CoLA]}}}": "exp1 → glue: 'Pythia' predicts next tokens, and GLUE fine-tunes masked LMs",
    "experiments: {exp1: {length: {corpus: pile}}}": "exp1 → length: 'Pythia' predicts next tokens",
    "fine_tuning: {seeds: []}": "fine_tuning → seeds:",
    "experiments: {exp1: {length: {corpus: pil}}}": "exp1 → length → corpus: no corpus is called 'pil'; did you mean 'pile'?",
    "experiments: {devarda_marelli: {length: {corpus: pile}}}": "set its training length in `trained`",
    "experiments: {exp1: {length: {corpus: pile, share: 1}}}": "length → share:",
    "lms: {mine: {bias: ALBi-mix}, other: {weights: mine, bos: false}}": "lms → mine → bias: no bias is called 'ALBi-mix'; did you mean 'ALiBi-mix'?",
    "lms: {mine: {memory: FOFE-9}, other: {weights: mine, bos: false}}": "lms → mine → memory: ",
    "lms: {mine: {bias: ALBi-mix}, other: {checkpoint_of: mine, step: 5}}": "lms → mine → bias: no bias is called 'ALBi-mix'",
    "lms: {mine: {weights: Pythia}}": "`applied: inference` and `weights: <name of the unbiased LM>` go together",
    "lms: {none: {bias: dVM}}": "lms → none: this name is reserved",
    "lms: {readers: {bias: dVM}}": "lms → readers: this name is reserved",
    "lms: {region: {bias: dVM}}": "lms → region: this name is reserved",
    "lms: {mine: {weights: ALiBi-mix-TI, bias: dVM, applied: inference, bos: false}}": "'ALiBi-mix-TI' is itself a biased LM",
    "lms: {five: {ngram: {corpus: openwebtext, prune: [0, 3, 1]}}}": (
        "lms → five → ngram → prune: [0, 3, 1] decreases; thresholds may not decrease with the order; write [0, 3, 3]"
    ),
    "lms: {five: {ngram: {corpus: openwebtext, memory: 40M}}}": "lms → five → ngram → memory: 40M is too little memory; the minimum is 50M",
    # Options of parsers and of readers of text.
    "datasets: {natural_stories: {options: {ofset: 1}}}": (
        "datasets → natural_stories → options: no option is called 'ofset'; did you mean 'offset'?"
    ),
    "datasets: {natural_stories: {options: {offset: one}}}": "options → offset: 'one' is not a whole number",
    "datasets: {natural_stories: {options: {offset: true}}}": "options → offset: True is not a whole number",
    "datasets: {provo: {options: {scan_path: visits}}}": (
        "options → scan_path: none is called 'visits'; did you mean 'visit'?"
    ),
    "datasets: {provo: {options: {report: pages}}}": "options → report: none is called",
    "datasets: {zuco: {options: {tasks: [zuco1_XR]}}}": "options → tasks: none is called",
    "datasets: {zuco: {options: {tasks: []}}}": "options → tasks: the list is empty",
    "datasets: {zuco: {options: {tasks: zuco1_SR}}}": "tasks: 'zuco1_SR' is not a list",
    "datasets: {ucl_spr: {options: {encoding: latin-1}}}": "no option is called 'encoding'; known: none",
    "datasets: {natural_stories: {measures: {RRT: {filters: []}}}}": (
        "the parser natural_stories has no measure 'RRT'"
    ),
    "datasets: {ucl_spr: {measures: {FPP: {filters: []}}}}": "the parser ucl_spr has no measure 'FPP'",
    "datasets: {ucl_spr: {measures: {'S P': {filters: []}}}}": "the name of a measure takes letters, digits and _",
    TABLE
    + "options: {columns: {SPR: 3}}, filters: {f: time_ms > 1}}}": "columns → SPR: 3 is not the name of a column",
    TABLE + "options: {column: {SPR: rt}}, filters: {f: time_ms > 1}}}": (
        "no option is called 'column'; did you mean 'columns'?"
    ),
    TABLE
    + "options: {eye_tracking: 1}, filters: {f: time_ms > 1}}}": "eye_tracking: 1 is not true or false",
    "corpora: {x: {files: [README.md], reader: plane}}": (
        "corpora → x → reader: none is called 'plane'; did you mean 'plain'?"
    ),
    "corpora: {x: {files: [README.md]}}": "corpora → x: 'reader' is missing: the format of `files`",
    "corpora: {x: {files: [README.md], reader: plain, options: {plain: {longst: 3}}}}": (
        "options → plain: no option is called 'longst'; did you mean 'longest'?"
    ),
    "corpora: {x: {files: [README.md], reader: plain, options: {plain: {longest: many}}}}": (
        "options → plain → longest: 'many' is not a whole number"
    ),
    "corpora: {x: {files: [README.md], reader: plain, options: {babylm: {track: strict}}}}": (
        "corpora → x → options: no file of it has the reader 'babylm'"
    ),
    "corpora: {x: {files: [nowhere/*.txt], reader: plain}}": "x → files: no file matches ['nowhere/*.txt']",
    "corpora: {x: {files: ['{a}.txt'], reader: plain}}": "has '{', which is special in Snakemake",
    "corpora: {x: {files: [README.md], reader: plain, exclude: [a]}}": "`exclude` requires `sources`",
    # Files.
    "corpora: {x: {sources: nope.tsv}}": "nope.tsv cannot be read: No such file or directory",
    "corpora: {x: {sources: data}}": "corpora → x → sources:",
    "corpora: {x: {sources: config.yaml}}": "the columns must be url, sha256, bytes, licence",
    "corpora: {openwebtext: {sources: ''}}": "corpora → openwebtext → sources:",
    "minimal_pairs: {blimp: {sources: config.yaml}}": "the columns must be url, sha256, bytes, licence",
    f"minimal_pairs: {{blimp: {{sources: {300 * 'x'}}}}}": "x cannot be read: File name too long",
    "datasets: {ucl_spr: {words: {stimuli: {local: ''}}}}": "words → stimuli → local: it is empty",
    "datasets: {ucl_spr: {words: {stimuli: {local: src}}}}": "local: a folder, not a file: 'src'",
    "datasets: {ucl_spr: {words: {'../x': {local: README.md}}}}": "'../x' cannot be part of a file name; use letters, digits, _ and -",
    "datasets: {mine: {label: M, parser: ucl_spr, words: {a: {supplied: here}}, responses: {a: {supplied: here}}, measures: {SPR: {filters: []}}}}": (
        "datasets → mine → words → a: 'url', 'hub', 'local' or 'stand_in' must name the file"
    ),
    "datasets: {ucl_spr: {words: {stimuli: {simulated: stimuli}}}}": "`simulated` requires a dataset with `simulate`",
    "datasets: {ucl_spr: {words: {stimuli: {local: no/such.txt}}}}": "local: no file 'no/such.txt'",
    "tokenizers: {t: {file: {local: README.md}}}": "tokenizers → t → file: 'url' is missing",
    "unigrams: {u: {counts: {supplied: x}, columns: [a, b]}}": "counts: 'url' or 'local' must name the list of counts",
    "unigrams: {u: {counts: {local: README.md}, columns: [a, a]}}": "'a' cannot be the column of words and of counts",
    "unigrams: {u: {counts: {local: no.csv}, columns: [a, b]}}": "counts → local: no file 'no.csv'",
    "unigrams: {openwebtext: {memory: 1M}}": "memory: 1M is too little memory; the minimum is 50M",
    "treebanks: {ewt: {dev: {url: 'https://x.org/<y>'}}}": "has '<', which is special in Snakemake",
    "experiments: {exp1: {published: {observations: clark_table1}}}": (
        "published → observations: data/published has no table 'clark_table1'; did you mean 'clark2025_table1'?"
    ),
    "experiments: {exp1: {published: {observations: clark2025_table2}}}": (
        "clark2025_table2.csv has no column 'corpus_measure'"
    ),
    "corpora: {pile: {pretokenized: {byte_range: [9, 3]}}}": "byte_range: 9 comes after 3",
    "datasets: {provo: {words: {texts: {url: 'https://osf.io/%2e%2e/x'}}}}": "leads out of its folder",
    "corpora: {pile: {pretokenized: {byte_range: [1, 4196351999]}}}": "begins or ends within one",
    # Text that cannot serve.
    "tokenizers: {t: {corpus: pile, vocabulary: 1000}}": "'pile' is pretokenized; text is required",
    "unigrams: {u: {corpus: pile}}": "unigrams → u → corpus: 'pile' is pretokenized",
    "tokenizers: {t: {corpus: openwebtext, vocabulary: 200}}": "vocabulary: 200 is less than the minimum of 258",
    "tokenizers: {t: {corpus: openwebtext, vocabulary: 1000}}\nlms: {Pythia: {tokenizer: t}}": (
        "lms → Pythia → tokenizer: 't' is trained here, but 'pile' is pretokenized"
    ),
    # Sizes that do not go together.
    "architectures: {gpt2-small: {heads: 7}}": (
        "architectures → gpt2-small → heads: a width of 768 is not divisible by 7 heads"
    ),
    "architectures: {pythia-2-4-256: {width: 12, heads: 4, rotary_fraction: 1.0}}": (
        "3 of 3 dimensions per head would be rotated, but they are rotated in pairs"
    ),
    "architectures: {gpt2-small: {rotary_fraction: 0.5}}": "gpt2 has no rotary positions",
    "architectures: {pythia-2-4-256: {context: 512}}": (
        "recipes → pythia → sequence_length, 2048, exceeds architectures → pythia-2-4-256 → context, 512"
    ),
    "recipes: {pythia: {micro_batch: 2048}}": "2048 sequences at once are more than a step's 1024",
    "recipes: {pythia: {warmup_steps: 600}}": "with `as_run`, at most half of the 1000 steps; 600 are too many",
    "recipes: {pythia: {warmup_steps: 1000, schedule: linear}}": "1000 must be fewer than the 1000 steps",
    "recipes: {pythia: {checkpoints: [1, 2000]}}": "checkpoints: step 2000 is after the last step, 1000",
    "recipes: {pythia: {checkpoints: [1, 1]}}": "checkpoints: 1 stands twice",
    "recipes: {pythia: {minimum_learning_rate: 0.01}}": "0.01 is above the peak, 0.001",
    "recipes: {pythia: {validation: {tokens: 100, every: 5}}}": "100 do not fill a sequence of 2,048",
    "recipes: {working-memory: {validation: {tokens: 90000000, every: 5}}}": (
        "validation → tokens, 90,000,000, are more than half of corpora → babylm-10M, which has at most 20,000,000"
    ),
    "recipes: {pythia: {epochs: 2}}": "'steps' and 'epochs' exclude each other; give one",
    "biases: {ALiBi-mix: {slopes: [1, 2]}}": "has 2 slopes, one per head, and architectures → pythia-2-4-256 has 4",
    "biases: {dVM: {layers: [0, 5]}}": "its bias is on layer 5, and architectures → pythia-2-4-256 has 2, from 0",
    "biases: {dVM: {layers: [0, 0]}}": "biases → dVM → layers: 0 stands twice",
    "scales: {paper: {stride: 4096}}": "stride, 4096, exceeds architectures → pythia-2-4-256 → context, 2048",
    "lms: {Pythia: {scoring: {window: 4096}}}": "scoring → window, 4096, exceeds",
    "lms: {Pythia: {scoring: {window: 16}, stride: 32}}": "stride, 32, exceeds scoring → window, 16",
    "lms: {Pythia: {scoring: {word_entropy: {samples: 9}}}}": (
        "lms → Pythia → scoring → word_entropy: no measure uses it; add word_entropy to `measures`"
    ),
    "lms: {Pythia: {measures: [word_entropy], scoring: {window: 32}}}": (
        "word_entropy → longest: words of 20 tokens leave too little context in a window of 32"
    ),
    "scales: {paper: {scoring: {word_entropy: {beam: 3}}}}": "`beam` goes with the method beam, not",
    "scales: {paper: {scoring: {word_entropy: {words: nowhere.txt}}}}": "there is no such file",
    "lms: {gpt2: {checkpoint: ./nowhere}}": "lms → gpt2 → checkpoint: no folder './nowhere'",
    "lms: {gpt2: {checkpoint: ''}}": "checkpoint: '' is neither a folder nor a name on the Hub",
    "architectures: {gpt2-small: {width: 1200000}}": "parameters; the maximum is 1e+11",
    "recipes: {pythia: {learning_rate: 1.0e+30}}": "1e+30 is greater than the maximum of 10",
    "lms: {gpt2: {recipe: pythia}}": "lms → gpt2 → recipe: with `checkpoint` nothing is trained, so this key has no effect; remove it",
    "lms: {dVM-I: {seed: 3}}": "lms → dVM-I → seed: with `weights` nothing is trained, so this key has no effect; remove it",
    "experiments: {sensitivity: {sensitivity: {stride: [null, 4096]}}}": (
        "sensitivity → stride: 4096 is beyond the window of Pythia, 2048"
    ),
    "experiments: {working_memory: {attention_maps: {layers: 13}}}": (
        "attention_maps → layers: 13 are more than GPT-2 has, 12"
    ),
    # Masked LMs: network, objective, tokenizer and bias.
    "lms: {MLM-baseline: {recipe: pythia}}": (
        "lms → MLM-baseline: recipes → pythia predicts the next token, which architectures → "
        "roberta-base, an encoder, sees; use a recipe with `objective: masked`"
    ),
    "lms: {Pythia: {recipe: mlm-pile}}": (
        "recipes → mlm-pile masks tokens, but architectures → pythia-2-4-256, of family gpt_neox, does not see"
    ),
    "lms: {MLM-baseline: {tokenizer: babylm-10M}}": (
        "lms → MLM-baseline → tokenizer: 'babylm-10M' has no <mask>; use one of `kind: masked`"
    ),
    "lms: {MLM-alibi: {bias: ALiBi-mix}}": (
        "roberta-none is an encoder, and the form 'linear' is undefined for following tokens"
    ),
    "lms: {MLM-alibi: {bias: none}}": "has `positions: none` and the LM no bias, so it has no information on word order",
    "architectures: {roberta-base: {heads: 3}}\nlms: {MLM-baseline: {bias: ALiBi-one-sided}}": (
        "lms → MLM-baseline → bias: one_sided divides the heads in halves, but their number, 3, is odd"
    ),
    "lms: {MLM-baseline: {measures: [word_entropy]}}": "'word_entropy' is a measure of causal LMs",
    "lms: {MLM-baseline: {measures: [pmi]}}": (
        "lms → MLM-baseline → measures: 'pmi' is a measure of causal LMs, which read word by word"
    ),
    "experiments: {mlm_pile: {sensitivity: {surprisal: [plain, corrected]}}}": (
        "experiments → mlm_pile → published: `sensitivity` cannot be combined with `published`; use two experiments"
    ),
    "experiments: {m: {title: M, lms: [MLM-baseline], baseline: MLM-baseline, responses: {spr: [ucl_spr.SPR]}, sensitivity: {surprisal: [corrected]}}}": (
        "m → sensitivity → surprisal: 'MLM-baseline' is a masked LM, which has no corrected surprisal"
    ),
    "recipes: {mlm-pile: {masking: {share: 1.5}}}": "masking → share: 1.5 is greater than or equal to the maximum of 1",
    "recipes: {mlm-pile: {masking: {share: 0}}}": "masking → share: 0 is less than or equal to the minimum of 0",
    "recipes: {mlm-pile: {masking: {random: -0.1}}}": "masking → random: -0.1 is less than the minimum of 0",
    "lms: {MLM-baseline: {bos: true}}": "MLM-baseline → bos: a masked LM adds special tokens to a text",
    "experiments: {m: {title: M, lms: [MLM-baseline], baseline: MLM-baseline, perplexity: {validation: pile, test: pile}}}": (
        "m → lms: 'MLM-baseline' is masked, and `perplexity` scores next tokens"
    ),
    "experiments: {m: {title: M, lms: [Pythia], baseline: Pythia, nearest_words: {words: [' ']}}}": "words → 0: ' ' does not match",
    "word_pairs: {w: {label: W, pairs: {local: README.md}, vectors: {v: {local: no.vec}}}}": "v → local: no file 'no.vec'",
    "recipes: {mlm-pile: {masking: {random: 0.3}}}": "0.8 masked and 0.3 random exceed 1",
    "recipes: {mlm-pile: {masking: {chance: 0.3}}}": "unknown key 'chance'",
    "recipes: {mlm-pile: {order: streams}}": "mlm-pile → order: `streams` carries a state between steps and cannot be combined with `objective: masked`; use sequential or shuffled",
    "recipes: {mlm-pile: {rows: full}}": "mlm-pile → longer: it requires `rows: examples`; remove it",
    "recipes: {pythia: {masking: {share: 0.2}}}": "pythia → masking: it requires `objective: masked`; remove it",
    "recipes: {pythia: {stretch: 1.1}}": "pythia → stretch: it requires `schedule: stretched`; remove it",
    "architectures: {gpt2-small: {head: clap}}": "gpt2-small → head: a network of family gpt2 does not take this key; remove it",
    "architectures: {roberta-base: {rotary_fraction: 0.5}}": "roberta has no rotary positions",
    "tokenizers: {t: {corpus: openwebtext, vocabulary: 260, kind: masked}}": "a vocabulary of 260 is too small",
    # Numbers that are none, of another type, or without an end.
    "recipes: {pythia: {learning_rate: .nan}}": "recipes → pythia → learning_rate: nan is not a finite number",
    "recipes: {pythia: {clip: .inf}}": "recipes → pythia → clip: inf is not a finite number",
    "searches: {dVM: {parameters: {decay: [1.0, .inf]}}}": "parameters → decay → 1: inf is not a finite number",
    "recipes: {pythia: {learning_rate: 1e-3}}": "YAML reads it as text: write 1.0e-3",
    "recipes: {pythia: {steps: 1000.0}}": "1000.0 is not of type 'integer'; write 1000",
    "recipes: {pythia: {steps: '1000'}}": "'1000' is not of type 'integer'; write it without quotes",
    "recipes: {pythia: {steps: 99999999999999999999}}": "is larger than the maximum, 9007199254740992",
    "scales: {paper: {seed: 4294967296}}": "seed: 4294967296 is larger than the maximum, 4294967295",
    "datasets: {ucl_spr: {label: 2013}}": "label: 2013 is not of type 'string'; write it in quotes",
    'datasets: {ucl_spr: {label: "a\\u0007b"}}': "has an invisible character, U+0007",
    "architectures: {gpt2-small: {heads: 12.0}}": "12.0 is not of type 'integer'; write 12",
    "recipes: {pythia: {gpus: 0}}": "recipes → pythia → gpus: 0 is less than the minimum of 1",
    "recipes: {pythia: {gpus: 4, device: cpu}}": "recipes → pythia → gpus: 4 GPUs with `device: cpu`",
    "recipes: {pythia: {gpus: 64}}": "recipes → pythia → gpus: a step has 32 micro-batches to divide among 64",
    "gpus: 4": "gpus",
    "threads: {train: 0}": "threads → train: 0 is less than the minimum of 1",
    "run: []": "run: []",
    "run: [exp1, exp1]": "run: 'exp1' stands twice",
    "experiments: {exp1: {lms: []}}": "experiments → exp1 → lms: []",
    "experiments: {exp1: {responses: {spr: []}}}": "experiments → exp1 → responses → spr: []",
    "experiments: {exp3: {seeds: [1, 1]}}": "experiments → exp3 → seeds: 1 stands twice",
    # Experiments.
    "experiments: {exp2: {compare: [[Pythia, Pythia]]}}": "'Pythia' is compared with itself; name two LMs",
    "experiments: {exp2: {compare: [[dVM-I, Pythia], [Pythia, dVM-I]]}}": "are compared twice",
    "experiments: {exp1: {baseline: dVM-TI}}": "exp1 → baseline: not among the experiment's `lms`",
    "experiments: {exp1: {responses: {spr: [ucl_spr.SPR, ucl_spr.SPR]}}}": "'ucl_spr.SPR' stands twice",
    "experiments: {exp1: {responses: {spr: [devarda2024.N400]}}}": (
        "devarda2024.N400 is amplitude_uv, and the formula begins time_ms ~"
    ),
    "experiments: {working_memory: {responses: {item_amplitudes: [devarda2024.FFD]}}}": (
        "devarda2024.FFD is time_ms, and the formula begins amplitude_uv ~"
    ),
    "experiments: {exp4: {compare: [[ALiBi-mix-TI, Pythia]]}}": "compare: it requires `responses`",
    "experiments: {exp4: {recovery: true}}": "recovery: it requires `responses`",
    "experiments: {exp1: {recovery: true}}": "recovery: the readers of ucl_spr are not simulated",
    "targets: {figure2: {of: [figure_delta_loglik, figure_delta_loglik]}}": "'figure_delta_loglik' stands twice",
    "searches: {dVM: {lm: Pythia, layers: [1, 2]}}": "dVM → layers: 2 is not a layer of Pythia, which has 2, from 0",
    "searches: {dVM: {seed: 9999999999}}": "searches → dVM → seed: 9999999999 is larger than",
    "lms: {check_brown: {}}\nexperiments: {check_brown: {title: t, lms: [Pythia], baseline: Pythia, attention: brown}}": (
        "`./run check_brown` is already datasets → brown"
    ),
    "datasets: {provo: {tagger: ewtt}}": "datasets → provo → tagger: no treebank is called 'ewtt'; did you mean 'ewt'?",
    "datasets: {ucl_spr: {scored_by: [gpt]}}": "scored_by: no lm is called 'gpt'",
    "dependencies: {natural_stories: {options: {rule: graf}}}": "rule: 'graf' is not one of ['graph', 'categories']; did you mean 'graph'?",
    "dependencies: {natural_stories: {options: {raising: true}}}": (
        "natural_stories → options → raising: it requires `rule: categories`, and the rule is graph; set `rule: categories` or remove it"
    ),
    "dependencies: {natural_stories: {options: {quotes: true}}}": "unknown key 'quotes'",
    "surprisl: {}": "top level: unknown key 'surprisl'",
}

SIMULATED = {
    READERS + "{subjcts: 9}}}}": "readers: unknown key 'subjcts'; did you mean 'subjects'?",
    READERS + "{subjects: many}}}}": "readers → subjects: 'many' is not of type 'integer'",
    READERS + "{subjects: -3}}}}": "subjects: -3 is less than the minimum of 2",
    READERS + "{items: 40}}}}": "readers → items: 40 is more than the 12 stories",
    READERS + "{residual_sd: -1}}}}": "residual_sd: -1 is less than the minimum of 0",
    READERS + "{sentence_sd: 1.0e+300}}}}": "sentence_sd: 1e+300 is greater than the maximum of 100000",
    READERS + "{coefficients: {length: -1.0e+9}}}}}": "coefficients → length: -1000000000.0 is less than the minimum of -250",
    READERS + "{slips: 1.5}}}}": "slips: 1.5 is greater than the maximum of 1",
    READERS + "{coefficients: {surprisl: 3}}}}}": (
        "coefficients: unknown key 'surprisl'; did you mean 'surprisal'?"
    ),
    READERS + "{coefficients: 3}}}}": "readers → coefficients: 3 is not of type 'object'",
    READERS + "{coefficients: {surprisal: high}}}}}": "surprisal: 'high' is not of type 'number'",
    READERS + "{subject_sd: {length: -1}}}}}": "subject_sd → length: -1 is less than the minimum of 0",
    READERS + "{subject_correlation: -0.9}}}}": "effects cannot have pairwise correlations of -0.9",
    READERS + "{skipping: {intercept: 1}}}}}": "skipping: `measure: FP` and `skipping` go together",
    "datasets: {simulated_spr: {simulate: {measure: FP}}}": "readers → skipping: `measure: FP` and `skipping` go together",
    "datasets: {simulated_eye_tracking: {measures: {GP: {filters: []}}, simulate: {measure: SPR}}}": "skipping: `measure: FP` and `skipping` go together",
    "datasets: {simulated_spr: {simulate: {reader: me}}}": "reader: no lm is called 'me'",
    "datasets: {simulated_spr: {parser: ucl_spr}}": "`simulate` requires the parser `table`",
    "datasets: {simulated_spr: {words: {stimuli: {simulated: responses}}}}": (
        "simulate: `words` must be one file, {simulated: stimuli}"
    ),
    "power: {two_lms: {subjects: [10, 10]}}": "power → two_lms → subjects: 10 stands twice",
    "power: {two_lms: {subjects: [2]}}": "subjects → 0: 2 is less than the minimum of 8",
    "power: {two_lms: {closeness: {a: 1}}}": "a: 1 is greater than or equal to the maximum of 1",
    "power: {two_lms: {readers: {seeds: 2}}}": "readers → seeds: it is set outside `readers`; remove it here",
    "power: {other: {subjects: [10]}}": "power → other: 'sentences', 'seeds', 'responses', 'closeness' is missing",
    DEMO + "{validation: {tokens: 9000000, every: 20}}}": (
        "validation → tokens, 9,000,000, are more than half of corpora → simulated, which has at most 6,750,000; write 3,375,000 or fewer"
    ),
    "experiments: {simulated: {measured_memory: {dataset: simulated_spr, reach: 100000000}}}": (
        "measured_memory → reach: 100000000 is greater than the maximum of 100000"
    ),
    DEMO + "{micro_batch: 32}}": "32 sequences at once are more than a step's 16",
    DEMO + "{sequence_length: 1024}}": "recipes → demo → sequence_length, 1024, exceeds",
    DEMO + "{warmup_steps: 200}}": "200 must be fewer than the 200 steps",
    NET + "{width: 130}}": "a width of 130 is not divisible by 4 heads; use a multiple of 4",
    NET + "{heads: 3}}": "a width of 128 is not divisible by 3 heads",
}  # fmt: skip
FAULTS = {(): PAPER, ("config/demo.yaml",): SIMULATED}
CASES = [(names, overlay) for names, listed in FAULTS.items() for overlay in listed]


def said(config):
    """Return the lines of what is wrong with a config."""
    with pytest.raises(InputError) as error:
        checks.check(config, SCHEMA)
    first, *lines = str(error.value).splitlines()
    assert first.endswith("has errors:")
    return [line.removeprefix("  ") for line in lines]


@pytest.mark.merge
@pytest.mark.parametrize(("names", "overlay"), CASES, ids=[overlay for _, overlay in CASES])
def test_a_fault_is_met_when_the_config_is_read(names, overlay):
    lines = said(merged(load(*names), yaml.safe_load(overlay)))
    expected = FAULTS[names][overlay]
    assert any(expected in line for line in lines), lines
    assert all(len(line) < 300 for line in lines)
    assert all(re.match(r"[\w.]+( → |:)", line) or "top level" in line for line in lines), lines


def test_there_are_as_many_faults_as_were_asked_for():
    assert len(CASES) > 100


def test_a_long_list_of_faults_is_cut():
    config = load()
    config["lms"] |= {f"x{n}": {"bias": "nothing"} for n in range(100)}
    lines = said(config)
    assert len(lines) == checks.MOST + 1 and lines[-1].startswith("… and ")


def test_what_is_right_stays_right(tmp_path):
    path = tmp_path / "counts.csv"
    path.write_text("word,n\nthe,9\n")
    over = f"""
unigrams: {{u: {{counts: {{local: {path}}}, columns: [word, n]}}}}
datasets:
  potec: {{measures: {{RRT: {{filters: [edges, saccade]}}}}}}
  ucl_spr: {{filters: {{times: "time_ms > 3 and word.str.len() > 2 & subject != 's1'"}}}}
corpora: {{x: {{files: [README.md], reader: plain, options: {{plain: {{documents: line}}}}}}}}
tokenizers: {{t: {{corpus: x, vocabulary: 300}}}}
recipes: {{pythia: {{validation: {{tokens: 20000, every: 100}}}}}}
lms: {{own: {{corpus: x, tokenizer: t, stride: 2048, scoring: {{window: 2048}}}}}}
biases: {{four: {{form: linear, slopes: [1, 2, 3, 4], layers: [1]}}}}
"""
    config = merged(load(), yaml.safe_load(over) | {"lms": {"b": {"bias": "four"}}})
    checks.check(config, SCHEMA)
