#include "market_cache.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <time.h>

enum {
    MIN_SIZE = 1024 * 1024,
    ENTRY_BYTES = 2048,   /* of the ring, for each slot of the table */
    WAYS = 4,             /* slots in which an entry may be */
    ALIGN = 8,
    LOCK_MS = 200         /* others hold it for the time of a copy */
};

/*
 * In the ring: this, the type, the body. Positions count all bytes that were
 * ever given out, so that the entries whose place was taken are those too far
 * behind the head.
 */
struct entry {
    struct hash place;
    int64_t good_until_ms;
    int status;
    uint32_t type_len, body_len;
};

struct slot {
    uint64_t half;      /* of the place, to tell most others by */
    uint64_t position;  /* 0: empty */
};

struct market_cache {
    pthread_mutex_t mutex;
    unsigned char secret[SIPHASH_SECRET_BYTES];
    size_t size;        /* of the mapping */
    size_t ring_size;
    size_t bucket_mask; /* there are so many and one more, of WAYS slots */
    struct slot *slots; /* behind this struct, then the ring: at the same */
    char *ring;         /* address in all processes, being inherited */
    uint64_t head;      /* where the next entry goes */
};

/*** The lock ***/

/* Of one that died while it held the lock nothing can be relied on. */
static void
forget_all(struct market_cache *cache)
{
    memset(cache->slots, 0,
           (cache->bucket_mask + 1) * WAYS * sizeof(cache->slots[0]));
    cache->head = cache->ring_size;  /* no position is 0 */
}

static bool
lock(struct market_cache *cache)
{
    struct timespec until;
    int rc;

    if (cache == NULL)
        return false;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += LOCK_MS * 1000 * 1000;
    until.tv_sec += until.tv_nsec / (1000 * 1000 * 1000);
    until.tv_nsec %= 1000 * 1000 * 1000;
    rc = pthread_mutex_clocklock(&cache->mutex, CLOCK_MONOTONIC, &until);
    if (rc == EOWNERDEAD) {
        forget_all(cache);
        rc = pthread_mutex_consistent(&cache->mutex);
    }
    return rc == 0;
}

static void
unlock(struct market_cache *cache)
{
    pthread_mutex_unlock(&cache->mutex);
}

/*** Making one ***/

static int
init_mutex(pthread_mutex_t *mutex)
{
    pthread_mutexattr_t attributes;
    int rc;

    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    rc = pthread_mutex_init(mutex, &attributes);
    pthread_mutexattr_destroy(&attributes);
    return rc;
}

/* Share the mapping out between the table and the ring. */
static void
lay_out(struct market_cache *cache)
{
    size_t buckets = 1;
    size_t table_size;

    while (buckets * 2 * WAYS * ENTRY_BYTES <= cache->size)
        buckets *= 2;
    table_size = buckets * WAYS * sizeof(cache->slots[0]);
    cache->bucket_mask = buckets - 1;
    cache->slots = (struct slot *)(cache + 1);
    cache->ring = (char *)cache->slots + table_size;
    cache->ring_size = (cache->size - sizeof(*cache) - table_size) / ALIGN *
                       ALIGN;
}

