/* SPDX-License-Identifier: Apache-2.0 */
/* test_models.c - the named models: complete, with sources, found under all spellings, and loadable. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "graph/graph.h"
#include "import/embedded.h"
#include "import/import.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* The models that the project promises, with independently published parameter counts. 0: none published. */
static const struct {
    const char *id;
    int64_t     parameters;
} promised[] = {
    {"resnet18", 11689512},       {"resnet50", 25557032},       {"vgg16", 138365992},      {"unet", 7763041},
    {"uno", 19274001},            {"braggnn", 45394},           {"bert-base", 109514298},  {"bert-large", 335174458},
    {"distilbert", 66985530},     {"gpt2", 124439808},          {"gpt2-small", 124439808}, {"gpt2-medium", 354823168},
    {"gpt2-large", 774030080},    {"gpt2-xl", 1557611200},      {"transformer-block", 0},  {"genslm-25m", 25290752},
    {"genslm-250m", 0},           {"genslm-2.5b", 2533931008},  {"genslm-13b", 0},         {"genslm-25b", 25491496320},
    {"gpt3-xl", 0},               {"gpt3-6.7b", 0},             {"gpt3-13b", 0},           {"gpt3-30b", 0},
    {"gpt3-175b", 0},             {"llama2-7b", 6738415616},    {"llama2-13b", 13015864320},
    {"llama2-70b", 68976648192},  {"llama3-8b", 8030261248}, {"efficientnet-b0", 5288548}, {"efficientnet-b4", 19341616},
    {"efficientnet-b0-g16", 5913796}, {"efficientnet-b4-g16", 19328168},
    {"mobilenet-v3-small", 2542856}, {"mobilenet-v3-large", 5483032}, {"autoencoder", 0},  {"lstm", 0},
    {"llama3-8b", 8030261248}, {"llama3.2-1b", 1235814400}, {"qwen2.5-0.5b", 494032768}, {"qwen3-8b", 8190735360},
    {"qwen3-30b-a3b", 30532122624}, {"gemma2-9b", 9241705984}, {"gemma3-4b", 3880263168}, {"mistral-7b", 7248023552},
    {"mixtral-8x7b", 46702792704}, {"phi-2", 2779683840}, {"phi-3-mini", 3821079552},
    {"deepseek-v2-lite", 15706484224}, {"deepseek-v3", 0}, {"gpt-oss-20b", 20914757184 - 24 * 64},
    {"whisper-small", 241734912 - 1500 * 768}, {"clip-vit-b-32", 151277313}, {"vit-b-16", 86567656},
    {"dinov2-g-14", 1134771200 - 1536}, {"dit-xl-2", 675129632 - 256 * 1152}, {"sd-unet", 859520964},
    {"gemm_k1", 0}, {"gemm_k2", 0}, {"gemm_k3", 0}, {"gemm_k4", 0}, {"conv_k1", 0}, {"conv_k2", 0}, {"conv_k3", 0},
    {"conv_k4", 0}, {"relu_k1", 0}, {"relu_k2", 0}, {"relu_k3", 0}, {"relu_k4", 0}, {"rnn_k1", 0},  {"rnn_k2", 0},
    {"rnn_k3", 0},  {"rnn_k4", 0},
};

static cm_graph *loaded(const char *spec)
{
    cm_graph *g = NULL;
    cm_diag   diag;
    if (cm_graph_load(spec, NULL, &g, &diag) != CM_OK) fail_msg("%s: %s: %s", spec, diag.place, diag.reason);
    return g;
}

static cm_totals totals_of(const cm_graph *g)
{
    cm_totals t;
    cm_graph_totals(g, 2, &t);
    return t;
}

static void every_promised_model_loads(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(promised); i++) {
        cm_graph *g = loaded(promised[i].id);
        cm_totals t = totals_of(g);
        if (promised[i].parameters && t.parameters != promised[i].parameters)
            fail_msg("%s: %lld parameters", promised[i].id, (long long)t.parameters);
        assert_string_equal(cm_graph_source(g), "named");
        assert_non_null(cm_graph_citation(g));
        cm_graph_free(g);
    }
}

