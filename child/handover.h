/*
 * handover.h - what zygote and worker say to each other about one child.
 *
 * The only header that both programs include. A ready child travels from the
 * zygote to whichever worker asks first, as one packet with its descriptors;
 * the status socket in it then carries "taken" one way and the end of the
 * child the other way. Integers are packed byte by byte, little-endian.
 */

#ifndef SANDBOX_HANDOVER_H
#define SANDBOX_HANDOVER_H

#include <stddef.h>
#include <stdint.h>

/* The descriptors of a child as user code sees them. */
enum {
    CHILD_JOB = 0,    /* the job as JSON, then /dev/null */
    CHILD_OUTPUT = 1, /* and 2: one pipe for everything that is printed */
    CHILD_REPORT = 3, /* lines about the run; at most REPORT_MAX bytes */
    CHILD_MARKET = 4, /* requests for market data, and their answers */
    CHILD_FD_COUNT = 5
};

enum { REPORT_MAX = 256 * 1024 };

/*
 * The market descriptor, a SOCK_SEQPACKET. From the child, a packet a call:
 *
 *     {"call": 17, "path": "quote", "parameters": {"symbol": "AAPL"},
 *      "refresh": false}
 *
 * To the child, for each call one head, then the size bytes of the body in
 * packets of MARKET_BODY, the call's number in four bytes, and 1 to
 * MARKET_CHUNK_MAX bytes; packets of other calls may stand between:
 *
 *     {"call": 17, "status": 200, "type": "application/json", "size": 24513,
 *      "cached": false, "stale": false, "ms": 12, "retry_after": null,
 *      "failure": null, "message": null}
 *
 * Without an answer of the server, status and size are 0, type is empty, and
 * failure is one of no_key, refused, calls, timeout, network, size, redirect;
 * message then is a sentence. With MARKET_AT_ONCE calls under way, further
 * packets stay unread. Far too many of them end it: the socket is shut down.
 */
enum {
    MARKET_REQUEST_MAX = 8 * 1024,
    MARKET_CHUNK_MAX = 64 * 1024,
    MARKET_AT_ONCE = 8,
    MARKET_BODY = 'D'
};

/* The first line of a report, written before any user byte is read: either
 * the child is ready, or why it cannot be. Later lines are for the worker. */
#define REPORT_READY "ready"
#define REPORT_FAILED "failed: "

/* How the last line of a report begins: KiB of memory that were the run's own,
 * at most. */
#define REPORT_PEAK "peak "

/* What the responder passes to a zygote. */
enum {
    ZYGOTE_QUEUE_FD = 3,  /* for ready children: SOCK_SEQPACKET */
    ZYGOTE_IDS_FD = 4     /* where the range of ids is asked for: a byte, and
                             a byte back */
};

/* Ids inside the zygote's user namespace: the service's, and of each slot. */
enum { INSIDE_ID = 1000, INSIDE_RUN_IDS = 2000 };

/* The worker's ends, in the order in which they are handed over. */
enum {
    HANDOVER_JOB,    /* pipe, to write */
    HANDOVER_OUTPUT, /* pipe, to read */
    HANDOVER_REPORT, /* pipe, to read */
    HANDOVER_MARKET, /* SOCK_SEQPACKET */
    HANDOVER_WORK,   /* the run's own tmpfs, an open directory */
    HANDOVER_PIDFD,
    HANDOVER_STATUS, /* SOCK_SEQPACKET, to and from the zygote */
    HANDOVER_OWNER,  /* the zygote's user namespace, which owns the tmpfs */
    HANDOVER_FD_COUNT
};

/* How a zygote's line begins that names the layers in force, blanks between
 * them. */
#define PROBE_IN_FORCE "in force:"

/* And the line of what it has loaded, as JSON (sandbox/about.py). */
#define ZYGOTE_ABOUT "about:"

/* What it says when it has loaded all, and handed children over. */
#define ZYGOTE_LOADED "loaded"

/* What it says when it has forked as often as it should. */
#define ZYGOTE_WORN "worn"

/* Beside the descriptors: anonymous KiB inherited at the fork, and whether it
 * was before all libraries were there. */
enum { HANDOVER_BYTES = 4 + 1 };

/* Worker to zygote: the child has left the queue; fork another. */
enum { STATUS_TAKEN = 'T' };

/* Zygote to worker: wait status, user and system microseconds, resident KiB at
 * most, and how many processes of it the kernel ended for memory. */
enum { STATUS_BYTES = 4 + 3 * 8 + 4 };

/* Below the top of the run's tmpfs. */
#define WORK_DIRECTORY "work"
#define FIGURE_DIRECTORY "figures"

static inline void
pack(unsigned char *to, uint64_t value, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        to[i] = (unsigned char)(value >> (8 * i));
}

static inline uint64_t
unpack(const unsigned char *from, size_t bytes)
{
    uint64_t value = 0;

    for (size_t i = 0; i < bytes; i++)
        value |= (uint64_t)from[i] << (8 * i);
    return value;
}

#endif
