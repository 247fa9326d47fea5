/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jpeg.c - images per second that one core prepares: decode a JPEG of 500 by 375 pixels (typical of ImageNet), resize
 * its shorter side to 256 pixels, and crop the central 224 by 224. Loads libturbojpeg at run time.
 */
#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "bench/host/host.h"

#define WIDE    500
#define HIGH    375
#define RESIZED 256 /* the shorter side */
#define CROPPED 224
#define QUALITY 90
#define RGB     0 /* TJPF_RGB */
#define SAMP420 2 /* TJSAMP_420 */
#define IMAGES  8 /* per repetition */

typedef struct jpeg {
    void          *library, *decoder;
    unsigned char *original, *file, *decoded, *cropped;
    unsigned long  file_bytes;
    int (*decode)(void *, const unsigned char *, unsigned long, unsigned char *, int, int, int, int, int);
    int (*destroy)(void *);
    void (*free)(unsigned char *);
} jpeg;

static void jpeg_release(void *a_case)
{
    jpeg *j = a_case;
    if (!j) return;
    if (j->decoder) j->destroy(j->decoder);
    if (j->file) j->free(j->file);
    if (j->library) dlclose(j->library);
    free(j->original);
    free(j->decoded);
    free(j->cropped);
    free(j);
}

static void (*symbol(void *library, const char *name))(void)
{
    void (*function)(void) = NULL;
    void *address = dlsym(library, name);
    memcpy(&function, &address, sizeof address);
    return function;
}

/* Waves of several lengths and noise, so that the image compresses about as well as a photograph. */
static void draw(unsigned char *pixels)
{
    uint32_t grain = 1;
    for (int y = 0; y < HIGH; y++)
        for (int x = 0; x < WIDE; x++)
            for (int c = 0; c < 3; c++) {
                grain = grain * 1664525u + 1013904223u;
                double wave =
                    40 * sin(0.02 * (x + 40 * c)) + 30 * cos(0.05 * y + 0.03 * x) + 20 * sin(0.31 * x * (c + 1) / 2);
                pixels[(y * WIDE + x) * 3 + c] = (unsigned char)(128 + wave + (double)(grain >> 28) - 8);
            }
}

static cm_status load(jpeg *j, cm_diag *diag)
{
    j->library = dlopen("libturbojpeg.so.0", RTLD_NOW | RTLD_LOCAL);
    if (!j->library)
        return cm__diag_set(diag, CM_ERR_UNSUPPORTED,
                            "no libturbojpeg.so.0; on Debian: apt-get install libturbojpeg0");
    void *(*new_encoder)(void) = (void *(*)(void))symbol(j->library, "tjInitCompress");
    void *(*new_decoder)(void) = (void *(*)(void))symbol(j->library, "tjInitDecompress");
    int (*encode)(void *, const unsigned char *, int, int, int, int, unsigned char **, unsigned long *, int, int, int) =
        (int (*)(void *, const unsigned char *, int, int, int, int, unsigned char **, unsigned long *, int, int,
                 int))symbol(j->library, "tjCompress2");
    j->decode = (int (*)(void *, const unsigned char *, unsigned long, unsigned char *, int, int, int, int,
                         int))symbol(j->library, "tjDecompress2");
    j->destroy = (int (*)(void *))symbol(j->library, "tjDestroy");
    j->free = (void (*)(unsigned char *))symbol(j->library, "tjFree");
    bool  whole = new_encoder && new_decoder && encode && j->decode && j->destroy && j->free;
    void *encoder = whole ? new_encoder() : NULL;
    j->decoder = whole ? new_decoder() : NULL;
    bool encoded =
        encoder && encode(encoder, j->original, WIDE, 0, HIGH, RGB, &j->file, &j->file_bytes, SAMP420, QUALITY, 0) == 0;
    if (encoder) j->destroy(encoder);
    return encoded && j->decoder ? CM_OK : cm__diag_set(diag, CM_ERR_UNSUPPORTED, "libturbojpeg does not encode");
}

