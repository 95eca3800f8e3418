#include "png.h"

#include <libdeflate.h>
#include <stdlib.h>
#include <string.h>

/*
 * Of libdeflate, by measurement: up to 5 they take as long, within a fifth,
 * and 4 is the first that makes little of repeated pixels. Of four channels
 * it takes 6 to be no larger than Pillow's.
 */
enum { LEVEL = 4, LEVEL_RGBA = 6 };

enum {
    COLOURS_MAX = 256,
    TABLE_SIZE = 1024,  /* a power of two, mostly empty */
    TABLE_SHIFT = 22,   /* of a hash of 32 bits */
    CHUNK_EXTRA = 12,   /* length, name and sum around the data */
    SAMPLE_BANDS = 8,
    SAMPLE_ROWS = 8     /* of each band */
};

enum colour_type { RGB = 2, PALETTE = 3, RGBA = 6 };  /* the format's numbers */

enum filter { NONE, SUB, UP, AVERAGE, PAETH, FILTER_COUNT };

/* How filters are chosen, row by row. */
enum plan {
    PLAIN,     /* none, but UP for a row like the one above: drawings */
    ADAPTIVE,  /* the smallest differences: photographs and gradients */
    PLAN_COUNT
};

/* How the picture is written. */
struct form {
    enum colour_type type;
    unsigned int depth;             /* bits of an index, or of a channel */
    size_t row_bytes;               /* without the filter's number */
    size_t step;                    /* from a byte to the same of its left */
    size_t colour_count;
    uint32_t colours[COLOURS_MAX];  /* as they lie in memory */
    /* The same, hashed, with their indices. */
    struct {
        uint32_t colour;
        unsigned char index;
        bool used;
    } table[TABLE_SIZE];
};

/* The rows that the filters look at, each with room for a pixel in front. */
struct rows {
    unsigned char *memory;
    unsigned char *above, *current, *trial[FILTER_COUNT];
};

/*** What there is in the picture ***/

static uint32_t
pixel_at(const unsigned char *rgba, size_t i)
{
    uint32_t pixel;

    memcpy(&pixel, rgba + 4 * i, sizeof(pixel));
    return pixel;
}

static unsigned char
alpha_of(uint32_t pixel)
{
    unsigned char bytes[4];

    memcpy(bytes, &pixel, sizeof(bytes));
    return bytes[3];
}

static bool
is_opaque(const struct png_picture *picture)
{
    size_t count = picture->width * picture->height;
    uint32_t all = ~0U;

    for (size_t i = 0; i < count; i++)
        all &= pixel_at(picture->rgba, i);
    return alpha_of(all) == 255;
}

/* Where the colour is in the table, or would be. */
static size_t
place_of(const struct form *form, uint32_t colour)
{
    size_t place = (colour * 2654435761U) >> TABLE_SHIFT;

    while (form->table[place].used && form->table[place].colour != colour)
        place = (place + 1) % TABLE_SIZE;
    return place;
}

/* Collect the colours. Returns false when there are too many for a palette. */
static bool
find_colours(const struct png_picture *picture, struct form *form)
{
    size_t count = picture->width * picture->height;
    uint32_t last = ~pixel_at(picture->rgba, 0);

    for (size_t i = 0; i < count; i++) {
        uint32_t colour = pixel_at(picture->rgba, i);
        size_t place;

        if (colour == last)
            continue;
        last = colour;
        place = place_of(form, colour);
        if (form->table[place].used)
            continue;
        if (form->colour_count == COLOURS_MAX)
            return false;
        form->table[place].used = true;
        form->table[place].colour = colour;
        form->table[place].index = (unsigned char)form->colour_count;
        form->colours[form->colour_count++] = colour;
    }
    return true;
}