static void every_row_has_a_source_and_a_definition(void **state)
{
    (void)state;
    assert_true(cm_models() > 0);
    for (int32_t i = 0; i < cm_models(); i++) {
        const cm_model_info *m = cm_model(i);
        size_t               size = 0;
        assert_true(*m->id && *m->family && *m->title && strlen(m->source) > 10);
        if (!cm__data_file(m->definition, &size) && !cm__is_description(m->definition))
            fail_msg("%s: '%s' defines nothing", m->id, m->definition);
        assert_ptr_equal(cm_model_find(m->id), m);
    }
    assert_null(cm_model(-1));
    assert_null(cm_model(cm_models()));
}

static void names_are_found_however_they_are_written(void **state)
{
    (void)state;
    const cm_model_info *large = cm_model_find("bert-large"), *xl = cm_model_find("gpt2-xl");
    assert_non_null(large);
    assert_ptr_equal(cm_model_find("bert_large"), large);
    assert_ptr_equal(cm_model_find("BERT-Large"), large);
    assert_ptr_equal(cm_model_find("GPT2_XL"), xl);
    assert_ptr_equal(cm_model_find("gpt2_small"), cm_model_find("gpt2"));
    assert_ptr_equal(cm_model_find("gemm-k1"), cm_model_find("gemm_k1"));
    assert_null(cm_model_find("bert-larg"));
    assert_null(cm_model_find("bert-large-"));
    assert_null(cm_model_find(""));
    assert_null(cm_model_find(NULL));
}

/* Parameters that huggingface.co shows for a repository (`safetensors.total`), without those that the models leave out:
   tables of sines that are not trained (Llama 2, Whisper), pooler and next-sentence head (BERT), output embeddings that
   repeat the input's (Qwen3 0.6B and 1.7B), numbers of 8-bit weights and the second head's copies of both embeddings
   (DeepSeek-V3), one number per head (gpt-oss), positions of images of 518 pixels and the mask token (DINOv2).
   Each number was compared with public text: 58 with `params` of the presets of keras-team/keras-hub (71453d08); CLIP's with
   mteb; ViT's with torchvision; Stable Diffusion's with diffusers' documentation of num_parameters(); DiT's, DINOv2's,
   DistilBERT's and the others' with copies of the hub's totals: BERT 110,106,428 and 336,226,108, Llama 2 13B
   13,015,866,880 and 70B 68,976,653,312, Qwen3 751,632,384 and 2,031,739,904, DeepSeek-V3 684,531,386,000 (of which
   41,555,600 in F32). */
