"""A probabilistic grammar of stories whose words are predictable from several distances.

Words are predictable from the previous word (collocations, articles), from within the sentence
(agreement across relative clauses and prepositional phrases, objects of relative clauses) and from
earlier in the story (topic and tense, recurrent nouns, names and their pronouns). Every dependency
is recorded, so that it can be tested and used as a gold standard.
"""

from bisect import bisect
from dataclasses import dataclass, field
from functools import cache
from itertools import accumulate
from typing import TypeVar

import numpy as np

from recency.simulation import lexicon
from recency.simulation.lexicon import TOPIC_OF, TOPICS, Topic

BLOCK = 2048
Item = TypeVar("Item")


@cache
def _zipf(n: int) -> list[float]:
    """Return cumulative probabilities of ranks 1 to n, each proportional to 1 / rank."""
    weights = [1 / rank for rank in range(1, n + 1)]
    return [total / sum(weights) for total in accumulate(weights)][:-1]


class Draws:
    """A stream of choices; equal seeds and streams give equal choices on all systems."""

    def __init__(self, *seed: int) -> None:
        self._generator = np.random.default_rng(seed)
        self._pool: list[float] = []

    def uniform(self) -> float:
        """Draw a number in [0, 1)."""
        if not self._pool:
            self._pool = self._generator.random(BLOCK).tolist()
        return self._pool.pop()

    def chance(self, probability: float) -> bool:
        """Draw an event with this probability."""
        return self.uniform() < probability

    def integer(self, low: int, high: int) -> int:
        """Draw an integer from low to high, both included."""
        return low + int(self.uniform() * (high - low + 1))

    def any(self, items: list[Item]) -> Item:
        """Draw one item, all equally likely."""
        return items[int(self.uniform() * len(items))]

    def zipf(self, items: list[Item]) -> Item:
        """Draw one item with probability proportional to 1 / rank."""
        return items[bisect(_zipf(len(items)), self.uniform())]


@dataclass(frozen=True)
class Rates:
    """Probabilities of the grammar's choices, unless noted otherwise."""

    shortest: int = 8  # sentences in a story
    longest: int = 30  # sentences in a story
    past: float = 0.4  # stories told in the past tense
    main_topic: float = 0.75  # nouns from the story's main topic; most others from its second one
    burst: float = 0.35  # nouns repeated from the story so far, the latest first
    collocation: float = 0.5  # verbs, objects and adjectives that collocate with the adjacent word
    cast: float = 0.4  # human subjects that are one of the story's two characters
    pronoun: float = 0.75  # mentions of the focused character by a pronoun
    plural: float = 0.38
    attractor: float = 0.25  # subjects with a prepositional phrase before their verb
    relative: float = 0.3  # other subjects with a relative clause before their verb
    modifier: float = 0.25  # objects with a prepositional phrase or a relative clause
    adjective: float = 0.35
    connective: float = 0.12
    subordinate: float = 0.18
    coordinate: float = 0.22
    complement: float = 0.12
    quote: float = 0.06
    existential: float = 0.05


@dataclass(frozen=True)
class Dependency:
    """A word (`head`) and an earlier word it depends on (`dependent`), as indices in the story.

    Kinds: `subject` (finite verb, its subject), `object` (verb of a relative clause, the modified
    noun), `coreference` (pronoun, the last mention). The feature is the number (`sg`, `pl`) or, for
    coreference, the pronoun's form (`f`, `m`, `pl`).
    """

    kind: str
    head: int
    dependent: int
    feature: str


@dataclass(frozen=True)
class Noun:
    """A noun's lemma, its rank within its class, and its topic (none for general nouns)."""

    lemma: str
    rank: int
    topic: Topic | None


@dataclass
class Referent:
    """A person or thing that was mentioned.

    `form` is the pronoun's gender or number (f, m, pl), empty if it is never referred to again.
    """

    number: str
    person: bool
    form: str | None = None
    name: str | None = None
    noun: Noun | None = None
    last: int | None = None  # index of the last mention's noun, name or pronoun


