"""Dependencies between the words of a dataset, from its annotated trees.

The trees are of a generalized categorial grammar (Nguyen et al. 2012), published without words and
combined with the words and their positions. A word's category lists its missing arguments: `V-aN-bN` lacks an N before it and an N after it.
These are its argument slots, numbered in that order: the subject is the first argument of a
transitive verb, the object the second; a preposition (`R-aN-bN`) has its attachment as first
argument and its noun as second; a possessor is the first argument of a noun (`N-aD`). A slot is a
variable, filled by the rules above the word with the head word of another constituent (Nguyen et
al. 2012):

- Argument (`-lA`): the sister is the functor; the argument's head fills its last open slot on that
  side. The functor's head becomes the head of the constituent, except that a determiner
  (`N-b{N-aD}`) passes its noun's head up, as the corpus's coreference tags do.
- Modifier (`-lM`): the modified constituent's head fills the modifier's first slot.
- Conjunct (`-lC`): its open slots become those of the coordination, whose head is the conjunction.
- Non-local (`-lN`), at the left: a filler fills the gap (`-g`) of its sister. At the right: the
  constituent that its sister had shifted (`-h`), or a relative clause, whose `-r` is filled by the
  sister's head.
- A unary rule that turns a slot into a gap (`V-aN-gN` over `V-aN-bN`): the slot keeps its number
  and is filled by the filler of the gap. A gap without such a slot, as `V-g{R-aN}` over `V`,
  belongs to a modifier of this constituent.

This is the rule "categories". It has two options: with `antecedents`, the antecedent of a relative
pronoun is an argument too (and the second argument of a relative adverb such as "where"); with
`raising`, the first argument of a functor over a predicate, as of an auxiliary (`V-aN-b{A-aN}`), is
also an argument of the predicate.

The rule "graph" reads the same trees as a graph of referents (Shain et al. 2018), in which all
words for one referent share its predicates. It differs in four ways:

- Antecedents are always arguments (`antecedents`).
- A word that marks a form and has no referent ("that", "of", the possessive 's) passes up the head
  of its argument, as a determiner does (MARKERS).
- A conjunction refers to its conjuncts together, and has their shared arguments.
- A predicate noun ("was a legend") names its subject and does not take it as an argument.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import pandas as pd

from readingtimes.files import atomic
from recency.errors import InputError

_TOKEN = re.compile(r"[()]|[^\s()]+")


@dataclass
class Tree:
    """A constituent: its label with its children or its word."""

    label: str
    children: list[Tree]
    word: str | None = None

    def leaves(self) -> list[Tree]:
        """Return the words from left to right."""
        if self.word is not None:
            return [self]
        return [leaf for child in self.children for leaf in child.leaves()]


def read_trees(text: str, where: str) -> list[Tree]:
    """Read all trees of a text; `where` (file, line) begins error messages."""
    trees, open_trees = [], []
    tokens = _TOKEN.findall(text)
    position = 0
    while position < len(tokens):
        token = tokens[position]
        if token == "(":
            label = tokens[position + 1] if position + 1 < len(tokens) else ")"
            named = label not in ("(", ")")
            open_trees.append(Tree(label if named else "", []))
            position += named
        elif token == ")":
            if not open_trees:
                raise InputError(f"{where}: a closing bracket has no opening bracket")
            tree = open_trees.pop()
            if tree.word is None and not tree.children:
                raise InputError(f"{where}: ({tree.label}) has neither a word nor a constituent")
            (open_trees[-1].children if open_trees else trees).append(tree)
        elif not open_trees or open_trees[-1].children or open_trees[-1].word is not None:
            raise InputError(f"{where}: {token!r} is not allowed here")
        else:
            open_trees[-1].word = token
        position += 1
    if open_trees:
        raise InputError(f"{where}: {len(open_trees)} brackets are not closed; is the file whole?")
    return trees


#: Operators: a missing argument before (a) or after (b), and non-local dependencies: a gap (g), a
#: shift to the right (h), interrogative (i), relative (r), passive (v).
LOCAL, NON_LOCAL = "ab", "ghirv"
_COREFERENCE = re.compile(
    r"-[nm](\d{2})(\d{2})(?!\d)"
)  # sentence of the story from 0, token from 1
_TAGS = re.compile(r"-[nm]-?\d+")
_BRACKET = re.compile(r"-[LR][RCS]B-")


@dataclass(frozen=True)
class Category:
    """A primitive with its operators (kind, category), the tag of its rule and its antecedent.

    `tag` is how the constituent combines with its sister: A argument, M modifier, C conjunct,
    N non-local, S the root. `antecedent` is (sentence of the story from 0, token from 1).
    """

    primitive: str
    operators: tuple[tuple[str, str], ...]
    tag: str = ""
    antecedent: tuple[int, int] | None = None


def parse_category(label: str) -> Category:
    """Parse a label: `V-aN-b{A-aN}-lA` is V, ((a, N), (b, A-aN)), A."""
    if bracket := _BRACKET.match(label):  # the name of a bracket has hyphens
        return Category(bracket.group(), (), label[-1] if "-l" in label else "")
    match = _COREFERENCE.search(label)
    primitive, *parts = _split(_TAGS.sub("", label))
    operators, tag = [], ""
    for part in parts:
        kind, argument = part[:1], part[1:]
        if kind == "l":
            tag = argument
        elif argument and kind in LOCAL + NON_LOCAL:
            braced = argument.startswith("{") and argument.endswith("}")
            operators.append((kind, argument[1:-1] if braced else argument))
    antecedent = (int(match.group(1)), int(match.group(2))) if match else None
    return Category(primitive, tuple(operators), tag, antecedent)


def is_bracket(label: str) -> bool:
    """Return whether a label or word is a bracket, such as `-LRB-`."""
    return _BRACKET.fullmatch(label) is not None


def _split(label: str) -> list[str]:
    """Split at the hyphens outside braces."""
    parts, depth = [""], 0
    for character in label:
        if character == "-" and depth == 0:
            parts.append("")
            continue
        depth += (character == "{") - (character == "}")
        parts[-1] += character
    return parts


#: Placeholder of a word in trees published without words; mark of a new story.
LEAF, STORY = "LEAF!", "!ARTICLE"
OPENING = ("``", "`")  # quotation marks of the Penn Treebank
_CODE = re.compile(r"(.+)/(\d+)\.(\d+)(?:\.\w+)?")


@dataclass
class Sentence:
    """A tree with its words, their positions (story, word of the story from 1), and its number."""

    tree: Tree
    words: list[str]
    places: list[tuple[int, int]]
    number: int  # in its story, from 0

    def is_punctuation(self, token: int) -> bool:
        """Return whether a token is punctuation (or a bracket such as -LRB-)."""
        word = self.words[token]
        return is_bracket(word) or not any(letter.isalnum() for letter in word)

    def follows_quotation_mark(self, token: int) -> bool:
        """Return whether an opening quotation mark directly precedes a token."""
        return token > 0 and self.words[token - 1] in OPENING

    def coreference(self) -> list[tuple[int, tuple[int, int]]]:
        """Return (token from 0, (sentence of the story from 0, token from 0) of its antecedent)."""
        tags = [parse_category(leaf.label).antecedent for leaf in self.tree.leaves()]
        return [(token, (tag[0], tag[1] - 1)) for token, tag in enumerate(tags) if tag]


def read(trees: Path, leaves: Path) -> list[list[Sentence]]:
    """Read stories of sentences from one tree per line and a treebank with words `/story.word`.

    `leaves` are Penn trees (traces are skipped) in the same order; `word/1.10.2` is a part of the
    tenth word of story 1. Raises InputError where the numbers of words differ, or where a tree has
    different words.
    """
    words = _leaves(leaves)
    stories: list[list[Sentence]] = []
    used = 0
    for line, text in enumerate(Path(trees).read_text(encoding="utf-8").splitlines(), 1):
        if text.strip() == STORY:
            stories.append([])
            continue
        where = f"{trees}, line {line}"
        for tree in read_trees(text, where):
            if not stories:
                raise InputError(f"{where}: a tree precedes the first {STORY}")
            tokens = tree.leaves()
            here = words[used : used + len(tokens)]
            used += len(tokens)
            if len(here) < len(tokens):
                raise InputError(f"{where}: {leaves} ends before; it has {len(words):,} words")
            for leaf, (word, _) in zip(tokens, here):
                if leaf.word not in (LEAF, word):
                    raise InputError(f"{where}: {leaf.word!r} is {word!r} in {leaves}")
            spelled, places = [word for word, _ in here], [position for _, position in here]
            if len({story for story, _ in places}) > 1:
                raise InputError(f"{where}: the sentence spans two stories of {leaves}")
            stories[-1].append(Sentence(tree, spelled, places, len(stories[-1])))
    if used != len(words):
        raise InputError(
            f"{trees} has {used:,} words, {leaves} {len(words):,}; download both again"
        )
    return stories


def _leaves(path: Path) -> list[tuple[str, tuple[int, int]]]:
    """Return the words of a treebank with their positions."""
    leaves = []
    for tree in read_trees(Path(path).read_text(encoding="utf-8"), str(path)):
        for leaf in tree.leaves():
            if leaf.label == "-NONE-":
                continue
            match = _CODE.fullmatch(leaf.word)
            if match is None:
                raise InputError(
                    f"{path}: {leaf.word!r} is not word/story.number, as in moors/1.21"
                )
            leaves.append((match[1], (int(match[2]), int(match[3]))))
    return leaves


#: Primitive, side and argument of functors without a referent: "that" (C-bV), the clause's E-bB
#: and F-bI ("for"), "of" (O-bN) and 's (D-aN).
MARKERS = {("C", "b", "V"), ("E", "b", "B"), ("F", "b", "I"), ("O", "b", "N"), ("D", "a", "N")}


@dataclass(frozen=True)
class Dependency:
    """Token numbers, from 0 in the sentence, of a predicate (head) and of its argument."""

    head: int
    dependent: int
    number: int  # 1 for a first argument


class Slot:
    """An argument slot; slots that must have the same filler are joined."""

    def __init__(self, word: int | None = None):
        self._word, self._joined = word, None

    def _last(self) -> Slot:
        slot = self
        while slot._joined is not None:
            slot = slot._joined
        return slot

    @property
    def word(self) -> int | None:
        """The token that fills it, or None."""
        return self._last()._word

    def fill(self, other: Slot) -> None:
        """Join two slots; if both are filled already, nothing changes."""
        a, b = self._last(), other._last()
        if a is b:
            return
        if a._word is None:
            a._joined = b
        elif b._word is None:
            b._joined = a


@dataclass(frozen=True)
class Operator:
    """An operator of a constituent's category, and its slot."""

    kind: str
    category: str
    slot: Slot

    @property
    def local(self) -> bool:
        """Whether it is an adjacent argument, not a gap or other non-local operator."""
        return self.kind in LOCAL


