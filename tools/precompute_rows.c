/* SPDX-License-Identifier: Apache-2.0 */
/*
 * precompute_rows.c - prepare the rows of the built-in kernel tables for the search of neighbours.
 *
 * The binary file has the values and the features of work of all tables, then for each table the numbers of its rows and
 * its boxes, all in 16 bits, in the byte order of this machine. The assembly file includes both parts into the
 * program, and the C file says where the rows of each table are. src/model/time/arranged.c computes the other features.
 */
#include "precompute.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "model/time/arranged.h"
#include "model/time/features.h"
#include "model/time/rows.h"

typedef struct output {
    FILE     *text, *values;
    uint16_t *numbers;
    size_t    n_values, n_numbers;
} output;

static void put_values(output *o, const float *from, size_t count, int steps)
{
    for (size_t i = 0; i < count; i++) {
        int16_t stored = (int16_t)lrintf(from[i] * (float)steps);
        if (fabsf(from[i]) * (float)steps > INT16_MAX || fwrite(&stored, sizeof stored, 1, o->values) != 1) stop("cannot write a row's numbers");
    }
    o->n_values += count;
}

static void put_work(output *o, const cm__rows *r, int op)
{
    float features[CM__FEATURES];
    for (int32_t i = 0; i < r->count; i++) {
        cm__row_features(r, i, cm__n_features(op), features, 1);
        put_values(o, features + cm__work_features_at(op), CM__WORK_FEATURES, CM__WORK_STEPS);
    }
}

static void put_numbers(output *o, const uint16_t *from, size_t count)
{
    o->numbers = realloc(o->numbers, (o->n_numbers + count) * sizeof *o->numbers);
    if (!o->numbers) stop("no memory");
    memcpy(o->numbers + o->n_numbers, from, count * sizeof *from);
    o->n_numbers += count;
}

static void put_rows(output *o, int32_t device, const cm__rows *r, int op)
{
    size_t rows = (size_t)r->count;
    fprintf(o->text, "    {%d, %zu, %zu},\n", device, o->n_values, o->n_numbers);
    put_values(o, r->values, rows, CM__VALUE_STEPS);
    put_work(o, r, op);
    put_numbers(o, r->number, rows);
    put_numbers(o, r->boxes, cm__boxes_bounds(rows, cm__n_features(op)));
}

/* Exact: %a writes all bits. The limits are doubles only. */
static void put_limits(output *o)
{
    fprintf(o->text, "const cm__limits cm__arranged_limits[] = {\n");
    for (int32_t d = 0; d < cm__n_embedded_kernels; d++) {
        cm_device *device = load_device(cm__all_embedded_kernels[d].device);
        cm__limits l = cm__limits_of(device);
        fprintf(o->text, "    {{");
        for (int e = 0; e < CM_ENGINES; e++) {
            fprintf(o->text, "{");
            for (int r = 0; r < CM_RATES; r++) fprintf(o->text, "%a, ", l.peak[e][r]);
            fprintf(o->text, "}, ");
        }
        fprintf(o->text, "}, %a, %a, %a, %a, %a, %a, %a, %a},\n", l.memory_bytes_s, l.cache_bytes_s, l.cache_bytes, l.cores,
                l.clock_hz, l.floor_s, l.exponentials_s, l.tile);
        cm_device_free(device);
    }
    fprintf(o->text, "};\n\n");
}

static void put_device(output *o, cm__ctx *ctx, int32_t d)
{
    const cm__embedded_kernels *kernels = &cm__all_embedded_kernels[d];
    cm_device                  *device = load_device(kernels->device);
    cm__limits                  limits = cm__limits_of(device);
    for (int32_t i = 0; i < kernels->count; i++) {
        const cm__kernel_table *table = &kernels->tables[i];
        put_rows(o, d, cm__rows_of(ctx, NULL, (cm__tables){&table, 1}, &limits), table->op);
    }
    cm_device_free(device);
}

static void put_part(FILE *file, const char *name, const char *binary, size_t from, size_t size)
{
    fprintf(file, ".globl %s\n.hidden %s\n.type %s, @object\n.p2align 6\n%s:\n", name, name, name, name);
    fprintf(file, ".incbin \"%s\", %zu, %zu\n.size %s, %zu\n", binary, from, size, name, size);
}

static void put_assembly(const char *path, const char *binary, const output *o)
{
    FILE  *file = open_file(path);
    size_t values = o->n_values * sizeof(int16_t), numbers = o->n_numbers * sizeof(uint16_t);
    fprintf(file, "#ifdef __wasm__\n.section .rodata.arranged,\"\",@\n#else\n"
                  ".section .note.GNU-stack,\"\",%%progbits\n.section .rodata\n#endif\n");
    put_part(file, "cm__arranged_values", binary, 0, values);
    put_part(file, "cm__arranged_numbers", binary, values, numbers);
    if (fclose(file)) stop(path);
}

void precompute_rows(const char *text, const char *assembly, const char *binary)
{
    cm_diag  diag = {0};
    cm__ctx *ctx = cm__ctx_new(&diag);
    output   o = {.text = open_file(text), .values = open_file(binary)};
    if (!ctx || setjmp(ctx->trap)) stop(diag.reason);
    fprintf(o.text, "/* Made by tools/precompute_rows.c; do not edit. */\n#include \"model/time/arranged.h\"\n\n");
    put_limits(&o);
    fprintf(o.text, "const cm__arranged cm__all_arranged[] = {\n");
    for (int32_t d = 0; d < cm__n_embedded_kernels; d++) put_device(&o, ctx, d);
    fprintf(o.text, "    {0, %zu, %zu},\n};\n", o.n_values, o.n_numbers);
    fprintf(o.text, "const int32_t cm__n_arranged = sizeof cm__all_arranged / sizeof *cm__all_arranged - 1;\n");
    if (fwrite(o.numbers, sizeof *o.numbers, o.n_numbers, o.values) != o.n_numbers) stop("cannot write");
    if (fclose(o.text) || fclose(o.values)) stop("cannot write");
    put_assembly(assembly, binary, &o);
    free(o.numbers);
    cm__ctx_free(ctx);
}
