/*
 * What workers share about market data: answers that are kept, and the rate.
 */
#include "market_cache.h"
#include "market_rate.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

enum { MIB = 1 << 20, LIFETIME = 1000 };

/*** Putting and getting ***/

static struct hash
place_of(const struct market_cache *cache, const char *key,
         const char *request)
{
    struct text text = {0};
    struct hash place;

    text_print(&text, "%s", request);
    place = market_cache_place(cache, market_cache_account(cache, key),
                               &text);
    text_clear(&text);
    return place;
}

/* Keep a body of len bytes that all tell which it is. */
static void
put(struct market_cache *cache, const char *request, unsigned char filling,
    size_t len)
{
    struct market_answer answer;
    char *bytes = malloc(len + 1);

    memset(bytes, filling, len);
    market_answer_init(&answer);
    answer.status = 200;
    snprintf(answer.type, sizeof(answer.type), "type/%d", filling);
    text_add(&answer.body, bytes, len);
    market_cache_put(cache, place_of(cache, "key", request), 0, LIFETIME,
                     &answer);
    market_answer_clear(&answer);
    free(bytes);
}

static bool
get(struct market_cache *cache, const char *request, int64_t when, bool stale,
    struct market_answer *answer)
{
    market_answer_init(answer);
    return market_cache_get(cache, place_of(cache, "key", request), when,
                            stale, answer);
}

static bool
has(struct market_cache *cache, const char *request)
{
    struct market_answer answer;
    bool found = get(cache, request, 0, false, &answer);

    market_answer_clear(&answer);
    return found;
}

/* It is there, and whole. */
static void
assert_has(struct market_cache *cache, const char *request,
           unsigned char filling, size_t len)
{
    struct market_answer answer;
    char type[20];

    assert_true(get(cache, request, 0, false, &answer));
    assert_int_equal(answer.status, 200);
    assert_true(answer.is_cached);
    assert_false(answer.is_stale);
    assert_int_equal(answer.retry_after, MARKET_NO_RETRY_AFTER);
    snprintf(type, sizeof(type), "type/%d", filling);
    assert_string_equal(answer.type, type);
    assert_int_equal(answer.body.len, len);
    for (size_t i = 0; i < len; i++)
        assert_int_equal((unsigned char)answer.body.data[i], filling);
    market_answer_clear(&answer);
}

static void
what_was_put_is_found(void **state)
{
    struct market_cache *cache = market_cache_new(MIB);

    (void)state;
    assert_non_null(cache);
    assert_false(has(cache, "a"));
    put(cache, "a", 1, 1000);
    put(cache, "b", 2, 0);
    assert_has(cache, "a", 1, 1000);
    assert_has(cache, "b", 2, 0);
    put(cache, "a", 3, 10);
    assert_has(cache, "a", 3, 10);
    assert_false(has(cache, "c"));
    market_cache_free(cache);
}

static void
accounts_are_kept_apart(void **state)
{
    struct market_cache *cache = market_cache_new(MIB);
    struct market_cache *other = market_cache_new(MIB);
    struct market_answer answer;
    struct hash a, b;

    (void)state;
    put(cache, "a", 1, 10);
    market_answer_init(&answer);
    assert_false(market_cache_get(cache, place_of(cache, "kez", "a"), 0,
                                  true, &answer));
    /* Another start, another secret. */
    a = market_cache_account(cache, "key");
    b = market_cache_account(other, "key");
    assert_memory_not_equal(&a, &b, sizeof(a));
    market_cache_free(cache);
    market_cache_free(other);
}

static void
no_cache_keeps_nothing(void **state)
{
    (void)state;
    put(NULL, "a", 1, 10);
    assert_false(has(NULL, "a"));
    market_cache_free(NULL);
}

static void
time_runs_out(void **state)
{
    struct market_cache *cache = market_cache_new(MIB);
    struct market_answer answer;

    (void)state;
    put(cache, "a", 1, 10);
    assert_true(get(cache, "a", LIFETIME - 1, false, &answer));
    market_answer_clear(&answer);
    assert_false(get(cache, "a", LIFETIME, false, &answer));
    assert_int_equal(answer.body.len, 0);
    assert_true(get(cache, "a", LIFETIME, true, &answer));
    assert_true(answer.is_cached && answer.is_stale);
    assert_int_equal(answer.body.len, 10);
    market_answer_clear(&answer);
    assert_true(get(cache, "a", LIFETIME - 1, true, &answer));
    assert_false(answer.is_stale);
    market_answer_clear(&answer);
    assert_false(get(cache, "a", LIFETIME + MARKET_STALE_MS, true, &answer));
    market_cache_free(cache);
}

