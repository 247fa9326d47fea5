# SPDX-License-Identifier: Apache-2.0
"""zoo_last.py - the last networks of Hugging Face transformers, in the order in which they were drawn. See zoo.py."""
import torch

from zoo_inputs import GROUPED, SMALL, answered, gridded, ids, language, pairs, picked, placed

# Name: configuration, model, what the configuration says, inputs.
TRANSFORMERS = {
    "blt": ("BltConfig", "BltForCausalLM", {"encoder_hash_byte_group_vocab": 50002, "patcher_config": {
        "hidden_size": 512, "num_hidden_layers": 4, "num_attention_heads": 8, "intermediate_size": 1408},
        "encoder_config": {"hidden_size": 512, "hidden_size_global": 1024, "num_attention_heads": 8,
        "intermediate_size": 1408}, "decoder_config": {"hidden_size": 512, "hidden_size_global": 1024,
        "num_attention_heads": 8, "num_hidden_layers": 4, "intermediate_size": 1408}, "global_config": {
        "hidden_size": 1024, "num_hidden_layers": 6, "intermediate_size": 2816}}, language(512)),
    "megatron-bert-pretraining": ("MegatronBertConfig", "MegatronBertForPreTraining", {"num_hidden_layers": 8},
        lambda c: (lambda b: {"input_ids": ids(b, 384), "labels": ids(b, 384),
        "next_sentence_label": torch.zeros(b, dtype=torch.int64)})),
    "wav2vec2-bert-frames": ("Wav2Vec2BertConfig", "Wav2Vec2BertForAudioFrameClassification", {
        "hidden_size": 768, "num_hidden_layers": 6, "num_attention_heads": 12, "intermediate_size": 3072,
        "layerdrop": 0.0, "apply_spec_augment": False}, lambda c: (lambda b: {
        "input_features": torch.zeros(b, 400, 160), "labels": torch.zeros(b, 400, 2)})),
    "fun-asr-nano": ("FunAsrNanoConfig", "FunAsrNanoForConditionalGeneration", {"audio_config": {
        "num_hidden_layers": 10, "num_timestamp_prediction_layers": 4}, "text_config": {**GROUPED, "head_dim": 64},
        "audio_token_id": 31999}, lambda c: (lambda b: {"input_ids": placed(b, 256, 31999, 320),
        "input_features": torch.zeros(b, 256, 560), "input_features_mask": torch.ones(b, 256, dtype=torch.int32),
        "labels": ids(b, 320)})),
    "qwen2-vl": ("Qwen2VLConfig", "Qwen2VLForConditionalGeneration", {"text_config": {**GROUPED,
        "rope_parameters": {"rope_type": "default", "rope_theta": 1000000.0, "mrope_section": [8, 12, 12]}},
        "vision_config": {"depth": 6, "embed_dim": 512, "num_heads": 8, "hidden_size": 768},
        "image_token_id": 31999, "video_token_id": 31998, "vision_start_token_id": 31994,
        "vision_end_token_id": 31995}, gridded(1024, 1176, 32, 31999, 512, lambda b: {
        "mm_token_type_ids": placed(b, 256, 1, 512)})),
    "step3p7": ("Step3p7Config", "Step3p7ForConditionalGeneration", {"text_config": {**GROUPED, "head_dim": 64,
        "moe_intermediate_size": 384, "n_routed_experts": 16, "num_local_experts": 16, "num_experts_per_tok": 4,
        "share_expert_dim": 384, "sliding_window": 256, "layer_types": ["full_attention", *["sliding_attention"] * 3,
        "full_attention", "sliding_attention"]}, "vision_config": {"hidden_size": 512, "num_hidden_layers": 6,
        "num_attention_heads": 8, "image_size": 448, "max_position_embeddings": 1024}, "image_token_id": 31999},
        lambda c: (lambda b: {"input_ids": placed(b, 64, 31999, 512),
        "pixel_values": torch.zeros(b, 3, 448, 448), "labels": ids(b, 512)})),
    "fnet-masked": ("FNetConfig", "FNetForMaskedLM", {}, language(512)),
    "laguna": ("LagunaConfig", "LagunaForCausalLM", {**GROUPED, "head_dim": 64, "num_hidden_layers": 5,
        "moe_intermediate_size": 384, "shared_expert_intermediate_size": 384, "num_experts": 16,
        "num_experts_per_tok": 4, "layer_types": ["full_attention", *["sliding_attention"] * 3, "full_attention"]},
        language(1024)),
    "bridgetower-masked": ("BridgeTowerConfig", "BridgeTowerForMaskedLM", {"num_hidden_layers": 4,
        "text_config": {"num_hidden_layers": 8}, "vision_config": {"num_hidden_layers": 8}}, lambda c: (lambda b: {
        "input_ids": ids(b, 50), "pixel_values": torch.zeros(b, 3, 288, 288), "labels": ids(b, 50)})),
    "modernbert-choice": ("ModernBertConfig", "ModernBertForMultipleChoice", {"num_hidden_layers": 8},
        picked(4, 192)),
    "parakeet-ctc": ("ParakeetCTCConfig", "ParakeetForCTC", {"encoder_config": {"hidden_size": 512,
        "num_hidden_layers": 10, "intermediate_size": 2048, "layerdrop": 0.0}}, lambda c: (lambda b: {
        "input_features": torch.zeros(b, 1000, 80), "attention_mask": torch.ones(b, 1000, dtype=torch.int32),
        "labels": ids(b, 40)})),
    "xlm-tags": ("XLMConfig", "XLMForTokenClassification", {"emb_dim": 1024, "n_layers": 8, "num_labels": 9},
        language(256)),
    "gpt-oss-tags": ("GptOssConfig", "GptOssForTokenClassification", {**GROUPED, "head_dim": 64,
        "num_local_experts": 8, "num_hidden_layers": 6, "num_labels": 17, "pad_token_id": 0}, language(512)),
    "mistral3": ("Mistral3Config", "Mistral3ForConditionalGeneration", {"text_config": {**GROUPED, "head_dim": 64},
        "vision_config": {"hidden_size": 512, "num_hidden_layers": 6, "num_attention_heads": 8, "head_dim": 64,
        "intermediate_size": 2048, "patch_size": 14, "image_size": 448}, "image_token_index": 31999},
        lambda c: (lambda b: {"input_ids": placed(b, 256, 31999, 448), "pixel_values": torch.zeros(b, 3, 448, 448),
        "image_sizes": torch.full((b, 2), 448, dtype=torch.int32), "labels": ids(b, 448)})),
    "blenderbot-replies": ("BlenderbotConfig", "BlenderbotForConditionalGeneration", {"d_model": 1280, "decoder_layers": 10,
        "encoder_ffn_dim": 5120, "decoder_ffn_dim": 5120, "encoder_attention_heads": 20,
        "decoder_attention_heads": 20}, pairs(128, 128)),
    "hy-v4": ("HYV4Config", "HYV4ForCausalLM", {**SMALL, "num_hidden_layers": 5, "num_key_value_heads": 12,
        "moe_intermediate_size": 384, "n_routed_experts": 16, "num_experts_per_tok": 4, "q_lora_rank": 384,
        "kv_lora_rank": 192, "qk_nope_head_dim": 64, "qk_rope_head_dim": 32, "v_head_dim": 64, "index_topk": 256,
        "index_head_dim": 64, "index_n_heads": 8, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2},
        language(512)),
    "roberta-answers": ("RobertaConfig", "RobertaForQuestionAnswering", {"max_position_embeddings": 514},
        answered(384)),
    "phi3-tags": ("Phi3Config", "Phi3ForTokenClassification", {**GROUPED, "num_hidden_layers": 8, "num_labels": 9,
        "pad_token_id": 0}, language(640)),
    "fuyu": ("FuyuConfig", "FuyuForCausalLM", {**SMALL, "hidden_size": 1024, "num_attention_heads": 16,
        "intermediate_size": 4096, "image_token_id": 31999, "pad_token_id": 0}, lambda c: (lambda b: {
        "input_ids": placed(b, 100, 31999, 384), "image_patches": torch.zeros(b, 100, 2700), "labels": ids(b, 384)})),
    "jetmoe": ("JetMoeConfig", "JetMoeForCausalLM", {"hidden_size": 1024, "num_hidden_layers": 6,
        "num_key_value_heads": 8, "kv_channels": 64, "intermediate_size": 1408}, language(512)),
    "jais2": ("Jais2Config", "Jais2ForCausalLM", {**SMALL, "hidden_size": 1024, "num_attention_heads": 8,
        "intermediate_size": 8192, "eos_token_id": 2}, language(768)),
    "openai-privacy-filter": ("OpenAIPrivacyFilterConfig", "OpenAIPrivacyFilterForTokenClassification", {
        "num_hidden_layers": 6, "num_local_experts": 32, "vocab_size": 64000, "pad_token_id": 0, "eos_token_id": 2,
        "num_labels": 33}, language(512)),
    "albert-tags": ("AlbertConfig", "AlbertForTokenClassification", {"hidden_size": 768, "num_attention_heads": 12,
        "intermediate_size": 3072, "num_labels": 9}, language(256)),
    "roc-bert-tags": ("RoCBertConfig", "RoCBertForTokenClassification", {"num_hidden_layers": 8, "num_labels": 7},
        lambda c: (lambda b: {"input_ids": ids(b, 256), "input_shape_ids": ids(b, 256),
        "input_pronunciation_ids": ids(b, 256), "labels": ids(b, 256)})),
}
