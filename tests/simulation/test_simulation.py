"""The simulated study's language: its texts and stimuli, against the rules they were made by."""

import re
from itertools import combinations, pairwise

import numpy as np
import pandas as pd
import pytest

from recency.errors import InputError
from recency.simulation import grammar, lexicon
from recency.simulation import stimuli as simulate_stimuli
from recency.simulation import text as simulate_text
from recency.simulation.grammar import Rates
from recency.simulation.lexicon import TOPICS


def bare(word: str) -> str:
    return word.strip('".,').lower()


def people() -> list[str]:
    return [*(noun for topic in TOPICS.values() for noun in topic.people), *lexicon.GENERAL_PEOPLE]


def things() -> list[str]:
    return [*(noun for topic in TOPICS.values() for noun in topic.things), *lexicon.GENERAL_THINGS]


def verbs() -> set[str]:
    kinds = ("transitive", "intransitive", "happening")
    own = {verb for topic in TOPICS.values() for kind in kinds for verb in getattr(topic, kind)}
    return own | {*lexicon.SOCIAL, *lexicon.SPEECH, *lexicon.GENERAL_INTRANSITIVE}


@pytest.fixture(scope="module")
def told():
    return list(simulate_text.stories(300, 1, simulate_text.TEXT, Rates()))


# The language


def test_classes_share_no_word():
    forms = {
        form(verb)
        for verb in verbs()
        for form in (str, grammar.third_person, grammar.past, grammar.progressive)
    }
    nouns = {form for noun in people() + things() for form in (noun, grammar.plural(noun))}
    assert not forms & nouns
    assert len(lexicon.TOPIC_OF) == sum(len(topic.transitive) for topic in TOPICS.values())
    assert len(people()) == len(set(people())) and len(things()) == len(set(things()))


@pytest.mark.parametrize(
    ("form", "word", "expected"),
    [
        (grammar.plural, "child", "children"),
        (grammar.plural, "bush", "bushes"),
        (grammar.plural, "lily", "lilies"),
        (grammar.third_person, "apply", "applies"),
        (grammar.third_person, "fetch", "fetches"),
        (grammar.third_person, "play", "plays"),
        (grammar.past, "wrap", "wrapped"),
        (grammar.past, "untie", "untied"),
        (grammar.past, "copy", "copied"),
        (grammar.past, "steal", "stole"),
        (grammar.progressive, "swim", "swimming"),
        (grammar.progressive, "see", "seeing"),
        (grammar.progressive, "untie", "untying"),
        (grammar.progressive, "serve", "serving"),
        (grammar.article, "oven", "an"),
        (grammar.article, "boat", "a"),
    ],
)
def test_inflection(form, word, expected):
    assert form(word) == expected


def test_verbs_agree_with_their_subjects(told):
    number = {"they": "pl", "she": "sg", "he": "sg"}
    number |= {name.lower(): "sg" for names in lexicon.NAMES.values() for name in names}
    for noun in people() + things():
        number |= {noun: "sg", grammar.plural(noun): "pl"}
    singular = {"is", "was", "does"} | {grammar.third_person(verb) for verb in verbs()}
    plural = {"are", "were", "do"} | verbs()
    both = {"did"} | {grammar.past(verb) for verb in verbs()}
    far = 0
    for story in told:
        words = [bare(word) for word in story.words]
        subjects = [made for made in story.dependencies if made.kind == "subject"]
        for made in subjects:
            allowed = both | (singular if number[words[made.dependent]] == "sg" else plural)
            assert words[made.head] in allowed, " ".join(words[made.dependent : made.head + 1])
            assert made.feature == number[words[made.dependent]]
            between = {number.get(word) for word in words[made.dependent + 1 : made.head]}
            far += bool(between - {None, made.feature})
        # Nothing that looks like a finite verb is without its subject.
        heads = {made.head for made in subjects}
        for index, word in enumerate(words):
            spoken = index and story.words[index - 1].endswith('"')
            if word in singular and words[index - 1] != "there" and not spoken:
                assert index in heads
    assert far > 300  # verbs with an attractor of the other number before them


def test_articles_fit_the_next_word_and_the_number(told):
    plurals = {grammar.plural(noun) for noun in people() + things()}
    for story in told:
        words = [bare(word) for word in story.words]
        for article, after in pairwise(words):
            if article in ("a", "an"):
                assert article == ("an" if after[0] in "aeiou" else "a")
                assert after not in plurals


