"""Usual names of columns by role: a reader, a text, a sentence, a position, a word.

Names are compared in lower case with parts joined by `_`; they are English's and those of the languages in
which laboratories name their columns. Frames of words are checked by them, too, so nothing is imported here.
"""

import re

_NUMBER = r"(_?(id|nr|num|no|number|index|idx|code|name|label|key))?"
NAMES = {
    "subject": rf"(subj|subject|sub|participant|part|pp|ppt|reader|worker|uid){_NUMBER}"
    r"|recording_session_label|session_label|uniform_id|prolific(_p?id)?|run_id"
    r"|participant_(private|public)_id|vpn?(_?nr)?|versuchsperson(en)?(_?nr)?|proband(in)?(en)?(_?nr)?"
    r"|suje(t|to)|participante|partecipante|lecteur|lector|leitor|lettore|proefpersoon|pp_?nr|badan[ya]"
    r"|katılımcı|испытуемый|участник|被试(编号)?|被験者|参加者",
    "sentence": rf"(spr_)?(sent|sentence|sentid|satz|phrase|frase|oraci[oó]n|zin|zdanie|cümle){_NUMBER}"
    r"|предложение|句子(编号)?|文(番号)?",
    "item": rf"(item|story|text|passage|article|doc|document|para|paragraph|chapter|stim|stimulus){_NUMBER}"
    rf"|trial{_NUMBER}|sentence_or_sentence_md5|(texte|texto|testo|tekst|metin|текст){_NUMBER}|文章|文本",
    "position": r"((word|token|w|ia|zone|region|tok)_?(id|nr|num|no|number|index|idx|pos|position|n)"
    r"|(word|token)_in_\w+|position|pos|place|zone|word_position|sentpos|sent_pos|text_pos|context_length)"
    rf"|position_in_\w+|\w+_position|(word|token){_NUMBER}_(in|within)_\w+"
    r"|(posi[cç][aã]o|posici[oó]n|posizione|positie|pozycja|sıra|позиция|词序|位置)"
    r"|(wort|woord|mot|palabra|palavra|parola)_?(nr|num|nummer)|(номер|nr|num)_(слова|słowa|mot)",
    "word": r"(word|token|ia|ia_label|form|string|w|tok|region_text|word_text|text|wordform|wort|woord|mot"
    r"|palabra|palavra|parola|słowo|kelime|слово|词|单词|単語|語)",
    "space_after": r"space_after",
}

LIST = re.compile(r"list|block|group|grupp?[eo]|session|half")
"""In the names of columns of the list of texts that a reader had."""


def snake(name: str) -> str:
    """Return a name in lower case with parts joined by `_`.

    >>> snake("Recording Session-Label"), snake("wordID")
    ('recording_session_label', 'word_id')
    """
    name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name)
    return re.sub(r"\W+|_+", "_", name).strip("_").lower()


def is_named(role: str, name: str) -> bool:
    """Return whether a column has a usual name of a role."""
    return re.fullmatch(NAMES[role], snake(name)) is not None
