/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fabric.c - the links inside a node and the network between nodes, and the time of collectives over both.
 *
 * Inside a node, time comes from the profile's measured rows: the fastest line, and for device counts that were not
 * measured the nearest count, with its latency scaled by the steps of a ring. Without rows, it is the best algorithm
 * over the device's links. In a mesh, where every device has a link to each other one, p devices use p - 1 of their
 * links; behind a switch, all. Across nodes an operation is hierarchical: latencies of both levels add up, volumes
 * overlap, and all groups with members in a node share its network.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/text.h"
#include "device/device.h"
#include "model/parallel/comm.h"

/* A measured line of times inside a node: latency and bandwidth. */
typedef struct row {
    cm__operation operation;
    int32_t       devices;
    double        latency_s, bw_bytes_s;
} row;

struct cm_fabric {
    cm__ctx             *ctx;
    row                 *rows;
    int32_t              n_rows, cap_rows, node, most; /* node: devices per node; most: in all, 0: unlimited */
    double               link_bytes_s, link_step_s;
    int32_t              mesh; /* devices of a mesh; 0: links lead to a switch */
    double               network_bytes_s, network_step_s; /* per node; 0: unknown */
    double               call_s;                              /* fixed time of a collective besides its steps */
    double               link_part, network_part, pair_part; /* fractions of the bandwidths that are reached */
    bool                 in_network;
};

double cm__share_of(const char *id)
{
    for (int32_t i = 0; i < cm__n_known_shares; i++)
        if (strcmp(cm__known_shares[i].id, id) == 0) return cm__known_shares[i].value;
    return NAN;
}

static void take_shares(cm_fabric *f)
{
    f->link_step_s = cm__share_of("link-step");
    f->network_step_s = cm__share_of("network-step");
    f->call_s = cm__share_of("call");
    f->link_part = cm__share_of("link-part");
    f->network_part = cm__share_of("network-part");
    f->pair_part = cm__share_of("pair-part");
}

/* ---- construction ----------------------------------------------------------------------------------------------- */

static double known_or(const cm_number *n, double otherwise) { return n->known ? n->value : otherwise; }

static void take_row(cm_fabric *f, const cm_collective *c)
{
    for (int o = 0; o < CM__OPERATIONS; o++) {
        if (strcmp(c->op, cm__operation_names[o]) || known_or(&c->bw_bytes_s, 0) <= 0 || c->devices < 2) continue;
        f->rows = cm__grow(f->ctx, f->rows, f->n_rows, &f->cap_rows, sizeof *f->rows);
        f->rows[f->n_rows++] =
            (row){(cm__operation)o, c->devices, known_or(&c->latency_s, f->call_s), c->bw_bytes_s.value};
    }
}

static void take_device(cm_fabric *f, const cm_device *device)
{
    f->node = 1;
    for (int32_t i = 0; i < cm_device_collectives(device); i++) take_row(f, cm_device_collective(device, i));
    for (int32_t i = 0; i < cm_device_links(device); i++) {
        const cm_link *l = cm_device_link(device, i);
        bool pod = l->reach == CM_REACH_NETWORK && l->devices > 1 && !l->in_network_reduction; /* a torus */
        if ((l->reach == CM_REACH_NETWORK && !pod) || l->reach == CM_REACH_HOST) continue;
        f->link_bytes_s = fmax(f->link_bytes_s, known_or(&l->bw_bytes_s, 0));
        f->link_step_s = known_or(&l->latency_s, f->link_step_s);
        if (l->devices > f->node) f->node = l->devices;
        if (l->mesh && l->devices > 1) f->mesh = l->devices;
    }
    const cm_link *host = cm_device_host_link(device);
    if (f->link_bytes_s <= 0 && host) f->link_bytes_s = known_or(&host->bw_bytes_s, 0); /* through the host */
    for (int32_t i = 0; i < f->n_rows; i++)
        if (f->rows[i].devices > f->node) f->node = f->rows[i].devices;
}

static void free_cluster(void *cluster) { cm_cluster_free(cluster); }