static const struct {
    const char *repository;
    int64_t     parameters;
} repositories[] = {
    {"google-bert/bert-base-uncased", 109514298}, {"google-bert/bert-large-uncased", 335174458},
    {"distilbert/distilbert-base-uncased", 66985530}, {"openai-community/gpt2", 124439808},
    {"openai-community/gpt2-medium", 354823168}, {"openai-community/gpt2-large", 774030080},
    {"openai-community/gpt2-xl", 1557611200}, {"meta-llama/Llama-2-7b-hf", 6738415616},
    {"meta-llama/Llama-2-7b-chat-hf", 6738415616}, {"meta-llama/Llama-2-13b-hf", 13015864320},
    {"meta-llama/Llama-2-13b-chat-hf", 13015864320}, {"meta-llama/Llama-2-70b-hf", 68976648192},
    {"meta-llama/Llama-2-70b-chat-hf", 68976648192}, {"meta-llama/Llama-3.1-8B", 8030261248},
    {"meta-llama/Llama-3.1-8B-Instruct", 8030261248}, {"meta-llama/Meta-Llama-3-8B", 8030261248},
    {"meta-llama/Meta-Llama-3-8B-Instruct", 8030261248}, {"meta-llama/Llama-3.1-70B", 70553706496},
    {"meta-llama/Llama-3.1-70B-Instruct", 70553706496}, {"meta-llama/Llama-3.3-70B-Instruct", 70553706496},
    {"meta-llama/Meta-Llama-3-70B", 70553706496}, {"meta-llama/Meta-Llama-3-70B-Instruct", 70553706496},
    {"meta-llama/Llama-3.1-405B", 405853388800}, {"meta-llama/Llama-3.1-405B-Instruct", 405853388800},
    {"meta-llama/Llama-3.2-1B", 1235814400}, {"meta-llama/Llama-3.2-1B-Instruct", 1235814400},
    {"meta-llama/Llama-3.2-3B", 3212749824}, {"meta-llama/Llama-3.2-3B-Instruct", 3212749824},
    {"Qwen/Qwen2.5-0.5B", 494032768}, {"Qwen/Qwen2.5-0.5B-Instruct", 494032768},
    {"Qwen/Qwen2.5-1.5B", 1543714304}, {"Qwen/Qwen2.5-1.5B-Instruct", 1543714304},
    {"Qwen/Qwen2.5-3B", 3085938688}, {"Qwen/Qwen2.5-3B-Instruct", 3085938688},
    {"Qwen/Qwen2.5-7B", 7615616512}, {"Qwen/Qwen2.5-7B-Instruct", 7615616512},
    {"Qwen/Qwen2.5-14B", 14770033664}, {"Qwen/Qwen2.5-14B-Instruct", 14770033664},
    {"Qwen/Qwen2.5-32B", 32763876352}, {"Qwen/Qwen2.5-32B-Instruct", 32763876352},
    {"Qwen/Qwen2.5-72B", 72706203648}, {"Qwen/Qwen2.5-72B-Instruct", 72706203648},
    {"Qwen/Qwen3-0.6B", 596049920}, {"Qwen/Qwen3-0.6B-Base", 596049920}, {"Qwen/Qwen3-1.7B", 1720574976},
    {"Qwen/Qwen3-1.7B-Base", 1720574976}, {"Qwen/Qwen3-4B", 4022468096}, {"Qwen/Qwen3-4B-Base", 4022468096},
    {"Qwen/Qwen3-8B", 8190735360}, {"Qwen/Qwen3-8B-Base", 8190735360}, {"Qwen/Qwen3-14B", 14768307200},
    {"Qwen/Qwen3-14B-Base", 14768307200}, {"Qwen/Qwen3-32B", 32762123264}, {"Qwen/Qwen3-30B-A3B", 30532122624},
    {"Qwen/Qwen3-30B-A3B-Base", 30532122624}, {"Qwen/Qwen3-235B-A22B", 235093634560},
    {"google/gemma-2-2b", 2614341888}, {"google/gemma-2-2b-it", 2614341888}, {"google/gemma-2-9b", 9241705984},
    {"google/gemma-2-9b-it", 9241705984}, {"google/gemma-2-27b", 27227128320}, {"google/gemma-2-27b-it", 27227128320},
    {"google/gemma-3-1b-pt", 999885952}, {"google/gemma-3-1b-it", 999885952},
    {"mistralai/Mistral-7B-v0.3", 7248023552}, {"mistralai/Mistral-7B-Instruct-v0.3", 7248023552},
    {"mistralai/Mistral-Small-24B-Base-2501", 23572403200}, {"mistralai/Mistral-Small-24B-Instruct-2501", 23572403200},
    {"mistralai/Mixtral-8x7B-v0.1", 46702792704}, {"mistralai/Mixtral-8x7B-Instruct-v0.1", 46702792704},
    {"mistralai/Mixtral-8x22B-Instruct-v0.1", 140630071296}, {"microsoft/phi-1_5", 1418270720},
    {"microsoft/phi-2", 2779683840}, {"microsoft/Phi-3-mini-4k-instruct", 3821079552},
    {"microsoft/Phi-3.5-mini-instruct", 3821079552}, {"microsoft/phi-4", 14659507200},
    {"deepseek-ai/DeepSeek-V2-Lite", 15706484224}, {"deepseek-ai/DeepSeek-V2-Lite-Chat", 15706484224},
    {"deepseek-ai/DeepSeek-V2", 235741434880}, {"deepseek-ai/DeepSeek-V2-Chat", 235741434880},
    {"deepseek-ai/DeepSeek-V3", 682636472320}, {"deepseek-ai/DeepSeek-V3-Base", 682636472320},
    {"deepseek-ai/DeepSeek-R1", 682636472320}, {"openai/gpt-oss-20b", 20914757184 - 24 * 64},
    {"openai/gpt-oss-120b", 116829156672 - 36 * 64}, {"openai/whisper-tiny", 37760640 - 1500 * 384},
    {"openai/whisper-base", 72593920 - 1500 * 512}, {"openai/whisper-small", 241734912 - 1500 * 768},
    {"openai/whisper-medium", 763857920 - 1500 * 1024}, {"openai/whisper-large-v3", 1543490560 - 1500 * 1280},
    {"openai/clip-vit-base-patch32", 151277313}, {"openai/clip-vit-large-patch14", 427616513},
    {"google/vit-base-patch16-224", 86567656}, {"google/vit-large-patch16-224", 304326632},
    {"facebook/dinov2-small", 22056576 - 1114 * 384}, {"facebook/dinov2-base", 86580480 - 1114 * 768},
    {"facebook/dinov2-large", 304368640 - 1114 * 1024}, {"facebook/dinov2-giant", 1136480768 - 1114 * 1536},
    {"facebook/DiT-XL-2-256", 675129632 - 256 * 1152}, {"stable-diffusion-v1-5/stable-diffusion-v1-5", 859520964},
};

