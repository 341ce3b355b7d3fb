"""The records of a story: its words, their dependencies, and its referents."""

from dataclasses import dataclass, field

from recency.simulation.draws import Draws
from recency.simulation.lexicon import Topic


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