@dataclass(frozen=True)
class Sign:
    """A constituent: its unfilled operators and its head word."""

    primitive: str
    operators: tuple[Operator, ...]
    head: Slot
    tag: str = ""

    def without(self, operator: Operator) -> tuple[Operator, ...]:
        """Return the other operators."""
        return tuple(other for other in self.operators if other is not operator)

    @property
    def local(self) -> list[Operator]:
        """Its open arguments."""
        return [operator for operator in self.operators if operator.local]

    @property
    def non_local(self) -> tuple[Operator, ...]:
        """Its gaps and other non-local operators."""
        return tuple(operator for operator in self.operators if not operator.local)


def dependencies(
    tree: Tree, rule: str = "graph", antecedents: bool = False, raising: bool = False
) -> list[Dependency]:
    """Return the distinct argument dependencies of a sentence, in the order of its tokens.

    `rule` is graph or categories; `antecedents` and `raising` are options of the rule "categories".
    """
    sentence = _Sentence(raising, graph=rule == "graph")
    sentence.sign(tree)
    relations = {
        Dependency(head.word, slot.word, number)
        for head, number, slot in sentence.slots
        if head.word is not None and slot.word is not None and head.word != slot.word
    }
    if antecedents or sentence.graph:
        relations |= sentence.antecedent_dependencies(relations)
    return sorted(relations, key=lambda d: (d.head, d.number, d.dependent))


