/* SPDX-License-Identifier: Apache-2.0 */
/*
 * server.c - HTTP server with libmicrohttpd. It refuses requests for other host names and from other sites' pages.
 *
 * Each connection has its own thread, so that a slow client or a long computation does not delay others. routes.c
 * limits the number of concurrent computations.
 */
#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <microhttpd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "report/html/html.h"
#include "serve/serve.h"

#define CONNECTIONS_MOST 256
#define TIMEOUT_S 60
#define IDLE_S 10 /* time-out while a request or a file is received; detects clients that disappeared */
#define REQUEST_BYTES (32 * 1024) /* request line and headers */
#define PAGE_BLOCK (256 * 1024) /* of the page that is sent at a time */
#define KEYS_MOST 100          /* keys of a query */
#define UPLOAD_BYTES ((int64_t)600 * 1000 * 1000)

typedef struct server {
    const cm__serve_options *options;
    cm__uploads             *uploads;
    cm__routes              *routes;
    uint16_t                 port;
    char                     name[INET6_ADDRSTRLEN + 2]; /* the address it listens on, in the form for a URL */
} server;

/* A request being received. */
typedef struct request {
    cm__upload *upload; /* NULL: no upload, or it failed */
    cm__reply   failed; /* status 0: not failed */
} request;

#define FOREIGN "this server only answers its own page at localhost; 'serve --allow-host NAME' allows another host name"
#define NO_ROOM "too many files are being uploaded; try again in a few seconds"

/* ---- replies ---------------------------------------------------------------------------------------------------- */

#define POLICY "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; form-action 'self'; " \
               "frame-ancestors 'none'; %s"

static const struct {
    const char *name, *value;
} headers[] = {
    {"X-Content-Type-Options", "nosniff"},
    {"Referrer-Policy", "no-referrer"},
    {"Cross-Origin-Resource-Policy", "same-origin"},
    {"Cross-Origin-Opener-Policy", "same-origin"},
    {"Cache-Control", "no-store"},
};

static enum MHD_Result send_with_headers(struct MHD_Connection *c, unsigned status, const char *type,
                                         struct MHD_Response *r)
{
    MHD_add_response_header(r, "Content-Type", type ? type : "text/plain");
    char policy[1024];
    snprintf(policy, sizeof policy, POLICY, cm__web_sources);
    MHD_add_response_header(r, "Content-Security-Policy", policy);
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++)
        MHD_add_response_header(r, headers[i].name, headers[i].value);
    if (status == 405) MHD_add_response_header(r, "Allow", "GET, HEAD, POST");
    enum MHD_Result done = MHD_queue_response(c, status, r);
    MHD_destroy_response(r);
    return done;
}

static enum MHD_Result send_reply(struct MHD_Connection *c, cm__reply *reply)
{
    static char          nothing[] = "";
    enum MHD_ResponseMemoryMode mode = reply->kept || !reply->text ? MHD_RESPMEM_PERSISTENT : MHD_RESPMEM_MUST_FREE;
    struct MHD_Response *r =
        MHD_create_response_from_buffer(reply->text ? reply->size : 0, reply->text ? reply->text : nothing, mode);
    if (r) return send_with_headers(c, reply->text ? reply->status : 503, reply->type, r);
    if (mode == MHD_RESPMEM_MUST_FREE) free(reply->text);
    return MHD_NO;
}

static enum MHD_Result refuse(struct MHD_Connection *c, unsigned status, const char *why)
{
    cm__reply reply;
    cm__reply_error(&reply, status, "%s", why);
    return send_reply(c, &reply);
}

/* ---- the page --------------------------------------------------------------------------------------------------- */

static ssize_t read_page(void *page, uint64_t position, char *buf, size_t size)
{
    (void)position;
    size_t read = cm__page_read(page, buf, size);
    return read ? (ssize_t)read : MHD_CONTENT_READER_END_OF_STREAM;
}

static void free_page(void *page) { cm__page_free(page); }

/* The browser receives the form at once, and the rest when the answer is computed. */
static enum MHD_Result send_page(const server *s, struct MHD_Connection *c, const cm__query *address)
{
    cm__page            *page = cm__page_new(s->routes, address);
    struct MHD_Response *r =
        page ? MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, PAGE_BLOCK, read_page, page, free_page) : NULL;
    if (r) return send_with_headers(c, 200, "text/html; charset=utf-8", r);
    cm__page_free(page);
    return refuse(c, 503, "out of memory");
}

/* ---- origin of a request ---------------------------------------------------------------------------------------- */

/* Length of the name in "name:port" or "[::1]:port". */
static size_t name_length(const char *host)
{
    const char *close = host[0] == '[' ? strchr(host, ']') : NULL;
    return close ? (size_t)(close - host) + 1 : strcspn(host, ":");
}

static bool is_port(const char *text)
{
    if (!*text) return true;
    size_t digits = strspn(text + 1, "0123456789");
    return text[0] == ':' && digits > 0 && !text[1 + digits];
}