static void
choose_form(const struct png_picture *picture, struct form *form)
{
    size_t pixels = picture->width * picture->height;

    form->depth = 8;
    /* A palette of few pixels is larger than they. */
    if (!picture->keep_rgba && find_colours(picture, form) &&
        pixels > 3 * form->colour_count) {
        form->type = PALETTE;
        form->step = 1;
        while (form->depth > 1 && form->colour_count <= 1U << form->depth / 2)
            form->depth /= 2;
    } else if (!picture->keep_rgba && is_opaque(picture)) {
        form->type = RGB;
        form->step = 3;
    } else {
        form->type = RGBA;
        form->step = 4;
    }
    form->row_bytes = (picture->width * form->step * form->depth + 7) / 8;
}

/*** Rows ***/

static void
put_indices(const struct form *form, const unsigned char *rgba, size_t width,
            unsigned char *row)
{
    uint32_t last = ~pixel_at(rgba, 0);
    unsigned int index = 0, held = 0, bits = 0;

    for (size_t i = 0; i < width; i++) {
        uint32_t colour = pixel_at(rgba, i);

        if (colour != last)
            index = form->table[place_of(form, colour)].index;
        last = colour;
        held = held << form->depth | index;
        bits += form->depth;
        if (bits == 8) {
            *row++ = (unsigned char)held;
            held = bits = 0;
        }
    }
    if (bits > 0)
        *row = (unsigned char)(held << (8 - bits));
}

/* Put a row of the picture to row, unfiltered; the byte after it may be
 * overwritten. */
static void
put_row(const struct form *form, const unsigned char *rgba, size_t width,
        unsigned char *row)
{
    if (form->type == RGBA)
        memcpy(row, rgba, 4 * width);
    else if (form->type == RGB)
        for (size_t i = 0; i < width; i++)
            memcpy(row + 3 * i, rgba + 4 * i, 4);  /* the next covers alpha */
    else
        put_indices(form, rgba, width, row);
}

static int
rows_new(struct rows *rows, const struct form *form)
{
    size_t room = form->row_bytes + 2 * sizeof(uint32_t);
    unsigned char *next = calloc(2 + FILTER_COUNT, room);

    rows->memory = next;
    if (next == NULL)
        return -1;
    next += sizeof(uint32_t);
    rows->above = next;
    rows->current = next += room;
    for (int filter = 0; filter < FILTER_COUNT; filter++)
        rows->trial[filter] = next += room;
    return 0;
}

/* What the format calls by that name: the nearest of three to a + b - c. */
static inline short
paeth(short a, short b, short c)
{
    short to_a = (short)abs(b - c), to_b = (short)abs(a - c);
    short to_c = (short)abs(a + b - 2 * c);
    short nearest = to_b <= to_c ? b : c;

    return to_a <= to_b && to_a <= to_c ? a : nearest;
}

/* Filter the current row in every way. Written for the compiler to make
 * vector code of: current and above can be read a pixel before their start. */
static void
try_filters(const struct rows *rows, size_t bytes, size_t step)
{
    const unsigned char *restrict row = rows->current;
    const unsigned char *restrict left = rows->current - step;
    const unsigned char *restrict above = rows->above;
    const unsigned char *restrict corner = rows->above - step;
    unsigned char *restrict sub = rows->trial[SUB];
    unsigned char *restrict up = rows->trial[UP];
    unsigned char *restrict average = rows->trial[AVERAGE];
    unsigned char *restrict nearest = rows->trial[PAETH];

    memcpy(rows->trial[NONE], row, bytes);
    for (size_t i = 0; i < bytes; i++) {
        sub[i] = (unsigned char)(row[i] - left[i]);
        up[i] = (unsigned char)(row[i] - above[i]);
        average[i] = (unsigned char)(row[i] - (left[i] + above[i]) / 2);
    }
    for (size_t i = 0; i < bytes; i++)
        nearest[i] = (unsigned char)(row[i] -
                                     paeth(left[i], above[i], corner[i]));
}

/* How far the bytes are from zero, as signed numbers, in all. */
static size_t
weight_of(const unsigned char *bytes, size_t count)
{
    unsigned int sum = 0;

    for (size_t i = 0; i < count; i++)
        sum += bytes[i] < 128 ? bytes[i] : 256U - bytes[i];
    return sum;
}