class _Sentence:
    """The slots of one sentence, collected bottom-up from its words."""

    def __init__(self, raising: bool, graph: bool):
        self.raising, self.graph = raising, graph
        self.words = 0
        self.slots: list[tuple[Slot, int, Slot]] = []  # (predicate, number, argument)
        self.relatives: dict[int, tuple[str, Slot]] = {}  # a relative's primitive and antecedent

    def sign(self, tree: Tree) -> Sign:
        category = parse_category(tree.label)
        if tree.word is not None:
            return self._word(category)
        signs = [self.sign(child) for child in tree.children]
        whole = signs[0]
        for sister in signs[1:]:
            whole = self._join(whole, sister, category)
        return self._relabel(whole, category)

    def antecedent_dependencies(self, relations: set[Dependency]) -> set[Dependency]:
        """Return the dependencies of the antecedents of relative pronouns."""
        more = set()
        for relation in relations:
            _, antecedent = self.relatives.get(relation.dependent, ("", Slot()))
            if antecedent.word not in (None, relation.head):
                more.add(replace(relation, dependent=antecedent.word))
        for relative, (primitive, antecedent) in self.relatives.items():
            if primitive in ("A", "R") and antecedent.word is not None:
                more.add(Dependency(relative, antecedent.word, 2))
        return more

    def _word(self, category: Category) -> Sign:
        number, head = self.words, Slot(self.words)
        self.words += 1
        operators = tuple(Operator(*pair, Slot()) for pair in category.operators)
        sign = Sign(category.primitive, operators, head, category.tag)
        for order, operator in enumerate(sign.local, 1):
            self.slots.append((head, order, operator.slot))
        for operator in operators:
            if operator.kind == "r":
                self.relatives[number] = (category.primitive, operator.slot)
        return sign

    def _relabel(self, sign: Sign, category: Category) -> Sign:
        """Give a constituent the operators that its label names, keeping their slots."""
        left, wanted = list(sign.operators), category.operators
        chosen: list[Operator | None] = [None] * len(wanted)

        def take(index: int, matches: list[Operator]) -> None:
            if matches:
                kind, argument = wanted[index]
                chosen[index] = Operator(kind, argument, matches[0].slot)
                left.remove(matches[0])

        for index, (kind, argument) in enumerate(wanted):
            take(index, [e for e in left if (e.kind, e.category) == (kind, argument)])
        for index, (kind, argument) in enumerate(wanted):  # of the same category, now non-local
            if chosen[index] is None:
                same = [e for e in reversed(left) if e.category == argument]
                take(index, [e for e in same if e.local <= (kind in LOCAL)])
        for index, (kind, argument) in enumerate(wanted):
            if chosen[index] is not None:
                continue
            fewer = len(sign.local) > sum(operator_kind in LOCAL for operator_kind, _ in wanted)
            modifier = kind not in LOCAL and "-a" in argument
            if not modifier or fewer:
                take(index, [e for e in reversed(left) if e.local])
            if chosen[index] is None:
                chosen[index] = Operator(kind, argument, Slot())
                if modifier:
                    self.slots.append((chosen[index].slot, 1, sign.head))
                elif kind in LOCAL and not self.graph:  # a noun as predicate: "was a legend"
                    number = sum(operator_kind in LOCAL for operator_kind, _ in wanted[: index + 1])
                    self.slots.append((sign.head, number, chosen[index].slot))
        return Sign(category.primitive, tuple(chosen), sign.head, category.tag)

    def _join(self, left: Sign, right: Sign, whole: Category) -> Sign:
        """Combine two constituents by the tag of one of them."""
        if "M" in (left.tag, right.tag):
            modifier, modified = (left, right) if left.tag == "M" else (right, left)
            if modifier.local:
                modifier.local[0].slot.fill(modified.head)
            return Sign(modified.primitive, modified.operators + modifier.non_local, modified.head)
        if "A" in (left.tag, right.tag):
            return self._apply(left, right)
        if "C" in (left.tag, right.tag):
            conjunct, rest = (left, right) if left.tag == "C" else (right, left)
            _share(conjunct, rest)
            if self.graph:
                for number, operator in enumerate(conjunct.local, 1):
                    self.slots.append((rest.head, number, operator.slot))
            return Sign(conjunct.primitive, conjunct.operators, rest.head)
        if left.tag == "N":
            return _fill_from_left(left, right)
        if right.tag == "N":
            return _fill_from_right(left, right)
        # Without a tag, the sister with the primitive of the label is the head.
        head, other = (right, left) if whole.primitive == right.primitive else (left, right)
        return Sign(head.primitive, head.operators + other.non_local, head.head)

    def _apply(self, left: Sign, right: Sign) -> Sign:
        """Give a functor its argument."""
        argument, functor = (left, right) if left.tag == "A" else (right, left)
        if not functor.local:
            operators = functor.operators + argument.non_local
            return Sign(functor.primitive, operators, functor.head)
        side = "a" if left.tag == "A" else "b"
        used = ([e for e in functor.local if e.kind == side] or functor.local)[-1]
        used.slot.fill(argument.head)
        rest = functor.without(used)
        before = [operator for operator in rest if operator.kind == "a"]
        if self.raising and side == "b" and "-aN" in used.category and argument.local and before:
            argument.local[0].slot.fill(before[0].slot)
        determiner = functor.primitive == "N" and used.category.startswith("N-aD")
        kind = (functor.primitive, used.kind, used.category)
        marker = self.graph and len(functor.operators) == 1 and kind in MARKERS
        head = argument.head if determiner or marker else functor.head
        return Sign(functor.primitive, rest + argument.non_local, head)


