/* SPDX-License-Identifier: Apache-2.0 */
/* collective.c - predict one collective operation on several numbers of devices: its latency, its volume, its error. */
#include <math.h>
#include <string.h>
#include "base/text.h"
#include "report/json/json.h"
#include "report/report.h"
#include "report/sheet.h"
#include "report/table.h"

typedef struct asked {
    char   name[32];
    double bytes;
} asked;

typedef struct point {
    double time_s, interval_s[2];
    double latency_s, transfer_s;     /* parts of the time: whatever the size; in proportion to it */
    double rate_bytes_s, bus_bytes_s; /* bytes over time; bandwidth on each device's link */
} point;

static void free_device(void *device) { cm_device_free(device); }
static void free_fabric(void *fabric) { cm_fabric_free(fabric); }

static size_t length_of_name(const char *text) { return strcspn(text, ":"); }

bool cm__is_collective(const char *text)
{
    for (int32_t i = 0; text && cm_collective_name(i); i++)
        if (strlen(cm_collective_name(i)) == length_of_name(text) &&
            strncmp(text, cm_collective_name(i), length_of_name(text)) == 0)
            return true;
    return false;
}

static asked read_asked(cm__ctx *ctx, const char *text, double bytes)
{
    asked       a = {.bytes = NAN};
    const char *rest = text + length_of_name(text);
    snprintf(a.name, sizeof a.name, "%.*s", (int)length_of_name(text), text);
    if (bytes > 0) return (a.bytes = bytes), a;
    if (strncmp(rest, ":bytes=", 7) || !cm__parse_real((cm__span){rest + 7, strlen(rest + 7)}, &a.bytes) ||
        !(a.bytes >= 1) || !isfinite(a.bytes))
        cm__fail(ctx, CM_ERR_ARGUMENT, "'%.64s': write a collective as %s:bytes=N, N being the size of the buffer",
                 text, a.name);
    return a;
}

#define SIGMAS_OF_90_PERCENT 1.645
#define LESS 1e-3 /* of the bytes, to find the part of the time that is in proportion to them */

static point point_at(cm__ctx *ctx, const cm_fabric *fabric, const asked *a, int64_t n)
{
    if (n < 2) cm__fail(ctx, CM_ERR_ARGUMENT, "a collective needs at least 2 devices, not %lld", (long long)n);
    if (n > cm_fabric_node(fabric) && !cm_fabric_joins_nodes(fabric))
        cm__fail(ctx, CM_ERR_ARGUMENT,
                 "%lld devices are more than the %d of a node, and the network between nodes is unknown: give "
                 "--cluster ID or --cluster node=%d,net=800Gb",
                 (long long)n, cm_fabric_node(fabric), cm_fabric_node(fabric));
    point  p = {.time_s = cm_fabric_time(fabric, a->name, (int32_t)n, a->bytes)};
    double less_s = cm_fabric_time(fabric, a->name, (int32_t)n, a->bytes * (1 - LESS));
    p.transfer_s = fmin(p.time_s, (p.time_s - less_s) / LESS);
    p.latency_s = p.time_s - p.transfer_s;
    for (int side = 0; side < 2; side++)
        p.interval_s[side] = p.time_s * exp((side ? 1 : -1) * SIGMAS_OF_90_PERCENT * cm_fabric_error());
    p.rate_bytes_s = a->bytes / p.time_s;
    p.bus_bytes_s = p.rate_bytes_s * cm_collective_bus_part(a->name, (int32_t)n);
    return p;
}

static void put_point(cm__ctx *ctx, json_t *o, const char *time, const point *p, double link_bytes_s)
{
    cm__json_set(ctx, o, time, cm__json_number(p->time_s));
    json_t *interval = cm__json_set(ctx, o, "interval_s", json_array());
    for (int side = 0; side < 2; side++) cm__json_append(ctx, interval, cm__json_number(p->interval_s[side]));
    cm__json_set(ctx, o, "latency_s", cm__json_number(p->latency_s));
    cm__json_set(ctx, o, "transfer_s", cm__json_number(p->transfer_s));
    cm__json_set(ctx, o, "throughput_bytes_s", cm__json_number(p->rate_bytes_s));
    cm__json_set(ctx, o, "bus_bytes_s", cm__json_number(p->bus_bytes_s));
    cm__json_set(ctx, o, "efficiency", cm__json_number(p->bus_bytes_s / link_bytes_s));
}

