"""The language of words: by script, by function words, or not told."""

import pytest

from readingtimes.text_languages import guess

TEXTS = {
    "English": "The tide turned in the evening and nobody of the village was on the beach to see it",
    "German": "Der Wind kam von der See und die Boote lagen nicht mehr auf dem Sand weil es so spät war",
    "Dutch": "De wind kwam van de zee en het schip lag niet meer op het strand want het was te laat voor de vissers",
    "Danish": "Vinden kom fra havet og det var ikke til at se på at der lå en båd med et sejl som han var i",
    "French": "Le vent venait de la mer et les bateaux dans le port ne bougeaient pas pour que la nuit passe",
    "Chinese": "风 从 海上 来 船 在 港 里 没有 人 看见 它们 离开 了",
    "Japanese": "風が 海から 来て 船は 港に いました",
    "a language in Cyrillic script": "Ветер шёл с моря и лодки стояли у берега",
}


@pytest.mark.parametrize("language", TEXTS)
def test_a_language_is_told(language):
    assert guess(TEXTS[language].split()) == language


def test_words_of_none_are_not():
    assert guess(["blick", "wug", "dax"] * 20) is None
    assert guess(["the", "of"]) is None
    assert guess(["1", "2"]) is None