static bool is_listed(const char *alias)
{
    for (size_t i = 0; i < COUNT(repositories); i++)
        if (strcmp(repositories[i].repository, alias) == 0) return true;
    return false;
}

static void repositories_are_of_their_published_size(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(repositories); i++) {
        if (!cm_model_find(repositories[i].repository)) fail_msg("%s is no alias", repositories[i].repository);
        cm_graph *g = loaded(repositories[i].repository);
        if (totals_of(g).parameters != repositories[i].parameters)
            fail_msg("%s: %lld parameters", repositories[i].repository, (long long)totals_of(g).parameters);
        cm_graph_free(g);
    }
    for (int32_t i = 0; i < cm__n_embedded_aliases; i++)
        if (strchr(cm__embedded_aliases[i].id, '/') && !is_listed(cm__embedded_aliases[i].id))
            fail_msg("%s has no published size here", cm__embedded_aliases[i].id);
    assert_null(cm_model_find("google/gemma-3-4b-pt")); /* with a vision tower, which gemma3-4b has not */
}

static void a_models_description_gives_the_model(void **state)
{
    (void)state;
    for (int32_t i = 0; i < cm_models(); i++) {
        cm_graph *g = loaded(cm_model(i)->id);
        if (cm_graph_description(g)) {
            cm_graph *again = loaded(cm_graph_description(g));
            cm_totals a = totals_of(g), b = totals_of(again);
            assert_true(a.parameters == b.parameters);
            assert_int_equal(a.nodes[CM_FORWARD], b.nodes[CM_FORWARD]);
            for (int c = 0; c < CM_CLASSES; c++) assert_true(a.flop[CM_FORWARD][c] == b.flop[CM_FORWARD][c]);
            cm_graph_free(again);
        }
        cm_graph_free(g);
    }
}

/* 12 h^2 + 13 h per layer, plus (V + S + 2) h: the GPT-2 paper's count. */
static void gpt_sizes_by_formula(void **state)
{
    (void)state;
    static const struct {
        const char *id;
        int64_t     layers, h, vocab, seq;
    } rows[] = {
        {"gpt3-xl", 24, 2048, 50257, 2048},    {"gpt3-6.7b", 32, 4096, 50257, 2048},
        {"gpt3-13b", 40, 5120, 50257, 2048},   {"gpt3-30b", 48, 7168, 50257, 2048},
        {"gpt3-175b", 96, 12288, 50257, 2048}, {"genslm-13b", 44, 4992, 71, 1024},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        cm_graph *g = loaded(rows[i].id);
        int64_t   h = rows[i].h;
        assert_true(totals_of(g).parameters ==
                    rows[i].layers * (12 * h * h + 13 * h) + (rows[i].vocab + rows[i].seq + 2) * h);
        cm_graph_free(g);
    }
}

static void texts_are_built_in(void **state)
{
    (void)state;
    size_t      size = 0;
    const char *text = cm__data_file("resnet50.net", &size);
    assert_non_null(text);
    assert_int_equal(strlen(text), size);
    assert_null(cm__data_file("resnet51.net", &size));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_promised_model_loads),
        cmocka_unit_test(every_row_has_a_source_and_a_definition),
        cmocka_unit_test(names_are_found_however_they_are_written),
        cmocka_unit_test(repositories_are_of_their_published_size),
        cmocka_unit_test(a_models_description_gives_the_model),
        cmocka_unit_test(gpt_sizes_by_formula),
        cmocka_unit_test(texts_are_built_in),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