static void take_cluster(cm_fabric *f, const cm_cluster *cluster)
{
    f->node = (int32_t)known_or(&cm_cluster_get_info(cluster)->devices_per_node, f->node);
    for (int32_t i = 0; i < cm_cluster_tiers(cluster); i++) {
        const cm_link *l = cm_cluster_tier(cluster, i);
        bool           network = l->reach == CM_REACH_NETWORK;
        double        *bytes_s = network ? &f->network_bytes_s : &f->link_bytes_s;
        double        *step_s = network ? &f->network_step_s : &f->link_step_s;
        *bytes_s = known_or(&l->bw_bytes_s, *bytes_s);
        *step_s = known_or(&l->latency_s, *step_s);
        f->in_network |= l->in_network_reduction;
    }
    bool measured = f->n_rows > 0;
    for (int32_t i = 0; i < cm_cluster_collectives(cluster) && !measured; i++)
        take_row(f, cm_cluster_collective(cluster, i));
}

/* Parses a rate per second: "800Gb" is in bits, "100GB" in bytes. */
static bool parse_rate(const char *text, size_t length, double *bytes_s)
{
    static const struct {
        const char *unit;
        double      bytes;
    } units[] = {{"Gb", 1e9 / 8}, {"GB", 1e9}, {"Mb", 1e6 / 8}, {"MB", 1e6}, {"Tb", 1e12 / 8}, {"TB", 1e12}};
    char   copy[32], *end;
    if (length >= sizeof copy) return false;
    memcpy(copy, text, length);
    copy[length] = 0;
    double value = strtod(copy, &end);
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strcmp(end, units[i].unit) == 0) {
            *bytes_s = value * units[i].bytes;
            return end > copy && value > 0 && isfinite(*bytes_s);
        }
    return false;
}

static void read_description(cm_fabric *f, const char *text)
{
    for (const char *at = text; *at; at += *at == ',') {
        size_t  length = strcspn(at, ",");
        int64_t count;
        bool    node = length > 5 && strncmp(at, "node=", 5) == 0 &&
                    cm__parse_int((cm__span){at + 5, length - 5}, &count) && count >= 1 && count <= 1000000;
        bool net = length > 4 && strncmp(at, "net=", 4) == 0 && parse_rate(at + 4, length - 4, &f->network_bytes_s);
        bool link = length > 5 && strncmp(at, "link=", 5) == 0 && parse_rate(at + 5, length - 5, &f->link_bytes_s);
        if (node) f->node = (int32_t)count;
        if (link) f->n_rows = f->mesh = 0; /* the profile's rows were measured in a node with other links */
        if (!node && !net && !link)
            cm__fail(f->ctx, CM_ERR_ARGUMENT,
                     "cluster '%s': '%.*s' is neither node=N (devices per node), net=RATE (per node, such as 800Gb or "
                     "100GB per second) nor link=RATE (of a device inside its node)",
                     text, (int)length, at);
        at += length;
    }
}

/* A built-in cluster of these devices, with as many devices per node as their links connect. */
static cm_cluster *cluster_of(const cm_fabric *f, const cm_device *device)
{
    for (int32_t i = 0; i < cm_clusters(); i++) {
        cm_cluster *c;
        if (cm_cluster_load(cm_cluster_id(i), &c, NULL)) continue;
        const cm_cluster_info *info = cm_cluster_get_info(c);
        if (cm__device_is(device, info->device) && known_or(&info->devices_per_node, 0) >= f->node) return c;
        cm_cluster_free(c);
    }
    return NULL;
}

cm_status cm_fabric_new(const cm_device *device, const char *cluster, cm_fabric **fabric, cm_diag *diag)
{
    if (!device || !fabric) return cm__diag_set(diag, CM_ERR_ARGUMENT, "no device or result given");
    cm__ctx *ctx = cm__ctx_new(diag);
    if (!ctx) return CM_ERR_MEMORY;
    if (setjmp(ctx->trap)) return cm__ctx_abandon(ctx);
    cm_fabric  *f = cm__alloc(ctx, sizeof *f);
    cm_cluster *c = NULL;
    f->ctx = ctx;
    take_shares(f);
    take_device(f, device);
    if (cluster && strchr(cluster, '=')) read_description(f, cluster);
    else if (cluster) cm__pass_on(ctx, cm_cluster_load(cluster, &c, diag));
    else c = cluster_of(f, device);
    if (c) {
        double nodes = known_or(&cm_cluster_get_info(c)->nodes, 0);
        cm__defer(ctx, free_cluster, c);
        take_cluster(f, c);
        /* a cluster of one node describes a kind of node, not a limit */
        if (cluster && nodes > 1) f->most = (int32_t)nodes * f->node;
    }
    ctx->diag = NULL;
    *fabric = f;
    return CM_OK;
}

