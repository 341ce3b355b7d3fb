"""Letters of any script, including word characters that Python regular expressions lack."""

import re
import unicodedata

#: Combining vowel signs and accents, which `\w` lacks, and the joiners of Persian and Indic scripts.
MARKS = "".join(
    chr(code) for code in range(0x300, 0xFFFF) if unicodedata.category(chr(code)) in ("Mn", "Mc")
)
JOINERS = "\u200c\u200d"
#: Character class for regular expressions: letters, digits, marks and joiners.
WORD = rf"[\w{re.escape(MARKS)}{JOINERS}]"
#: Its complement, with the underscore.
NO_LETTER = rf"(?:[^\w{re.escape(MARKS)}]|_)"
#: Combining classes of marks that distinguish letters: nukta, kana voicing and virama. Accents,
#: Arabic and Hebrew vowels have others.
_OF_LETTERS = (0, 7, 8, 9)


def without_accents(text: str) -> str:
    """Return a text, decomposed, without accents and optional vowel signs."""
    if text.isascii():
        return text
    decomposed = unicodedata.normalize("NFKD", text)
    return "".join(c for c in decomposed if unicodedata.combining(c) in _OF_LETTERS)
