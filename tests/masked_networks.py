"""A small RoBERTa with a tokenizer of words, saved as one of the Hub's."""

import torch
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import PreTrainedTokenizerFast, RobertaConfig, RobertaForMaskedLM

SPECIAL = {"bos_token": "<s>", "pad_token": "<pad>", "eos_token": "</s>"}
SPECIAL |= {"unk_token": "<unk>", "mask_token": "<mask>"}


def roberta(folder, words, context=64, width=32, heads=4, layers=1):
    """Save a RobertaForMaskedLM that reads `context` tokens, a word each, and return the folder."""
    names = dict.fromkeys([*SPECIAL.values(), *words])
    vocabulary = {word: number for number, word in enumerate(names)}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0))
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, **SPECIAL).save_pretrained(folder)
    torch.manual_seed(0)
    config = RobertaConfig(
        vocab_size=len(vocabulary), hidden_size=width, num_hidden_layers=layers,
        num_attention_heads=heads, intermediate_size=2 * width, type_vocab_size=1,
        max_position_embeddings=context + 2, pad_token_id=1, bos_token_id=0, eos_token_id=2,
    )  # fmt: skip
    RobertaForMaskedLM(config).save_pretrained(folder)
    return folder
