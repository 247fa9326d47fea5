/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wire.c - decode protobuf's wire format into the structures of onnx/wire.h, with one table per message.
 *
 * At the first repeated field, the rest of the message is scanned once to count entries, so that lists are allocated
 * with their exact size, and then decoded. Skipping a field only advances a pointer: weights are not read.
 */
#include "import/onnx/wire.h"

#include <pb_decode.h>

typedef enum kind { INT, FLOAT, SPAN, INLINE, POINTER, INTS, FLOATS, SPANS, MESSAGES } kind;

typedef struct field {
    uint32_t              tag; /* onnx.proto's field number */
    kind                  kind;
    size_t                offset;
    const struct message *message;
} field;

#define FIELDS_MAX 12

typedef struct message {
    const char *name;
    size_t      size;
    bool        keeps_self; /* the structure begins with the span of the message */
    bool        is_graph;
    int32_t     count;
    field       fields[FIELDS_MAX];
} message;

typedef struct wire {
    cm__ctx       *ctx;
    const uint8_t *bytes;
    size_t         size;
    int32_t        depth;
} wire;

typedef CM__ONNX_LIST(void) list;

#include "import/onnx/messages.def"

static noreturn void damaged(wire *w, const message *m, const pb_istream_t *s, const char *why)
{
    size_t at = (size_t)((const uint8_t *)s->state - w->bytes);
    cm__fail(w->ctx, CM_ERR_FORMAT, "%s: %s in %s at byte %zu of %zu",
             m == &model_message ? "not an ONNX model, or one cut short" : "damaged ONNX model", why, m->name, at,
             w->size);
}

static cm__span take_span(wire *w, const message *m, pb_istream_t *s)
{
    uint32_t length;
    if (!pb_decode_varint32(s, &length)) damaged(w, m, s, PB_GET_ERROR(s));
    if (length > s->bytes_left) damaged(w, m, s, "a field longer than what holds it");
    cm__span span = {s->state, length};
    if (!pb_read(s, NULL, length)) damaged(w, m, s, PB_GET_ERROR(s));
    return span;
}

static pb_istream_t stream_of(cm__span span)
{
    return pb_istream_from_buffer((const pb_byte_t *)span.text, span.length);
}

/* The numbers in one occurrence of a repeated field. */
static int32_t packed_count(kind k, cm__span packed)
{
    if (k == FLOATS) return (int32_t)(packed.length / 4);
    int32_t count = 0;
    for (size_t i = 0; i < packed.length; i++) count += !(packed.text[i] & 0x80);
    return count;
}

static const field *find_field(const message *m, uint32_t tag)
{
    for (const field *f = m->fields; f < m->fields + m->count; f++)
        if (f->tag == tag) return f;
    return NULL;
}

static bool next_field(wire *w, const message *m, pb_istream_t *s, pb_wire_type_t *type, const field **f)
{
    uint32_t tag = 0;
    bool     eof = false;
    if (!pb_decode_tag(s, type, &tag, &eof)) {
        if (eof) return false;
        damaged(w, m, s, PB_GET_ERROR(s));
    }
    if (tag == 0) damaged(w, m, s, "field number 0");
    *f = find_field(m, tag);
    return true;
}

static void count_lists(wire *w, const message *m, pb_istream_t s, int32_t counts[FIELDS_MAX])
{
    const field   *f;
    pb_wire_type_t type;
    while (next_field(w, m, &s, &type, &f)) {
        int32_t more = 1;
        if (f && type == PB_WT_STRING && (f->kind == INTS || f->kind == FLOATS))
            more = packed_count(f->kind, take_span(w, m, &s));
        else if (!pb_skip_field(&s, type))
            damaged(w, m, &s, PB_GET_ERROR(&s));
        if (!f) continue;
        if (more > INT32_MAX / 2 - counts[f - m->fields]) damaged(w, m, &s, "a list too long");
        counts[f - m->fields] += more;
    }
}

static const size_t item_size[] = {[INTS] = sizeof(int64_t), [FLOATS] = sizeof(float), [SPANS] = sizeof(cm__span)};

static void make_lists(wire *w, const message *m, pb_istream_t rest, void *into)
{
    int32_t counts[FIELDS_MAX] = {0};
    count_lists(w, m, rest, counts);
    for (int32_t i = 0; i < m->count; i++) {
        const field *f = &m->fields[i];
        if (f->kind < INTS || !counts[i]) continue;
        list *l = (list *)((char *)into + f->offset);
        size_t size = f->kind == MESSAGES ? f->message->size : item_size[f->kind];
        *l = (list){cm__alloc_array(w->ctx, (size_t)counts[i], size), 0};
    }
}

static void fill(wire *w, const message *m, cm__span bytes, void *into);

static void *list_next(void *at, size_t size)
{
    list *l = at;
    return (char *)l->items + size * (size_t)l->count++;
}

static int64_t take_int(wire *w, const message *m, pb_istream_t *s)
{
    uint64_t value;
    if (!pb_decode_varint(s, &value)) damaged(w, m, s, PB_GET_ERROR(s));
    return (int64_t)value;
}

static float take_float(wire *w, const message *m, pb_istream_t *s)
{
    float value;
    if (!pb_decode_fixed32(s, &value)) damaged(w, m, s, PB_GET_ERROR(s));
    return value;
}

static void take_number(wire *w, const message *m, kind k, pb_istream_t *s, void *at)
{
    if (k == INTS)
        *(int64_t *)list_next(at, sizeof(int64_t)) = take_int(w, m, s);
    else
        *(float *)list_next(at, sizeof(float)) = take_float(w, m, s);
}

