"""A small network's shape, two biases, and a tokenizer of two texts."""

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

MIX, NONE = {"form": "linear", "slopes": "mix"}, {"form": "none"}


TINY = {
    "family": "gpt_neox",
    "layers": 2,
    "heads": 4,
    "width": 32,
    "feed_forward": 64,
    "context": 96,
    "rotary_fraction": 0.25,
}


TEXTS = [
    "The unforgettable cat saw that the dog which she remembered had slept , and she laughed .",
    "It rained . Nobody who lived there remembered another summer of the kind , or said so .",
]


def byte_tokenizer(texts=TEXTS, vocabulary=300):
    """Train a tokenizer of bytes on texts, each three times."""
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary,
        special_tokens=["<|endoftext|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    made.train_from_iterator(texts * 3, trainer)
    return made
