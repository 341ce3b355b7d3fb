"""A study laid over the tiny one that asks for all that the tiny one lacks: most evaluations, mixes, exports."""

import shutil
from itertools import pairwise

import pandas as pd

from project import TINY

RESULTS = "results/tiny/cores"
OVER = """
run: [wide]
recipes: {demo: {checkpoints: [5], validation: {tokens: 3000}}}
tokenizers: {words: {corpus: simulated, vocabulary: 150, kind: words, also: [other, another]}}
lms:
  early: {checkpoint_of: Pythia, step: 5}
  trigram: {ngram: {order: 3, corpus: simulated, memory: 100M, text_rule: split}}
  mix: {interpolate: [Pythia, trigram], held_out: {corpus: other}}
  of_words: {tokenizer: words}
  both: {interpolate: [of_words, bigram], held_out: {corpus: other}}
  bigram: {ngram: {order: 2, corpus: simulated, memory: 100M}}
  cdlm: {ngram: {cdlm: {of: bigram, span: 3, validation: other, width: 4, epochs: 1}}}
corpora:
  other: {files: [text.txt], reader: plain}
  another: {files: [another.txt], reader: plain}
  as_tokens: {pretokenized: {url: "https://example.org/tokens.bin"}}
datasets:
  annotated:
    label: Annotated
    parser: table
    tagger: trees
    words: {table: {local: annotated.csv}}
    responses: {table: {local: annotated.csv}}
    options: {columns: {words: {condition: condition, stimulus: stimulus}}}
    measures: {SPR: {filters: []}}
dependencies: {trees: {label: Trees, dataset: annotated, trees: {local: trees}, leaves: {local: leaves}}}
minimal_pairs: {agreement: {label: Agreement, table: {local: agreement.tsv}}}
word_pairs: {pairs: {label: Pairs, pairs: {local: pairs.txt}, vectors: {v: {local: v.vec}}}}
treebanks: {trees: {label: Trees, train: {local: t.conllu}, dev: {local: t.conllu}, test: {local: t.conllu}}}
probe: {epochs: 2, batch: 4, relations: [nsubj, obj]}
sentences: {dog: "the dog ran ."}
power: {two_lms: {subjects: [10], sentences: [12], seeds: [1, 2], responses: 1, repeats: 2, draws: 30}}
experiments:
  wide:
    title: Wide
    lms: [Pythia, ALiBi-mix-TI]
    baseline: Pythia
    responses: {spr: [simulated_spr.SPR]}
    triggering: {corpus: other, pairs: [[the, the]], reach: 20}
    measured_memory: {dataset: simulated_spr, replacements: 3, reach: 8, before: 4}
    context_information: {dataset: simulated_spr, words: 3, context: 8}
    temporal_correlation: {dataset: simulated_spr, reach: 20}
    probe: trees
    attention_maps: {sentence: dog, lms: [Pythia], layers: 1}
    rare_words: pairs
    nearest_words: {words: [the], neighbours: 2}
    serial_position: {dataset: simulated_spr, lengths: [7], lists: 2, samples: 1}
    minimal_pairs: agreement
    dependencies: trees
    conditions: {dataset: annotated, measure: SPR, fillers: simulated_spr.SPR, contrasts: {later: {high: position == 3, low: position == 2}}}
    contrasts: {dataset: annotated, measures: [SPR], contrasts: {later: {high: position == 3, low: position == 2}}}
    nested: [[Pythia, ALiBi-mix-TI]]
  along: {title: Along, lms: [Pythia], baseline: Pythia, responses: {spr: [simulated_spr.SPR]}, steps: [5, 40]}
  mixed: {title: Mixed, lms: [Pythia, mix, trigram], baseline: Pythia, responses: {spr: [simulated_spr.SPR]}}
  seeded: {title: Seeded, lms: [Pythia], baseline: Pythia, responses: {spr: [simulated_spr.SPR]}, seeds: [1, 2]}
  texts: {title: Texts, lms: [of_words, bigram, cdlm, both], baseline: bigram, seeds: [1, 2], compare: [[of_words, bigram], [both, cdlm]], perplexity: {validation: other, test: another, interpolated_with: bigram}}
"""
CONFIGS = [*TINY, "over.yaml"]
#: The experiments, and what none of them has.
TARGETS = [
    "wide",
    "along",
    "mixed",
    "seeded",
    "texts",
    "power",
    "export_Pythia",
    "export_simulated_spr",
]
TARGETS += [f"{RESULTS}/random_effects/spr/simulated_spr.SPR/Pythia.html"]
TARGETS += [f"{RESULTS}/corpora/as_tokens/pretokenized/simulated-1024.json"]
#: Where a run finds what it downloads.
MIRROR = {"RECENCY_MIRROR": "mirror"}