static enum filter
lightest(const struct rows *rows, size_t bytes)
{
    enum filter best = NONE;
    size_t least = weight_of(rows->trial[NONE], bytes);

    for (int filter = SUB; filter < FILTER_COUNT; filter++) {
        size_t weight = weight_of(rows->trial[filter], bytes);

        if (weight < least) {
            least = weight;
            best = (enum filter)filter;
        }
    }
    return best;
}

/* Filter count rows of the picture from first on, to out, and perhaps a byte
 * more. */
static void
put_rows(const struct png_picture *picture, const struct form *form,
         enum plan plan, struct rows *rows, size_t first, size_t count,
         unsigned char *out)
{
    size_t bytes = form->row_bytes, rgba_bytes = 4 * picture->width;

    memset(rows->above, 0, bytes);
    if (first > 0 && plan == ADAPTIVE)
        put_row(form, picture->rgba + (first - 1) * rgba_bytes,
                picture->width, rows->above);
    for (size_t y = first; y < first + count; y++, out += 1 + bytes) {
        const unsigned char *rgba = picture->rgba + y * rgba_bytes;
        unsigned char *last = rows->above;

        if (y > 0 && memcmp(rgba, rgba - rgba_bytes, rgba_bytes) == 0) {
            out[0] = UP;
            memset(out + 1, 0, bytes);
        } else if (plan == PLAIN) {
            out[0] = NONE;
            put_row(form, rgba, picture->width, out + 1);
        } else {
            put_row(form, rgba, picture->width, rows->current);
            try_filters(rows, bytes, form->step);
            out[0] = (unsigned char)lightest(rows, bytes);
            memcpy(out + 1, rows->trial[out[0]], bytes);
            rows->above = rows->current;
            rows->current = last;
        }
    }
}

/*** Compression ***/

/*
 * Which plan makes less of a few bands of rows. A drawing is larger with
 * ADAPTIVE, a photograph a third smaller; PLAIN is three times as fast, so
 * that a little more is well for it, where there are bytes to spare.
 */
static enum plan
choose_plan(const struct png_picture *picture, const struct form *form,
            struct rows *rows, struct libdeflate_compressor *compressor,
            unsigned char *filtered, unsigned char *out, size_t out_size)
{
    size_t gap = picture->height / SAMPLE_BANDS, sizes[PLAN_COUNT];
    bool is_small = gap < SAMPLE_ROWS;

    for (int plan = 0; plan < PLAN_COUNT; plan++) {
        unsigned char *end = filtered;

        for (size_t band = 0; band < (is_small ? 1 : SAMPLE_BANDS); band++) {
            size_t count = is_small ? picture->height : SAMPLE_ROWS;

            put_rows(picture, form, (enum plan)plan, rows, band * gap, count,
                     end);
            end += count * (1 + form->row_bytes);
        }
        sizes[plan] = libdeflate_zlib_compress(
            compressor, filtered, (size_t)(end - filtered), out, out_size);
    }
    if (form->type != RGBA)
        sizes[PLAIN] -= sizes[PLAIN] / 10;
    return sizes[ADAPTIVE] < sizes[PLAIN] ? ADAPTIVE : PLAIN;
}

static void
put_32(unsigned char *to, size_t value)
{
    for (int i = 0; i < 4; i++)
        to[i] = (unsigned char)(value >> (24 - 8 * i));
}

/* Close the chunk that begins at start and whose data end at end. Returns
 * where the next begins. */
static unsigned char *
chunk_end(unsigned char *start, const char *name, const unsigned char *end)
{
    size_t len = (size_t)(end - start) - 8;

    put_32(start, len);
    memcpy(start + 4, name, 4);
    put_32(start + 8 + len, libdeflate_crc32(0, start + 4, 4 + len));
    return start + CHUNK_EXTRA + len;
}

static unsigned char *
put_header(unsigned char *out, const struct png_picture *picture,
           const struct form *form)
{
    unsigned char *data;

    /* NOLINTNEXTLINE(bugprone-not-null-terminated-result): bytes, no string */
    memcpy(out, "\x89PNG\r\n\x1a\n", 8);
    out += 8;
    data = out + 8;
    put_32(data, picture->width);
    put_32(data + 4, picture->height);
    data[8] = (unsigned char)form->depth;
    data[9] = (unsigned char)form->type;
    memset(data + 10, 0, 3);  /* deflate, filters by row, not interlaced */
    return chunk_end(out, "IHDR", data + 13);
}

