"""Small parts of the real corpora, as the tables that a lab has: a row per reader and word."""

from dataclasses import dataclass
from functools import cache

import pandas as pd

import read_everything
from readingtimes import parsers
from readingtimes.contracts import check_responses, check_words
from readingtimes.loading import definition

READERS, TEXTS, WORDS, ROWS = 6, 2, 150, 1_800
"""Most readers, long texts, words of one, and rows of a table."""


@dataclass(frozen=True)
class Lab:
    """A corpus's measure, and how its table is written.

    `columns` has the lab's name of each column: subject, item, sentence, place (in the text) or position
    (in the sentence), word, time, and `length`, which is no role. `separator`, `missing` (a word without a
    time) and `means` (no readers) are of the file.
    """

    dataset: str
    measure: str
    columns: dict[str, str]
    separator: str = ","
    missing: str = ""
    means: bool = False


def _columns(names: str) -> dict[str, str]:
    return dict(pair.split("=") for pair in names.split())


#: name → the table. Names are those of EyeLink, jsPsych, Ibex, E-Prime, Linger and R users.
LABS = {
    "provo": Lab(
        "provo",
        "FP",
        _columns(
            "subject=RECORDING_SESSION_LABEL item=Text_ID place=IA_ID word=IA_LABEL "
            "time=IA_FIRST_RUN_DWELL_TIME"
        ),
        missing=".",
    ),
    "natural_stories": Lab(
        "natural_stories",
        "SPR",
        _columns("subject=WorkerId item=item place=zone word=word time=RT"),
    ),
    "ucl_spr": Lab(
        "ucl_spr",
        "SPR",
        _columns("subject=subj sentence=sent_id position=word.position word=word time=rt"),
        "\t",
        "NA",
    ),
    "ucl_eye": Lab(
        "ucl_eye_tracking",
        "FP",
        _columns(
            "subject=subj_nr sentence=sentence position=word_pos word=word time=RTfirstpass "
            "length=nchar"
        ),
    ),
    "maze": Lab(
        "maze",
        "Maze",
        _columns("subject=Subject item=Item place=WordNum word=Word length=WordLen time=Latency"),
    ),
    "maze_spr": Lab(
        "maze_spr",
        "SPR",
        _columns(
            "subject=participant item=item_id place=word_index word=token time=reading_time_ms"
        ),
        ";",
    ),
    "amaze": Lab(
        "natural_stories_amaze_cleaned",
        "Maze",
        _columns(
            "subject=ppt item=story sentence=sentence_num position=word_in_sentence word=word time=rt"
        ),
        missing="NA",
    ),
    "meco": Lab(
        "meco",
        "FP",
        _columns("item=trialid sentence=sentnum place=ianum word=ia time=firstrun_dur"),
        means=True,
    ),
    "potec": Lab(
        "potec",
        "FP",
        _columns(
            "subject=reader_id item=text_id sentence=sent_index place=word_index_in_text word=word "
            "time=FPRT"
        ),
        "\t",
    ),
    "zuco": Lab(
        "zuco",
        "TFT",
        _columns("subject=Subj sentence=sentence_id position=word_id word=content time=TRT"),
    ),
    "geco": Lab(
        "geco_totals",
        "TFT",
        _columns(
            "subject=PP_NR item=CHAPTER sentence=SENTENCE_ID position=WORD_ID_WITHIN_SENTENCE word=WORD "
            "time=WORD_TOTAL_READING_TIME"
        ),
        missing=".",
    ),
    "motr": Lab(
        "provo_motr",
        "FP",
        _columns("subject=reader item=para_nr place=word_nr word=word time=gaze_duration"),
    ),
    "devarda": Lab(
        "devarda2024",
        "RB",
        _columns("sentence=sent_id position=context_pos word=word time=RTrightbound"),
        missing="NA",
        means=True,
    ),
    "brown": Lab(
        "items_brown",
        "SPR",
        _columns("item=text_id place=text_pos word=word length=word_length time=mean_rt"),
        means=True,
    ),
}


def _files(part, folders):
    found = {role: read_everything.where(file, folders) for role, file in part.items()}
    return None if None in found.values() else found


@cache
def table(name: str, *folders) -> pd.DataFrame | None:
    """Return a lab's rows: subject, item, sentence, position, place, word, length and time (ms, NaN: none).

    None if a file is not in the folders. Readers are those with most times, of the first texts.
    """
    lab = LABS[name]
    entry = definition(lab.dataset)
    owner = definition(entry["words"].get("dataset", lab.dataset))
    of_words, of_times = _files(owner["words"], folders), _files(entry["responses"], folders)
    if of_words is None or of_times is None:
        return None

    def options(of, function):
        module = parsers.parser(of["parser"])
        return parsers.accepted(module, getattr(module, function), of.get("options", {}))

    words = parsers.parser(owner["parser"]).words(of_words, **options(owner, "words"))
    words = check_words(words, name)
    times = parsers.parser(entry["parser"]).responses(
        of_times, words, lab.measure, **options(entry, "responses")
    )
    times = check_responses(times, words, name).drop_duplicates(["subject", "word_id"])
    return _part(lab, words, times)


def _part(lab: Lab, words: pd.DataFrame, times: pd.DataFrame) -> pd.DataFrame:
    """Return the beginnings of texts, in whole sentences, and the readers who read most texts."""
    words = words[["item", "sentence", "position", "word_id", "word"]]
    words = words.assign(place=words.groupby("item", sort=False).cumcount() + 1)
    last = words.groupby(["item", "sentence"], sort=False).place.transform("max")
    words = words[last <= WORDS]
    given = times[times.time_ms.notna()].merge(words[["word_id", "item"]], on="word_id")
    share = given.groupby(["subject", "item"], sort=False).size().unstack(fill_value=0)
    read = share > 0.7 * words.groupby("item", sort=False).size().reindex(share.columns)
    readers = read.loc[:, read.sum() >= min(READERS, len(read))].sum(axis=1)
    readers = readers.sort_values(ascending=False, kind="stable").index[
        : 1 if lab.means else READERS
    ]
    popular = read.loc[readers].mean()
    budget, texts = min(ROWS // len(readers), TEXTS * WORDS), []
    for text, size in words.groupby("item", sort=False).size().items():
        if popular.get(text, 0) >= 0.5 and size <= budget:
            texts.append(text)
            budget -= size
    words = words[words["item"].isin(texts)]
    frames = []
    for reader in readers:
        mine = given[given.subject == reader].set_index("word_id").time_ms
        of_reader = words[words["item"].map(read.loc[reader])]
        frames.append(of_reader.assign(subject=reader, time=of_reader.word_id.map(mine)))
    frame = pd.concat(frames, ignore_index=True)
    return frame.assign(length=frame.word.str.len()).drop(columns="word_id")