def _share(conjunct: Sign, rest: Sign) -> None:
    """Share the arguments of two conjuncts; the conjunction itself has none."""
    theirs = list(rest.operators)
    for operator in conjunct.operators:
        same = [e for e in theirs if (e.kind, e.category) == (operator.kind, operator.category)]
        if same:
            operator.slot.fill(same[0].slot)
            theirs.remove(same[0])


def _fill_from_left(filler: Sign, clause: Sign) -> Sign:
    """Fill the clause's gap, or attach a relative clause to the following head."""
    gaps = [op for op in clause.non_local if op.kind in "gv"] or list(clause.non_local)
    if gaps:
        gaps[-1].slot.fill(filler.head)
        operators = clause.without(gaps[-1]) + filler.non_local
    else:
        relative = [op for op in filler.non_local if op.kind in "ir"]
        for op in relative[-1:]:
            op.slot.fill(clause.head)
        rest = tuple(op for op in filler.non_local if op not in relative[-1:])
        operators = clause.operators + rest
    return Sign(clause.primitive, operators, clause.head)


def _fill_from_right(left: Sign, right: Sign) -> Sign:
    """Fill the left constituent's shifted operator, or attach a relative clause to it."""
    shifted = [operator for operator in left.non_local if operator.kind == "h"]
    if shifted:
        shifted[-1].slot.fill(right.head)
        return Sign(left.primitive, left.without(shifted[-1]) + right.non_local, left.head)
    for kinds in ("ir", "g", "v"):
        if open_ones := [operator for operator in right.non_local if operator.kind in kinds]:
            used = open_ones[-1]
            used.slot.fill(left.head)
            rest = tuple(operator for operator in right.non_local if operator is not used)
            return Sign(left.primitive, left.operators + rest, left.head)
    return Sign(left.primitive, left.operators + right.non_local, left.head)