static void take_numbers(wire *w, const message *m, kind k, pb_istream_t *s, pb_wire_type_t type, void *at)
{
    if (type != PB_WT_STRING) {
        take_number(w, m, k, s, at);
        return;
    }
    pb_istream_t packed = stream_of(take_span(w, m, s));
    while (packed.bytes_left) take_number(w, m, k, &packed, at);
}

static void take_field(wire *w, const message *m, const field *f, pb_istream_t *s, pb_wire_type_t type, void *at)
{
    switch (f->kind) {
    case INT: *(int64_t *)at = take_int(w, m, s); break;
    case FLOAT: *(float *)at = take_float(w, m, s); break;
    case SPAN: *(cm__span *)at = take_span(w, m, s); break;
    case SPANS: *(cm__span *)list_next(at, sizeof(cm__span)) = take_span(w, m, s); break;
    case INTS:
    case FLOATS: take_numbers(w, m, f->kind, s, type, at); break;
    case INLINE: fill(w, f->message, take_span(w, m, s), at); break;
    case MESSAGES: fill(w, f->message, take_span(w, m, s), list_next(at, f->message->size)); break;
    case POINTER:
        *(void **)at = cm__alloc(w->ctx, f->message->size);
        fill(w, f->message, take_span(w, m, s), *(void **)at);
        break;
    }
}

static bool fits(kind k, pb_wire_type_t type)
{
    static const pb_wire_type_t expected[] = {[INT] = PB_WT_VARINT, [FLOAT] = PB_WT_32BIT, [SPAN] = PB_WT_STRING,
        [INLINE] = PB_WT_STRING, [POINTER] = PB_WT_STRING, [INTS] = PB_WT_VARINT, [FLOATS] = PB_WT_32BIT,
        [SPANS] = PB_WT_STRING, [MESSAGES] = PB_WT_STRING};
    return type == expected[k] || (type == PB_WT_STRING && (k == INTS || k == FLOATS));
}

static void fill(wire *w, const message *m, cm__span bytes, void *into)
{
    const field   *f;
    pb_wire_type_t type;
    pb_istream_t   s = stream_of(bytes), before = s;
    bool           counted = false;
    if (m->is_graph && ++w->depth > CM__ONNX_DEPTH_MAX)
        cm__fail(w->ctx, CM_ERR_LIMIT, "graphs are nested deeper than %d", CM__ONNX_DEPTH_MAX);
    if (m->keeps_self) *(cm__span *)into = bytes;
    for (; next_field(w, m, &s, &type, &f); before = s) {
        if (f && !fits(f->kind, type)) damaged(w, m, &s, "a field of the wrong type");
        if (f && f->kind >= INTS && !counted) {
            make_lists(w, m, before, into);
            counted = true;
        }
        if (f)
            take_field(w, m, f, &s, type, (char *)into + f->offset);
        else if (!pb_skip_field(&s, type))
            damaged(w, m, &s, PB_GET_ERROR(&s));
    }
    w->depth -= m->is_graph;
}

cm__onnx_model *cm__onnx_decode(cm__ctx *ctx, const uint8_t *bytes, size_t size)
{
    wire            w = {.ctx = ctx, .bytes = bytes, .size = size};
    cm__onnx_model *model = cm__alloc(ctx, sizeof *model);
    if (!size) cm__fail(ctx, CM_ERR_FORMAT, "not an ONNX model: the file is empty");
    fill(&w, &model_message, (cm__span){(const char *)bytes, size}, model);
    if (!model->graph) cm__fail(ctx, CM_ERR_FORMAT, "not an ONNX model: there is no graph in it");
    return model;
}

static bool take_bits(pb_istream_t *s, pb_wire_type_t type, uint64_t *bits)
{
    uint32_t half;
    if (type == PB_WT_VARINT) return pb_decode_varint(s, bits);
    if (type == PB_WT_64BIT) return pb_decode_fixed64(s, bits);
    if (!pb_decode_fixed32(s, &half)) return false;
    *bits = half;
    return true;
}

/* The encoding of TensorProto's typed fields in a packed field. */
static pb_wire_type_t packed_type(uint32_t tag)
{
    return tag == 4 ? PB_WT_32BIT : tag == 10 ? PB_WT_64BIT : PB_WT_VARINT;
}

int32_t cm__onnx_numbers(cm__ctx *ctx, cm__span bytes, uint32_t wanted, uint64_t *numbers, int32_t max)
{
    wire           w = {.ctx = ctx, .bytes = (const uint8_t *)bytes.text, .size = bytes.length};
    pb_istream_t   s = stream_of(bytes);
    pb_wire_type_t type;
    uint32_t       tag;
    uint64_t       bits;
    bool           eof;
    int32_t        count = 0;
    while (pb_decode_tag(&s, &type, &tag, &eof)) {
        if (tag != wanted || type > PB_WT_32BIT) {
            if (!pb_skip_field(&s, type)) break;
            continue;
        }
        bool         packed = type == PB_WT_STRING;
        pb_istream_t one = packed ? stream_of(take_span(&w, &tensor_message, &s)) : s;
        do {
            if (packed && !one.bytes_left) break;
            if (!take_bits(&one, packed ? packed_type(wanted) : type, &bits)) return -1;
            if (count < max) numbers[count] = bits;
            if (++count > max) return count;
        } while (packed);
        if (!packed) s = one;
    }
    return count;
}
