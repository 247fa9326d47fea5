/* SPDX-License-Identifier: Apache-2.0 */
/* prices.c - print the offers of cloud providers as JSON. */
#include "report/json/json.h"
#include "report/report.h"

typedef struct listing {
    cm__ctx *ctx;
    json_t  *offers;
} listing;

static void put_offer(void *user, const cm_offer *offer)
{
    listing *l = user;
    cm__ctx *ctx = l->ctx;
    json_t  *o = cm__json_append(ctx, l->offers, json_object());
    cm__json_set(ctx, o, "provider", cm__json_text(ctx, offer->provider));
    cm__json_set(ctx, o, "instance", cm__json_text(ctx, offer->instance));
    cm__json_set(ctx, o, "device", cm__json_text(ctx, offer->device));
    cm__json_set(ctx, o, "devices", json_integer(offer->devices));
    cm__json_set(ctx, o, "cluster", cm__json_text(ctx, offer->cluster));
    cm__json_set(ctx, o, "basis", cm__json_text(ctx, offer->basis));
    cm__json_set(ctx, o, "usd_hour", cm__json_number(offer->usd_hour));
    cm__json_set(ctx, o, "region", offer->region ? cm__json_text(ctx, offer->region) : json_null());
    cm__json_set(ctx, o, "date", cm__json_text(ctx, offer->date));
    cm__json_set(ctx, o, "source", cm__json_text(ctx, offer->source));
}

cm_status cm__prices_json(const char *path, FILE *out, cm_diag *diag)
{
    cm__ctx *ctx = cm__ctx_new(diag);
    if (!ctx) return CM_ERR_MEMORY;
    if (setjmp(ctx->trap)) return cm__ctx_abandon(ctx);
    json_t *answer = cm__json_answer(ctx, "prices");
    cm__json_set(ctx, answer, "file", path ? cm__json_text(ctx, path) : json_null());
    listing l = {ctx, cm__json_set(ctx, answer, "offers", json_array())};
    cm__pass_on(ctx, cm_offers_list(path, put_offer, &l, diag));
    cm__json_print(ctx, answer, out);
    cm__ctx_free(ctx);
    return CM_OK;
}