@dataclass
class Story:
    """A story during its generation."""

    draws: Draws
    rates: Rates
    topic: Topic
    second: Topic
    tense: str  # present or past
    cast: list[Referent]  # the two characters, the protagonist first
    words: list[str] = field(default_factory=list)
    sentences: list[int] = field(default_factory=list)  # index of each sentence's first word
    dependencies: list[Dependency] = field(default_factory=list)
    focus: Referent | None = None  # the last subject, for which a pronoun is unambiguous
    people: list[Noun] = field(default_factory=list)  # mentioned so far, the latest last
    things: list[Noun] = field(default_factory=list)

    def say(self, *words: str) -> int:
        """Add words; return the index of the last."""
        self.words.extend(words)
        return len(self.words) - 1

    def mark(self, mark: str) -> None:
        """Attach punctuation to the last word."""
        self.words[-1] += mark

    def agree(self, verb: int, subject: Referent) -> None:
        """Record that the finite verb at this index agrees with its subject's last mention."""
        self.dependencies.append(Dependency("subject", verb, subject.last, subject.number))


VOWELS = "aeiou"

PLURALS = {"child": "children", "goose": "geese", "loaf": "loaves", "thief": "thieves"}

PASTS = {
    "buy": "bought",
    "dig": "dug",
    "eat": "ate",
    "feed": "fed",
    "find": "found",
    "hear": "heard",
    "hide": "hid",
    "kneel": "knelt",
    "know": "knew",
    "meet": "met",
    "read": "read",
    "say": "said",
    "see": "saw",
    "sing": "sang",
    "sink": "sank",
    "sleep": "slept",
    "slide": "slid",
    "steal": "stole",
    "swim": "swam",
    "think": "thought",
}

DOUBLING = {"dig", "hum", "plan", "spot", "swim", "wrap"}  # verbs that double the final consonant


def _with_s(stem: str) -> str:
    if stem.endswith(("s", "x", "z", "ch", "sh")):
        return stem + "es"
    if stem.endswith("y") and stem[-2] not in VOWELS:
        return stem[:-1] + "ies"
    return stem + "s"


@cache
def plural(noun: str) -> str:
    """Return the plural of a noun."""
    return PLURALS.get(noun) or _with_s(noun)


@cache
def third_person(verb: str) -> str:
    """Return the third person singular of the present tense."""
    return _with_s(verb)


@cache
def past(verb: str) -> str:
    """Return the simple past tense, the same for every person and number."""
    if verb in PASTS:
        return PASTS[verb]
    if verb.endswith("e"):
        return verb + "d"
    if verb.endswith("y") and verb[-2] not in VOWELS:
        return verb[:-1] + "ied"
    return verb + (verb[-1] if verb in DOUBLING else "") + "ed"


@cache
def progressive(verb: str) -> str:
    """Return the form in -ing."""
    if verb.endswith("ie"):
        return verb[:-2] + "ying"
    if verb.endswith("e") and not verb.endswith("ee"):
        return verb[:-1] + "ing"
    return verb + (verb[-1] if verb in DOUBLING else "") + "ing"


def article(word: str) -> str:
    """Return the indefinite article before a word of this lexicon."""
    return "an" if word[0] in VOWELS else "a"


ROLES = ("subject", "object", "possessive", "reflexive")  # the order of lexicon.PRONOUNS


def finite(verb: str, tense: str, number: str) -> str:
    """Inflect a verb for tense and, in the present, for number."""
    if tense == "past":
        return past(verb)
    return third_person(verb) if number == "sg" else verb


