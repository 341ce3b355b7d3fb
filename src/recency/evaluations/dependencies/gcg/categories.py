"""Category labels of the generalized categorial grammar, such as `V-aN-b{A-aN}-lA`."""

import re
from dataclasses import dataclass

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


def parse(label: str) -> Category:
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