FIRST, SECOND, COREFERENCE = TYPES = ("first_argument", "second_argument", "coreference")
COLUMNS = ["type", "item", "sentence", "head", "dependent"]
NUMBERS = {1: FIRST, 2: SECOND}

#: Every reading of the trees, by its name in the table of counts.
READINGS = {
    "graph": {"rule": "graph"},
    "categories": {"rule": "categories"},
    "categories, antecedents": {"rule": "categories", "antecedents": True},
    "categories, raising": {"rule": "categories", "raising": True},
    "categories, antecedents, raising": {
        "rule": "categories",
        "antecedents": True,
        "raising": True,
    },
}


def main(
    trees: str | Path,
    leaves: str | Path,
    words: str | Path,
    out: str | Path,
    counts: str | Path,
    options: Mapping | None = None,
) -> None:
    """Write the dependencies whose head follows its dependent, and their number by reading.

    `out` (Parquet) has type, item, sentence, head and dependent; the last two are word_ids of
    `words`. `counts` (CSV) has reading, type, tokens, words and chosen: the dependencies between
    tokens of the trees and between words of the dataset, for each of READINGS. `options` are those
    of the config: rule, antecedents and raising (above), and quoted: whether
    coreference of a word after an opening quotation mark counts. Third and later arguments, and
    arguments of punctuation, are excluded.
    """
    options = {"rule": "graph", "quoted": False} | dict(options or {})
    quoted = options.pop("quoted")
    wanted = {name: value for name, value in options.items() if value}
    stories = read(Path(trees), Path(leaves))
    table_words = _words(pd.read_parquet(words), Path(leaves))
    rows, chosen = [], []
    for name, reading in READINGS.items():
        tokens = _between_tokens(stories, quoted, **reading)
        word_pairs = _between_words(tokens, table_words)
        if reading == wanted:
            chosen = word_pairs
        by_token = Counter(pair[0] for pair in tokens)
        by_word = Counter(pair[0] for pair in word_pairs)
        rows += [(name, t, by_token[t], by_word[t], reading == wanted) for t in TYPES]
    table = pd.DataFrame(chosen, columns=COLUMNS).sort_values(
        ["head", "type", "dependent"], kind="stable"
    )
    with atomic(out) as path:
        table.to_parquet(path, compression="zstd", index=False)
    with atomic(counts) as path:
        pd.DataFrame(rows, columns=["reading", "type", "tokens", "words", "chosen"]).to_csv(
            path, index=False, lineterminator="\n"
        )