void cm_fabric_free(cm_fabric *fabric)
{
    if (fabric) cm__ctx_free(fabric->ctx);
}

int32_t cm_fabric_node(const cm_fabric *fabric) { return fabric->node; }
int32_t cm_fabric_devices(const cm_fabric *fabric) { return fabric->most; }
bool    cm_fabric_joins_nodes(const cm_fabric *fabric) { return fabric->network_bytes_s > 0; }

/* ---- inside a node ---------------------------------------------------------------------------------------------- */

/* Links of a mesh that p devices use, over those that `of` devices use; 1 behind a switch. */
static double links_used(const cm_fabric *f, int32_t p, int32_t of)
{
    return f->mesh ? (double)((p < f->mesh ? p : f->mesh) - 1) / ((of < f->mesh ? of : f->mesh) - 1) : 1;
}

/* The measured device count that is nearest to p; 0: the operation was not measured. */
static int32_t nearest_count(const cm_fabric *f, cm__operation operation, int32_t p)
{
    int32_t best = 0;
    for (int32_t i = 0; i < f->n_rows; i++)
        if (f->rows[i].operation == operation && (!best || abs(f->rows[i].devices - p) < abs(best - p)))
            best = f->rows[i].devices;
    return best;
}

static double by_rows(const cm_fabric *f, cm__operation operation, int32_t count, int32_t p, double bytes)
{
    double best = INFINITY, steps = (double)(p - 1) / (count - 1);
    for (int32_t i = 0; i < f->n_rows; i++) {
        const row *r = &f->rows[i];
        if (r->operation != operation || r->devices != count) continue;
        double latency = r->latency_s;
        if (steps != 1) latency = fmax(0, latency - f->call_s) * steps + fmin(latency, f->call_s);
        double bytes_s = r->bw_bytes_s * links_used(f, p, count);
        best = fmin(best, latency + cm__bus_part(operation, p) * bytes / bytes_s);
    }
    return best;
}

static double by_links(const cm_fabric *f, cm__operation operation, int32_t p, double bytes)
{
    double best = INFINITY;
    for (int a = 0; a < CM__ALGORITHMS; a++) {
        if (a == CM__IN_NETWORK && !f->in_network) continue;
        double t = cm__algorithm_time((cm__algorithm)a, operation, p, bytes, f->link_step_s,
                                      f->link_bytes_s * f->link_part * links_used(f, p, f->mesh));
        if (t < best) best = t;
    }
    return f->call_s + best;
}

static double inside(const cm_fabric *f, cm__operation operation, int32_t p, double bytes)
{
    /* Operations whose measured rows replace missing ones. A reduce-scatter or an all-gather is half of an
       all-reduce. */
    static const cm__operation instead[CM__OPERATIONS] = {
        [CM__REDUCE_SCATTER] = CM__ALL_GATHER, [CM__ALL_GATHER] = CM__REDUCE_SCATTER,
        [CM__POINT_TO_POINT] = CM__ALL_GATHER, [CM__BROADCAST] = CM__ALL_GATHER,
        [CM__ALL_TO_ALL] = CM__ALL_TO_ALL,     [CM__ALL_REDUCE] = CM__ALL_REDUCE};
    if (f->mesh && operation == CM__POINT_TO_POINT) p = 2; /* over the one link between both */
    int32_t count = nearest_count(f, operation, p);
    if (count > 1) return by_rows(f, operation, count, p, bytes);
    count = nearest_count(f, instead[operation], p);
    if (operation == CM__POINT_TO_POINT && count > 1) /* a gather of two devices sends half of the buffer each way */
        return by_rows(f, CM__ALL_GATHER, nearest_count(f, CM__ALL_GATHER, 2), 2, 2 * bytes);
    if (count > 1) return by_rows(f, instead[operation], count, p, bytes);
    count = nearest_count(f, CM__ALL_REDUCE, p);
    if (count > 1 && operation != CM__ALL_TO_ALL) return by_rows(f, CM__ALL_REDUCE, count, p, bytes) / 2;
    return by_links(f, operation, p, bytes);
}

/* ---- across nodes ----------------------------------------------------------------------------------------------- */

/* One step per node, but the volume of all members: library rings and trees pass through every member, so the data
   that enters a node leaves it again. */