static void print_json(cm__ctx *ctx, const cm__scale_request *r, const asked *a, const point *points,
                       double link_bytes_s, FILE *out)
{
    json_t *o = cm__json_answer(ctx, r->bytes > 0 ? "collective" : "scale");
    if (!(r->bytes > 0)) cm__json_set(ctx, o, "model", cm__json_text(ctx, r->graph.model));
    cm__json_set(ctx, o, "device", cm__json_text(ctx, r->device));
    cm__json_set(ctx, o, "cluster", cm__json_text(ctx, r->cluster));
    if (!(r->bytes > 0)) cm__json_set(ctx, o, "mode", json_string("collective"));
    cm__json_set(ctx, o, "collective", json_string(a->name));
    cm__json_set(ctx, o, "bytes", cm__json_number(a->bytes));
    cm__json_set(ctx, o, "link_bytes_s", cm__json_number(link_bytes_s));
    if (r->bytes > 0 && r->n_counts == 1) {
        cm__json_set(ctx, o, "n", json_integer(r->counts[0]));
        put_point(ctx, o, "time_s", &points[0], link_bytes_s);
    }
    json_t *list = cm__json_set(ctx, o, "points", json_array());
    for (int32_t i = 0; i < r->n_counts; i++) {
        json_t *p = cm__json_append(ctx, list, json_object());
        cm__json_set(ctx, p, "n", json_integer(r->counts[i]));
        put_point(ctx, p, r->bytes > 0 ? "time_s" : "step_time_s", &points[i], link_bytes_s);
    }
    cm__json_print(ctx, o, out);
}

static void print_text(cm__ctx *ctx, const cm__scale_request *r, const asked *a, const point *points,
                       double link_bytes_s, FILE *out)
{
    static const cm__column columns[] = {{"devices", "", false},    {"time", "s", false},
                                         {"90 % interval", "s", false}, {"latency", "s", false},
                                         {"bytes/time", "B/s", false}, {"bus", "B/s", false},
                                         {"of the link", "%", false}};
    cm__table table = cm__table_new(ctx, out, columns, sizeof columns / sizeof *columns);
    char      buf[32];
    fprintf(out, "# centimani %s, %s of %sB on %s\n", CM_VERSION, a->name, cm__si(buf, sizeof buf, a->bytes), r->device);
    fprintf(out, "# latency: part of the time that does not depend on the size. bus: traffic on a device's link in one "
            "direction; the link's bandwidth is %sB/s\n\n",
            cm__si(buf, sizeof buf, link_bytes_s));
    for (int32_t i = 0; i < r->n_counts; i++) {
        const char *cells[] = {cm__cell_count(ctx, r->counts[i]),
                               cm__cell_si(ctx, points[i].time_s),
                               cm__cell_interval(ctx, points[i].interval_s),
                               cm__cell_si(ctx, points[i].latency_s),
                               cm__cell_si(ctx, points[i].rate_bytes_s), cm__cell_si(ctx, points[i].bus_bytes_s),
                               cm__cell_percent(ctx, points[i].bus_bytes_s / link_bytes_s, 1)};
        cm__table_row(&table, cells);
    }
    cm__table_print(&table);
}

cm_status cm__collective_report(const cm__scale_request *r, cm__output_format format, FILE *out, cm_diag *diag)
{
    cm__ctx *ctx = cm__ctx_new(diag);
    if (!ctx) return CM_ERR_MEMORY;
    if (setjmp(ctx->trap)) return cm__ctx_abandon(ctx);
    cm_device *device;
    cm_fabric *fabric;
    asked      a = read_asked(ctx, r->graph.model, r->bytes);
    cm__pass_on(ctx, cm_device_load(r->device, &device, diag));
    cm__defer(ctx, free_device, device);
    cm__pass_on(ctx, cm_fabric_new(device, r->cluster, &fabric, diag));
    cm__defer(ctx, free_fabric, fabric);
    point *points = cm__alloc_array(ctx, (size_t)r->n_counts, sizeof *points);
    for (int32_t i = 0; i < r->n_counts; i++) points[i] = point_at(ctx, fabric, &a, r->counts[i]);
    FILE *to = format == CM__FORMAT_JSON ? out : cm__sheet_open(ctx, out);
    (format == CM__FORMAT_JSON ? print_json : print_text)(ctx, r, &a, points, cm_fabric_link_bytes_s(fabric), to);
    if (to != out) cm__sheet_close();
    ctx->diag = NULL;
    cm__ctx_free(ctx);
    return CM_OK;
}
