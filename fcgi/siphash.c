#include "siphash.h"

#include <endian.h>
#include <string.h>

struct state {
    uint64_t a, b, c, d;
};

static uint64_t
rotate(uint64_t word, int bits)
{
    return word << bits | word >> (64 - bits);
}

static uint64_t
load(const unsigned char *bytes)
{
    uint64_t word;

    memcpy(&word, bytes, sizeof(word));
    return le64toh(word);
}

static void
mix(struct state *state, int rounds)
{
    while (rounds-- > 0) {
        state->a += state->b;
        state->c += state->d;
        state->b = rotate(state->b, 13) ^ state->a;
        state->d = rotate(state->d, 16) ^ state->c;
        state->a = rotate(state->a, 32);
        state->c += state->b;
        state->a += state->d;
        state->b = rotate(state->b, 17) ^ state->c;
        state->d = rotate(state->d, 21) ^ state->a;
        state->c = rotate(state->c, 32);
    }
}

static void
take_word(struct state *state, uint64_t word)
{
    state->d ^= word;
    mix(state, 2);
    state->a ^= word;
}

struct hash
siphash(const unsigned char secret[SIPHASH_SECRET_BYTES], const void *data,
        size_t len)
{
    const unsigned char *bytes = data;
    uint64_t k0 = load(secret), k1 = load(secret + 8);
    unsigned char last[8] = {0};
    struct state state = {
        k0 ^ 0x736f6d6570736575, k1 ^ 0x646f72616e646f6d ^ 0xee,
        k0 ^ 0x6c7967656e657261, k1 ^ 0x7465646279746573,
    };
    struct hash hash;

    for (size_t i = 0; i < len / 8; i++)
        take_word(&state, load(bytes + 8 * i));
    if (len % 8 > 0)
        memcpy(last, bytes + len / 8 * 8, len % 8);
    last[7] = (unsigned char)len;
    take_word(&state, load(last));

    state.c ^= 0xee;
    mix(&state, 4);
    hash.half[0] = state.a ^ state.b ^ state.c ^ state.d;
    state.b ^= 0xdd;
    mix(&state, 4);
    hash.half[1] = state.a ^ state.b ^ state.c ^ state.d;
    return hash;
}