def verb_phrase(story: Story, verb: str, subject: Referent) -> int:
    """Add a verb that agrees with its subject; return the index of the word with its stem."""
    draws, number = story.draws, subject.number
    adverb = [draws.zipf(lexicon.ADVERBS)] if draws.chance(0.12) else []
    turn = draws.uniform()
    if turn < 0.07:
        story.agree(story.say(lexicon.DO[story.tense][number]), subject)
        return story.say("not", *adverb, verb)
    if turn < 0.25 and verb not in lexicon.STATIVE:
        story.agree(story.say(lexicon.BE[story.tense][number]), subject)
        return story.say(*adverb, progressive(verb))
    at = story.say(*adverb, finite(verb, story.tense, number))
    story.agree(at, subject)
    return at


def choose_verb(story: Story, referent: Referent, kind: str) -> str:
    """Draw a verb of a noun's topic, often its collocate."""
    noun = referent.noun
    verbs = getattr((noun and noun.topic) or story.topic, kind)
    if noun and story.draws.chance(story.rates.collocation):
        return verbs[noun.rank % len(verbs)]
    return story.draws.zipf(verbs)


def adjective(story: Story, referent: Referent) -> str:
    """Draw an adjective, often the noun's collocate."""
    noun = referent.noun
    if noun and noun.topic and story.draws.chance(story.rates.collocation):
        return noun.topic.adjectives[noun.rank % len(noun.topic.adjectives)]
    return story.draws.zipf(lexicon.GENERAL_ADJECTIVES)


def choose_noun(story: Story, person: bool) -> Noun:
    """Draw a noun: one of the story's latest, or one of its topics."""
    draws, rates = story.draws, story.rates
    recent = story.people if person else story.things
    if recent and draws.chance(rates.burst):
        back = 1
        while back < len(recent) and draws.chance(0.55):
            back += 1
        return recent[-back]
    topic: Topic | None = story.topic
    if draws.chance(0.1):
        topic, nouns = None, lexicon.GENERAL_PEOPLE if person else lexicon.GENERAL_THINGS
    else:
        if not draws.chance(rates.main_topic):
            topic = story.second if draws.chance(0.8) else draws.any(list(TOPICS.values()))
        nouns = topic.people if person else topic.things
    lemma = draws.zipf(nouns)
    return Noun(lemma, nouns.index(lemma), topic)


def refer(story: Story, person: bool, noun: Noun | None = None) -> tuple[str, Referent, bool]:
    """Introduce a referent; return its inflected noun, and whether the noun is new."""
    noun = noun or choose_noun(story, person)
    recent = story.people if person else story.things
    new = noun not in recent
    if not new:
        recent.remove(noun)
    recent.append(noun)
    number = "pl" if story.draws.chance(story.rates.plural) else "sg"
    form = "pl" if person and number == "pl" else None
    inflected = noun.lemma if number == "sg" else plural(noun.lemma)
    return inflected, Referent(number, person, form, noun=noun), new


def noun_phrase(story: Story, person: bool, noun: Noun | None = None) -> Referent:
    """Add a determiner, an optional adjective, and a noun, indefinite if the noun is new."""
    draws, focus = story.draws, story.focus
    inflected, referent, new = refer(story, person, noun)
    words = [inflected]
    if draws.chance(story.rates.adjective):
        words.insert(0, adjective(story, referent))
    if new and draws.chance(0.7):
        story.say(article(words[0]) if referent.number == "sg" else "some")
    elif draws.chance(0.1):
        story.say("this" if referent.number == "sg" else "these")
    elif not person and focus and draws.chance(0.25):
        mention(story, focus, "possessive")
    else:
        story.say("the")
    referent.last = story.say(*words)
    return referent


def mention(story: Story, referent: Referent, role: str) -> None:
    """Add a character's name or an unambiguous pronoun: of the focus, possessive, reflexive."""
    clear = referent is story.focus and (
        referent.name is None or story.draws.chance(story.rates.pronoun)
    )
    if referent.last is not None and (clear or role in ROLES[2:]):
        at = story.say(lexicon.PRONOUNS[referent.form][ROLES.index(role)])
        story.dependencies.append(Dependency("coreference", at, referent.last, referent.form))
    else:
        at = story.say(referent.name)
    referent.last = at


