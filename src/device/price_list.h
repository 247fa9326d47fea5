/* SPDX-License-Identifier: Apache-2.0 */
/*
 * price_list.h - the table of offers, data/offers.tsv or a user's file: the only place of prices.
 *
 * A built-in device gets its offers when the program is built (compiled.h). Profiles of users may state prices of their
 * own; all other profiles have those of the built-in device that they are based on.
 */
#ifndef CM_DEVICE_PRICE_LIST_H
#define CM_DEVICE_PRICE_LIST_H

#include "device/device.h"

extern const char cm__table_offers[];

struct cm_offers {
    cm__ctx  *ctx;
    cm_offer *list;
    int32_t   count, cap;
};

/* The offers of a text with the columns of data/offers.tsv; `name` is for messages. */
cm_offers cm__offers_read(cm__ctx *ctx, const char *text, const char *name);
cm_offers cm__offers_load(cm__ctx *ctx, const char *path); /* NULL: the built-in ones */
/* The prices of the profile, or else of the built-in table. */
void      cm__device_read_prices(cm_device *device);

#endif
