/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mcp_pages.c - shorten an answer to the size that a language model reads at a time, and continue it.
 *
 * A place in an answer is written as "/ranking/3", the fourth entry of a list, or "/ranking/12-", the entries from the
 * thirteenth on. A shortened answer names the places of what it leaves out as `more`.
 */
#include <stdlib.h>
#include <string.h>
#include "base/text.h"
#include "mcp.h"

#define PLACE_MOST 256
#define PLACES_MOST 8
#define LEAST_BYTES 80 /* members with less room are left out */
#define FORMAT (JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(12))

typedef struct pages {
    const struct brief *brief;
    json_t             *more;
} pages;

static size_t size_of(const json_t *value) { return json_dumpb(value, NULL, 0, FORMAT); }

/* A copy without members that are null, and with six digits of each number. */
static json_t *lean(const json_t *value)
{
    const char *key;
    json_t     *member, *copy;
    size_t      i;
    char        digits[40];
    if (json_is_real(value)) {
        snprintf(digits, sizeof digits, "%.6g", json_real_value(value));
        return json_real(strtod(digits, NULL));
    }
    if (json_is_array(value)) {
        copy = json_array();
        json_array_foreach(value, i, member) json_array_append_new(copy, lean(member));
        return copy;
    }
    if (!json_is_object(value)) return json_incref((json_t *)(uintptr_t)value);
    copy = json_object();
    json_object_foreach((json_t *)(uintptr_t)value, key, member)
        if (!json_is_null(member)) json_object_set_new(copy, key, lean(member));
    return copy;
}

static void note(pages *p, const char *place)
{
    if (strlen(place) < PLACE_MOST - 1 && json_array_size(p->more) < PLACES_MOST)
        json_array_append_new(p->more, json_string(place));
}

static json_t *shorten(pages *p, json_t *value, size_t room, const char *place);

/* Of an entry of the list that the tool names: the fields that answer the question. */
static json_t *essence(const pages *p, json_t *entry)
{
    json_t *some = json_object(), *member;
    char    name[PLACE_MOST];
    for (const char *at = p->brief->fields; *at; at += strspn(at, " ")) {
        size_t length = strcspn(at, " ");
        snprintf(name, sizeof name, "%.*s", (int)length, at);
        if ((member = json_object_get(entry, name))) json_object_set(some, name, member);
        at += length;
    }
    return some;
}

static json_t *shorten_list(pages *p, json_t *list, size_t from, size_t room, const char *place)
{
    json_t *some = json_array(), *entry;
    char    at[PLACE_MOST];
    size_t  used = 2, count = json_array_size(list), i;
    bool    brief = count > 1 && p->brief->list && place[0] && strcmp(place + 1, p->brief->list) == 0;
    for (i = from; i < count; i++) {
        entry = json_array_get(list, i);
        entry = brief && json_is_object(entry) ? essence(p, entry) : json_incref(entry);
        snprintf(at, sizeof at, "%s/%zu", place, i);
        if (i == from && size_of(entry) + 2 > room) {
            json_t *whole = entry;
            entry = shorten(p, whole, room - 2, at);
            json_decref(whole);
        }
        used += size_of(entry) + 1;
        if (i > from && used > room) {
            json_decref(entry);
            break;
        }
        json_array_append_new(some, entry);
    }
    snprintf(at, sizeof at, "%s/%zu", place, from);
    if (brief && from < count) note(p, at);
    snprintf(at, sizeof at, "%s/%zu-", place, i);
    if (i < count) note(p, at);
    return some;
}

typedef struct member {
    const char *key;
    json_t     *value;
    size_t      bytes, order;
} member;

static int by_order(const void *left, const void *right)
{
    const member *a = left, *b = right;
    return (a->order > b->order) - (a->order < b->order);
}

static int by_bytes(const void *left, const void *right)
{
    const member *a = left, *b = right;
    if (a->bytes != b->bytes) return a->bytes < b->bytes ? -1 : 1;
    return by_order(left, right);
}

