/* SPDX-License-Identifier: Apache-2.0 */
/*
 * job_script.c - write a batch script from an entry of a job: nodes, wall time, ranks and the launcher's line.
 *
 * Launchers: torchrun (one agent per node), deepspeed, and Megatron-LM (torchrun with its plan options). The script
 * names what the user has to fill in (train.py, the account) in variables at its beginning. Several networks run one
 * after the other in one batch job, each with its own plan and as often as its weight says.
 */
#include <ctype.h>
#include <math.h>
#include <string.h>
#include "report/render.h"

#define MARGIN 1.1 /* of the requested wall time over the upper end of the 90 % interval */

static const char *const launchers[] = {"torchrun", "deepspeed", "megatron"};

bool cm__is_launcher(const char *name)
{
    for (size_t i = 0; i < sizeof launchers / sizeof *launchers; i++)
        if (strcmp(name, launchers[i]) == 0) return true;
    return false;
}

/* "36:05:00": hours, minutes and seconds, rounded up to five minutes. */
static const char *wall_text(cm__ctx *ctx, const cm_job_entry *e)
{
    double wall_s = MARGIN * e->interval_s[1];
    if (e->queue && !isnan(e->queue_wall_s)) wall_s = fmin(wall_s, e->queue_wall_s);
    long minutes = 5 * (long)ceil(wall_s / 300);
    return cm__format(ctx, "%02ld:%02ld:00", minutes / 60, minutes % 60);
}

static void print_pbs(cm__ctx *ctx, const cm_job_entry *e, FILE *out)
{
    fprintf(out, "#PBS -N train\n#PBS -l select=%d\n#PBS -l place=scatter\n#PBS -l walltime=%s\n", e->nodes,
            wall_text(ctx, e));
    if (e->queue_request) fprintf(out, "#PBS -l %s\n", e->queue_request);
    if (e->queue) fprintf(out, "#PBS -q %s\n", e->queue);
    fputs("#PBS -A PROJECT\n\ncd \"$PBS_O_WORKDIR\" || exit 1\nhead=$(head -n 1 \"$PBS_NODEFILE\")\n", out);
}

static void print_slurm(cm__ctx *ctx, const cm_job_entry *e, int32_t per_node, FILE *out)
{
    fprintf(out, "#SBATCH --job-name=train\n#SBATCH --nodes=%d\n#SBATCH --ntasks-per-node=1\n"
                 "#SBATCH --gpus-per-node=%d\n#SBATCH --time=%s\n",
            e->nodes, per_node, wall_text(ctx, e));
    if (e->queue) fprintf(out, "#SBATCH --partition=%s\n", e->queue);
    fputs("#SBATCH --account=PROJECT\n\nhead=$(scontrol show hostnames \"$SLURM_JOB_NODELIST\" | head -n 1)\n", out);
}

/* Options of Megatron-LM for the plan. */
static void print_megatron(const cm_plan *p, FILE *out)
{
    fprintf(out, " \\\n    --tensor-model-parallel-size %d --pipeline-model-parallel-size %d", p->tp, p->pp);
    if (p->cp > 1) fprintf(out, " --context-parallel-size %d", p->cp);
    if (p->ep > 1) fprintf(out, " --expert-model-parallel-size %d", p->ep);
    if (p->sequence_parallel) fputs(" --sequence-parallel", out);
    fprintf(out, " \\\n    --micro-batch-size %lld --global-batch-size %lld", (long long)p->micro_batch,
            (long long)p->global_batch);
    if (p->pp > 1 && p->interleave > 1) fprintf(out, " --num-virtual-stages-per-pipeline-rank %d", p->interleave);
    if (p->zero) fputs(" --use-distributed-optimizer", out);
    if (p->zero > 1)
        fprintf(out, " \\\n    --use-megatron-fsdp --data-parallel-sharding-strategy %s --ckpt-format fsdp_dtensor "
                     "--no-gradient-accumulation-fusion",
                p->zero > 2 ? "optim_grads_params" : "optim_grads");
    if (p->recompute == CM_RECOMPUTE_FULL && !p->recompute_layers)
        fputs(" \\\n    --recompute-granularity full --recompute-method uniform --recompute-num-layers 1", out);
    int32_t chunks = p->pp * (p->interleave > 1 ? p->interleave : 1); /* "block" counts the layers of one model chunk */
    if (p->recompute_layers)
        fprintf(out, " \\\n    --recompute-granularity full --recompute-method block --recompute-num-layers %d",
                (p->recompute_layers + chunks - 1) / chunks);
    if (p->recompute == CM_RECOMPUTE_SELECTIVE) fputs(" \\\n    --recompute-granularity selective", out);
}

