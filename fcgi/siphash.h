/*
 * siphash.h - SipHash-2-4 with 128 bits, a hash that nobody without its
 * secret can foresee (Aumasson and Bernstein, 2012). Pure.
 */

#ifndef SANDBOX_SIPHASH_H
#define SANDBOX_SIPHASH_H

#include <stddef.h>
#include <stdint.h>

enum { SIPHASH_SECRET_BYTES = 16 };

struct hash {
    uint64_t half[2];
};

struct hash siphash(const unsigned char secret[SIPHASH_SECRET_BYTES],
                    const void *data, size_t len);

#endif