/* Small members stay; the largest share the room that they leave. */
static json_t *shorten_object(pages *p, json_t *object, size_t room, const char *place)
{
    size_t      count = json_object_size(object), n = 0, left = room > 2 ? room - 2 : 0;
    member     *all = calloc(count + 1, sizeof *all);
    json_t     *some = json_object(), *value;
    const char *key;
    char        at[PLACE_MOST];
    if (!all) return some;
    json_object_foreach(object, key, value) {
        all[n] = (member){key, value, size_of(value) + strlen(key) + 4, n};
        n++;
    }
    qsort(all, n, sizeof *all, by_bytes);
    for (size_t i = 0; i < n; i++) {
        size_t share = left / (n - i), names = strlen(all[i].key) + 4;
        snprintf(at, sizeof at, "%s/%s", place, all[i].key);
        if (all[i].bytes <= share) json_incref(all[i].value);
        else if (share >= names + LEAST_BYTES) all[i].value = shorten(p, all[i].value, share - names, at);
        else note(p, at), all[i].value = NULL;
        if (!all[i].value) continue;
        size_t bytes = size_of(all[i].value) + names;
        left -= bytes < left ? bytes : left;
    }
    qsort(all, n, sizeof *all, by_order);
    for (size_t i = 0; i < n; i++)
        if (all[i].value) json_object_set_new(some, all[i].key, all[i].value);
    free(all);
    return some;
}

/* A new value of at most `room` bytes, if that has any room for its parts. */
static json_t *shorten(pages *p, json_t *value, size_t room, const char *place)
{
    if (size_of(value) <= room) return json_incref(value);
    if (json_is_array(value)) return shorten_list(p, value, 0, room, place);
    if (json_is_object(value)) return shorten_object(p, value, room, place);
    if (!json_is_string(value)) return json_incref(value);
    size_t length = room > LEAST_BYTES ? room / 2 : LEAST_BYTES / 2; /* escapes may double it */
    if (length > json_string_length(value)) length = json_string_length(value);
    while (length > 0 && (json_string_value(value)[length] & 0xC0) == 0x80) length--;
    json_t *cut = json_sprintf("%.*s...", (int)length, json_string_value(value));
    return cut ? cut : json_string("...");
}

/* The member whose name comes next in a place; the longest, because names may have slashes. */
static json_t *step_into(json_t *object, const char **at)
{
    const char *key;
    json_t     *value, *found = NULL;
    size_t      longest = 0;
    json_object_foreach(object, key, value) {
        size_t length = strlen(key);
        if (strncmp(*at, key, length) != 0 || (found && length < longest)) continue;
        if ((*at)[length] && (*at)[length] != '/') continue;
        found = value;
        longest = length;
    }
    *at += longest;
    return found;
}

/* The value at a place; `from` receives the index of "/12-", else SIZE_MAX. NULL: there is nothing. */
static json_t *value_at(json_t *whole, const char *place, size_t *from)
{
    *from = SIZE_MAX;
    while (whole && *place == '/') {
        place++;
        if (json_is_object(whole)) {
            whole = step_into(whole, &place);
            continue;
        }
        char  *end;
        size_t i = strtoul(place, &end, 10);
        if (!json_is_array(whole) || end == place || *place == '-' || i >= json_array_size(whole)) return NULL;
        if (strcmp(end, "-") == 0) return *from = i, whole;
        whole = json_array_get(whole, i);
        place = end;
    }
    return *place ? NULL : whole;
}

json_t *mcp_page(const json_t *answer, const char *place, const struct brief *brief, size_t room)
{
    pages   p = {brief, json_array()};
    json_t *whole = lean(answer), *page;
    size_t  from, length = place ? strlen(place) : 0;
    char    list[PLACE_MOST] = "";
    if (!place) page = shorten(&p, whole, room, "");
    else {
        json_t *value = length < sizeof list ? value_at(whole, place, &from) : NULL, *part = NULL;
        if (value && from == SIZE_MAX) part = shorten(&p, value, room, place);
        else if (value) {
            cm__join(list, sizeof list, place, "", NULL);
            *strrchr(list, '/') = 0;
            part = shorten_list(&p, value, from, room, list);
        }
        page = part ? json_pack("{s:s, s:o}", "at", place, "value", part) : NULL;
    }
    if (page && json_array_size(p.more)) {
        if (page == whole) page = json_copy(whole), json_decref(whole);
        json_object_set(page, "more", p.more);
    }
    json_decref(p.more);
    json_decref(whole);
    return page;
}