/* The type that DeepSpeed casts a model to; NULL: none, the model stays in fp32. */
static const char *const deepspeed_types[CM_PRECISIONS] = {
    [CM_PRECISION_AMP_BF16] = "bf16", [CM_PRECISION_BF16] = "bf16", [CM_PRECISION_FP8] = "bf16",
    [CM_PRECISION_AMP_FP16] = "fp16", [CM_PRECISION_FP16] = "fp16"};

/* The plan in a file that DeepSpeed reads. Its AutoTP divides layers among devices with ZeRO 0 to 2
   (deepspeed.ai/tutorials/autotp-training); stages and sequences are divided by the user's script. */
static void print_deepspeed(const cm_plan *p, const char *type, FILE *out)
{
    bool autotp = p->tp > 1 && p->zero < 3;
    if (p->pp > 1 || p->cp > 1 || p->ep > 1 || (p->tp > 1 && !autotp))
        fputs("# deepspeed.json cannot express this plan: the script has to divide the model itself, or Megatron-LM runs "
              "it (--launcher megatron)\n", out);
    fprintf(out,
            "cat >deepspeed.json <<'END'\n{\"train_batch_size\": %lld, \"train_micro_batch_size_per_gpu\": %lld,\n"
            " \"gradient_accumulation_steps\": %d, \"zero_optimization\": {\"stage\": %d}",
            (long long)p->global_batch, (long long)p->micro_batch, p->accumulate, p->zero);
    if (type) fprintf(out, ", \"%s\": {\"enabled\": true}", type);
    if (autotp) fprintf(out, ",\n \"tensor_parallel\": {\"autotp_size\": %d}", p->tp);
    fputs("}\nEND\n", out);
}

/* How many GPUs software sees in one device: the dies of some packages. */
static int32_t gpus_of(const cm_job_entry *e)
{
    cm_number gpus = cm_device_number(e->at.device, CM_GPUS);
    return gpus.known && gpus.value > 1 ? (int32_t)gpus.value : 1;
}

/* The plan in GPUs as software sees them: as many replicas more, with smaller micro-batches or fewer of them. */
static cm_plan software_plan(const cm_job_entry *e)
{
    cm_plan p = e->at.prediction.plan;
    int32_t gpus = gpus_of(e);
    if (p.micro_batch % gpus == 0) p.micro_batch /= gpus;
    else if (p.accumulate % gpus == 0) p.accumulate /= gpus;
    else p.global_batch *= gpus;
    p.dp *= gpus;
    return p;
}

static void print_launch(const cm_job_entry *e, int32_t per_node, const char *launcher, bool pbs, FILE *out)
{
    const cm_plan plan = software_plan(e), *p = &plan;
    bool           deepspeed = strcmp(launcher, "deepspeed") == 0, megatron = strcmp(launcher, "megatron") == 0;
    if (deepspeed) print_deepspeed(p, deepspeed_types[e->at.precision], out);
    fputs(pbs ? "mpiexec -n \"$nodes\" --ppn 1 " : "srun ", out);
    fprintf(out, "torchrun --nnodes \"$nodes\" --nproc-per-node %d \\\n    --rdzv-backend c10d --rdzv-endpoint "
                 "\"$head:29500\" "
                 "--rdzv-id \"$job\" \\\n    \"$script\"",
            per_node);
    if (deepspeed) fputs(" --deepspeed --deepspeed_config deepspeed.json", out);
    if (megatron) print_megatron(p, out);
    fputs(" \"$@\"\n", out);
}

static void print_title(cm__ctx *ctx, const cm__job_report *r, const cm_job_entry *e, FILE *out)
{
    fprintf(out, "# %s on %d x %s, written by centimani %s\n", cm__printable(ctx, cm_job_get_info(r->job)->model), e->n,
            cm_device_get_info(e->at.device)->name, CM_VERSION);
}