def _words(words: pd.DataFrame, leaves: Path) -> dict[tuple[int, int], tuple[int, str, int]]:
    """Return (story, number) → word_id, item and sentence; items are named by their number."""
    stories = pd.to_numeric(words["item"], errors="coerce")
    if stories.isna().any():
        item = words["item"][stories.isna()].iloc[0]
        raise InputError(f"{leaves} numbers its stories; the dataset has an item {item!r}")
    numbers = words.groupby("item", sort=False).cumcount() + 1
    places = zip(stories.astype(int), numbers)
    return dict(zip(places, zip(words.word_id, words["item"], words.sentence)))


Place = tuple[int, int]


def _between_tokens(
    stories: list[list[Sentence]], quoted: bool, **reading: bool | str
) -> list[tuple[str, Place, Place]]:
    """Return (type, position of the head, position of the dependent) where the head comes later."""
    pairs = []
    for story in stories:
        for sentence in story:
            for dependency in dependencies(sentence.tree, **reading):
                if sentence.is_punctuation(dependency.head):
                    continue
                if dependency.dependent < dependency.head and dependency.number in NUMBERS:
                    pair = (sentence.places[dependency.head], sentence.places[dependency.dependent])
                    pairs.append((NUMBERS[dependency.number], *pair))
            for token, (number, other) in sentence.coreference():
                if number >= len(story) or other >= len(story[number].places):
                    continue  # the tag points to no token
                if not quoted and sentence.follows_quotation_mark(token):
                    continue
                if (number, other) < (sentence.number, token):
                    pair = (sentence.places[token], story[number].places[other])
                    pairs.append((COREFERENCE, *pair))
    return pairs


def _between_words(tokens: list[tuple[str, Place, Place]], table_words: dict) -> list[tuple]:
    """Return distinct rows of COLUMNS, without dependencies within a word ("boar" and "'s")."""
    rows = {}
    for kind, head, dependent in tokens:
        for position in (head, dependent):
            if position not in table_words:
                raise InputError(
                    f"dependencies: story {position[0]} has a word {position[1]} in the trees but not "
                    "in the dataset; use the same version of both"
                )
        word, item, sentence = table_words[head]
        other = table_words[dependent][0]
        if other < word:
            rows[kind, word, other] = (kind, item, sentence, word, other)
    return list(rows.values())