def test_pronouns_have_the_gender_of_their_name(told):
    gender = {name.lower(): key for key, names in lexicon.NAMES.items() for name in names}
    gender |= {grammar.plural(noun): "pl" for noun in people()}
    shows = {
        pronoun: [key for key, forms in lexicon.PRONOUNS.items() if pronoun in forms]
        for forms in lexicon.PRONOUNS.values()
        for pronoun in forms
    }
    crossing = 0
    for story in told:
        words = [bare(word) for word in story.words]
        earlier = {
            made.head: made.dependent for made in story.dependencies if made.kind == "coreference"
        }
        for head, mention in earlier.items():
            origin = head
            while origin in earlier:
                origin = earlier[origin]
            assert shows[words[head]] == [gender[words[origin]]]
            crossing += any(mention < start <= head for start in story.sentences)
        assert {index for index, word in enumerate(words) if word in shows} == set(earlier)
    assert crossing > 300  # pronouns whose last mention is in an earlier sentence


def test_relative_clauses_front_their_object(told):
    fronted = [
        (bare(story.words[made.dependent + 1]), made.head - made.dependent)
        for story in told
        for made in story.dependencies
        if made.kind == "object"
    ]
    assert len(fronted) > 300
    assert {marker for marker, _ in fronted} == {"who", "that"}
    assert min(distance for _, distance in fronted) >= 4


def test_stories_keep_to_their_topics(told):
    forms = {
        form: noun
        for noun in people() + things()
        for form in (noun, grammar.plural(noun))
    }  # fmt: skip
    halves = []
    for story in told[:60]:
        nouns = [forms[bare(word)] for word in story.words if bare(word) in forms]
        halves.append((set(nouns[: len(nouns) // 2]), set(nouns[len(nouns) // 2 :])))

    def shared(a: set, b: set) -> float:
        return len(a & b) / len(a | b)

    within = np.mean([shared(*pair) for pair in halves])
    between = np.mean([shared(a[0], b[1]) for a, b in combinations(halves, 2)])
    assert within > 3 * between


def test_sentences_look_like_text(told):
    for story in told:
        assert Rates().shortest <= len(story.sentences) <= Rates().longest
        for start, end in zip(story.sentences, [*story.sentences[1:], None], strict=True):
            sentence = " ".join(story.words[start:end])
            assert re.fullmatch(r'"?[A-Z][A-Za-z ,"]*\.', sentence), sentence
            assert sentence.count('"') in (0, 2)


def test_text_is_the_same_every_time_and_grows_at_its_end(tmp_path):
    paths = [tmp_path / name for name in ("a.parquet", "b.parquet", "more.parquet")]
    for path, documents in zip(paths, (40, 40, 60), strict=True):
        simulate_text.main(path, documents, seed=7)
    assert paths[0].read_bytes() == paths[1].read_bytes()
    few, more = pd.read_parquet(paths[0]), pd.read_parquet(paths[2])
    assert list(few.columns) == ["document", "text"]
    assert few.equals(more.head(40))
    assert few.document.is_unique and few.text.is_unique


def test_an_unknown_rate_is_named(tmp_path):
    with pytest.raises(InputError, match="no rate 'bursts'"):
        simulate_text.main(tmp_path / "text.parquet", 1, seed=1, bursts=0.2)
    with pytest.raises(InputError, match="burst is 2, which is not a probability"):
        simulate_text.main(tmp_path / "text.parquet", 1, seed=1, burst=2)
    with pytest.raises(InputError, match=r"9 \(shortest\) to 3 \(longest\)"):
        simulate_text.main(tmp_path / "text.parquet", 1, seed=1, shortest=9, longest=3)
    assert not list(tmp_path.iterdir())


# The stimuli


def test_stimuli_are_stories_that_no_model_is_trained_on(tmp_path):
    simulate_stimuli.main(tmp_path / "stimuli.csv", stories=12, seed=1)
    read = pd.read_csv(tmp_path / "stimuli.csv")
    assert list(read.columns) == ["item", "sentence", "position", "word"]
    assert read.item.nunique() == 12
    assert (read.groupby("sentence").item.nunique() == 1).all()
    assert (read.groupby("sentence").position.max() == read.groupby("sentence").size()).all()
    assert not read.word.str.contains(r"\s").any()
    trained = " ".join(
        " ".join(story.words) for story in simulate_text.stories(50, 1, simulate_text.TEXT, Rates())
    )
    for _, words in read.groupby("item").word:
        assert " ".join(words) not in trained


def test_dependencies_point_at_words_of_the_stimuli():
    words = simulate_stimuli.stimuli(seed=3, stories=10)
    links = simulate_stimuli.dependencies(seed=3, stories=10)
    items = words["item"].to_numpy()
    assert (links["head"] > links["dependent"]).all()
    assert (items[links["head"]] == items[links["dependent"]]).all()
    pronouns = words.word[links["head"][links.kind == "coreference"]].map(bare)
    assert set(pronouns) <= {form for forms in lexicon.PRONOUNS.values() for form in forms}
    assert set(links.kind) == {"subject", "object", "coreference"}