static bool names_host(const char *host, const char *name)
{
    size_t length = name_length(host);
    if (strcasecmp(host, name) == 0) return true;
    return strlen(name) == length && strncasecmp(host, name, length) == 0;
}

/* Accept the names by which a browser on this machine reaches the server, with any port because of tunnels. Another
   name could be that of an attacker's site whose DNS points here (DNS rebinding), unless --allow-host lists it. */
static bool is_own_name(const server *s, const char *host)
{
    static const char *const names[] = {"127.0.0.1", "localhost", "[::1]"};
    if (!is_port(host + name_length(host))) return false;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names_host(host, names[i])) return true;
    for (int32_t i = 0; i < s->options->n_hosts; i++)
        if (names_host(host, s->options->hosts[i])) return true;
    return names_host(host, s->name);
}

/* The requesting page was loaded from the same host name. */
static bool is_same_origin(const char *origin, const char *host)
{
    static const char *const schemes[] = {"http://", "https://"}; /* a tunnel may add TLS */
    for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++) {
        size_t length = strlen(schemes[i]);
        if (strncasecmp(origin, schemes[i], length) == 0 && strcasecmp(origin + length, host) == 0) return true;
    }
    return false;
}

static const char *header(struct MHD_Connection *c, const char *name)
{
    return MHD_lookup_connection_value(c, MHD_HEADER_KIND, name);
}

static bool is_own_page(const server *s, struct MHD_Connection *c, const char *url)
{
    const char *host = header(c, "Host"), *origin = header(c, "Origin"), *site = header(c, "Sec-Fetch-Site");
    if (!host || !is_own_name(s, host)) return false;
    bool from_elsewhere = site && strcasecmp(site, "same-origin") != 0 && strcasecmp(site, "none") != 0;
    if (from_elsewhere && strncmp(url, "/api/", 5) == 0) return false; /* other sites may link to the page */
    return !origin || is_same_origin(origin, host);
}

/* ---- uploads ---------------------------------------------------------------------------------------------------- */

static void give_up(request *q, unsigned status, const char *why)
{
    if (q->upload) cm__upload_drop(q->upload);
    q->upload = NULL;
    if (!q->failed.status) cm__reply_error(&q->failed, status, "%s", why);
}

static void begin_upload(const server *s, struct MHD_Connection *c, request *q)
{
    const char *name = MHD_lookup_connection_value(c, MHD_GET_ARGUMENT_KIND, "name");
    const char *length = header(c, "Content-Length"), *why = NULL;
    if (!header(c, "Origin") && !header(c, "X-Centimani"))
        give_up(q, 403, "uploads must come from the page or have the header X-Centimani: 1");
    else if (!name || !*name) give_up(q, 400, "the file's name is missing: /api/upload?name=model.onnx");
    else if (length && strtoll(length, NULL, 10) > s->options->upload_bytes) give_up(q, 413, "the file is too large");
    else if (!(q->upload = cm__upload_begin(s->uploads, name, &why))) give_up(q, why ? 400 : 503, why ? why : NO_ROOM);
}

static enum MHD_Result take_upload(const server *s, struct MHD_Connection *c, request *q, const char *data,
                                   size_t *size)
{
    if (*size) {
        if (q->upload && !cm__upload_write(q->upload, data, *size)) give_up(q, 413, "the file is too large");
        *size = 0;
        return MHD_YES;
    }
    cm__reply reply;
    char      id[CM__UPLOAD_ID];
    if (q->failed.status) {
        reply = q->failed;
        q->failed = (cm__reply){0};
        return send_reply(c, &reply);
    }
    cm__upload_finish(q->upload, id);
    q->upload = NULL;
    cm__routes_uploaded(s->routes, id, &reply);
    return send_reply(c, &reply);
}

/* ---- requests --------------------------------------------------------------------------------------------------- */

static const char *query_value(const void *connection, const char *key)
{
    struct MHD_Connection *c = (struct MHD_Connection *)(uintptr_t)connection;
    return MHD_lookup_connection_value(c, MHD_GET_ARGUMENT_KIND, key);
}

static enum MHD_Result answer(void *user, struct MHD_Connection *c, const char *url, const char *method,
                              const char *version, const char *data, size_t *size, void **state)
{
    server  *s = user;
    request *q = *state;
    bool     post = strcmp(method, "POST") == 0, get = strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0;
    bool     upload = post && strcmp(url, "/api/upload") == 0;
    (void)version;
    if (!q) { /* first call: headers only, no body yet */
        *state = q = calloc(1, sizeof *q);
        if (!q) return MHD_NO;
        MHD_set_connection_option(c, MHD_CONNECTION_OPTION_TIMEOUT, (unsigned)(upload ? IDLE_S : TIMEOUT_S));
        if (!is_own_page(s, c, url)) return refuse(c, 403, FOREIGN);
        if (!get && !upload) return refuse(c, post ? 404 : 405, "only /api/upload accepts POST; use GET");
        if (upload) begin_upload(s, c, q);
        return MHD_YES;
    }
    if (upload) return take_upload(s, c, q, data, size);
    if (*size) { /* ignore a body */
        *size = 0;
        return MHD_YES;
    }
    cm__reply reply;
    cm__query query = {.path = url, .value = query_value, .request = c};
    if (strcmp(url, "/") == 0) return send_page(s, c, &query);
    cm__routes_get(s->routes, &query, &reply);
    return send_reply(c, &reply);
}