struct market_cache *
market_cache_new(size_t size)
{
    struct market_cache *cache;

    if (size < MIN_SIZE)
        size = MIN_SIZE;
    cache = mmap(NULL, size, PROT_READ | PROT_WRITE,
                 MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (cache == MAP_FAILED)
        return NULL;
    cache->size = size;
    /* Strangers' data have no place in a core file. */
    if (madvise(cache, size, MADV_DONTDUMP) == -1 ||
        getrandom(cache->secret, sizeof(cache->secret), 0) !=
            sizeof(cache->secret) ||
        (errno = init_mutex(&cache->mutex)) != 0) {
        market_cache_free(cache);
        return NULL;
    }
    lay_out(cache);
    forget_all(cache);
    return cache;
}

void
market_cache_free(struct market_cache *cache)
{
    if (cache != NULL)
        munmap(cache, cache->size);
}

/*** Places ***/

struct hash
market_cache_account(const struct market_cache *cache, const char *key)
{
    if (cache == NULL)
        return (struct hash){{0, 0}};
    return siphash(cache->secret, key, strlen(key));
}

struct hash
market_cache_place(const struct market_cache *cache, struct hash account,
                   const struct text *request)
{
    struct text whole = {0};
    struct hash place;

    if (cache == NULL)
        return (struct hash){{0, 0}};
    text_add(&whole, (const char *)&account, sizeof(account));
    text_add(&whole, request->data, request->len);
    place = siphash(cache->secret, whole.data, whole.len);
    text_clear(&whole);
    return place;
}

/*** The table and the ring ***/

static struct entry *
entry_at(struct market_cache *cache, uint64_t position)
{
    return (struct entry *)(cache->ring + position % cache->ring_size);
}

static bool
is_live(const struct market_cache *cache, const struct slot *slot)
{
    return slot->position != 0 &&
           slot->position + cache->ring_size >= cache->head;
}

static struct slot *
bucket_of(struct market_cache *cache, struct hash place)
{
    return cache->slots + (place.half[0] & cache->bucket_mask) * WAYS;
}

static struct entry *
find(struct market_cache *cache, struct hash place)
{
    const struct slot *bucket = bucket_of(cache, place);

    for (int i = 0; i < WAYS; i++) {
        struct entry *entry;

        if (!is_live(cache, &bucket[i]) || bucket[i].half != place.half[1])
            continue;
        entry = entry_at(cache, bucket[i].position);
        if (memcmp(&entry->place, &place, sizeof(place)) == 0)
            return entry;
    }
    return NULL;
}

/* Where to note a new entry: its own old slot, or else the oldest one. */
static struct slot *
choose_slot(struct market_cache *cache, struct hash place)
{
    struct slot *bucket = bucket_of(cache, place);
    struct slot *oldest = bucket;

    for (int i = 0; i < WAYS; i++) {
        if (bucket[i].half == place.half[1])
            return &bucket[i];
        if (bucket[i].position < oldest->position)
            oldest = &bucket[i];
    }
    return oldest;
}

/* Take room off the ring, in one piece: what does not fit before its end
 * goes to its beginning. Returns the position. */
static uint64_t
take_room(struct market_cache *cache, size_t size)
{
    size_t left = cache->ring_size - cache->head % cache->ring_size;
    uint64_t position = cache->head + (size > left ? left : 0);

    cache->head = position + size;
    return position;
}

bool
market_cache_get(struct market_cache *cache, struct hash place,
                 int64_t now_ms, bool stale, struct market_answer *answer)
{
    const struct entry *entry;
    bool is_good = false;

    if (!lock(cache))
        return false;
    entry = find(cache, place);
    if (entry != NULL)
        is_good = now_ms < entry->good_until_ms + (stale ? MARKET_STALE_MS
                                                         : 0);
    if (is_good) {
        const char *text = (const char *)(entry + 1);

        answer->status = entry->status;
        answer->is_cached = true;
        answer->is_stale = now_ms >= entry->good_until_ms;
        memcpy(answer->type, text, entry->type_len);
        text_add(&answer->body, text + entry->type_len, entry->body_len);
    }
    unlock(cache);
    return is_good;
}

void
market_cache_put(struct market_cache *cache, struct hash place,
                 int64_t now_ms, int64_t lifetime_ms,
                 const struct market_answer *answer)
{
    struct entry entry = {
        .place = place,
        .good_until_ms = now_ms + lifetime_ms,
        .status = answer->status,
        .type_len = (uint32_t)strlen(answer->type),
        .body_len = (uint32_t)answer->body.len,
    };
    size_t size = sizeof(entry) + entry.type_len + answer->body.len;
    uint64_t position;
    struct slot *slot;
    char *to;

    size = (size + ALIGN - 1) / ALIGN * ALIGN;
    if (!lock(cache))
        return;
    if (size <= cache->ring_size / 8) {
        slot = choose_slot(cache, place);
        position = take_room(cache, size);
        *slot = (struct slot){place.half[1], position};
        to = memcpy(entry_at(cache, position), &entry, sizeof(entry));
        to = mempcpy(to + sizeof(entry), answer->type, entry.type_len);
        if (entry.body_len > 0)
            memcpy(to, answer->body.data, entry.body_len);
    }
    unlock(cache);
}