static void
the_oldest_makes_room(void **state)
{
    struct market_cache *cache = market_cache_new(MIB);
    char request[20];
    int there = 0;

    (void)state;
    for (int i = 0; i < 200; i++) {
        snprintf(request, sizeof(request), "r%d", i);
        put(cache, request, (unsigned char)i, 9000 + (size_t)i);
    }
    for (int i = 0; i < 200; i++) {
        snprintf(request, sizeof(request), "r%d", i);
        if (!has(cache, request))
            continue;
        assert_has(cache, request, (unsigned char)i, 9000 + (size_t)i);
        assert_true(i >= 80);
        there++;
    }
    assert_in_range(there, 90, 120);
    market_cache_free(cache);
}

/* Sizes of all kinds, many times around; what is found is what was put. */
static void
it_goes_round_and_round(void **state)
{
    struct market_cache *cache = market_cache_new(MIB);
    size_t lengths[64] = {0};
    unsigned int random = 1;
    char request[20];

    (void)state;
    for (int i = 0; i < 3000; i++) {
        int which;

        random = random * 1103515245 + 12345;
        which = (int)(random >> 16) % 64;
        lengths[which] = (random >> 8) % 60000;
        snprintf(request, sizeof(request), "r%d", which);
        put(cache, request, (unsigned char)which, lengths[which]);
        assert_has(cache, request, (unsigned char)which, lengths[which]);
        if (i % 100 != 0)
            continue;
        for (int j = 0; j < 64; j++) {
            snprintf(request, sizeof(request), "r%d", j);
            if (has(cache, request))
                assert_has(cache, request, (unsigned char)j, lengths[j]);
        }
    }
    market_cache_free(cache);
}

static void
what_takes_an_eighth_is_not_kept(void **state)
{
    struct market_cache *cache = market_cache_new(MIB);

    (void)state;
    put(cache, "small", 1, 100);
    put(cache, "large", 2, MIB / 8);
    put(cache, "huge", 3, 2 * MIB);
    assert_false(has(cache, "large"));
    assert_false(has(cache, "huge"));
    assert_has(cache, "small", 1, 100);
    put(cache, "fits", 4, MIB / 8 - 16 * 1024);
    assert_has(cache, "fits", 4, MIB / 8 - 16 * 1024);
    market_cache_free(cache);
}

static void
it_has_a_least_size(void **state)
{
    struct market_cache *cache = market_cache_new(1);

    (void)state;
    put(cache, "a", 1, 100000);
    assert_has(cache, "a", 1, 100000);
    market_cache_free(cache);
}

/*** Processes ***/

static int
status_of(pid_t pid)
{
    int status;

    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

static void
processes_share_it(void **state)
{
    struct market_cache *cache = market_cache_new(MIB);
    pid_t pid = fork();

    (void)state;
    if (pid == 0) {
        put(cache, "a", 7, 1000);
        _exit(0);
    }
    assert_int_equal(status_of(pid), 0);
    assert_has(cache, "a", 7, 1000);
    market_cache_free(cache);
}

static void
kill_myself(int number)
{
    (void)number;
    kill(getpid(), SIGKILL);
}

static void
stop_myself(int number)
{
    (void)number;
    kill(getpid(), SIGSTOP);
}

/*
 * Put what cannot be read to its end: the first such byte is met while a body
 * is copied, which is while the lock is held, and then end is called.
 */
static _Noreturn void
end_while_putting(struct market_cache *cache, void (*end)(int))
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    struct market_answer answer;
    char *body = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    signal(SIGSEGV, end);
    if (body == MAP_FAILED || mprotect(body + page, page, PROT_NONE) == -1)
        _exit(1);
    market_answer_init(&answer);
    answer.status = 200;
    answer.body = (struct text){body, 2 * page, 2 * page};
    market_cache_put(cache, place_of(cache, "key", "b"), 0, LIFETIME,
                     &answer);
    _exit(2);
}

static void
one_that_dies_holding_it_costs_what_was_kept(void **state)
{
    struct market_cache *cache = market_cache_new(MIB);

    (void)state;
    put(cache, "a", 1, 100);
    for (int i = 0; i < 3; i++) {
        pid_t pid = fork();

        if (pid == 0)
            end_while_putting(cache, kill_myself);
        assert_int_equal(status_of(pid), SIGKILL);
        assert_false(has(cache, "a"));
        assert_false(has(cache, "b"));
        put(cache, "a", 2, 200);
        assert_has(cache, "a", 2, 200);
    }
    market_cache_free(cache);
}

