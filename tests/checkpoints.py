"""A small GPT-2 with its tokenizer, saved as one of the Hub's."""

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast


def byte_tokenizer(texts):
    """Return a byte-level BPE tokenizer of `texts`, with a token that ends documents."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=300,
        special_tokens=["<|endoftext|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer


def checkpoint(folder, texts):
    """Save a small GPT-2 with large weights, and a tokenizer of `texts`, as from the Hub."""
    tokenizer = byte_tokenizer(texts)
    PreTrainedTokenizerFast(tokenizer_object=tokenizer).save_pretrained(folder)
    torch.manual_seed(0)
    size = {"n_layer": 2, "n_embd": 16, "n_head": 2, "n_positions": 128}
    size |= {"bos_token_id": 0, "eos_token_id": 0}
    model = GPT2LMHeadModel(GPT2Config(vocab_size=tokenizer.get_vocab_size(), **size))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(8 if parameter.dim() == 2 else 1)
    model.save_pretrained(folder)
    return folder
