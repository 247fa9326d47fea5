# SPDX-License-Identifier: Apache-2.0
"""zoo.py - networks of public libraries: timm, torchvision and Hugging Face transformers, without their weights.

Each function returns a module, a function of the batch size that makes the inputs, and the name of the loss.
"""
import copy
import functools

import torch


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
# Name: configuration, model, what the configuration says, inputs.
TRANSFORMERS = {
    "llama": ("LlamaConfig", "LlamaForCausalLM", GROUPED, language(1024)),
    "qwen2": ("Qwen2Config", "Qwen2ForCausalLM", GROUPED, language(512)),
    "qwen3": ("Qwen3Config", "Qwen3ForCausalLM", {**GROUPED, "head_dim": 64}, language(1024)),
    "gemma2": ("Gemma2Config", "Gemma2ForCausalLM", {**GROUPED, "head_dim": 64}, language(512)),
    "phi3": ("Phi3Config", "Phi3ForCausalLM", {**GROUPED, "pad_token_id": 0}, language(1024)),
    "opt": ("OPTConfig", "OPTForCausalLM", {"hidden_size": 768, "num_hidden_layers": 6, "num_attention_heads": 12, "ffn_dim": 3072, "word_embed_proj_dim": 768}, language(512)),
    "gpt-neox": ("GPTNeoXConfig", "GPTNeoXForCausalLM", SMALL, language(512)),
    "bloom": ("BloomConfig", "BloomForCausalLM", {"hidden_size": 768, "n_layer": 6, "n_head": 12, "vocab_size": 50000}, language(512)),
    "mpt": ("MptConfig", "MptForCausalLM", {"d_model": 768, "n_layers": 6, "n_heads": 12, "vocab_size": 50368}, language(1024)),
    "bert": ("BertConfig", "BertForSequenceClassification", {}, classified(128)),
    "roberta": ("RobertaConfig", "RobertaForMaskedLM", {}, language(256)),
    "distilbert": ("DistilBertConfig", "DistilBertForSequenceClassification", {}, classified(256)),
    "albert": ("AlbertConfig", "AlbertForSequenceClassification", {"hidden_size": 768, "num_attention_heads": 12, "intermediate_size": 3072}, classified(128)),
    "electra": ("ElectraConfig", "ElectraForSequenceClassification", {}, classified(128)),
    "mobilebert": ("MobileBertConfig", "MobileBertForSequenceClassification", {"num_hidden_layers": 12}, classified(128)),
    "deberta": ("DebertaV2Config", "DebertaV2ForSequenceClassification", {"hidden_size": 768, "num_hidden_layers": 6, "num_attention_heads": 12, "intermediate_size": 3072, "vocab_size": 32000, "relative_attention": True, "pos_att_type": ["p2c", "c2p"], "position_buckets": 256}, classified(128)),
    "modernbert": ("ModernBertConfig", "ModernBertForMaskedLM", {"num_hidden_layers": 8}, language(512)),
    "t5": ("T5Config", "T5ForConditionalGeneration", {"d_model": 512, "num_layers": 6, "decoder_start_token_id": 0}, pairs(256, 64)),
    "bart": ("BartConfig", "BartForConditionalGeneration", {"d_model": 768, "encoder_layers": 4, "decoder_layers": 4, "encoder_ffn_dim": 3072, "decoder_ffn_dim": 3072, "encoder_attention_heads": 12, "decoder_attention_heads": 12, "vocab_size": 50265}, pairs(256, 128)),
    "vit": ("ViTConfig", "ViTForImageClassification", {"num_hidden_layers": 6}, seen(3, 224)),
    "beit": ("BeitConfig", "BeitForImageClassification", {"num_hidden_layers": 6, "use_relative_position_bias": True}, seen(3, 224)),
    "dinov2": ("Dinov2Config", "Dinov2ForImageClassification", {"num_hidden_layers": 6}, seen(3, 224)),
    "convnext": ("ConvNextConfig", "ConvNextForImageClassification", {}, seen(3, 224)),
    "swinv2": ("Swinv2Config", "Swinv2ForImageClassification", {"image_size": 256, "window_size": 8}, seen(3, 256)),
    "segformer": ("SegformerConfig", "SegformerForImageClassification", {}, seen(3, 256)),
    "poolformer": ("PoolFormerConfig", "PoolFormerForImageClassification", {}, seen(3, 224)),
    "regnet": ("RegNetConfig", "RegNetForImageClassification", {}, seen(3, 224)),
    "mobilevit": ("MobileViTConfig", "MobileViTForImageClassification", {}, seen(3, 256)),
    "wav2vec2": ("Wav2Vec2Config", "Wav2Vec2ForSequenceClassification", {"num_hidden_layers": 6, "mask_time_prob": 0.0, "layerdrop": 0.0}, lambda c: (lambda b: {"input_values": torch.zeros(b, 16000), "labels": torch.zeros(b, dtype=torch.int64)})),
    "whisper": ("WhisperConfig", "WhisperForConditionalGeneration", {"d_model": 512, "encoder_layers": 6, "decoder_layers": 6, "encoder_attention_heads": 8, "decoder_attention_heads": 8, "encoder_ffn_dim": 2048, "decoder_ffn_dim": 2048}, lambda c: (lambda b: {"input_features": torch.zeros(b, 80, 3000), "labels": ids(b, 64)})),
    "gpt2": ("GPT2Config", "GPT2LMHeadModel", {"n_layer": 6}, language(768)),
    "gptj": ("GPTJConfig", "GPTJForCausalLM", {"n_embd": 1024, "n_layer": 4, "n_head": 16, "rotary_dim": 32}, language(512)),
    "falcon": ("FalconConfig", "FalconForCausalLM", {"hidden_size": 1024, "num_hidden_layers": 4, "num_attention_heads": 16, "vocab_size": 40000}, language(1024)),
    "mistral": ("MistralConfig", "MistralForCausalLM", {**GROUPED, "sliding_window": 512}, language(2048)),
    "mixtral": ("MixtralConfig", "MixtralForCausalLM", {**GROUPED, "num_hidden_layers": 3, "num_local_experts": 4}, language(512)),
    "gemma3": ("Gemma3TextConfig", "Gemma3ForCausalLM", {**GROUPED, "head_dim": 96, "vocab_size": 64000}, language(1024)),
    "olmo2": ("Olmo2Config", "Olmo2ForCausalLM", GROUPED, language(1024)),
    "cohere": ("CohereConfig", "CohereForCausalLM", GROUPED, language(512)),
    "granite": ("GraniteConfig", "GraniteForCausalLM", GROUPED, language(1536)),
    "stablelm": ("StableLmConfig", "StableLmForCausalLM", GROUPED, language(512)),
    "starcoder2": ("Starcoder2Config", "Starcoder2ForCausalLM", GROUPED, language(1024)),
    "gpt-bigcode": ("GPTBigCodeConfig", "GPTBigCodeForCausalLM", {"n_layer": 6}, language(512)),
    "xglm": ("XGLMConfig", "XGLMForCausalLM", {"d_model": 512, "ffn_dim": 2048, "num_layers": 6, "attention_heads": 8, "vocab_size": 60000}, language(256)),
    "biogpt": ("BioGptConfig", "BioGptForCausalLM", {"hidden_size": 768, "num_hidden_layers": 6, "num_attention_heads": 12}, language(384)),
    "fnet": ("FNetConfig", "FNetForSequenceClassification", {"num_hidden_layers": 8}, classified(512)),
    "squeezebert": ("SqueezeBertConfig", "SqueezeBertForSequenceClassification", {}, classified(128)),
    "convbert": ("ConvBertConfig", "ConvBertForSequenceClassification", {"num_hidden_layers": 8}, classified(256)),
    "nystromformer": ("NystromformerConfig", "NystromformerForSequenceClassification", {"num_hidden_layers": 6}, classified(512)),
    "funnel": ("FunnelConfig", "FunnelForSequenceClassification", {"block_sizes": [2, 2, 2]}, classified(256)),
    "xlnet": ("XLNetConfig", "XLNetForSequenceClassification", {"d_model": 768, "n_layer": 6, "n_head": 12, "d_inner": 3072}, classified(256)),
    "rembert": ("RemBertConfig", "RemBertForSequenceClassification", {"num_hidden_layers": 6, "vocab_size": 50000}, classified(192)),
    "layoutlm": ("LayoutLMConfig", "LayoutLMForSequenceClassification", {"num_hidden_layers": 6}, classified(384)),
    "esm": ("EsmConfig", "EsmForMaskedLM", {"vocab_size": 33, "hidden_size": 480, "num_hidden_layers": 8, "num_attention_heads": 20, "intermediate_size": 1920, "pad_token_id": 1, "mask_token_id": 32, "position_embedding_type": "rotary"}, language(640)),
    "mbart": ("MBartConfig", "MBartForConditionalGeneration", {"d_model": 640, "encoder_layers": 3, "decoder_layers": 3, "encoder_attention_heads": 10, "decoder_attention_heads": 10, "vocab_size": 40000}, pairs(192, 96)),
    "pegasus": ("PegasusConfig", "PegasusForConditionalGeneration", {"d_model": 512, "encoder_layers": 4, "decoder_layers": 4, "encoder_attention_heads": 8, "decoder_attention_heads": 8, "decoder_start_token_id": 0}, pairs(512, 64)),
    "mt5": ("MT5Config", "MT5ForConditionalGeneration", {"d_model": 512, "num_layers": 4, "vocab_size": 64000, "decoder_start_token_id": 0}, pairs(384, 96)),
    "deit": ("DeiTConfig", "DeiTForImageClassification", {"hidden_size": 384, "num_attention_heads": 6, "intermediate_size": 1536}, seen(3, 224)),
    "pvt": ("PvtConfig", "PvtForImageClassification", {}, seen(3, 224)),
    "cvt": ("CvtConfig", "CvtForImageClassification", {}, seen(3, 224)),
    "focalnet": ("FocalNetConfig", "FocalNetForImageClassification", {}, seen(3, 224)),
    "swin": ("SwinConfig", "SwinForImageClassification", {}, seen(3, 224)),
    "bit": ("BitConfig", "BitForImageClassification", {}, seen(3, 224)),
    "mobilenetv2": ("MobileNetV2Config", "MobileNetV2ForImageClassification", {}, seen(3, 224)),
    "mobilevitv2": ("MobileViTV2Config", "MobileViTV2ForImageClassification", {}, seen(3, 256)),
    "videomae": ("VideoMAEConfig", "VideoMAEForVideoClassification", {"num_hidden_layers": 4, "hidden_size": 384, "num_attention_heads": 6, "intermediate_size": 1536}, lambda c: (lambda b: {"pixel_values": torch.zeros(b, 16, 3, 224, 224), "labels": torch.zeros(b, dtype=torch.int64)})),
    "timesformer": ("TimesformerConfig", "TimesformerForVideoClassification", {"num_hidden_layers": 4, "hidden_size": 384, "num_attention_heads": 6, "intermediate_size": 1536}, lambda c: (lambda b: {"pixel_values": torch.zeros(b, 8, 3, 224, 224), "labels": torch.zeros(b, dtype=torch.int64)})),
    "ast": ("ASTConfig", "ASTForAudioClassification", {"num_hidden_layers": 6}, lambda c: (lambda b: {"input_values": torch.zeros(b, 1024, 128), "labels": torch.zeros(b, dtype=torch.int64)})),
    "hubert": ("HubertConfig", "HubertForSequenceClassification", {"num_hidden_layers": 6, "mask_time_prob": 0.0, "layerdrop": 0.0}, lambda c: (lambda b: {"input_values": torch.zeros(b, 24000), "labels": torch.zeros(b, dtype=torch.int64)})),
    "timeseries": ("PatchTSTConfig", "PatchTSTForPrediction", {"num_input_channels": 7, "context_length": 336, "patch_length": 16, "prediction_length": 96}, lambda c: (lambda b: {"past_values": torch.zeros(b, 336, 7), "future_values": torch.zeros(b, 96, 7)})),
    "gpt-neo": ("GPTNeoConfig", "GPTNeoForCausalLM", {"hidden_size": 768, "num_layers": 6, "num_heads": 12, "attention_types": [[["global", "local"], 3]], "vocab_size": 40000}, language(640)),
    "glm": ("GlmConfig", "GlmForCausalLM", {**GROUPED, "head_dim": 64, "pad_token_id": 0}, language(896)),
    "helium": ("HeliumConfig", "HeliumForCausalLM", {**GROUPED, "head_dim": 64}, language(768)),
    "nemotron": ("NemotronConfig", "NemotronForCausalLM", {**GROUPED, "hidden_size": 1024, "num_attention_heads": 16}, language(768)),
    "persimmon": ("PersimmonConfig", "PersimmonForCausalLM", {**SMALL, "intermediate_size": 3072}, language(512)),
    "phi": ("PhiConfig", "PhiForCausalLM", {**SMALL, "intermediate_size": 3072}, language(1280)),
    "olmo": ("OlmoConfig", "OlmoForCausalLM", {**SMALL, "num_hidden_layers": 8, "hidden_size": 640, "num_attention_heads": 10}, language(1024)),
    "smollm3": ("SmolLM3Config", "SmolLM3ForCausalLM", {**GROUPED, "pad_token_id": 0}, language(1536)),
    "exaone4": ("Exaone4Config", "Exaone4ForCausalLM", {**GROUPED, "sliding_window": 256}, language(1024)),
    "ernie": ("ErnieConfig", "ErnieForSequenceClassification", {"num_hidden_layers": 7}, classified(224)),
    "xlm-roberta": ("XLMRobertaConfig", "XLMRobertaForSequenceClassification", {"num_hidden_layers": 8, "vocab_size": 80000}, classified(320)),
    "megatron-bert": ("MegatronBertConfig", "MegatronBertForSequenceClassification", {"num_hidden_layers": 6, "vocab_size": 30000}, classified(256)),
    "data2vec-text": ("Data2VecTextConfig", "Data2VecTextForSequenceClassification", {"num_hidden_layers": 6}, classified(160)),
    "bert-mlm": ("BertConfig", "BertForMaskedLM", {"hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 8, "intermediate_size": 2048}, language(384)),
    "m2m100": ("M2M100Config", "M2M100ForConditionalGeneration", {"d_model": 512, "encoder_layers": 5, "decoder_layers": 5, "encoder_attention_heads": 8, "decoder_attention_heads": 8, "encoder_ffn_dim": 2048, "decoder_ffn_dim": 2048, "vocab_size": 64000, "encoder_layerdrop": 0.0, "decoder_layerdrop": 0.0}, pairs(160, 128)),
    "blenderbot": ("BlenderbotSmallConfig", "BlenderbotSmallForConditionalGeneration", {"encoder_layers": 5, "decoder_layers": 5}, pairs(128, 64)),
    "marian": ("MarianConfig", "MarianMTModel", {"d_model": 512, "encoder_layers": 6, "decoder_layers": 6, "encoder_attention_heads": 8, "decoder_attention_heads": 8, "encoder_ffn_dim": 2048, "decoder_ffn_dim": 2048, "vocab_size": 50000, "pad_token_id": 0, "decoder_start_token_id": 0}, pairs(192, 192)),
    "wavlm": ("WavLMConfig", "WavLMForSequenceClassification", {"num_hidden_layers": 5, "mask_time_prob": 0.0, "layerdrop": 0.0}, lambda c: (lambda b: {"input_values": torch.zeros(b, 20000), "labels": torch.zeros(b, dtype=torch.int64)})),
    "unispeech": ("UniSpeechSatConfig", "UniSpeechSatForSequenceClassification", {"num_hidden_layers": 6, "mask_time_prob": 0.0, "layerdrop": 0.0}, lambda c: (lambda b: {"input_values": torch.zeros(b, 16000), "labels": torch.zeros(b, dtype=torch.int64)})),
    "sew": ("SEWConfig", "SEWForSequenceClassification", {"num_hidden_layers": 6, "mask_time_prob": 0.0, "layerdrop": 0.0}, lambda c: (lambda b: {"input_values": torch.zeros(b, 32000), "labels": torch.zeros(b, dtype=torch.int64)})),
    "clip-vision": ("CLIPConfig", "CLIPForImageClassification", {"vision_config": {"num_hidden_layers": 6, "hidden_size": 512, "num_attention_heads": 8, "intermediate_size": 2048, "patch_size": 16}}, seen(3, 224)),
    "siglip-vision": ("SiglipConfig", "SiglipForImageClassification", {"vision_config": {"num_hidden_layers": 6, "patch_size": 16}}, seen(3, 224)),
    "vit-msn": ("ViTMSNConfig", "ViTMSNForImageClassification", {"num_hidden_layers": 8, "hidden_size": 384, "num_attention_heads": 6, "intermediate_size": 1536}, seen(3, 224)),
    "levit": ("LevitConfig", "LevitForImageClassification", {}, seen(3, 224)),
    "resnet": ("ResNetConfig", "ResNetForImageClassification", {"depths": [2, 3, 4, 2]}, seen(3, 224)),
    "efficientnet": ("EfficientNetConfig", "EfficientNetForImageClassification", {"width_coefficient": 1.0, "depth_coefficient": 1.0, "hidden_dim": 1280}, seen(3, 224)),
    "mobilenetv1": ("MobileNetV1Config", "MobileNetV1ForImageClassification", {}, seen(3, 224)),
    "hiera": ("HieraConfig", "HieraForImageClassification", {}, seen(3, 224)),
    "convnextv2": ("ConvNextV2Config", "ConvNextV2ForImageClassification", {"depths": [2, 2, 6, 2], "hidden_sizes": [64, 128, 256, 512]}, seen(3, 224)),
    "donut-swin": ("DonutSwinConfig", "DonutSwinForImageClassification", {}, seen(3, 224)),
    "vivit": ("VivitConfig", "VivitForVideoClassification", {"num_hidden_layers": 4, "hidden_size": 384, "num_attention_heads": 6, "intermediate_size": 1536, "num_frames": 16}, lambda c: (lambda b: {"pixel_values": torch.zeros(b, 16, 3, 224, 224), "labels": torch.zeros(b, dtype=torch.int64)})),
    "timeseries-mixer": ("PatchTSMixerConfig", "PatchTSMixerForPrediction", {"context_length": 512, "patch_length": 16, "num_input_channels": 7, "d_model": 64, "prediction_length": 96}, lambda c: (lambda b: {"past_values": torch.zeros(b, 512, 7), "future_values": torch.zeros(b, 96, 7)})),
    "arcee": ("ArceeConfig", "ArceeForCausalLM", GROUPED, language(896)),
    "cohere2": ("Cohere2Config", "Cohere2ForCausalLM", {**GROUPED, "sliding_window": 256}, language(1024)),
    "lfm2": ("Lfm2Config", "Lfm2ForCausalLM", {**GROUPED, "num_hidden_layers": 8, "full_attn_idxs": [2, 5]}, language(768)),
    "codegen": ("CodeGenConfig", "CodeGenForCausalLM", {"n_embd": 768, "n_layer": 6, "n_head": 12, "rotary_dim": 32}, language(512)),
    "openai-gpt": ("OpenAIGPTConfig", "OpenAIGPTLMHeadModel", {"n_layer": 8}, language(512)),
    "ctrl": ("CTRLConfig", "CTRLLMHeadModel", {"n_embd": 640, "dff": 2560, "n_layer": 8, "n_head": 10, "vocab_size": 50000}, language(256)),
    "roformer": ("RoFormerConfig", "RoFormerForMaskedLM", {"num_hidden_layers": 6, "vocab_size": 30000}, language(320)),
    "mpnet": ("MPNetConfig", "MPNetForSequenceClassification", {"num_hidden_layers": 8}, classified(192)),
    "umt5": ("UMT5Config", "UMT5ForConditionalGeneration", {"d_model": 512, "num_layers": 6, "vocab_size": 50000, "decoder_start_token_id": 0}, pairs(256, 96)),
    "t5-gated": ("T5Config", "T5ForConditionalGeneration", {"d_model": 768, "d_ff": 2048, "num_layers": 5, "num_heads": 12, "feed_forward_proj": "gated-gelu", "decoder_start_token_id": 0}, pairs(384, 64)),
    "ijepa": ("IJepaConfig", "IJepaForImageClassification", {"num_hidden_layers": 6}, seen(3, 224)),
    "dinov2-registers": ("Dinov2WithRegistersConfig", "Dinov2WithRegistersForImageClassification", {"num_hidden_layers": 8, "hidden_size": 384, "num_attention_heads": 6}, seen(3, 224)),
    "data2vec-vision": ("Data2VecVisionConfig", "Data2VecVisionForImageClassification", {"num_hidden_layers": 6}, seen(3, 224)),
    "wav2vec2-conformer": ("Wav2Vec2ConformerConfig", "Wav2Vec2ConformerForSequenceClassification", {"num_hidden_layers": 4, "mask_time_prob": 0.0, "layerdrop": 0.0}, lambda c: (lambda b: {"input_values": torch.zeros(b, 24000), "labels": torch.zeros(b, dtype=torch.int64)})),
    "segformer-semantic": ("SegformerConfig", "SegformerForSemanticSegmentation", {}, lambda c: (lambda b: {"pixel_values": torch.zeros(b, 3, 256, 256), "labels": torch.zeros(b, 256, 256, dtype=torch.int64)})),
    "dpt": ("DPTConfig", "DPTForSemanticSegmentation", {"num_hidden_layers": 12, "hidden_size": 384, "num_attention_heads": 6, "intermediate_size": 1536, "neck_hidden_sizes": [48, 96, 192, 384], "image_size": 256}, lambda c: (lambda b: {"pixel_values": torch.zeros(b, 3, 256, 256), "labels": torch.zeros(b, 256, 256, dtype=torch.int64)})),
    "swiftformer": ("SwiftFormerConfig", "SwiftFormerForImageClassification", {}, seen(3, 224)),
    "pvt-v2": ("PvtV2Config", "PvtV2ForImageClassification", {}, seen(3, 224)),
    "textnet": ("TextNetConfig", "TextNetForImageClassification", {}, seen(3, 224)),
    "apertus": ("ApertusConfig", "ApertusForCausalLM", GROUPED, language(768)),
    "hunyuan": ("HunYuanDenseV1Config", "HunYuanDenseV1ForCausalLM", {**GROUPED, "head_dim": 64, "pad_token_id": 0}, language(512)),
    "seed-oss": ("SeedOssConfig", "SeedOssForCausalLM", {**GROUPED, "head_dim": 64}, language(1024)),
    "olmo3": ("Olmo3Config", "Olmo3ForCausalLM", {**GROUPED, "sliding_window": 256}, language(1024)),
    "vjepa2": ("VJEPA2Config", "VJEPA2ForVideoClassification", {"hidden_size": 384, "num_attention_heads": 6, "num_hidden_layers": 6, "pred_num_hidden_layers": 2, "frames_per_clip": 8, "crop_size": 128, "image_size": 128}, lambda c: (lambda b: {"pixel_values_videos": torch.zeros(b, 8, 3, 128, 128), "labels": torch.zeros(b, dtype=torch.int64)})),
    "diffllama": ("DiffLlamaConfig", "DiffLlamaForCausalLM", GROUPED, language(768)),
    "nanochat": ("NanoChatConfig", "NanoChatForCausalLM", {**SMALL, "num_key_value_heads": 6, "intermediate_size": 3072}, language(1024)),
    "minicpm3": ("MiniCPM3Config", "MiniCPM3ForCausalLM", {**SMALL, "num_key_value_heads": 12, "q_lora_rank": 384, "kv_lora_rank": 128}, language(768)),
    "mamba2": ("Mamba2Config", "Mamba2ForCausalLM", {"hidden_size": 384, "num_heads": 12, "head_dim": 64, "n_groups": 1, "state_size": 32, "num_hidden_layers": 4, "chunk_size": 64, "vocab_size": 32000}, language(512)),
    "prophetnet": ("ProphetNetConfig", "ProphetNetForConditionalGeneration", {"hidden_size": 512, "encoder_ffn_dim": 2048, "decoder_ffn_dim": 2048, "num_encoder_layers": 4, "num_decoder_layers": 4, "num_encoder_attention_heads": 8, "num_decoder_attention_heads": 8}, pairs(192, 64)),
    "nomic-bert": ("NomicBertConfig", "NomicBertForMaskedLM", {"num_hidden_layers": 8}, language(384)),
    "canine": ("CanineConfig", "CanineForSequenceClassification", {"num_hidden_layers": 6}, classified(1024)),
    "bigbird": ("BigBirdConfig", "BigBirdForSequenceClassification", {"num_hidden_layers": 5, "vocab_size": 30000}, classified(1024)),
    "imagegpt": ("ImageGPTConfig", "ImageGPTForImageClassification", {"n_layer": 8, "n_embd": 384, "n_head": 6}, classified(1024)),
    "vit-mae": ("ViTMAEConfig", "ViTMAEForPreTraining", {"num_hidden_layers": 8, "hidden_size": 512, "num_attention_heads": 8, "intermediate_size": 2048, "decoder_hidden_size": 256, "decoder_num_attention_heads": 8, "decoder_intermediate_size": 1024, "decoder_num_hidden_layers": 4}, lambda c: (lambda b: {"pixel_values": torch.zeros(b, 3, 224, 224)})),
    "upernet": ("UperNetConfig", "UperNetForSemanticSegmentation", {"backbone_config": {"model_type": "convnext", "hidden_sizes": [96, 192, 384, 768], "out_features": ["stage1", "stage2", "stage3", "stage4"]}, "hidden_size": 256, "pool_scales": [1, 2, 3, 6]}, lambda c: (lambda b: {"pixel_values": torch.zeros(b, 3, 256, 256), "labels": torch.zeros(b, 256, 256, dtype=torch.int64)})),
    "clipseg": ("CLIPSegConfig", "CLIPSegForImageSegmentation", {"text_config": {"num_hidden_layers": 6}, "vision_config": {"num_hidden_layers": 10, "patch_size": 16, "image_size": 352}}, lambda c: (lambda b: {"input_ids": ids(b, 32), "pixel_values": torch.zeros(b, 3, 352, 352), "labels": torch.zeros(b, 352, 352)})),
    "hgnet-v2": ("HGNetV2Config", "HGNetV2ForImageClassification", {}, seen(3, 224)),
    "perceiver-image": ("PerceiverConfig", "PerceiverForImageClassificationConvProcessing", {"num_latents": 256, "d_latents": 512, "num_self_attends_per_block": 6, "num_cross_attention_heads": 1}, lambda c: (lambda b: {"inputs": torch.zeros(b, 3, 224, 224), "labels": torch.zeros(b, dtype=torch.int64)})),
    "git": ("GitConfig", "GitForCausalLM", {"num_hidden_layers": 4, "vision_config": {"num_hidden_layers": 6}}, lambda c: (lambda b: {"pixel_values": torch.zeros(b, 3, 224, 224), "input_ids": ids(b, 64), "labels": ids(b, 64)})),
    "blip": ("BlipConfig", "BlipForConditionalGeneration", {"text_config": {"num_hidden_layers": 4}, "vision_config": {"num_hidden_layers": 6, "image_size": 256}}, lambda c: (lambda b: {"pixel_values": torch.zeros(b, 3, 256, 256), "input_ids": ids(b, 48), "labels": ids(b, 48)})),
    "layoutlmv3": ("LayoutLMv3Config", "LayoutLMv3ForSequenceClassification", {"num_hidden_layers": 6}, lambda c: (lambda b: {"input_ids": ids(b, 256), "pixel_values": torch.zeros(b, 3, 224, 224), "labels": torch.zeros(b, dtype=torch.int64)})),
    "speech-to-text": ("Speech2TextConfig", "Speech2TextForConditionalGeneration", {"encoder_layerdrop": 0.0, "decoder_layerdrop": 0.0}, lambda c: (lambda b: {"input_features": torch.zeros(b, 1000, 80), "labels": ids(b, 64)})),
    "moonshine": ("MoonshineConfig", "MoonshineForConditionalGeneration", {"hidden_size": 416, "intermediate_size": 1664, "pad_token_id": 0}, lambda c: (lambda b: {"input_values": torch.zeros(b, 64000), "labels": ids(b, 48)})),
    "wav2vec2-bert": ("Wav2Vec2BertConfig", "Wav2Vec2BertForSequenceClassification", {"num_hidden_layers": 6, "hidden_size": 512, "num_attention_heads": 8, "intermediate_size": 2048, "mask_time_prob": 0.0, "layerdrop": 0.0}, lambda c: (lambda b: {"input_features": torch.zeros(b, 400, 160), "labels": torch.zeros(b, dtype=torch.int64)})),
    "timeseries-transformer": ("TimeSeriesTransformerConfig", "TimeSeriesTransformerForPrediction", {"context_length": 168, "prediction_length": 48, "num_time_features": 4, "d_model": 128, "encoder_layers": 4, "decoder_layers": 4, "encoder_attention_heads": 4, "decoder_attention_heads": 4, "encoder_ffn_dim": 512, "decoder_ffn_dim": 512}, lambda c: (lambda b: {"past_values": torch.zeros(b, 175), "past_time_features": torch.zeros(b, 175, 4), "past_observed_mask": torch.ones(b, 175), "future_values": torch.zeros(b, 48), "future_time_features": torch.zeros(b, 48, 4)})),
    "gemma": ("GemmaConfig", "GemmaForCausalLM", {**GROUPED, "head_dim": 128, "num_key_value_heads": 1, "intermediate_size": 3072}, language(768)),
    "ministral": ("MinistralConfig", "MinistralForCausalLM", {**GROUPED, "head_dim": 64, "hidden_size": 1024, "num_attention_heads": 16, "intermediate_size": 3072, "sliding_window": 512}, language(1536)),
    "bitnet": ("BitNetConfig", "BitNetForCausalLM", {**GROUPED, "num_hidden_layers": 8}, language(768)),
    "modernbert-decoder": ("ModernBertDecoderConfig", "ModernBertDecoderForCausalLM", {"num_hidden_layers": 10}, language(1024)),
    "olmoe": ("OlmoeConfig", "OlmoeForCausalLM", {**SMALL, "num_hidden_layers": 4, "num_key_value_heads": 12, "intermediate_size": 512, "num_experts": 16, "num_experts_per_tok": 4}, language(1024)),
    "gpt-oss": ("GptOssConfig", "GptOssForCausalLM", {**GROUPED, "num_hidden_layers": 4, "head_dim": 64, "intermediate_size": 768, "num_local_experts": 8, "num_experts_per_tok": 2, "sliding_window": 128}, language(1024)),
    "deberta-v1": ("DebertaConfig", "DebertaForSequenceClassification", {"num_hidden_layers": 8, "relative_attention": True, "pos_att_type": ["c2p", "p2c"], "max_relative_positions": 256}, classified(256)),
    "longformer": ("LongformerConfig", "LongformerForSequenceClassification", {"num_hidden_layers": 6, "attention_window": [256] * 6, "vocab_size": 50265, "max_position_embeddings": 2050, "pad_token_id": 1}, classified(2048)),
    "ibert": ("IBertConfig", "IBertForSequenceClassification", {"num_hidden_layers": 8}, classified(256)),
    "eurobert": ("EuroBertConfig", "EuroBertForMaskedLM", {**GROUPED, "pad_token_id": 0, "num_hidden_layers": 10, "num_key_value_heads": 12}, language(768)),
    "roberta-prenorm": ("RobertaPreLayerNormConfig", "RobertaPreLayerNormForMaskedLM", {"hidden_size": 1024, "num_attention_heads": 16, "intermediate_size": 4096, "num_hidden_layers": 8}, language(384)),
    "xmod": ("XmodConfig", "XmodForSequenceClassification", {"num_hidden_layers": 8, "languages": ["en_XX"], "default_language": "en_XX"}, classified(256)),
    "longt5": ("LongT5Config", "LongT5ForConditionalGeneration", {"d_model": 512, "d_ff": 1024, "num_layers": 6, "num_heads": 8, "encoder_attention_type": "transient-global", "decoder_start_token_id": 0}, pairs(2048, 128)),
    "pegasus-x": ("PegasusXConfig", "PegasusXForConditionalGeneration", {"d_model": 512, "encoder_layers": 6, "decoder_layers": 6, "encoder_attention_heads": 8, "decoder_attention_heads": 8, "encoder_ffn_dim": 2048, "decoder_ffn_dim": 2048, "vocab_size": 48000, "num_global_tokens": 64, "block_size": 256}, pairs(2048, 128)),
    "fsmt": ("FSMTConfig", "FSMTForConditionalGeneration", {"langs": ["en", "de"], "src_vocab_size": 32000, "tgt_vocab_size": 32000, "d_model": 512, "encoder_layers": 6, "decoder_layers": 6, "encoder_ffn_dim": 2048, "decoder_ffn_dim": 2048, "encoder_attention_heads": 8, "decoder_attention_heads": 8}, pairs(128, 128)),
    "beit-semantic": ("BeitConfig", "BeitForSemanticSegmentation", {"hidden_size": 384, "num_attention_heads": 6, "intermediate_size": 1536, "image_size": 384, "use_relative_position_bias": True, "out_indices": [3, 5, 7, 11]}, lambda c: (lambda b: {"pixel_values": torch.zeros(b, 3, 384, 384), "labels": torch.zeros(b, 384, 384, dtype=torch.int64)})),
    "mobilevit-semantic": ("MobileViTConfig", "MobileViTForSemanticSegmentation", {"num_labels": 21}, lambda c: (lambda b: {"pixel_values": torch.zeros(b, 3, 512, 512), "labels": torch.zeros(b, 512, 512, dtype=torch.int64)})),
    "swin-masked": ("SwinConfig", "SwinForMaskedImageModeling", {"image_size": 192, "window_size": 6, "encoder_stride": 32}, lambda c: (lambda b: {"pixel_values": torch.zeros(b, 3, 192, 192), "bool_masked_pos": torch.ones(b, 2304, dtype=torch.bool)})),
    "glpn": ("GLPNConfig", "GLPNForDepthEstimation", {}, lambda c: (lambda b: {"pixel_values": torch.zeros(b, 3, 256, 320), "labels": torch.ones(b, 256, 320)})),
    "videomae-masked": ("VideoMAEConfig", "VideoMAEForPreTraining", {"hidden_size": 384, "num_attention_heads": 6, "intermediate_size": 1536, "decoder_hidden_size": 192, "decoder_num_attention_heads": 3, "decoder_intermediate_size": 768}, lambda c: (lambda b: {"pixel_values": torch.zeros(b, 16, 3, 224, 224), "bool_masked_pos": (torch.arange(1568) >= 160).expand(b, -1)})),
    "data2vec-audio": ("Data2VecAudioConfig", "Data2VecAudioForSequenceClassification", {"num_hidden_layers": 8, "mask_time_prob": 0.0, "layerdrop": 0.0}, lambda c: (lambda b: {"input_values": torch.zeros(b, 48000), "labels": torch.zeros(b, dtype=torch.int64)})),
    "sew-d": ("SEWDConfig", "SEWDForSequenceClassification", {"num_hidden_layers": 6, "mask_time_prob": 0.0, "layerdrop": 0.0}, lambda c: (lambda b: {"input_values": torch.zeros(b, 48000), "labels": torch.zeros(b, dtype=torch.int64)})),
    "whisper-class": ("WhisperConfig", "WhisperForAudioClassification", {"d_model": 768, "encoder_layers": 8, "encoder_attention_heads": 12, "encoder_ffn_dim": 3072}, lambda c: (lambda b: {"input_features": torch.zeros(b, 80, 3000), "labels": torch.zeros(b, dtype=torch.int64)})),
    "vilt": ("ViltConfig", "ViltForMaskedLM", {"num_hidden_layers": 8}, lambda c: (lambda b: {"input_ids": ids(b, 40), "pixel_values": torch.zeros(b, 3, 384, 384), "labels": ids(b, 40)})),
    "informer": ("InformerConfig", "InformerForPrediction", {"context_length": 336, "prediction_length": 96, "num_time_features": 4, "d_model": 256, "encoder_layers": 3, "decoder_layers": 2, "encoder_attention_heads": 8, "decoder_attention_heads": 8, "encoder_ffn_dim": 1024, "decoder_ffn_dim": 1024}, lambda c: (lambda b: {"past_values": torch.zeros(b, 343), "past_time_features": torch.zeros(b, 343, 4), "past_observed_mask": torch.ones(b, 343), "future_values": torch.zeros(b, 96), "future_time_features": torch.zeros(b, 96, 4)})),
    "qwen3-moe": ("Qwen3MoeConfig", "Qwen3MoeForCausalLM", {**GROUPED, "num_hidden_layers": 4, "head_dim": 64,
        "moe_intermediate_size": 384, "num_experts": 16, "num_experts_per_tok": 4}, language(1024)),
    "deepseek-v3": ("DeepseekV3Config", "DeepseekV3ForCausalLM", {**SMALL, "num_hidden_layers": 4,
        "num_key_value_heads": 12, "moe_intermediate_size": 512, "n_routed_experts": 16, "num_experts_per_tok": 4,
        "n_group": 4, "topk_group": 2, "q_lora_rank": 384, "kv_lora_rank": 192, "qk_nope_head_dim": 64,
        "qk_rope_head_dim": 32, "v_head_dim": 64, "first_k_dense_replace": 1}, language(768)),
    "granite-moe": ("GraniteMoeConfig", "GraniteMoeForCausalLM", {**GROUPED, "num_hidden_layers": 4,
        "intermediate_size": 512, "num_local_experts": 8, "num_experts_per_tok": 2}, language(768)),
    "mamba": ("MambaConfig", "MambaForCausalLM", {"hidden_size": 512, "num_hidden_layers": 4, "vocab_size": 32000},
        language(256)),
    "bamba": ("BambaConfig", "BambaForCausalLM", {**GROUPED, "num_hidden_layers": 4, "attn_layer_indices": [2],
        "mamba_n_heads": 24, "mamba_d_head": 64, "mamba_d_state": 64, "mamba_chunk_size": 128}, language(512)),
    "recurrent-gemma": ("RecurrentGemmaConfig", "RecurrentGemmaForCausalLM", {**SMALL, "num_hidden_layers": 3,
        "num_key_value_heads": 1, "lru_width": 768, "attention_window_size": 512}, language(256)),
    "xlstm": ("xLSTMConfig", "xLSTMForCausalLM", {"hidden_size": 768, "num_hidden_layers": 4, "num_heads": 6,
        "vocab_size": 32000, "chunkwise_kernel": "chunkwise--native_autograd",
        "sequence_kernel": "native_sequence__native", "step_kernel": "native", "mode": "train"}, language(512)),
    "ernie4.5": ("Ernie4_5Config", "Ernie4_5ForCausalLM", {**GROUPED, "head_dim": 64}, language(1536)),
    "glm4": ("Glm4Config", "Glm4ForCausalLM", {**GROUPED, "head_dim": 64, "pad_token_id": 0}, language(640)),
    "vaultgemma": ("VaultGemmaConfig", "VaultGemmaForCausalLM", {**GROUPED, "head_dim": 64, "sliding_window": 256},
        language(768)),
    "t5gemma": ("T5GemmaConfig", "T5GemmaForConditionalGeneration", {"encoder": {**GROUPED, "head_dim": 64},
        "decoder": {**GROUPED, "head_dim": 64}, "vocab_size": 32000}, lambda c: (lambda b: {"input_ids": ids(b, 512),
        "decoder_input_ids": ids(b, 128), "labels": ids(b, 128)})),
    "splinter": ("SplinterConfig", "SplinterForQuestionAnswering", {"num_hidden_layers": 8},
        lambda c: (lambda b: {"input_ids": ids(b, 384), "start_positions": torch.zeros(b, dtype=torch.int64),
        "end_positions": torch.zeros(b, dtype=torch.int64)})),
    "xlm": ("XLMConfig", "XLMForSequenceClassification", {"emb_dim": 1024, "n_layers": 6, "n_heads": 8,
        "vocab_size": 60000}, classified(192)),
    "xlm-roberta-xl": ("XLMRobertaXLConfig", "XLMRobertaXLForMaskedLM", {"hidden_size": 1280, "num_hidden_layers": 6,
        "num_attention_heads": 20, "intermediate_size": 5120, "vocab_size": 64000}, language(320)),
    "plbart": ("PLBartConfig", "PLBartForConditionalGeneration", {"d_model": 768, "encoder_layers": 5,
        "decoder_layers": 5, "encoder_layerdrop": 0.0, "decoder_layerdrop": 0.0}, pairs(512, 256)),
    "lilt": ("LiltConfig", "LiltForSequenceClassification", {"num_hidden_layers": 8}, classified(512)),
    "markuplm": ("MarkupLMConfig", "MarkupLMForSequenceClassification", {"num_hidden_layers": 8}, classified(384)),
    "clip": ("CLIPConfig", "CLIPModel", {"text_config": {"num_hidden_layers": 6},
        "vision_config": {"num_hidden_layers": 8, "patch_size": 16}}, matched(77, 224)),
    "siglip": ("SiglipConfig", "SiglipModel", {"text_config": {"num_hidden_layers": 6},
        "vision_config": {"num_hidden_layers": 8, "patch_size": 16, "image_size": 256}}, matched(64, 256)),
    "chinese-clip": ("ChineseCLIPConfig", "ChineseCLIPModel", {"text_config": {"num_hidden_layers": 6},
        "vision_config": {"num_hidden_layers": 10, "patch_size": 16}}, matched(52, 224)),
    "mobilenetv2-semantic": ("MobileNetV2Config", "MobileNetV2ForSemanticSegmentation", {"num_labels": 21,
        "output_stride": 16}, lambda c: (lambda b: {"pixel_values": torch.zeros(b, 3, 513, 513),
        "labels": torch.zeros(b, 513, 513, dtype=torch.int64)})),
    "metaclip2": ("MetaClip2Config", "MetaClip2ForImageClassification", {"vision_config": {"num_hidden_layers": 10,
        "hidden_size": 640, "num_attention_heads": 10, "intermediate_size": 2560, "patch_size": 14}}, seen(3, 224)),
    "seggpt": ("SegGptConfig", "SegGptForImageSegmentation", {"hidden_size": 512, "num_hidden_layers": 8,
        "num_attention_heads": 8, "image_size": [448, 224], "intermediate_hidden_state_indices": [1, 3, 5, 7],
        "merge_index": 1}, lambda c: (lambda b: {"pixel_values": torch.zeros(b, 3, 224, 224),
        "prompt_pixel_values": torch.zeros(b, 3, 224, 224), "prompt_masks": torch.zeros(b, 3, 224, 224),
        "labels": torch.zeros(b, 3, 224, 224)})),
    "speecht5": ("SpeechT5Config", "SpeechT5ForSpeechToText", {"encoder_layers": 6, "decoder_layers": 4,
        "vocab_size": 81, "apply_spec_augment": False, "encoder_layerdrop": 0.0, "decoder_layerdrop": 0.0},
        spoken(48000, 64)),
    "unispeech-class": ("UniSpeechConfig", "UniSpeechForSequenceClassification", {"num_hidden_layers": 8,
        "mask_time_prob": 0.0, "layerdrop": 0.0}, spoken(32000)),
    "canine-tags": ("CanineConfig", "CanineForTokenClassification", {"num_hidden_layers": 8, "num_labels": 9},
        language(1024)),
    "inkling": ("InklingTextConfig", "InklingForCausalLM", {**GROUPED, "head_dim": 64, "num_hidden_layers": 4,
        "swa_num_attention_heads": 12, "swa_num_key_value_heads": 4, "swa_head_dim": 64, "sliding_window_size": 256,
        "moe_intermediate_size": 512, "n_routed_experts": 16, "num_experts_per_tok": 2, "n_shared_experts": 1,
        "logits_mup_width_multiplier": 3.0}, language(768)),
    "smollm3-answers": ("SmolLM3Config", "SmolLM3ForQuestionAnswering", {**GROUPED, "pad_token_id": 0,
        "num_hidden_layers": 8}, answered(512)),
    "canine-answers": ("CanineConfig", "CanineForQuestionAnswering", {"hidden_size": 512, "num_attention_heads": 8,
        "intermediate_size": 2048, "num_hidden_layers": 10}, answered(2048)),
    "mistral4-tags": ("Mistral4Config", "Mistral4ForTokenClassification", {**SMALL, "num_hidden_layers": 4,
        "num_key_value_heads": 12, "moe_intermediate_size": 384, "n_routed_experts": 16, "num_experts_per_tok": 2,
        "kv_lora_rank": 128, "q_lora_rank": 384, "qk_rope_head_dim": 32, "qk_nope_head_dim": 32, "v_head_dim": 64,
        "pad_token_id": 0, "num_labels": 17}, language(512)),
    "convbert-choice": ("ConvBertConfig", "ConvBertForMultipleChoice", {"num_hidden_layers": 6}, picked(4, 128)),
    "gemma3-pictures": ("Gemma3Config", "Gemma3ForConditionalGeneration", {"text_config": {**GROUPED, "head_dim": 64,
        "num_hidden_layers": 6, "sliding_window": 256}, "vision_config": {"hidden_size": 512, "num_hidden_layers": 8,
        "num_attention_heads": 8, "intermediate_size": 2048, "image_size": 448, "patch_size": 14},
        "mm_tokens_per_image": 256, "image_token_index": 31999, "boi_token_index": 31998, "eoi_token_index": 31997},
        lambda c: (lambda b: {"input_ids": placed(b, 256, 31999, 512), "pixel_values": torch.zeros(b, 3, 448, 448),
        "token_type_ids": placed(b, 256, 1, 512), "labels": ids(b, 512)})),
    "granite-moe-window": ("GraniteMoeSWAConfig", "GraniteMoeSWAForCausalLM", {**GROUPED, "num_hidden_layers": 6,
        "intermediate_size": 384, "num_local_experts": 16, "num_experts_per_tok": 4, "shared_intermediate_size": 768,
        "sliding_window": 256}, language(1024)),
    "axk1": ("AXK1Config", "AXK1ForCausalLM", {**SMALL, "num_hidden_layers": 4, "num_key_value_heads": 12,
        "moe_intermediate_size": 384, "n_routed_experts": 16, "num_experts_per_tok": 4, "n_group": 4, "topk_group": 2,
        "q_lora_rank": 256, "kv_lora_rank": 128, "qk_nope_head_dim": 64, "qk_rope_head_dim": 32, "v_head_dim": 64,
        "bos_token_id": 1, "eos_token_id": 2}, language(640)),
    "gpt2-answers": ("GPT2Config", "GPT2ForQuestionAnswering", {"n_layer": 8, "n_embd": 1024, "n_head": 16},
        answered(512)),
    "nomic-bert": ("NomicBertConfig", "NomicBertForSequenceClassification", {"num_hidden_layers": 10}, classified(768)),
    "musicgen-melody": ("MusicgenMelodyConfig", "MusicgenMelodyForConditionalGeneration", {
        "text_encoder": {"model_type": "t5", "d_model": 512, "num_layers": 4},
        "audio_encoder": {"model_type": "encodec"},
        "decoder": {"hidden_size": 768, "num_hidden_layers": 6, "num_attention_heads": 12, "ffn_dim": 3072}},
        lambda c: (lambda b: {"input_ids": ids(b, 64), "input_features": torch.zeros(b, 235, 12),
        "labels": torch.zeros(b, 400, 4, dtype=torch.int64)})),
    "got-ocr2": ("GotOcr2Config", "GotOcr2ForConditionalGeneration", {"text_config": {**GROUPED, "model_type": "qwen2"},
        "vision_config": {"hidden_size": 384, "num_attention_heads": 6, "mlp_dim": 1536, "num_hidden_layers": 8,
        "image_size": 512, "global_attn_indexes": [1, 3, 5, 7]}, "image_token_index": 31999, "image_seq_length": 64},
        lambda c: (lambda b: {"input_ids": placed(b, 64, 31999, 448), "pixel_values": torch.zeros(b, 3, 512, 512),
        "labels": ids(b, 448)})),
    "bigbird-answers": ("BigBirdConfig", "BigBirdForQuestionAnswering", {"num_hidden_layers": 6}, answered(1536)),
    "timm-wrapper": ("TimmWrapperConfig", "TimmWrapperForImageClassification", {"architecture": "resnet50d",
        "num_labels": 200}, seen(3, 224)),
    "mpnet-tags": ("MPNetConfig", "MPNetForTokenClassification", {"num_hidden_layers": 8, "num_labels": 9},
        language(256)),
    "moonshine-streaming": ("MoonshineStreamingConfig", "MoonshineStreamingForConditionalGeneration", {
        "hidden_size": 320, "num_key_value_heads": 8, "decoder_start_token_id": 1}, lambda c: (lambda b: {
        "input_values": torch.zeros(b, 80000), "labels": ids(b, 48)})),
    "seamless-speech": ("SeamlessM4TConfig", "SeamlessM4TForSpeechToSpeech", {"vocab_size": 32000, "hidden_size": 512,
        "decoder_layers": 4, "decoder_ffn_dim": 2048, "decoder_attention_heads": 8, "encoder_layers": 4,
        "speech_encoder_layers": 6, "speech_encoder_attention_heads": 8, "speech_encoder_intermediate_size": 2048,
        "encoder_layerdrop": 0.0, "decoder_layerdrop": 0.0, "speech_encoder_layerdrop": 0.0},
        lambda c: (lambda b: {"input_features": torch.zeros(b, 480, 160), "labels": ids(b, 64)})),
    "seamless-v2-words": ("SeamlessM4Tv2Config", "SeamlessM4Tv2ForSpeechToText", {"vocab_size": 32000,
        "hidden_size": 512, "decoder_layers": 6, "decoder_ffn_dim": 2048, "decoder_attention_heads": 8,
        "speech_encoder_layers": 8, "speech_encoder_attention_heads": 8, "speech_encoder_intermediate_size": 2048,
        "encoder_layerdrop": 0.0, "decoder_layerdrop": 0.0, "speech_encoder_layerdrop": 0.0},
        lambda c: (lambda b: {"input_features": torch.zeros(b, 400, 160), "labels": ids(b, 64)})),
    "phimoe-class": ("PhimoeConfig", "PhimoeForSequenceClassification", {**GROUPED, "num_hidden_layers": 4,
        "intermediate_size": 1024, "num_local_experts": 8, "pad_token_id": 0}, classified(512)),
    "tapas": ("TapasConfig", "TapasForSequenceClassification", {"num_hidden_layers": 8},
        lambda c: (lambda b: {"input_ids": ids(b, 512), "token_type_ids": torch.zeros(b, 512, 7, dtype=torch.int32),
        "labels": torch.zeros(b, dtype=torch.int64)})),
    "mpnet-masked": ("MPNetConfig", "MPNetForMaskedLM", {"num_hidden_layers": 6, "hidden_size": 1024,
        "num_attention_heads": 16, "intermediate_size": 4096}, language(384)),
    "phi4-words": ("Phi4MultimodalConfig", "Phi4MultimodalForCausalLM", {**GROUPED, "pad_token_id": 0,
        "bos_token_id": 1, "eos_token_id": 2, "vision_config": {"hidden_size": 256, "num_hidden_layers": 2,
        "num_attention_heads": 4, "intermediate_size": 1024}, "audio_config": {"hidden_size": 256, "num_blocks": 2,
        "num_attention_heads": 4, "intermediate_size": 512}}, language(768)),
    "ernie-masked": ("ErnieConfig", "ErnieForMaskedLM", {"hidden_size": 640, "num_attention_heads": 10,
        "intermediate_size": 2560, "num_hidden_layers": 8}, language(256)),
    "roberta-prenorm-causal": ("RobertaPreLayerNormConfig", "RobertaPreLayerNormForCausalLM", {"num_hidden_layers": 6,
        "is_decoder": True, "vocab_size": 32000}, language(448)),
    "data2vec-audio-ctc": ("Data2VecAudioConfig", "Data2VecAudioForCTC", {"num_hidden_layers": 8, "mask_time_prob": 0.0,
        "layerdrop": 0.0, "pad_token_id": 31}, spoken(64000, 40)),
    "qwen2-moe": ("Qwen2MoeConfig", "Qwen2MoeForCausalLM", {**GROUPED, "num_hidden_layers": 4,
        "moe_intermediate_size": 384, "shared_expert_intermediate_size": 1536, "num_experts": 16}, language(768)),
    "helium-tags": ("HeliumConfig", "HeliumForTokenClassification", {**GROUPED, "head_dim": 64, "pad_token_id": 0,
        "num_labels": 9}, language(512)),
    "mistral-answers": ("MistralConfig", "MistralForQuestionAnswering", {**GROUPED, "num_hidden_layers": 8,
        "sliding_window": 512}, answered(1024)),
    "axk2-class": ("AXK2Config", "AXK2ForSequenceClassification", {**SMALL, "num_hidden_layers": 4,
        "num_key_value_heads": 12, "moe_intermediate_size": 384, "n_routed_experts": 16, "num_experts_per_tok": 4,
        "q_lora_rank": 256, "index_topk": 256, "index_head_dim": 64, "index_n_heads": 8, "pad_token_id": 0,
        "bos_token_id": 1, "eos_token_id": 2}, classified(640)),
    "timeseries-mixer-class": ("PatchTSMixerConfig", "PatchTSMixerForTimeSeriesClassification", {"context_length": 512,
        "patch_length": 16, "patch_stride": 16, "num_input_channels": 12, "d_model": 128, "num_layers": 8,
        "mode": "mix_channel", "num_targets": 5}, lambda c: (lambda b: {"past_values": torch.zeros(b, 512, 12),
        "target_values": torch.zeros(b, dtype=torch.int64)})),
    "yoso-answers": ("YosoConfig", "YosoForQuestionAnswering", {"num_hidden_layers": 8}, answered(512)),
    "hubert-ctc": ("HubertConfig", "HubertForCTC", {"num_hidden_layers": 8, "mask_time_prob": 0.0, "layerdrop": 0.0,
        "pad_token_id": 31}, spoken(80000, 48)),
    "gemma4-words": ("Gemma4TextConfig", "Gemma4ForCausalLM", {**WINDOWED,
        "vocab_size_per_layer_input": 32000, "hidden_size_per_layer_input": 128}, language(1024)),
    "t5gemma2-tags": ("T5Gemma2Config", "T5Gemma2ForTokenClassification", {**T5GEMMA2, "num_labels": 9},
        lambda c: (lambda b: {"input_ids": ids(b, 384), "decoder_input_ids": ids(b, 384), "labels": ids(b, 384)})),
    "xlm-roberta-xl-class": ("XLMRobertaXLConfig", "XLMRobertaXLForSequenceClassification", {"hidden_size": 1280,
        "num_hidden_layers": 8, "num_attention_heads": 20, "intermediate_size": 5120, "vocab_size": 64000},
        classified(256)),
    "gpt-neo-tags": ("GPTNeoConfig", "GPTNeoForTokenClassification", {"hidden_size": 768, "num_layers": 8,
        "num_heads": 12, "attention_types": [[["global", "local"], 4]], "num_labels": 9}, language(512)),
    "t5gemma2": ("T5Gemma2Config", "T5Gemma2ForConditionalGeneration", T5GEMMA2, lambda c: (lambda b: {
        "input_ids": ids(b, 512), "decoder_input_ids": ids(b, 128), "labels": ids(b, 128)})),
    "flaubert-answers": ("FlaubertConfig", "FlaubertForQuestionAnswering", {"emb_dim": 768, "n_layers": 8,
        "n_heads": 12}, answered(512)),
    "qwen3-asr-tags": ("Qwen3ASRConfig", "Qwen3ASRForTokenClassification", {**QWEN3_ASR, "num_labels": 64},
        heard(500, 65, 160)),
    "blip2": ("Blip2Config", "Blip2ForConditionalGeneration", {"vision_config": {"hidden_size": 768,
        "intermediate_size": 3072, "num_hidden_layers": 8, "num_attention_heads": 12}, "qformer_config": {
        "num_hidden_layers": 6, "encoder_hidden_size": 768}, "text_config": {"num_hidden_layers": 8},
        "image_token_index": 50271}, lambda c: (lambda b: {"pixel_values": torch.zeros(b, 3, 224, 224),
        "input_ids": placed(b, 32, 50271, 96), "labels": ids(b, 96)})),
    "cohere-compass": ("CohereCompassTextConfig", "CohereCompassForCausalLM", {**GROUPED, "sliding_window": 256,
        "layer_types": ["sliding_attention", "sliding_attention", "full_attention"] * 2, "rope_parameters": {
        "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0, "mrope_section": [12, 10, 10]},
        "full_attention": None}, "bos_token_id": 1, "eos_token_id": 2}, language(896)),
    "eurobert-tags": ("EuroBertConfig", "EuroBertForTokenClassification", {**GROUPED, "num_hidden_layers": 8,
        "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "num_labels": 17}, language(768)),
    "qwen3-asr": ("Qwen3ASRConfig", "Qwen3ASRForConditionalGeneration", QWEN3_ASR, heard(1000, 130, 224)),
    "data2vec-text-tags": ("Data2VecTextConfig", "Data2VecTextForTokenClassification", {"num_hidden_layers": 8,
        "num_labels": 9}, language(320)),
    "apertus-tags": ("ApertusConfig", "ApertusForTokenClassification", {**GROUPED, "num_labels": 13}, language(640)),
    "prophetnet-causal": ("ProphetNetConfig", "ProphetNetForCausalLM", {"hidden_size": 768, "num_decoder_layers": 6,
        "num_decoder_attention_heads": 12, "decoder_ffn_dim": 3072, "is_decoder": True, "is_encoder_decoder": False,
        "add_cross_attention": False}, language(256)),
    "deberta-answers": ("DebertaConfig", "DebertaForQuestionAnswering", {"num_hidden_layers": 8, "vocab_size": 32000,
        "relative_attention": True, "pos_att_type": ["c2p", "p2c"]}, answered(384)),
    "plbart-class": ("PLBartConfig", "PLBartForSequenceClassification", {"d_model": 768, "encoder_layers": 6,
        "decoder_layers": 6, "encoder_layerdrop": 0.0, "decoder_layerdrop": 0.0}, lambda c: (lambda b: {
        "input_ids": placed(b, 1, 2, 512), "labels": torch.zeros(b, dtype=torch.int64)})),
    "unispeech-sat-speakers": ("UniSpeechSatConfig", "UniSpeechSatForXVector", {"num_hidden_layers": 8,
        "mask_time_prob": 0.0, "layerdrop": 0.0, "num_labels": 1251}, spoken(48000)),
    "vit-masked": ("ViTConfig", "ViTForMaskedImageModeling", {"num_hidden_layers": 8, "encoder_stride": 16},
        lambda c: (lambda b: {"pixel_values": torch.zeros(b, 3, 224, 224),
        "bool_masked_pos": (torch.arange(196) % 5 < 3).repeat(b, 1)})),
    "bert-next-sentence": ("BertConfig", "BertForNextSentencePrediction", {"num_hidden_layers": 8}, classified(192)),
    "mt5-answers": ("MT5Config", "MT5ForQuestionAnswering", {"d_model": 640, "d_ff": 1536, "num_layers": 6,
        "num_heads": 10, "vocab_size": 64000, "decoder_start_token_id": 0}, answered(384)),
    "rembert-masked": ("RemBertConfig", "RemBertForMaskedLM", {"num_hidden_layers": 6, "hidden_size": 768,
        "num_attention_heads": 12, "intermediate_size": 3072, "vocab_size": 50000, "output_embedding_size": 768},
        language(256)),
    "qwen3-next-class": ("Qwen3NextConfig", "Qwen3NextForSequenceClassification", {**GROUPED, "head_dim": 64,
        "num_hidden_layers": 4, "linear_key_head_dim": 64, "linear_value_head_dim": 64, "linear_num_key_heads": 6,
        "linear_num_value_heads": 12, "moe_intermediate_size": 384, "shared_expert_intermediate_size": 384,
        "num_experts": 16, "num_experts_per_tok": 4, "pad_token_id": 0}, classified(512)),
    "timeseries-mixer-regression": ("PatchTSMixerConfig", "PatchTSMixerForRegression", {"context_length": 512,
        "patch_length": 16, "patch_stride": 16, "num_input_channels": 9, "d_model": 96, "num_layers": 6,
        "num_targets": 3}, lambda c: (lambda b: {"past_values": torch.zeros(b, 512, 9),
        "target_values": torch.zeros(b, 3)})),
    "esmc-tags": ("EsmcConfig", "EsmcForTokenClassification", {"hidden_size": 640, "num_hidden_layers": 10,
        "num_attention_heads": 10, "intermediate_size": 1728, "num_labels": 8}, language(512)),
    "data2vec-text-causal": ("Data2VecTextConfig", "Data2VecTextForCausalLM", {"num_hidden_layers": 8,
        "is_decoder": True, "vocab_size": 32000}, language(384)),
    "exaone-moe": ("ExaoneMoeConfig", "ExaoneMoeForCausalLM", {**GROUPED, "num_hidden_layers": 4,
        "moe_intermediate_size": 384, "num_experts": 16, "num_experts_per_tok": 4, "sliding_window": 256},
        language(1024)),
    "starcoder2-class": ("Starcoder2Config", "Starcoder2ForSequenceClassification", {**GROUPED,
        "num_hidden_layers": 8, "pad_token_id": 0}, classified(768)),
    "bloom-class": ("BloomConfig", "BloomForSequenceClassification", {"hidden_size": 1024, "n_layer": 8, "n_head": 16,
        "vocab_size": 50000, "pad_token_id": 3}, classified(384)),
    "ministral-tags": ("MinistralConfig", "MinistralForTokenClassification", {**WINDOWED, "num_hidden_layers": 8,
        "num_labels": 13}, language(768)),
    "seamless-v2-speech": ("SeamlessM4Tv2Config", "SeamlessM4Tv2ForSpeechToSpeech", {"vocab_size": 32000,
        "hidden_size": 512, "decoder_layers": 4, "decoder_ffn_dim": 2048, "decoder_attention_heads": 8,
        "encoder_layers": 4, "speech_encoder_layers": 6, "speech_encoder_attention_heads": 8,
        "speech_encoder_intermediate_size": 2048, "encoder_layerdrop": 0.0, "decoder_layerdrop": 0.0,
        "speech_encoder_layerdrop": 0.0}, lambda c: (lambda b: {"input_features": torch.zeros(b, 560, 160),
        "labels": ids(b, 72)})),
    "internvl": ("InternVLConfig", "InternVLForConditionalGeneration", {"text_config": {**GROUPED,
        "model_type": "qwen2"}, "vision_config": {"hidden_size": 512, "num_hidden_layers": 8, "num_attention_heads": 8,
        "intermediate_size": 2048, "image_size": [448, 448], "patch_size": [14, 14]}, "image_token_id": 31999},
        lambda c: (lambda b: {"input_ids": placed(b, 256, 31999, 448), "pixel_values": torch.zeros(b, 3, 448, 448),
        "labels": ids(b, 448)})),
    "seamless-v2-texts": ("SeamlessM4Tv2Config", "SeamlessM4Tv2ForTextToText", {"vocab_size": 48000,
        "hidden_size": 768, "encoder_layers": 6, "encoder_ffn_dim": 3072, "encoder_attention_heads": 12,
        "decoder_layers": 6, "decoder_ffn_dim": 3072, "decoder_attention_heads": 12, "encoder_layerdrop": 0.0,
        "decoder_layerdrop": 0.0}, pairs(192, 160)),
    "exaone4-class": ("Exaone4Config", "Exaone4ForSequenceClassification", {**GROUPED, "num_hidden_layers": 8,
        "sliding_window": 256, "pad_token_id": 0}, classified(640)),
    "luke-choice": ("LukeConfig", "LukeForMultipleChoice", {"num_hidden_layers": 6, "vocab_size": 32000,
        "entity_vocab_size": 20000, "max_position_embeddings": 514}, lambda c: (lambda b: {
        "input_ids": torch.zeros(b, 4, 128, dtype=torch.int64), "entity_ids": torch.zeros(b, 4, 8, dtype=torch.int64),
        "entity_position_ids": torch.zeros(b, 4, 8, 10, dtype=torch.int64),
        "labels": torch.zeros(b, dtype=torch.int64)})),
    "axk2": ("AXK2Config", "AXK2ForCausalLM", {**SMALL, "num_hidden_layers": 4, "num_key_value_heads": 12,
        "moe_intermediate_size": 384, "n_routed_experts": 16, "num_experts_per_tok": 4, "q_lora_rank": 256,
        "index_topk": 256, "index_head_dim": 64, "index_n_heads": 8, "bos_token_id": 1, "eos_token_id": 2},
        language(768)),
    "lilt-tags": ("LiltConfig", "LiltForTokenClassification", {"num_hidden_layers": 8, "num_labels": 7},
        language(384)),
    "esmc-class": ("EsmcConfig", "EsmcForSequenceClassification", {"hidden_size": 960, "num_hidden_layers": 8,
        "num_attention_heads": 15, "intermediate_size": 2560, "num_labels": 10}, classified(384)),
    "wav2vec2-conformer-frames": ("Wav2Vec2ConformerConfig", "Wav2Vec2ConformerForAudioFrameClassification", {
        "num_hidden_layers": 6, "mask_time_prob": 0.0, "layerdrop": 0.0}, lambda c: (lambda b: {
        "input_values": torch.zeros(b, 32000), "labels": torch.zeros(b, 99, 2)})),
    "blip-text": ("BlipTextConfig", "BlipTextLMHeadModel", {"num_hidden_layers": 8, "num_attention_heads": 12,
        "label_smoothing": 0.1}, language(256)),
    "luke-tags": ("LukeConfig", "LukeForTokenClassification", {"num_hidden_layers": 8, "vocab_size": 32000,
        "entity_vocab_size": 20000, "max_position_embeddings": 514, "num_labels": 9}, lambda c: (lambda b: {
        "input_ids": ids(b, 320), "entity_ids": ids(b, 24),
        "entity_position_ids": torch.zeros(b, 24, 12, dtype=torch.int64), "labels": ids(b, 320)})),
}
CONTRASTIVE = ("CLIPModel", "SiglipModel", "ChineseCLIPModel")  # they compute their loss only where asked


def transformers(name):
    import transformers as library
    kind, model, said, inputs = TRANSFORMERS[name]
    config = getattr(library, kind)(**copy.deepcopy(said))  # some change what they are given
    config.use_cache = False
    made = getattr(library, model)(config)
    if model in CONTRASTIVE:
        made.forward = functools.partial(made.forward, return_loss=True)
    return made, inputs(config), "own"
