"""How tests read a reading-time corpus: as the rules words and responses do, contracts checked."""

from readingtimes import parsers
from readingtimes.contracts import check_responses, check_words


def write(path, text, encoding="utf-8"):
    """Write a file and return its path."""
    path.write_text(text, encoding=encoding)
    return path


def words_of(name, files, **options):
    """Read the words of parser `name`; options that it does not take are left out."""
    parser = parsers.parser(name)
    found = parser.words(files, **parsers.accepted(parser, parser.words, options))
    return check_words(found, name)


def responses_of(name, files, words, measure, **options):
    """Read the responses to `words`."""
    parser = parsers.parser(name)
    options = parsers.accepted(parser, parser.responses, options)
    return check_responses(parser.responses(files, words, measure, **options), words, name)


def read(name, word_files, response_files, measure, **options):
    """Read both."""
    words = words_of(name, word_files, **options)
    return words, responses_of(name, response_files, words, measure, **options)


def sizes(words, responses=None):
    """Count items, sentences, words and, of responses, subjects and observations."""
    found = (words["item"].nunique(), words.sentence.nunique(), len(words))
    return found if responses is None else (*found, responses.subject.nunique(), len(responses))