TREE = """\
1\tAnna\t_\tX\t_\t_\t2\tdet\t_\t_
2\tsaw\t_\tX\t_\t_\t3\tnsubj\t_\t_
3\tOscar\t_\tX\t_\t_\t0\troot\t_\t_

"""
#: Of the sentences that have annotated trees: stories, sentences, readers of each.
STORIES, SENTENCES, READERS = (1, 2), range(8), range(3)
ANNOTATED = "(S (N-lA LEAF!) (V-aN (V-aN-bN LEAF!) (N-lA LEAF!)))\n"


def write(folder):
    """Write config and files into a folder in which the tiny study is finished."""
    stories = pd.read_parquet(folder / RESULTS / "corpora/simulated/text.parquet").text
    # Backwards, so that no passage is one that an LM was trained on.
    documents = [" ".join(reversed(text.split())) for text in stories]
    (folder / "text.txt").write_text("\n".join(documents[:9]))
    (folder / "another.txt").write_text("\n".join(documents[9:12]))
    words = sorted({word for text in documents[:9] for word in text.split() if word.isalpha()})
    pairs = [f"{a} {b} {number}" for number, (a, b) in enumerate(pairwise(words))]
    (folder / "pairs.txt").write_text("\n".join(pairs[:30]))
    vectors = [f"{word} {len(word)} {number % 5} {number % 7}" for number, word in enumerate(words)]
    (folder / "v.vec").write_text("\n".join([f"{len(words)} 3", *vectors]))
    (folder / "t.conllu").write_text(TREE * 6)
    _annotated(folder)
    pair = "agreement\tAnna sees a doctor .\tAnna see a doctor .\n"
    (folder / "agreement.tsv").write_text("UID\tsentence_good\tsentence_bad\n" + pair * 4)
    (tokens,) = (folder / RESULTS).glob("corpora/simulated/tokens/*.bin")
    downloads = folder / MIRROR["RECENCY_MIRROR"] / "example.org"
    downloads.mkdir(parents=True)
    shutil.copy(tokens, downloads / "tokens.bin")
    (folder / "over.yaml").write_text(OVER)


def _annotated(folder):
    """Write reading times of sentences, and their trees."""
    words = list(enumerate(["Anna", "saw", "Oscar"], 1))
    rows = [
        (story, number, place, word, reader, 300 + 7 * number + 9 * place + reader)
        for story in STORIES
        for number in SENTENCES
        for place, word in words
        for reader in READERS
    ]
    names = ["item", "sentence", "position", "word", "subject", "SPR"]
    table = pd.DataFrame(rows, columns=names)
    table["condition"] = table["sentence"].map(lambda number: ("easy", "hard")[number % 2])
    table["stimulus"] = table["sentence"] // 2
    table.to_csv(folder / "annotated.csv", index=False)
    trees = f"!ARTICLE\n{ANNOTATED * len(SENTENCES)}" * len(STORIES)
    (folder / "trees").write_text(trees)
    leaves = [
        f"(S {' '.join(f'(X {word}/{story}.{3 * number + place})' for place, word in words)})"
        for story in STORIES
        for number in SENTENCES
    ]
    (folder / "leaves").write_text("\n".join(leaves))
