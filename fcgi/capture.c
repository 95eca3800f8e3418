#include "capture.h"

#include <inttypes.h>
#include <string.h>

static size_t
head_size(const struct capture *capture)
{
    return capture->max - capture->max / 4;
}

void
capture_init(struct capture *capture, size_t max)
{
    *capture = (struct capture){.max = max};
}

void
capture_clear(struct capture *capture)
{
    text_clear(&capture->kept);
    *capture = (struct capture){0};
}

/* The byte with this number stands here: behind the head, in a ring. */
static size_t
place(const struct capture *capture, uint64_t number)
{
    size_t head = head_size(capture), ring = capture->max - head;

    if (number < head)
        return (size_t)number;
    return head + (size_t)((number - head) % ring);
}

void
capture_add(struct capture *capture, const char *data, size_t len)
{
    while (len > 0) {
        size_t at = place(capture, capture->total);
        size_t end = at < head_size(capture) ? head_size(capture)
                                             : capture->max;
        size_t step = len < end - at ? len : end - at;

        if (at == capture->kept.len)
            text_add(&capture->kept, data, step);
        else
            memcpy(capture->kept.data + at, data, step);
        capture->total += step;
        data += step;
        len -= step;
    }
}

static bool
continues_character(char byte)
{
    return ((unsigned char)byte & 0xc0) == 0x80;
}

/* Bytes at the end of data that begin a character without ending it. */
static size_t
cut_at_end(const char *data, size_t len)
{
    for (size_t back = 1; back <= 3 && back <= len; back++) {
        unsigned char byte = (unsigned char)data[len - back];
        size_t whole = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2;

        if (byte >= 0xc0)
            return whole > back ? back : 0;
        if (byte < 0x80)
            return 0;
    }
    return 0;
}

size_t
capture_whole(const struct capture *capture, size_t from, size_t most)
{
    size_t end = head_size(capture);

    if (capture->total < end)
        end = (size_t)capture->total;
    if (from >= end)
        return 0;
    if (end - from > most)
        end = from + most;
    return end - from - cut_at_end(capture->kept.data + from, end - from);
}

uint64_t
capture_print(const struct capture *capture, struct text *text)
{
    size_t head = head_size(capture), skipped = 0, start, cut;
    uint64_t dropped;

    if (capture->total <= capture->max) {
        text_add(text, capture->kept.data, (size_t)capture->total);
        return 0;
    }
    cut = cut_at_end(capture->kept.data, head);
    start = place(capture, capture->total);  /* the oldest byte of the ring */
    while (skipped < 3 && skipped < capture->max - head &&
           continues_character(capture->kept.data[
               place(capture, capture->total + skipped)]))
        skipped++;
    dropped = capture->total - capture->max + cut + skipped;

    text_add(text, capture->kept.data, head - cut);
    text_print(text, "\n[... %" PRIu64 " bytes left out ...]\n", dropped);
    if (start + skipped < capture->max) {
        text_add(text, capture->kept.data + start + skipped,
                 capture->max - start - skipped);
        text_add(text, capture->kept.data + head, start - head);
    } else {
        size_t rest = start + skipped - capture->max;

        text_add(text, capture->kept.data + head + rest, start - head - rest);
    }
    return dropped;
}