static void print_plan(cm__ctx *ctx, const cm_job_entry *e, FILE *out)
{
    const cm_plan *p = &e->at.prediction.plan, its = software_plan(e);
    fprintf(out, "# plan: tp %d, cp %d, pp %d, ep %d, dp %d, ZeRO %d, micro-batch %lld, %d micro-batches, "
                 "recomputation %s\n",
            p->tp, p->cp, p->pp, p->ep, p->dp, p->zero, (long long)p->micro_batch, p->accumulate,
            cm__recompute_text(ctx, p));
    if (gpus_of(e) > 1)
        fprintf(out, "# software sees %d GPUs in each of them: dp %d, micro-batch %lld, %d micro-batches\n", gpus_of(e),
                its.dp,
                (long long)its.micro_batch, its.accumulate);
    fprintf(out, "# predicted: %.4g s per update, %.3g h in all (90 %% interval %.3g to %.3g h)\n",
            e->at.prediction.step_time_s, e->at.hours, e->interval_s[0] / 3600, e->interval_s[1] / 3600);
}

static const char *program_of(const cm__script_options *o)
{
    return strcmp(o->launcher, "megatron") == 0 ? "pretrain_gpt.py" : "train.py";
}

static void print_one(cm__ctx *ctx, const cm_job_entry *e, int32_t per_node, const cm__script_options *o, bool pbs, FILE *out)
{
    print_plan(ctx, e, out);
    if (e->jobs > 1)
        fprintf(out, "# the wall time of the queue makes %d jobs in a row necessary: write and read checkpoints\n",
                e->jobs);
    fprintf(out, "script=%s\nnodes=%d\njob=\"${%s:-0}\"\n", program_of(o), e->nodes, pbs ? "PBS_JOBID" : "SLURM_JOB_ID");
    print_launch(e, per_node, o->launcher, pbs, out);
}

/* "bert-large": the name of a model or of its file, as a part of a file's name. */
static const char *file_name(cm__ctx *ctx, const char *model)
{
    const char *slash = strrchr(model, '/');
    char       *name = cm__text_copy_n(ctx, slash ? slash + 1 : model, strcspn(slash ? slash + 1 : model, ":"));
    for (char *c = name; *c; c++)
        if (!isalnum((unsigned char)*c) && *c != '-' && *c != '_') *c = '-';
    return name;
}

static void print_several(cm__ctx *ctx, const cm__job_report *r, const cm_job_entry *e, int32_t per_node,
                          const cm__script_options *o, bool pbs, FILE *out)
{
    int32_t index = 0;
    while (cm_job_get_entry(r->job, index) != e) index++;
    fprintf(out, "# predicted: %.3g h for all of them (90 %% interval %.3g to %.3g h)\n", e->at.hours,
            e->interval_s[0] / 3600, e->interval_s[1] / 3600);
    if (e->queue && MARGIN * e->interval_s[1] > e->queue_wall_s)
        fputs("# longer than the queue allows: submit the networks one by one, or write and read checkpoints\n", out);
    fprintf(out, "nodes=%d\njob=\"${%s:-0}\"\n", e->nodes, pbs ? "PBS_JOBID" : "SLURM_JOB_ID");
    for (int32_t i = 0; i < cm_job_networks(r->job); i++) {
        const cm_network   *n = cm_job_network(r->job, i);
        const cm_job_entry *part = cm_job_part(r->job, index, i);
        fprintf(out, "\n# %s\n", cm__printable(ctx, cm__network_name(ctx, n)));
        print_plan(ctx, part, out);
        fprintf(out, "script=%s/%s\n", file_name(ctx, n->model), program_of(o));
        if (n->weight > 1) fprintf(out, "for run in $(seq %.0f); do\n", ceil(n->weight));
        print_launch(part, per_node, o->launcher, pbs, out);
        if (n->weight > 1) fputs("done\n", out);
    }
}

void cm__job_script(cm__ctx *ctx, const cm__job_report *r, const cm_job_entry *e, const cm__script_options *o,
                    FILE *out)
{
    bool    pbs = strcmp(o->scheduler ? o->scheduler : e->scheduler ? e->scheduler : "slurm", "pbs") == 0;
    int32_t per_node = (e->n + e->nodes - 1) / e->nodes * gpus_of(e);
    fputs("#!/bin/bash\n", out);
    if (pbs) print_pbs(ctx, e, out);
    else print_slurm(ctx, e, per_node, out);
    print_title(ctx, r, e, out);
    if (cm_job_networks(r->job)) print_several(ctx, r, e, per_node, o, pbs, out);
    else print_one(ctx, e, per_node, o, pbs, out);
}
