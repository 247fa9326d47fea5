/* SPDX-License-Identifier: Apache-2.0 */
/* releases.c - read which releases of software a question is about. */
#include "graph/releases.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/text.h"
#include "base/versions.h"

_Static_assert(CM__FEATURES <= 32, "a bit of cm_software.lacks for each feature");

enum { FIRST_YEAR = 2015, LAST_YEAR = 2100, NAME = 64, PARTS = 4 };

cm_software cm__software_of_year(int32_t year)
{
    cm_software s = {.given = year != 0};
    char        end[16];
    if (s.given) s.versions.of[CM_COMPONENT_TORCH] = cm__version(1, 0); /* before all rows */
    snprintf(end, sizeof end, "%d-10", (int)year);
    for (int32_t i = 0; s.given && i < cm__n_releases; i++) {
        const cm__release *r = &cm__releases[i];
        bool               later = strcmp(r->date, end) >= 0;
        if (later && r->feature < CM__FEATURES) s.lacks |= 1u << r->feature;
        if (!later && strcmp(r->component, cm__component_names[CM_COMPONENT_TORCH]) == 0)
            s.versions.of[CM_COMPONENT_TORCH] = cm__version_of(r->version); /* the last one: rows are in the order of their versions */
    }
    return s;
}

/* Numbers of a version, separated by dots; false: it is none. */
static bool read_version(const char *text, size_t length, long parts[PARTS])
{
    size_t at = 0;
    for (int i = 0; i < PARTS; i++) {
        parts[i] = 0;
        if (at >= length) continue;
        if (text[at] < '0' || text[at] > '9') return false;
        for (; at < length && text[at] >= '0' && text[at] <= '9'; at++)
            if ((parts[i] = 10 * parts[i] + (text[at] - '0')) > 1000000) return false;
        if (at < length && text[at++] != '.') return false;
    }
    return length > 0 && at >= length && text[length - 1] != '.';
}

static bool is_older(const long version[PARTS], const char *than)
{
    long other[PARTS];
    if (!read_version(than, strlen(than), other)) return false;
    for (int i = 0; i < PARTS; i++)
        if (version[i] != other[i]) return version[i] < other[i];
    return false;
}

static cm_status unknown_component(const char *name, cm_diag *diag)
{
    const char *known[CM__FEATURES];
    char        list[256] = "";
    size_t      count = 0, used = 0;
    for (int32_t i = 0; i < cm__n_releases; i++) {
        if (i && strcmp(cm__releases[i].component, cm__releases[i - 1].component) == 0) continue;
        known[count++] = cm__releases[i].component;
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", used ? ", " : "", cm__releases[i].component);
    }
    const char *near = cm__nearest(name, known, count);
    return cm__diag_set(diag, CM_ERR_UNKNOWN, "unknown component '%s'%s%s%s; known: %s", name,
                        near ? ", did you mean '" : "", near ? near : "", near ? "'?" : "", list);
}

/* One "component=version". */
static cm_status take_component(cm_software *s, const char *text, size_t length, cm_diag *diag)
{
    const char *equals = memchr(text, '=', length);
    size_t      named = equals ? (size_t)(equals - text) : length;
    char        name[NAME] = "";
    long        version[PARTS];
    bool        known = false;
    if (!equals || !named || named >= sizeof name || !read_version(equals + 1, length - named - 1, version))
        return cm__diag_set(diag, CM_ERR_ARGUMENT, "'%.*s' is no release: write a year such as 2024, or releases such as "
                            "torch=2.5,peft=0.12", (int)(length < NAME ? length : NAME), text);
    memcpy(name, text, named);
    for (int32_t i = 0; i < cm__n_releases; i++) {
        const cm__release *r = &cm__releases[i];
        if (strcmp(r->component, name) != 0) continue;
        known = true;
        if (r->feature < CM__FEATURES && is_older(version, r->version)) s->lacks |= 1u << r->feature;
    }
    cm_component component = cm__component_find(name);
    if (component < CM_COMPONENTS) s->versions.of[component] = cm__version_of(equals + 1);
    return known ? CM_OK : unknown_component(name, diag);
}

cm_status cm_software_parse(const char *text, cm_software *software, cm_diag *diag)
{
    cm_software s = {.given = true};
    char       *end;
    long        year = strtol(text, &end, 10);
    if (end != text && !*end && !strchr(text, '.')) {
        if (year < FIRST_YEAR || year > LAST_YEAR)
            return cm__diag_set(diag, CM_ERR_ARGUMENT, "the year %s is outside of %d to %d", text, FIRST_YEAR, LAST_YEAR);
        *software = cm__software_of_year((int32_t)year);
        return CM_OK;
    }
    for (const char *at = text, *comma; at; at = comma ? comma + 1 : NULL) {
        comma = strchr(at, ',');
        cm_status status = take_component(&s, at, comma ? (size_t)(comma - at) : strlen(at), diag);
        if (status) return status;
    }
    *software = s;
    return CM_OK;
}
