"""The words of the simulated language, by class and topic, the most frequent of a class first.

No noun is spelled like a verb form, so that a word's class is unambiguous.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Topic:
    """Words that occur together in a story, as lemmas that `morphology` inflects."""

    people: list[str]
    things: list[str]
    places: list[str]
    transitive: list[str]  # actions of people on things
    intransitive: list[str]  # actions of people
    happening: list[str]  # processes of things
    adjectives: list[str]


def _words(line: str) -> list[str]:
    return line.split()


def _topic(people, things, places, transitive, intransitive, happening, adjectives) -> Topic:
    classes = (people, things, places, transitive, intransitive, happening, adjectives)
    return Topic(*(_words(line) for line in classes))


TOPICS = {
    "kitchen": _topic(
        "cook waiter baker guest",
        "pot bowl loaf pie plate apron oven",
        "kitchen cellar",
        "wash stir heat serve",
        "eat dine",
        "boil burn",
        "hot fresh sweet",
    ),
    "farm": _topic(
        "farmer shepherd miller hunter",
        "horse goat hen cow lamb goose pig",
        "field stable",
        "feed herd chase tame",
        "dig yawn",
        "graze stray",
        "muddy fat hungry",
    ),
    "sea": _topic(
        "sailor captain diver pilot",
        "boat net anchor mast oar barrel raft",
        "harbour island",
        "tow load steer haul",
        "swim whistle",
        "sink drift",
        "wet salty deep",
    ),
    "school": _topic(
        "teacher pupil scholar tutor",
        "book essay riddle map poem slate globe",
        "school library",
        "read explain copy learn",
        "study listen",
        "fade curl",
        "clever long dull",
    ),
    "court": _topic(
        "judge lawyer thief witness",
        "letter contract coin verdict seal document purse",
        "court prison",
        "sign forge steal hide",
        "confess plead",
        "expire vanish",
        "guilty secret false",
    ),
    "hospital": _topic(
        "doctor nurse patient surgeon",
        "pill bandage needle blanket bottle remedy crutch",
        "hospital ward",
        "apply fetch examine prescribe",
        "faint cough",
        "leak dissolve",
        "pale clean weak",
    ),
    "railway": _topic(
        "conductor porter passenger engineer",
        "train ticket engine trunk carriage wagon signal",
        "station tunnel",
        "board repair inspect polish",
        "wait travel",
        "arrive depart",
        "late crowded fast",
    ),
    "music": _topic(
        "singer drummer pianist composer",
        "song violin tune flute piano harp anthem",
        "theatre hall",
        "play rehearse record admire",
        "sing applaud",
        "echo resound",
        "loud sad merry",
    ),
    "garden": _topic(
        "gardener neighbour botanist florist",
        "rose tulip hedge tree bush shrub lily",
        "garden greenhouse",
        "grow prune pick uproot",
        "kneel rest",
        "bloom wither",
        "green wild tall",
    ),
    "market": _topic(
        "merchant customer trader beggar",
        "basket carpet jar necklace pumpkin lamp mirror",
        "market shop",
        "buy weigh wrap praise",
        "bargain shout",
        "spoil gleam",
        "cheap rare costly",
    ),
    "army": _topic(
        "soldier general scout guard",
        "sword tent cannon shield banner helmet catapult",
        "camp fort",
        "defend capture seize sharpen",
        "march retreat",
        "rust topple",
        "brave fierce heavy",
    ),
    "mountain": _topic(
        "climber guide ranger hermit",
        "rope ladder cabin boulder torch sledge lantern",
        "valley summit",
        "cross drag untie spot",
        "shiver wander",
        "slide crack",
        "steep cold snowy",
    ),
}

TOPIC_OF = {verb: topic for topic in TOPICS.values() for verb in topic.transitive}

GENERAL_PEOPLE = _words("friend child stranger visitor")
GENERAL_THINGS = _words("house door window table")
SOCIAL = _words("see help meet follow know thank find hear")  # actions between people
STATIVE = {"see", "know", "hear"}  # verbs without a progressive
SPEECH = _words("think say know believe hope")  # verbs with a clause as object
GENERAL_INTRANSITIVE = _words("laugh sleep smile work")
GENERAL_ADJECTIVES = _words("old small good new strange young quiet big")
ADVERBS = _words("often slowly quickly quietly always again soon never")
INTENSIFIERS = _words("very quite still too")
PREPOSITIONS = ["near", "behind", "beside", "with", "under"]  # between two nouns
DIRECTIONS = _words("in near behind outside")  # between a verb and a place
CONNECTIVES = _words("Then Later, However, So Meanwhile, Suddenly, Therefore,")
SUBORDINATORS = _words("when because after although while before")
COORDINATORS = _words("and but so")

NAMES = {
    "f": _words("Anna Mary Clara Ruth Helen Nora Emma Alice Sofia Laura Edith Ida Vera Julia"),
    "m": _words("Tom Peter Paul Henry Martin Oscar Simon Victor Hugo Felix Arthur Leo Karl Ralph"),
}

PRONOUNS = {  # subject, object, possessive, reflexive
    "f": ("she", "her", "her", "herself"),
    "m": ("he", "him", "his", "himself"),
    "pl": ("they", "them", "their", "themselves"),
}

BE = {"present": {"sg": "is", "pl": "are"}, "past": {"sg": "was", "pl": "were"}}
DO = {"present": {"sg": "does", "pl": "do"}, "past": {"sg": "did", "pl": "did"}}