static double over_nodes(const cm_fabric *f, cm__algorithm a, cm__operation operation, int32_t nodes, int32_t members,
                         double bytes, double bytes_s)
{
    return cm__algorithm_time(a, operation, nodes, 0, f->network_step_s, bytes_s) +
           cm__algorithm_time(a, operation, members, bytes, 0, bytes_s);
}

static double between_nodes(const cm_fabric *f, cm__operation operation, int32_t nodes, int32_t members, double bytes,
                            double bytes_s)
{
    double best = INFINITY;
    for (int a = 0; a < CM__ALGORITHMS; a++) {
        if (a == CM__DIRECT || (a == CM__IN_NETWORK && !f->in_network)) continue;
        double t = over_nodes(f, (cm__algorithm)a, operation, nodes, members, bytes, bytes_s);
        if (t < best) best = t;
    }
    return isfinite(best) ? best : over_nodes(f, CM__DIRECT, operation, nodes, nodes, bytes, bytes_s);
}

static double across(const cm_fabric *f, cm__operation operation, cm__group g, double bytes)
{
    int32_t here = g.per_node < 1 ? 1 : g.per_node, nodes = (g.size + here - 1) / here;
    double  groups = fmax(1, (double)f->node / here); /* groups with members in one node */
    double  network = f->network_bytes_s > 0 ? f->network_bytes_s : f->link_bytes_s;
    if (operation == CM__POINT_TO_POINT)
        return f->call_s + f->network_step_s + bytes / (network * f->pair_part / f->node);
    double outside = between_nodes(f, operation, nodes, g.size, bytes, network * f->network_part / groups);
    if (operation == CM__ALL_TO_ALL) outside *= here; /* every member sends separate data */
    if (here < 2) return f->call_s + outside;
    double latency = inside(f, operation, here, 0), volume = inside(f, operation, here, bytes) - latency;
    return latency + fmax(outside, volume);
}

double cm__comm_time(const cm_fabric *f, cm__operation operation, cm__group group, double bytes)
{
    if (group.size < 2 || bytes <= 0) return 0;
    return group.per_node >= group.size ? inside(f, operation, group.size, bytes)
                                        : across(f, operation, group, bytes);
}

static int operation_of(const char *name)
{
    int o = 0;
    while (o < CM__OPERATIONS && strcmp(name, cm__operation_names[o])) o++;
    return o;
}

const char *cm_collective_name(int32_t index)
{
    return index >= 0 && index < CM__OPERATIONS ? cm__operation_names[index] : NULL;
}

double cm_collective_bus_part(const char *collective, int32_t devices)
{
    int o = operation_of(collective);
    return o < CM__OPERATIONS ? cm__bus_part((cm__operation)o, devices) : NAN;
}

double cm_fabric_link_bytes_s(const cm_fabric *f) { return f->link_bytes_s > 0 ? f->link_bytes_s : NAN; }

double cm_fabric_time(const cm_fabric *f, const char *collective, int32_t devices, double bytes)
{
    cm__group group = {devices, devices < f->node ? devices : f->node};
    int       o = operation_of(collective);
    return o < CM__OPERATIONS ? cm__comm_time(f, (cm__operation)o, group, bytes) : NAN;
}

/* Of latencies and bandwidths: another machine and library version than measured. */
double cm_fabric_error(void) { return 0.15; }

/* ---- limits of a plan -------------------------------------------------------------------------------------------- */

void cm__plan_needs(cm__ctx *ctx, const cm_fabric *fabric, int32_t devices)
{
    int32_t node = cm_fabric_node(fabric);
    if (devices > node && !cm_fabric_joins_nodes(fabric))
        cm__fail(ctx, CM_ERR_ARGUMENT,
                 "%d devices exceed the %d of a node, and the network between nodes is unknown: give --cluster ID or "
                 "--cluster node=%d,net=800Gb",
                 devices, node, node);
}

void cm__plan_within(cm__ctx *ctx, const cm_fabric *fabric, int32_t devices)
{
    int32_t node = cm_fabric_node(fabric), most = cm_fabric_devices(fabric);
    if (most && devices > most)
        cm__fail(ctx, CM_ERR_ARGUMENT, "%d devices exceed the %d of the cluster, which has %d nodes of %d", devices,
                 most, most / node, node);
}