static unsigned char *
put_palette(unsigned char *out, const struct form *form)
{
    unsigned char *data = out + 8;
    size_t with_alpha = 0;

    for (size_t i = 0; i < form->colour_count; i++) {
        memcpy(data + 3 * i, &form->colours[i], 3);
        if (alpha_of(form->colours[i]) != 255)
            with_alpha = i + 1;
    }
    out = chunk_end(out, "PLTE", data + 3 * form->colour_count);
    if (with_alpha == 0)
        return out;
    data = out + 8;
    for (size_t i = 0; i < with_alpha; i++)
        data[i] = alpha_of(form->colours[i]);
    return chunk_end(out, "tRNS", data + with_alpha);
}

static unsigned char *
put_texts(unsigned char *out, const struct png_picture *picture)
{
    if (picture->dots_per_metre != 0) {
        put_32(out + 8, picture->dots_per_metre);
        put_32(out + 12, picture->dots_per_metre);
        out[16] = 1;
        out = chunk_end(out, "pHYs", out + 17);
    }
    for (size_t i = 0; i < picture->text_count; i++) {
        const struct png_text *text = &picture->texts[i];
        size_t key_bytes = strlen(text->key) + 1;
        size_t value_bytes = strlen(text->value);

        memcpy(out + 8, text->key, key_bytes);
        memcpy(out + 8 + key_bytes, text->value, value_bytes);
        out = chunk_end(out, "tEXt", out + 8 + key_bytes + value_bytes);
    }
    return out;
}

/* At most so many bytes stand around the compressed rows. */
static size_t
bytes_around(const struct png_picture *picture)
{
    size_t bytes = 8 + 6 * CHUNK_EXTRA + 13 + 9 + 4 * COLOURS_MAX;

    for (size_t i = 0; i < picture->text_count; i++)
        bytes += CHUNK_EXTRA + 1 + strlen(picture->texts[i].key) +
                 strlen(picture->texts[i].value);
    return bytes;
}

int
png_encode(const struct png_picture *picture, unsigned char **bytes,
           size_t *len)
{
    struct form *form = calloc(1, sizeof(*form));
    struct libdeflate_compressor *compressor = NULL;
    struct rows rows = {0};
    unsigned char *filtered = NULL, *all = NULL, *out;
    size_t filtered_bytes, bound;
    enum plan plan;
    int rc = -1;

    if (form == NULL)
        return -1;
    choose_form(picture, form);
    filtered_bytes = picture->height * (1 + form->row_bytes);
    compressor = libdeflate_alloc_compressor(
        form->type == RGBA ? LEVEL_RGBA : LEVEL);
    if (compressor == NULL)
        goto out;
    bound = libdeflate_zlib_compress_bound(compressor, filtered_bytes);
    filtered = malloc(filtered_bytes + 1);
    all = malloc(bytes_around(picture) + bound);
    if (filtered == NULL || all == NULL || rows_new(&rows, form) == -1)
        goto out;

    plan = choose_plan(picture, form, &rows, compressor, filtered, all, bound);
    put_rows(picture, form, plan, &rows, 0, picture->height, filtered);
    out = put_header(all, picture, form);
    if (form->type == PALETTE)
        out = put_palette(out, form);
    out = put_texts(out, picture);
    out = chunk_end(out, "IDAT", out + 8 + libdeflate_zlib_compress(
        compressor, filtered, filtered_bytes, out + 8, bound));
    out = chunk_end(out, "IEND", out + 8);
    *bytes = all;
    *len = (size_t)(out - all);
    rc = 0;
out:
    if (rc == -1)
        free(all);
    free(filtered);
    free(rows.memory);
    if (compressor != NULL)
        libdeflate_free_compressor(compressor);
    free(form);
    return rc;
}
