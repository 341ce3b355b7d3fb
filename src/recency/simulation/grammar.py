"""A probabilistic grammar of stories whose words are predictable from several distances.

Words are predictable from the previous word (collocations, articles), from within the sentence
(agreement across relative clauses and prepositional phrases, objects of relative clauses) and from
earlier in the story (topic and tense, recurrent nouns, names and their pronouns). Every dependency
is recorded, so that it can be tested and used as a gold standard.
"""

from recency.simulation import lexicon, morphology, phrases
from recency.simulation.draws import Draws
from recency.simulation.story import Rates, Referent, Story


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
    phrases.mention(story, protagonist, "subject")
    noun = story.draws.zipf(story.topic.people)
    story.agree(story.say(lexicon.BE[story.tense]["sg"]), protagonist)
    story.say(morphology.article(noun), noun)
    phrases.direction(story)
    story.focus = protagonist


def _existential(story: Story) -> None:
    noun, referent, _ = phrases.refer(story, person=False)
    story.say("there", lexicon.BE[story.tense][referent.number])
    several = story.draws.any(["some", "two"])
    story.say(morphology.article(noun) if referent.number == "sg" else several, noun)
    phrases.direction(story)


def _quote(story: Story) -> None:
    start = len(story.words)
    _clause(story, simple=True)
    story.words[start] = '"' + story.words[start]
    story.mark(',"')
    story.say(phrases.finite("say", story.tense, "sg"))
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
        subject = phrases.subject_phrase(story, person=True, simple=True)
        verb = draws.zipf(lexicon.SPEECH)
        story.agree(story.say(phrases.finite(verb, story.tense, subject.number)), subject)
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
    subject = phrases.subject_phrase(story, person, simple)
    turn = draws.uniform()
    if turn < 0.2:
        story.agree(story.say(lexicon.BE[story.tense][subject.number]), subject)
        if draws.chance(0.4):
            story.say(draws.zipf(lexicon.INTENSIFIERS))
        story.say(phrases.adjective(story, subject))
    elif not person or turn < 0.4:
        kind = "intransitive" if person else "happening"
        verb = phrases.choose_verb(story, subject, kind)
        if person and draws.chance(0.4):
            verb = draws.zipf(lexicon.GENERAL_INTRANSITIVE)
        phrases.verb_phrase(story, verb, subject)
        if draws.chance(0.6):
            phrases.direction(story)
    elif turn < 0.6:
        phrases.verb_phrase(story, draws.zipf(lexicon.SOCIAL), subject)
        _person_object(story, subject, simple)
    else:
        verb = phrases.choose_verb(story, subject, "transitive")
        phrases.verb_phrase(story, verb, subject)
        thing = phrases.noun_phrase(story, False, phrases.object_of(story, verb))
        if not simple:
            phrases.modifier(story, thing)


def _person_object(story: Story, subject: Referent, simple: bool) -> None:
    """Add a character or someone else as an object, or the subject's reflexive."""
    draws = story.draws
    if subject.form and draws.chance(0.1):
        phrases.mention(story, subject, "reflexive")
    elif draws.chance(0.5):
        others = [character for character in story.cast if character is not subject]
        phrases.mention(story, draws.zipf(others), "object")
    else:
        someone = phrases.noun_phrase(story, person=True)
        if not simple:
            phrases.modifier(story, someone)
