"""Category labels of the generalized categorial grammar, such as `V-aN-b{A-aN}-lA`."""

import re
from dataclasses import dataclass

#: What lacks an argument before (a) or after (b) it; other operators are non-local dependencies:
#: a gap (g), what is shifted to the right (h), interrogative (i), relative (r), passive (v).
LOCAL, NON_LOCAL = "ab", "ghirv"
_COREFERENCE = re.compile(
    r"-[nm](\d{2})(\d{2})(?!\d)"
)  # sentence of the story from 0, token from 1
_TAGS = re.compile(r"-[nm]-?\d+")
_BRACKET = re.compile(r"-[LR][RCS]B-")


@dataclass(frozen=True)
class Category:
    """A primitive with its operators (kind, category), its place in the rule, its antecedent.

    `tag` is how the constituent joins its sister: A argument, M modifier, C conjunct, N non-local,
    S the root. `antecedent` is (sentence of the story from 0, token from 1).
    """

    primitive: str
    operators: tuple[tuple[str, str], ...]
    tag: str = ""
    antecedent: tuple[int, int] | None = None


def parse(label: str) -> Category:
    """Take a label apart: `V-aN-b{A-aN}-lA` is V, ((a, N), (b, A-aN)), A."""
    if bracket := _BRACKET.match(label):  # a bracket's own name has hyphens
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
    """Whether a label or word is that of a bracket, such as `-LRB-`."""
    return _BRACKET.fullmatch(label) is not None


def _split(label: str) -> list[str]:
    """Split at the hyphens that are in no braces."""
    parts, depth = [""], 0
    for character in label:
        if character == "-" and depth == 0:
            parts.append("")
            continue
        depth += (character == "{") - (character == "}")
        parts[-1] += character
    return parts
