/*
 * The PNG encoder under sanitizers: pictures of all small sizes and in every
 * form, decoded again. tests/png has Pillow's opinion of it.
 */

#include "png.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <libdeflate.h>

enum { SIDE_MAX = 70 };

enum { RGB = 2, PALETTE = 3, RGBA = 6 };

/* What a file holds, found by walking its chunks. */
struct file {
    size_t width, height;
    unsigned int depth, type;
    unsigned char palette[256][4];
    unsigned char *rows;
    size_t row_bytes, step;
};

static size_t
get_32(const unsigned char *from)
{
    return (size_t)from[0] << 24 | (size_t)from[1] << 16 |
           (size_t)from[2] << 8 | from[3];
}

static void
read_rows(struct file *file, const unsigned char *data, size_t len)
{
    size_t channels = file->type == RGBA ? 4 : file->type == RGB ? 3 : 1;
    size_t all, got;
    struct libdeflate_decompressor *decompressor =
        libdeflate_alloc_decompressor();

    file->step = channels;
    file->row_bytes = (file->width * channels * file->depth + 7) / 8;
    all = file->height * (1 + file->row_bytes);
    file->rows = malloc(all);
    assert_int_equal(libdeflate_zlib_decompress(decompressor, data, len,
                                                file->rows, all, &got), 0);
    assert_int_equal(got, all);
    libdeflate_free_decompressor(decompressor);
}

static void
read_chunks(struct file *file, const unsigned char *bytes, size_t len)
{
    const unsigned char *end = bytes + len;

    assert_memory_equal(bytes, "\x89PNG\r\n\x1a\n", 8);
    for (bytes += 8; bytes < end; bytes += 12 + len) {
        const unsigned char *data = bytes + 8;

        len = get_32(bytes);
        assert_true(len + 12 <= (size_t)(end - bytes));
        assert_int_equal(get_32(data + len),
                         libdeflate_crc32(0, bytes + 4, len + 4));
        if (memcmp(bytes + 4, "IHDR", 4) == 0) {
            file->width = get_32(data);
            file->height = get_32(data + 4);
            file->depth = data[8];
            file->type = data[9];
        } else if (memcmp(bytes + 4, "PLTE", 4) == 0) {
            for (size_t i = 0; i < len / 3; i++) {
                memcpy(file->palette[i], data + 3 * i, 3);
                file->palette[i][3] = 255;
            }
        } else if (memcmp(bytes + 4, "tRNS", 4) == 0) {
            for (size_t i = 0; i < len; i++)
                file->palette[i][3] = data[i];
        } else if (memcmp(bytes + 4, "IDAT", 4) == 0) {
            read_rows(file, data, len);
        }
    }
    assert_ptr_equal(bytes, end);
}

/* As the format's document has it, byte by byte. */
static void
undo_filters(struct file *file)
{
    for (size_t y = 0; y < file->height; y++) {
        unsigned char *row = file->rows + y * (1 + file->row_bytes) + 1;
        const unsigned char *above = row - 1 - file->row_bytes;

        for (size_t i = 0; i < file->row_bytes; i++) {
            int a = i >= file->step ? row[i - file->step] : 0;
            int b = y > 0 ? above[i] : 0;
            int c = y > 0 && i >= file->step ? above[i - file->step] : 0;
            int to_a = abs(b - c), to_b = abs(a - c), to_c = abs(a + b - 2 * c);
            int paeth = to_a <= to_b && to_a <= to_c ? a : to_b <= to_c ? b : c;
            const int before[] = {0, a, b, (a + b) / 2, paeth};

            assert_in_range(row[-1], 0, 4);
            row[i] = (unsigned char)(row[i] + before[row[-1]]);
        }
    }
}

static void
pixel(const struct file *file, size_t x, size_t y, unsigned char *rgba)
{
    const unsigned char *row = file->rows + y * (1 + file->row_bytes) + 1;

    if (file->type == PALETTE) {
        size_t bit = x * file->depth;
        unsigned int index = row[bit / 8] >> (8 - file->depth - bit % 8);

        memcpy(rgba, file->palette[index & ((1U << file->depth) - 1)], 4);
    } else {
        rgba[3] = 255;
        memcpy(rgba, row + x * file->step, file->step);
    }
}

static void
check_picture(const struct png_picture *picture, unsigned int type)
{
    struct file file = {0};
    unsigned char *bytes, rgba[4];
    size_t len;

    assert_int_equal(png_encode(picture, &bytes, &len), 0);
    read_chunks(&file, bytes, len);
    assert_int_equal(file.type, type);
    assert_int_equal(file.width, picture->width);
    assert_int_equal(file.height, picture->height);
    undo_filters(&file);
    for (size_t y = 0; y < picture->height; y++) {
        for (size_t x = 0; x < picture->width; x++) {
            pixel(&file, x, y, rgba);
            assert_memory_equal(
                rgba, picture->rgba + 4 * (y * picture->width + x), 4);
        }
    }
    free(file.rows);
    free(bytes);
}

/* Noise of so many colours, with at least those bits of alpha. */
static unsigned char *
noise(size_t pixels, unsigned int colours, unsigned char opaque)
{
    unsigned char *rgba = malloc(4 * pixels);

    for (size_t i = 0; i < pixels; i++) {
        unsigned int colour = (unsigned int)rand() % colours;

        rgba[4 * i] = (unsigned char)colour;
        rgba[4 * i + 1] = (unsigned char)(colour >> 8);
        rgba[4 * i + 2] = (unsigned char)(colour * 7);
        rgba[4 * i + 3] = (unsigned char)(colour * 3) | opaque;
    }
    return rgba;
}

static void
every_small_size_and_form(void **state)
{
    (void)state;
    for (size_t width = 1; width <= SIDE_MAX; width += 3) {
        for (size_t height = 1; height <= 2 * SIDE_MAX; height += 13) {
            for (int keep = 0; keep < 2; keep++) {
                unsigned char *opaque = noise(width * height, 1U << 16, 255);
                struct png_picture picture = {
                    .rgba = opaque, .width = width, .height = height,
                    .keep_rgba = keep != 0,
                };
                bool is_small = width * height <= 3 * 256;

                if (keep || !is_small)
                    check_picture(&picture, keep ? RGBA : RGB);
                free(opaque);
            }
        }
    }
}

static void
every_depth_of_palette(void **state)
{
    static const unsigned int counts[] = {1, 2, 3, 4, 5, 16, 17, 255, 256};

    (void)state;
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        for (size_t width = 60; width < 69; width++) {
            unsigned char *rgba = noise(width * 90, counts[i], 0);
            struct png_picture picture = {
                .rgba = rgba, .width = width, .height = 90,
            };

            check_picture(&picture, PALETTE);
            free(rgba);
        }
    }
}

static void
texts_and_resolution_fit(void **state)
{
    static const struct png_text texts[] = {{"Software", "ours"}, {"k", ""}};
    unsigned char *rgba = noise(70 * 70, 256, 0);
    struct png_picture picture = {
        .rgba = rgba, .width = 70, .height = 70, .dots_per_metre = 5906,
        .texts = texts, .text_count = 2,
    };

    (void)state;
    check_picture(&picture, PALETTE);
    free(rgba);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_small_size_and_form),
        cmocka_unit_test(every_depth_of_palette),
        cmocka_unit_test(texts_and_resolution_fit),
    };

    return cmocka_run_group_tests_name("png", tests, NULL, NULL);
}
