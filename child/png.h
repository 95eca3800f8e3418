/*
 * png.h - a picture as PNG, in a fraction of the time that Pillow takes.
 *
 * Pure: memory in, memory out; no Python. Whole pictures alone: libdeflate,
 * which makes it fast, compresses one block of memory.
 */

#ifndef SANDBOX_PNG_H
#define SANDBOX_PNG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PNG_PIXELS_MAX = 1 << 28 };  /* so that no size overflows */

/* A tEXt chunk: Latin-1, ends in NUL; the key has 1 to 79 bytes. */
struct png_text {
    const char *key, *value;
};

struct png_picture {
    const unsigned char *rgba;     /* borrowed: rows from the top, four bytes
                                      a pixel, nothing between them */
    size_t width, height;          /* from 1 on; PNG_PIXELS_MAX in all */
    uint32_t dots_per_metre;       /* 0: not said */
    const struct png_text *texts;  /* borrowed */
    size_t text_count;
    bool keep_rgba;   /* whoever reads it back counts on four channels */
};

/*
 * Encode the picture: unless keep_rgba is set, with a palette where it has at
 * most 256 colours, else as RGB where it is opaque. Pixels come back the same.
 *
 * On success points *bytes at *len bytes, to be freed with free(), and
 * returns 0. Returns -1 when there is not the memory: about twice the
 * picture's.
 */
int png_encode(const struct png_picture *picture, unsigned char **bytes,
               size_t *len);

#endif
