# SPDX-License-Identifier: Apache-2.0
"""zoo_compiled_r.py - more networks of Hugging Face transformers drawn for torch.compile. See zoo.py."""
import torch

from zoo_inputs import GROUPED, SMALL, answered, classified, ids, language, picked, placed

HALVES = {"d_model": 768, "encoder_layers": 5, "decoder_layers": 5, "encoder_attention_heads": 12,
          "decoder_attention_heads": 12, "encoder_ffn_dim": 3072, "decoder_ffn_dim": 3072}

# By name: the class of the configuration, the class of the model, arguments of the configuration, and its inputs.
TRANSFORMERS = {
    "xlm-roberta-xl-causal": ("XLMRobertaXLConfig", "XLMRobertaXLForCausalLM", {**SMALL, "hidden_size": 1024,
        "num_attention_heads": 16, "intermediate_size": 4096, "vocab_size": 60000, "is_decoder": True}, language(384)),
    "bart-causal": ("BartConfig", "BartForCausalLM", {**HALVES, "decoder_layers": 8, "is_decoder": True,
        "is_encoder_decoder": False}, language(768)),
    "megatron-bert-causal": ("MegatronBertConfig", "MegatronBertForCausalLM", {"num_hidden_layers": 8,
        "is_decoder": True}, language(512)),
    "zaya": ("ZayaConfig", "ZayaForCausalLM", {"vocab_size": 32000, "hidden_size": 768, "num_hidden_layers": 6,
        "num_attention_heads": 8, "num_key_value_heads": 2, "head_dim": 64, "moe_intermediate_size": 1024,
        "num_experts": 8, "router_hidden_size": 128}, language(768)),
    "minimax": ("MiniMaxConfig", "MiniMaxForCausalLM", {**GROUPED, "intermediate_size": 1024, "head_dim": 64,
        "num_local_experts": 8, "num_experts_per_tok": 2}, language(1024)),
    "zamba2": ("Zamba2Config", "Zamba2ForCausalLM", {**SMALL, "num_hidden_layers": 7, "n_mamba_heads": 24,
        "mamba_d_state": 64, "chunk_size": 128, "use_mem_rope": True, "layers_block_type": ["linear_attention",
        "linear_attention", "hybrid", "linear_attention", "linear_attention", "hybrid", "linear_attention"]},
        language(512)),
    "mimo-v2-flash": ("MiMoV2FlashConfig", "MiMoV2FlashForCausalLM", {**SMALL, "num_key_value_heads": 3, "head_dim": 96,
        "v_head_dim": 64, "moe_intermediate_size": 512, "n_routed_experts": 16, "num_experts_per_tok": 4,
        "sliding_window": 128}, language(1024)),
    "stablelm-class": ("StableLmConfig", "StableLmForSequenceClassification", {**GROUPED, "num_hidden_layers": 8,
        "pad_token_id": 0}, classified(512)),
    "cohere-compass-class": ("CohereCompassTextConfig", "CohereCompassTextForSequenceClassification", {**GROUPED,
        "num_hidden_layers": 8, "pad_token_id": 0, "eos_token_id": 2, "bos_token_id": 1, "sliding_window": 256,
        "layer_types": ["sliding_attention", "sliding_attention", "sliding_attention", "full_attention"] * 2,
        "rope_parameters": {kind: {"rope_type": "default", "rope_theta": 10000.0, "mrope_section": [12, 10, 10]}
        for kind in ("sliding_attention", "full_attention")}}, classified(640)),
    "ministral-class": ("MinistralConfig", "MinistralForSequenceClassification", {**GROUPED, "head_dim": 64,
        "sliding_window": 256, "pad_token_id": 0}, classified(1024)),
    "bros-tags": ("BrosConfig", "BrosForTokenClassification", {"num_hidden_layers": 8, "num_labels": 7},
        lambda c: (lambda b: {"input_ids": ids(b, 256), "bbox": torch.zeros(b, 256, 4), "labels": ids(b, 256)})),
    "arcee-tags": ("ArceeConfig", "ArceeForTokenClassification", {**GROUPED, "intermediate_size": 3072,
        "num_hidden_layers": 8, "num_labels": 11, "bos_token_id": 1, "eos_token_id": 2}, language(512)),
    "llama-tags": ("LlamaConfig", "LlamaForTokenClassification", {**GROUPED, "hidden_size": 1024,
        "num_attention_heads": 16, "intermediate_size": 2816, "num_labels": 9}, language(768)),
    "bart-answers": ("BartConfig", "BartForQuestionAnswering", HALVES, answered(384)),
    "nystromformer-answers": ("NystromformerConfig", "NystromformerForQuestionAnswering", {"num_hidden_layers": 8,
        "max_position_embeddings": 1024, "segment_means_seq_len": 1024}, answered(1024)),
    "mpnet-answers": ("MPNetConfig", "MPNetForQuestionAnswering", {"num_hidden_layers": 10}, answered(384)),
    "albert-masked": ("AlbertConfig", "AlbertForMaskedLM", {"hidden_size": 1024, "num_attention_heads": 16,
        "intermediate_size": 4096, "num_hidden_layers": 12}, language(256)),
    "neomme-masked": ("NeoMMEConfig", "NeoMMEForMaskedLM", {**GROUPED, "head_dim": 64, "num_hidden_layers": 9,
        "embedding_rank": 192, "intermediate_size": 2688}, language(1536)),
    "yoso-masked": ("YosoConfig", "YosoForMaskedLM", {"num_hidden_layers": 6, "vocab_size": 32000}, language(768)),
    "deberta-choice": ("DebertaV2Config", "DebertaV2ForMultipleChoice", {"hidden_size": 768, "num_hidden_layers": 8,
        "num_attention_heads": 12, "intermediate_size": 3072, "vocab_size": 64000, "relative_attention": True,
        "pos_att_type": ["p2c", "c2p"], "position_buckets": 128}, picked(5, 160)),
    "aya-vision": ("AyaVisionConfig", "AyaVisionForConditionalGeneration", {"text_config": {**GROUPED,
        "model_type": "cohere2", "sliding_window": 256, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2},
        "vision_config": {"hidden_size": 768, "intermediate_size": 3072, "num_hidden_layers": 6,
        "num_attention_heads": 12, "patch_size": 14, "image_size": 364, "model_type": "siglip_vision_model",
        "vision_use_head": False}, "image_token_index": 31999}, lambda c: (lambda b: {
        "input_ids": placed(b, 169, 31999, 320), "pixel_values": torch.zeros(b, 3, 364, 364),
        "labels": ids(b, 320)})),
    "vipllava": ("VipLlavaConfig", "VipLlavaForConditionalGeneration", {"text_config": {**GROUPED,
        "model_type": "llama"}, "vision_config": {"hidden_size": 512, "intermediate_size": 2048,
        "num_hidden_layers": 8, "num_attention_heads": 8, "patch_size": 14, "image_size": 224,
        "model_type": "clip_vision_model"}, "vision_feature_layers": [-1, -2, -4, 3], "image_token_index": 31999},
        lambda c: (lambda b: {"input_ids": placed(b, 256, 31999, 448),
        "pixel_values": torch.zeros(b, 3, 224, 224), "labels": ids(b, 448)})),
    "mobilebert-both": ("MobileBertConfig", "MobileBertForPreTraining", {"num_hidden_layers": 12}, lambda c: (
        lambda b: {"input_ids": ids(b, 192), "labels": ids(b, 192),
        "next_sentence_label": torch.zeros(b, dtype=torch.int64)})),
    "focalnet-masked": ("FocalNetConfig", "FocalNetForMaskedImageModeling", {"image_size": 192, "depths": [2, 2, 6, 2],
        "use_conv_embed": False, "encoder_stride": 32}, lambda c: (lambda b: {
        "pixel_values": torch.zeros(b, 3, 192, 192), "bool_masked_pos": torch.zeros(b, 2304, dtype=torch.bool)})),
    "wav2vec2-frames": ("Wav2Vec2Config", "Wav2Vec2ForAudioFrameClassification", {"num_hidden_layers": 8,
        "mask_time_prob": 0.0, "layerdrop": 0.0, "num_labels": 4}, lambda c: (lambda b: {
        "input_values": torch.zeros(b, 48000), "labels": torch.zeros(b, 149, 4)})),
}
