/* SPDX-License-Identifier: Apache-2.0 */
/* rank.c - MODEL [DEVICE,DEVICE...]: which accelerator gives most samples per dollar. */
#include <centimani.h>
#include <math.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    cm_rank_options options = {.objective = CM_OBJECTIVE_PRICE, .devices = argc > 2 ? argv[2] : NULL};
    cm_ranking     *ranking;
    cm_diag         diag = {0};
    char            text[1200];
    if (argc < 2) return fprintf(stderr, "usage: %s MODEL [DEVICE,DEVICE...]\n", argv[0]), 2;
    if (cm_rank(argv[1], &options, &ranking, &diag))
        return fprintf(stderr, "%s\n", cm_diag_text(&diag, text, sizeof text)), 1;
    for (int32_t i = 0; i < cm_ranking_entries(ranking); i++) {
        const cm_rank_entry *e = cm_ranking_entry(ranking, i);
        const char          *id = cm_device_get_info(e->device)->id;
        if (i < cm_ranking_placed(ranking))
            printf("%2d%s %-20s %8.0f samples/s %10.0f samples per USD (%.0f to %.0f)\n", i + 1,
                   e->tied_with_next ? "~" : " ", id, e->prediction.throughput_samples_s, e->value, e->interval[0],
                   e->interval[1]);
        else printf(" -  %-20s %s\n", id, e->reason ? e->reason : "no price");
    }
    cm_ranking_free(ranking);
    return 0;
}
