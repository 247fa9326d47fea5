# SPDX-License-Identifier: Apache-2.0
"""zoo.py - networks of public libraries: timm, torchvision and Hugging Face transformers, without their weights.

Each of the functions timm, torchvision and transformers returns a module, a function of the batch size that makes the inputs, and
the name of the loss. TRANSFORMERS comes from the networks of a list (cases.load); the other functions make inputs for its entries.
"""
import copy
import functools

import torch

TRANSFORMERS = {}  # name: configuration, model, arguments of the configuration, inputs
CONTRASTIVE = ("CLIPModel", "SiglipModel", "ChineseCLIPModel")  # they compute their loss only where asked


def timm(name):
    import timm as library
    model = library.create_model(name)
    size = model.default_cfg["input_size"]
    return model, lambda b: torch.zeros(b, *size), "cross-entropy"


def torchvision(name):
    import torchvision as library
    kinds = {"segmentation": ((3, 256, 256), {"weights_backbone": None, "num_classes": 21}), "video": ((3, 16, 112, 112), {})}
    kind, _, short = name.rpartition(".")
    size, arguments = kinds.get(kind, ((3, 224, 224), {}))
    if short.startswith("mvit"):  # its table of positions has this size
        size = (3, 16, 224, 224)
    make = getattr(getattr(library.models, kind) if kind else library.models, short)
    return make(weights=None, **arguments), lambda b: torch.zeros(b, *size), "cross-entropy"


def transformers(name):
    import transformers as library
    kind, model, said, inputs = TRANSFORMERS[name]
    config = getattr(library, kind)(**copy.deepcopy(said))  # some change what they are given
    config.use_cache = False
    made = getattr(library, model)(config)
    if model in CONTRASTIVE:
        made.forward = functools.partial(made.forward, return_loss=True)
    return made, inputs(config), "own"


# ---- inputs of transformers ---------------------------------------------------------------------------------------


def ids(b, n):
    return torch.zeros(b, n, dtype=torch.int64)


def language(seq, vocab_of="vocab_size"):
    return lambda config: (lambda b: {"input_ids": ids(b, seq), "labels": ids(b, seq)})


def classified(seq):
    return lambda config: (lambda b: {"input_ids": ids(b, seq), "labels": torch.zeros(b, dtype=torch.int64)})


def seen(channels, size):
    return lambda config: (lambda b: {"pixel_values": torch.zeros(b, channels, size, size), "labels": torch.zeros(b, dtype=torch.int64)})


def pairs(source, target):
    return lambda config: (lambda b: {"input_ids": ids(b, source), "labels": ids(b, target)})


def spoken(samples, said=0):
    """Samples of sound with a class, or with the ids of what was said."""
    return lambda config: (lambda b: {"input_values": torch.zeros(b, samples),
                                      "labels": ids(b, said) if said else torch.zeros(b, dtype=torch.int64)})


def matched(seq, size):
    """Texts and pictures for a contrastive loss."""
    return lambda config: (lambda b: {"input_ids": ids(b, seq), "pixel_values": torch.zeros(b, 3, size, size)})


def answered(seq):
    """A question with a text, and the place of the answer in it."""
    return lambda config: (lambda b: {"input_ids": ids(b, seq), "start_positions": torch.zeros(b, dtype=torch.int64),
                                      "end_positions": torch.zeros(b, dtype=torch.int64)})


def picked(choices, seq):
    """Several texts of which one is right."""
    return lambda config: (lambda b: {"input_ids": torch.zeros(b, choices, seq, dtype=torch.int64),
                                      "labels": torch.zeros(b, dtype=torch.int64)})


def placed(b, n, token, seq):
    """Token ids that begin with the n places of a picture: of 32 bits, so that measure.py leaves them as they are."""
    return torch.where(torch.arange(seq) < n, token, 0).repeat(b, 1).int()


def gridded(patches, width, side, token, seq, more=None):
    """Patches of a picture for each text, which begins with their places; sides have 32 bits, as in placed."""
    return lambda config: (lambda b: {
        "input_ids": placed(b, patches // 4, token, seq), "pixel_values": torch.zeros(b * patches, width),
        "image_grid_thw": torch.tensor([[1, side, side]], dtype=torch.int32).repeat(b, 1), "labels": ids(b, seq),
        **(more(b) if more else {})})


def heard(frames, tokens, seq):
    """A spectrum without padding, and a text that begins with the places of its sound."""
    return lambda config: (lambda b: {"input_ids": placed(b, tokens, 31999, seq), "labels": ids(b, seq),
                                      "input_features": torch.zeros(b, 128, frames),
                                      "input_features_mask": torch.ones(b, frames, dtype=torch.int32)})


SMALL = {"hidden_size": 768, "num_hidden_layers": 6, "num_attention_heads": 12, "intermediate_size": 2048, "vocab_size": 32000}
GROUPED = {**SMALL, "num_key_value_heads": 4}
WINDOWED = {**GROUPED, "head_dim": 64, "sliding_window": 256}
T5GEMMA2 = {"encoder": {"text_config": WINDOWED, "vision_config": {"hidden_size": 384, "num_hidden_layers": 4,
    "num_attention_heads": 6, "intermediate_size": 1536}, "boi_token_index": 31998, "eoi_token_index": 31997,
    "image_token_index": 31999}, "decoder": WINDOWED, "image_token_index": 31999, "eoi_token_index": 31997}
QWEN3_ASR = {"audio_config": {"encoder_layers": 6, "encoder_attention_heads": 8, "encoder_ffn_dim": 2048,
    "d_model": 512, "output_dim": 768, "downsample_hidden_size": 240}, "text_config": {**GROUPED, "head_dim": 64,
    "model_type": "qwen3"}, "audio_token_id": 31999, "timestamp_token_id": 31998, "pad_token_id": 0, "eos_token_id": 2}
