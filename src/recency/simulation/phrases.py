"""Noun phrases with modifiers, and verbs of the simulated language."""

from recency.simulation import lexicon, morphology
from recency.simulation.lexicon import TOPIC_OF, TOPICS, Topic
from recency.simulation.story import Dependency, Noun, Referent, Story

ROLES = ("subject", "object", "possessive", "reflexive")  # the order of lexicon.PRONOUNS


def finite(verb: str, tense: str, number: str) -> str:
    """Inflect a verb for tense and, in the present, for number."""
    if tense == "past":
        return morphology.past(verb)
    return morphology.third_person(verb) if number == "sg" else verb


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
        return story.say(*adverb, morphology.progressive(verb))
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
    inflected = noun.lemma if number == "sg" else morphology.plural(noun.lemma)
    return inflected, Referent(number, person, form, noun=noun), new


def noun_phrase(story: Story, person: bool, noun: Noun | None = None) -> Referent:
    """Add a determiner, an optional adjective, and a noun, indefinite if the noun is new."""
    draws, focus = story.draws, story.focus
    inflected, referent, new = refer(story, person, noun)
    words = [inflected]
    if draws.chance(story.rates.adjective):
        words.insert(0, adjective(story, referent))
    if new and draws.chance(0.7):
        story.say(morphology.article(words[0]) if referent.number == "sg" else "some")
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