def subject_phrase(story: Story, person: bool, simple: bool) -> Referent:
    """Add a subject, optionally with words before its verb; it becomes the focus."""
    draws, rates, focus = story.draws, story.rates, story.focus
    if person and draws.chance(rates.cast):
        subject = draws.zipf(story.cast)
        mention(story, subject, "subject")
    elif person and focus and focus.name is None and draws.chance(0.5):
        subject = focus
        mention(story, subject, "subject")
    else:
        subject = noun_phrase(story, person)
        if draws.chance(rates.attractor):
            prepositional_phrase(story, subject)
        elif not simple and draws.chance(rates.relative):
            relative_clause(story, subject)
    if person:
        story.focus = subject if subject.form else None
    return subject


def prepositional_phrase(story: Story, head: Referent) -> None:
    """Add a preposition and a thing other than the head."""
    story.say(story.draws.zipf(lexicon.PREPOSITIONS))
    noun = choose_noun(story, person=False)
    while noun == head.noun:
        noun = choose_noun(story, person=False)
    noun_phrase(story, False, noun)


def relative_clause(story: Story, head: Referent) -> None:
    """Add a relative clause: people are its subject or object, things are its object."""
    draws = story.draws
    story.say("who" if head.person and draws.chance(0.7) else "that")
    if head.person and draws.chance(0.6):
        verb = choose_verb(story, head, "transitive")
        verb_phrase(story, verb, head)
        noun_phrase(story, False, object_of(story, verb))
        return
    verb = draws.zipf(lexicon.SOCIAL) if head.person else choose_verb(story, head, "transitive")
    agent = noun_phrase(story, person=True)
    at = verb_phrase(story, verb, agent)
    story.dependencies.append(Dependency("object", at, head.last, head.number))


def object_of(story: Story, verb: str) -> Noun | None:
    """Draw a noun that collocates with a transitive verb, or None for any noun."""
    draws, topic = story.draws, TOPIC_OF[verb]
    if not draws.chance(story.rates.collocation):
        return None
    rank = topic.transitive.index(verb)
    if rank + 4 < len(topic.things) and draws.chance(0.35):
        rank += 4
    return Noun(topic.things[rank], rank, topic)


def modifier(story: Story, referent: Referent) -> None:
    """Add an optional modifier of an object: a prepositional phrase or a relative clause."""
    if story.draws.chance(story.rates.modifier):
        if story.draws.chance(0.5):
            prepositional_phrase(story, referent)
        else:
            relative_clause(story, referent)


def direction(story: Story) -> None:
    """Add a place of the story's topic."""
    story.say(story.draws.zipf(lexicon.DIRECTIONS), "the", story.draws.zipf(story.topic.places))


def generate(rates: Rates, *seed: int) -> Story:
    """Generate the story of these seeds."""
    draws = Draws(*seed)
    topics = list(lexicon.TOPICS.values())
    topic, second = draws.any(topics), draws.any(topics)
    tense = "past" if draws.chance(rates.past) else "present"
    story = Story(draws, rates, topic, second, tense, _cast(draws))
    for number in range(draws.integer(rates.shortest, rates.longest)):
        _sentence(story, opening=number == 0)
    return story


def _cast(draws: Draws) -> list[Referent]:
    genders = [draws.any(["f", "m"]) for _ in range(2)]
    names = [draws.zipf(lexicon.NAMES[gender]) for gender in genders]
    while names[1] == names[0]:
        names[1] = draws.zipf(lexicon.NAMES[genders[1]])
    return [Referent("sg", True, *character) for character in zip(genders, names, strict=True)]