static void completed(void *user, struct MHD_Connection *c, void **state, enum MHD_RequestTerminationCode code)
{
    request *q = *state;
    (void)user, (void)c, (void)code;
    if (!q) return;
    if (q->upload) cm__upload_drop(q->upload);
    free(q->failed.text);
    free(q);
    *state = NULL;
}

/* Close the connection if a query has too many keys. libmicrohttpd cannot store them and would report that only after
   the time-out. */
static void *refuse_many_keys(void *user, const char *uri, struct MHD_Connection *c)
{
    int keys = 0;
    (void)user;
    while ((uri = strchr(uri, '&')) && keys++ < KEYS_MOST) uri++;
    const union MHD_ConnectionInfo *info =
        keys > KEYS_MOST ? MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD) : NULL;
    if (info) shutdown(info->connect_fd, SHUT_RDWR);
    return NULL;
}

/* ---- server ----------------------------------------------------------------------------------------------------- */

typedef union address {
    struct sockaddr     any;
    struct sockaddr_in  v4;
    struct sockaddr_in6 v6;
} address;

static bool read_address(server *s, address *where)
{
    const char *text = s->options->bind ? s->options->bind : "127.0.0.1";
    bool        v6 = inet_pton(AF_INET6, text, &where->v6.sin6_addr) == 1;
    if (v6) {
        where->v6.sin6_family = AF_INET6;
        where->v6.sin6_port = htons(s->options->port);
    } else if (inet_pton(AF_INET, text, &where->v4.sin_addr) == 1) {
        where->v4.sin_family = AF_INET;
        where->v4.sin_port = htons(s->options->port);
    } else return false;
    snprintf(s->name, sizeof s->name, v6 ? "[%s]" : "%s", text);
    return true;
}

static struct MHD_Daemon *start(server *s, cm_diag *diag)
{
    address where = {0};
    if (!read_address(s, &where)) {
        cm__diag_set(diag, CM_ERR_ARGUMENT, "'%.64s' is not an address such as 127.0.0.1 or ::1", s->options->bind);
        return NULL;
    }
    unsigned flags = MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_THREAD_PER_CONNECTION | MHD_USE_POLL |
                     (where.any.sa_family == AF_INET6 ? MHD_USE_IPv6 : 0);
    errno = 0;
    struct MHD_Daemon *d = MHD_start_daemon(
        flags, s->options->port, NULL, NULL, answer, s, MHD_OPTION_SOCK_ADDR, &where.any,
        MHD_OPTION_CONNECTION_LIMIT, (unsigned)CONNECTIONS_MOST, MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)IDLE_S,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)REQUEST_BYTES, MHD_OPTION_NOTIFY_COMPLETED, completed, NULL,
        MHD_OPTION_URI_LOG_CALLBACK, refuse_many_keys, NULL, MHD_OPTION_END);
    if (!d) {
        cm__diag_set(diag, CM_ERR_IO,
                     "cannot listen on %s, port %u%s%s; choose another port with --port N (0: any free port)", s->name,
                     s->options->port, errno ? ": " : "", errno ? strerror(errno) : "");
        return NULL;
    }
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(d, MHD_DAEMON_INFO_BIND_PORT);
    s->port = info && info->port ? info->port : s->options->port;
    return d;
}

/* Block these signals in the server's threads; this thread waits for them. */
static void wait_for_end(const sigset_t *ends)
{
    int which;
    while (sigwait(ends, &which) != 0) continue;
}

static cm_status run(server *s, cm_diag *diag)
{
    sigset_t ends, before;
    sigemptyset(&ends);
    sigaddset(&ends, SIGINT);
    sigaddset(&ends, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &ends, &before);
    struct MHD_Daemon *d = start(s, diag);
    if (d) {
        if (s->options->ready) s->options->ready(s->options->user, s->name, s->port);
        cm__page_prepare(s->routes);
        wait_for_end(&ends);
        MHD_stop_daemon(d);
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return d ? CM_OK : CM_ERR_IO;
}

cm_status cm__serve(const cm__serve_options *options, cm_diag *diag)
{
    cm__serve_options o = *options;
    if (o.upload_bytes <= 0) o.upload_bytes = UPLOAD_BYTES;
    server s = {.options = &o};
    s.uploads = cm__uploads_new(o.upload_bytes, diag);
    if (!s.uploads) return CM_ERR_IO;
    s.routes = cm__routes_new(&o, s.uploads);
    cm_status status = s.routes ? run(&s, diag) : CM_ERR_MEMORY;
    cm__routes_free(s.routes);
    cm__uploads_free(s.uploads);
    return status;
}