/* Many at once, some of whom are killed wherever they happen to be. */
static void
any_of_them_may_be_killed_at_any_time(void **state)
{
    struct market_cache *cache = market_cache_new(MIB);
    pid_t pids[4];

    (void)state;
    for (int round = 0; round < 10; round++) {
        for (size_t i = 0; i < COUNT(pids); i++) {
            pids[i] = fork();
            for (int j = 0; pids[i] == 0; j++) {
                char request[20];
                int filling = j % 50;

                snprintf(request, sizeof(request), "r%d", filling);
                put(cache, request, (unsigned char)filling, 5000);
                if (has(cache, request))
                    assert_has(cache, request, (unsigned char)filling, 5000);
            }
        }
        usleep(20000);
        for (size_t i = 0; i < COUNT(pids); i++)
            kill(pids[i], SIGKILL);
        for (size_t i = 0; i < COUNT(pids); i++)
            assert_int_equal(status_of(pids[i]), SIGKILL);
        put(cache, "a", 9, 77);
        assert_has(cache, "a", 9, 77);
    }
    market_cache_free(cache);
}

/* It has nothing, rather than that one stopped process stops them all. */
static void
one_that_is_stopped_holding_it_is_not_waited_for(void **state)
{
    struct market_cache *cache = market_cache_new(MIB);
    pid_t pid;
    int status;

    (void)state;
    put(cache, "a", 1, 10);
    pid = fork();
    if (pid == 0)
        end_while_putting(cache, stop_myself);
    assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
    assert_true(WIFSTOPPED(status));
    alarm(10);
    assert_false(has(cache, "a"));
    put(cache, "c", 3, 10);
    alarm(0);
    kill(pid, SIGKILL);
    assert_int_equal(status_of(pid), SIGKILL);
    put(cache, "c", 3, 10);
    assert_has(cache, "c", 3, 10);
    market_cache_free(cache);
}

/*** The rate ***/

enum { SECOND = 1000, MINUTE = 60 * SECOND };

static struct market_rate *
rate_new(int calls_a_minute)
{
    struct market_rate *rate = calloc(1, market_rate_size(calls_a_minute));

    market_rate_init(rate, calls_a_minute);
    return rate;
}

static void
no_minute_has_more_than_its_calls(void **state)
{
    struct market_rate *rate = rate_new(270);
    int64_t taken_ms[2000];
    int taken = 0;

    (void)state;
    /* As often as one can, for five minutes from any moment. */
    for (int64_t now = 7; now < 5 * MINUTE; now += 11)
        if (market_rate_take(rate, now) == 0)
            taken_ms[taken++] = now;
    assert_int_equal(taken, 5 * 270);
    for (int i = 0; i + 270 < taken; i++)
        assert_true(taken_ms[i + 270] - taken_ms[i] >= MINUTE);
    free(rate);
}

static void
all_calls_of_a_minute_may_be_made_at_once(void **state)
{
    struct market_rate *rate = rate_new(270);

    (void)state;
    for (int i = 0; i < 270; i++)
        assert_int_equal(market_rate_take(rate, 5 * SECOND), 0);
    assert_int_equal(market_rate_take(rate, 6 * SECOND), 59 * SECOND);
    free(rate);
}

static void
who_waits_as_told_may_go(void **state)
{
    struct market_rate *rate = rate_new(1);

    (void)state;
    assert_int_equal(market_rate_take(rate, 5), 0);
    assert_int_equal(market_rate_take(rate, 5), MINUTE);
    assert_int_equal(market_rate_take(rate, 5 + MINUTE - 1), 1);
    assert_int_equal(market_rate_take(rate, 5 + MINUTE), 0);
    free(rate);
}

static void
without_a_limit_all_may_go(void **state)
{
    struct market_rate *rate = rate_new(0);

    (void)state;
    for (int i = 0; i < 100000; i++)
        assert_int_equal(market_rate_take(rate, 5), 0);
    free(rate);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_put_is_found),
        cmocka_unit_test(accounts_are_kept_apart),
        cmocka_unit_test(no_cache_keeps_nothing),
        cmocka_unit_test(time_runs_out),
        cmocka_unit_test(the_oldest_makes_room),
        cmocka_unit_test(it_goes_round_and_round),
        cmocka_unit_test(what_takes_an_eighth_is_not_kept),
        cmocka_unit_test(it_has_a_least_size),
        cmocka_unit_test(processes_share_it),
        cmocka_unit_test(one_that_dies_holding_it_costs_what_was_kept),
        cmocka_unit_test(any_of_them_may_be_killed_at_any_time),
        cmocka_unit_test(one_that_is_stopped_holding_it_is_not_waited_for),
        cmocka_unit_test(no_minute_has_more_than_its_calls),
        cmocka_unit_test(all_calls_of_a_minute_may_be_made_at_once),
        cmocka_unit_test(who_waits_as_told_may_go),
        cmocka_unit_test(without_a_limit_all_may_go),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
