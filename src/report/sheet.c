/* SPDX-License-Identifier: Apache-2.0 */
/* sheet.c - wrap the lines of a report at the width of the terminal, or at $COLUMNS. */
#include "report/sheet.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include "report/report.h"

#define WIDTH_LEAST 20
#define WIDTH_MOST 10000
#define LABEL_MOST 40 /* a label ends at two blanks before this column */
#define LABEL_LEAST 8 /* a line that begins after so many blanks has its label above */
#define CONTINUED 2   /* indent of a continued line without a label */

typedef struct sheet {
    FILE  *out, *stream;
    char  *text;
    size_t size, width;
    bool   bold;
} sheet;

static _Thread_local sheet *current;

/* ---- widths ----------------------------------------------------------------------------------------------------- */

/* Whether a byte of UTF-8 is the first one of a character. */
static bool begins(char byte) { return ((unsigned char)byte & 0xc0) != 0x80; }

/* Length of a sequence that a terminal obeys instead of showing it ("\033[1m"); 0: there is none. */
static size_t escape(const char *s) { return s[0] == '\033' && s[1] == '[' ? strcspn(s, "m") + 1 : 0; }

static size_t width_of(const char *text, size_t length)
{
    size_t width = 0;
    for (size_t i = 0, skip; i < length; i += skip ? skip : 1) {
        skip = escape(text + i);
        width += !skip && begins(text[i]);
    }
    return width;
}

size_t cm__text_width(const char *text) { return width_of(text, strlen(text)); }

static size_t width_for(FILE *out)
{
    const char    *columns = getenv("COLUMNS");
    long           asked = columns ? strtol(columns, NULL, 10) : 0;
    struct winsize size;
    if (asked <= 0 && isatty(fileno(out)) && ioctl(fileno(out), TIOCGWINSZ, &size) == 0) asked = size.ws_col;
    if (asked <= 0 || asked > WIDTH_MOST) return SIZE_MAX;
    return asked < WIDTH_LEAST ? WIDTH_LEAST : (size_t)asked;
}

/* ---- lines ------------------------------------------------------------------------------------------------------ */

/* Columns that the text is indented by where a line continues. */
static size_t indent_of(const char *line, size_t length, size_t width)
{
    size_t start = line[0] == '#' ? 1 : 0, word;
    while (start < length && line[start] == ' ') start++;
    if (start + 1 < length && line[start] == '-' && line[start + 1] == ' ') return start + 2; /* an item of a list */
    for (word = start; word + 2 < length && word < LABEL_MOST && strncmp(line + word, "  ", 2) != 0;) word++;
    if (word < LABEL_MOST && word + 2 < length)
        for (start = word; start < length && line[start] == ' ';) start++;
    else if (line[0] == '#' || (start && start < LABEL_LEAST)) start += CONTINUED;
    size_t indent = width_of(line, start);
    return indent > width / 2 ? width / 4 : indent;
}

/* Bytes of a word that fit into a line; long paths and lists are broken after their separators. */
static size_t fitting(const char *word, size_t length, size_t width)
{
    size_t fits = 0, end = 0, used = 0;
    if (width_of(word, length) <= width) return length;
    for (; fits < length && (used < width || !begins(word[fits])); fits++) {
        used += begins(word[fits]);
        if (strchr("/,|", word[fits])) end = fits + 1;
    }
    return end ? end : fits;
}

static void write_line(FILE *out, const char *line, size_t length, size_t width)
{
    if (width_of(line, length) <= width) {
        fwrite(line, 1, length, out);
        return;
    }
    size_t indent = indent_of(line, length, width), at = 0, margin = 0;
    for (size_t i = 0, blanks, word; i < length; i += blanks + word) {
        for (blanks = 0; i + blanks < length && line[i + blanks] == ' ';) blanks++;
        for (word = 0; i + blanks + word < length && line[i + blanks + word] != ' ';) word++;
        size_t wide = width_of(line + i + blanks, word);
        if (!word) return; /* blanks at the end */
        if (at > margin && at + blanks + wide > width) {
            at = margin = indent;
            i += blanks;
            blanks = 0;
            fprintf(out, "\n%s%*s", line[0] == '#' ? "#" : "", (int)(indent - (line[0] == '#')), "");
        }
        word = fitting(line + i + blanks, word, width - at - blanks);
        fwrite(line + i, 1, blanks + word, out);
        at += blanks + width_of(line + i + blanks, word);
    }
}

static void write_text(FILE *out, const char *text, size_t size, size_t width)
{
    for (size_t i = 0, length; i < size; i += length + 1) {
        const char *end = memchr(text + i, '\n', size - i);
        length = end ? (size_t)(end - text) - i : size - i;
        write_line(out, text + i, length, width);
        if (end) putc('\n', out);
    }
}

void cm__write_wrapped(FILE *out, const char *text) { write_text(out, text, strlen(text), width_for(out)); }

/* ---- the sheet --------------------------------------------------------------------------------------------------- */

static void release(void *object)
{
    sheet *p = object;
    if (p->stream) fclose(p->stream);
    free(p->text);
    if (current == p) current = NULL;
}

FILE *cm__sheet_open(cm__ctx *ctx, FILE *out)
{
    const char *plain = getenv("NO_COLOR"); /* no-color.org: set and not empty */
    sheet       *p = cm__alloc(ctx, sizeof *p);
    *p = (sheet){.out = out, .width = width_for(out), .bold = isatty(fileno(out)) && !(plain && *plain)};
    cm__defer(ctx, release, p);
    p->stream = open_memstream(&p->text, &p->size);
    if (!p->stream) cm__fail(ctx, CM_ERR_MEMORY, "out of memory for a report");
    current = p;
    return p->stream;
}

void cm__sheet_close(void)
{
    sheet *p = current;
    fclose(p->stream);
    p->stream = NULL;
    current = NULL;
    if (p->text) write_text(p->out, p->text, p->size, p->width);
}

size_t cm__sheet_width(void) { return current ? current->width : SIZE_MAX; }

bool cm__sheet_bold(void) { return current && current->bold; }