static cm_status jpeg_prepare(const char *storage, void **a_case, double *work, cm_diag *diag)
{
    jpeg *j = calloc(1, sizeof *j);
    (void)storage;
    if (j) {
        j->original = malloc((size_t)WIDE * HIGH * 3);
        j->decoded = malloc((size_t)WIDE * HIGH * 3);
        j->cropped = malloc((size_t)CROPPED * CROPPED * 3);
    }
    if (!j || !j->original || !j->decoded || !j->cropped) {
        jpeg_release(j);
        return cm__diag_set(diag, CM_ERR_MEMORY, "out of memory");
    }
    draw(j->original);
    cm_status status = load(j, diag);
    if (status != CM_OK) {
        jpeg_release(j);
        return status;
    }
    *work = IMAGES;
    *a_case = j;
    return CM_OK;
}

/* Map a pixel of the resized image to one of the decoded image; *part: the offset to the next pixel in 1/256. */
static int source_of(int at, int from, int *part)
{
    double place = fmax(0, (at + 0.5) * HIGH / RESIZED - 0.5);
    int    whole = (int)place;
    *part = (int)(256 * (place - whole));
    return whole < from - 1 ? whole : from - 2;
}

/* Computes only the part of the resized image that the crop keeps. */
static void resize_and_crop(const unsigned char *from, unsigned char *to)
{
    int left = (WIDE * RESIZED / HIGH - CROPPED) / 2, top = (RESIZED - CROPPED) / 2;
    int columns[CROPPED], parts[CROPPED];
    for (int x = 0; x < CROPPED; x++) columns[x] = 3 * source_of(left + x, WIDE, &parts[x]);
    for (int y = 0; y < CROPPED; y++) {
        int                  down, row = source_of(top + y, HIGH, &down);
        const unsigned char *above = from + row * WIDE * 3, *below = above + WIDE * 3;
        for (int x = 0; x < CROPPED; x++)
            for (int c = 0; c < 3; c++) {
                int at = columns[x] + c, right = parts[x];
                int high = above[at] * (256 - right) + above[at + 3] * right;
                int low = below[at] * (256 - right) + below[at + 3] * right;
                to[(y * CROPPED + x) * 3 + c] = (unsigned char)((high * (256 - down) + low * down + 32768) >> 16);
            }
    }
}

static bool one_image(jpeg *j)
{
    if (j->decode(j->decoder, j->file, j->file_bytes, j->decoded, WIDE, 0, HIGH, RGB, 0) != 0) return false;
    resize_and_crop(j->decoded, j->cropped);
    return true;
}

static cm_status jpeg_run(void *a_case, int64_t repetitions, double *time_s, cm_diag *diag)
{
    double began = cm__now_s();
    for (int64_t i = 0; i < IMAGES * repetitions; i++)
        if (!one_image(a_case))
            return cm__diag_set(diag, CM_ERR_UNSUPPORTED, "libturbojpeg cannot decode the file that it encoded");
    *time_s = cm__now_s() - began;
    return CM_OK;
}

/* The decoded image must match the original within the loss of JPEG quality 90, and the crop must be its centre. */
static cm_status jpeg_verify(void *a_case, int64_t *wrong, cm_diag *diag)
{
    jpeg  *j = a_case;
    double off = 0;
    (void)diag;
    *wrong = !one_image(j);
    for (int i = 0; i < WIDE * HIGH * 3; i++) off += abs(j->decoded[i] - j->original[i]);
    *wrong += off / (WIDE * HIGH * 3) > 12;
    int centre = (HIGH / 2 * WIDE + WIDE / 2) * 3, cropped = (CROPPED / 2 * CROPPED + CROPPED / 2) * 3;
    *wrong += abs(j->decoded[centre] - j->cropped[cropped]) > 40;
    return CM_OK;
}

const cm__host_test cm__host_jpeg = {"jpeg", "images", jpeg_prepare, jpeg_run, jpeg_verify, jpeg_release};