def _sentence(story: Story, opening: bool) -> None:
    draws, rates = story.draws, story.rates
    start = len(story.words)
    story.sentences.append(start)
    if opening:
        _introduction(story)
    elif draws.chance(rates.existential):
        _existential(story)
    elif draws.chance(rates.quote):
        _quote(story)
    else:
        _narration(story)
    first = story.words[start].lstrip('"')
    quotes = story.words[start][: -len(first)]
    story.words[start] = quotes + first[0].upper() + first[1:]
    story.mark(".")


def _introduction(story: Story) -> None:
    protagonist = story.cast[0]
    mention(story, protagonist, "subject")
    noun = story.draws.zipf(story.topic.people)
    story.agree(story.say(lexicon.BE[story.tense]["sg"]), protagonist)
    story.say(article(noun), noun)
    direction(story)
    story.focus = protagonist


def _existential(story: Story) -> None:
    noun, referent, _ = refer(story, person=False)
    story.say("there", lexicon.BE[story.tense][referent.number])
    several = story.draws.any(["some", "two"])
    story.say(article(noun) if referent.number == "sg" else several, noun)
    direction(story)


def _quote(story: Story) -> None:
    start = len(story.words)
    _clause(story, simple=True)
    story.words[start] = '"' + story.words[start]
    story.mark(',"')
    story.say(finite("say", story.tense, "sg"))
    speaker = story.draws.zipf(story.cast)
    speaker.last = story.say(speaker.name)
    story.focus = speaker


def _narration(story: Story) -> None:
    draws, rates = story.draws, story.rates
    if draws.chance(rates.connective):
        story.say(draws.zipf(lexicon.CONNECTIVES))
    turn = draws.uniform()
    if turn < rates.subordinate:
        story.say(draws.zipf(lexicon.SUBORDINATORS))
        _clause(story, simple=True)
        story.mark(",")
        _clause(story)
    elif turn < rates.subordinate + rates.complement:
        subject = subject_phrase(story, person=True, simple=True)
        verb = draws.zipf(lexicon.SPEECH)
        story.agree(story.say(finite(verb, story.tense, subject.number)), subject)
        story.say("that")
        _clause(story, simple=True)
    else:
        _clause(story)
        if turn > 1 - rates.coordinate:
            story.mark(",")
            story.say(draws.zipf(lexicon.COORDINATORS))
            _clause(story)


def _clause(story: Story, simple: bool = False) -> None:
    """Add a subject and a predicate; a simple clause has no relative clause."""
    draws = story.draws
    person = draws.chance(0.75)
    subject = subject_phrase(story, person, simple)
    turn = draws.uniform()
    if turn < 0.2:
        story.agree(story.say(lexicon.BE[story.tense][subject.number]), subject)
        if draws.chance(0.4):
            story.say(draws.zipf(lexicon.INTENSIFIERS))
        story.say(adjective(story, subject))
    elif not person or turn < 0.4:
        kind = "intransitive" if person else "happening"
        verb = choose_verb(story, subject, kind)
        if person and draws.chance(0.4):
            verb = draws.zipf(lexicon.GENERAL_INTRANSITIVE)
        verb_phrase(story, verb, subject)
        if draws.chance(0.6):
            direction(story)
    elif turn < 0.6:
        verb_phrase(story, draws.zipf(lexicon.SOCIAL), subject)
        _person_object(story, subject, simple)
    else:
        verb = choose_verb(story, subject, "transitive")
        verb_phrase(story, verb, subject)
        thing = noun_phrase(story, False, object_of(story, verb))
        if not simple:
            modifier(story, thing)


def _person_object(story: Story, subject: Referent, simple: bool) -> None:
    """Add a character or someone else as an object, or the subject's reflexive."""
    draws = story.draws
    if subject.form and draws.chance(0.1):
        mention(story, subject, "reflexive")
    elif draws.chance(0.5):
        others = [character for character in story.cast if character is not subject]
        mention(story, draws.zipf(others), "object")
    else:
        someone = noun_phrase(story, person=True)
        if not simple:
            modifier(story, someone)
