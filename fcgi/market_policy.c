#include "market_policy.h"

#include <fnmatch.h>
#include <string.h>

enum { SECOND = 1000, MINUTE = 60 * SECOND, HOUR = 60 * MINUTE,
       DAY = 24 * HOUR };

/* Deep enough for whatever the server nests. */
enum { MAX_DEPTH = 64 };

enum { PATIENCE = 30 * SECOND, LONG_PATIENCE = 60 * SECOND, RETRIES = 2 };

/*
 * The first row that matches counts. A '*' stands for anything, '/' as well.
 * past: for a range that ended before today, where that makes a difference.
 */
static const struct rule {
    const char *paths;
    int lifetime;
    int past;
} rules[] = {
    /* Bars that are closed change only when a split re-adjusts them all. */
    {"historical-price-eod/*", 10 * MINUTE, DAY},
    {"historical-market-capitalization", 10 * MINUTE, DAY},
    /* What trading changes by the second; half a minute misleads nobody. */
    {"quote*", 30 * SECOND, 0},
    {"batch-*", 30 * SECOND, 0},
    {"aftermarket-*", 30 * SECOND, 0},
    /* Bars under way, and what is computed from them. */
    {"historical-chart/*", MINUTE, 0},
    {"technical-indicators/*", MINUTE, 0},
    /* Movers, and whether an exchange is open right now. */
    {"biggest-*", MINUTE, 0},
    {"most-actives", MINUTE, 0},
    {"stock-price-change", MINUTE, 0},
    {"*exchange-market-hours", MINUTE, 0},
    /* Written all day long. */
    {"news/*", 5 * MINUTE, 0},
    {"fmp-articles", 5 * MINUTE, 0},
    {"sec-filings*", 5 * MINUTE, 0},
    {"*-latest", 5 * MINUTE, 0},
    {"*/latest", 5 * MINUTE, 0},
    {"latest-*", 5 * MINUTE, 0},
    /* Facts about a company, but with a price among them. */
    {"profile*", 10 * MINUTE, 0},
    {"stock-peers", 10 * MINUTE, 0},
    {"market-capitalization*", 10 * MINUTE, 0},
    {"company-screener", 10 * MINUTE, 0},
    /* Ratios to a price, to be right within a day's move. */
    {"*-ttm", HOUR, 0},
    {"*discounted-cash-flow", HOUR, 0},
    /* What people announce, now and then in a day. */
    {"*-calendar", HOUR, 0},
    {"analyst-estimates", HOUR, 0},
    {"price-target-*", HOUR, 0},
    {"ratings-*", HOUR, 0},
    {"grades*", HOUR, 0},
    {"earnings", HOUR, 0},
    {"dividends", HOUR, 0},
    {"splits", HOUR, 0},
    {"insider-trading/*", HOUR, 0},
    {"senate-*", HOUR, 0},
    {"house-*", HOUR, 0},
    {"economic-indicators", HOUR, 0},
    {"treasury-rates", HOUR, 0},
    {"sector-*", HOUR, 0},
    {"historical-sector-*", HOUR, 0},
    {"industry-p*", HOUR, 0},
    {"historical-industry-p*", HOUR, 0},
    /* Quarterly: statements and all that is made from them or filed so. */
    {"income-statement*", DAY / 2, 0},
    {"balance-sheet-statement*", DAY / 2, 0},
    {"cash-flow-statement*", DAY / 2, 0},
    {"financial-*", DAY / 2, 0},
    {"ratios", DAY / 2, 0},
    {"key-metrics", DAY / 2, 0},
    {"enterprise-values", DAY / 2, 0},
    {"owner-earnings", DAY / 2, 0},
    {"revenue-*", DAY / 2, 0},
    {"shares-float*", DAY / 2, 0},
    {"key-executives", DAY / 2, 0},
    {"*executive-compensation*", DAY / 2, 0},
    {"*employee-count", DAY / 2, 0},
    {"earning-call-transcript*", DAY / 2, 0},
    {"esg-*", DAY / 2, 0},
    {"commitment-of-traders-*", DAY / 2, 0},
    /* Members of an index or a fund. */
    {"*-constituent", DAY / 2, 0},
    {"etf/*", DAY / 2, 0},
    {"funds/*", DAY / 2, 0},
    {"institutional-ownership/*", DAY / 2, 0},
    /* Lists and vocabularies. */
    {"*-list", DAY, 0},
    {"available-*", DAY, 0},
    {"search-*", DAY, 0},
    {"symbol-change", DAY, 0},
    {"delisted-companies", DAY, 0},
    {"holidays-by-exchange", DAY, 0},
    {"market-risk-premium", DAY, 0},
    /* What nobody has thought of. */
    {"*", MINUTE, 0},
};

/*** How long an answer is good ***/

/* Did the range end before the day that is still going on anywhere? */
static bool
is_past(const struct market_request *request, time_t now)
{
    const char *to = market_request_value(request, "to");
    time_t half_a_day_ago = now - 12 * 60 * 60;
    char today[16];
    struct tm utc;

    if (to == NULL || fnmatch("[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]",
                              to, 0) != 0)
        return false;
    gmtime_r(&half_a_day_ago, &utc);
    strftime(today, sizeof(today), "%Y-%m-%d", &utc);
    return strcmp(to, today) < 0;
}

static int64_t
find_lifetime(const struct market_request *request, time_t now)
{
    const struct rule *rule = rules;

    while (fnmatch(rule->paths, request->path, 0) != 0)
        rule++;
    return rule->past != 0 && is_past(request, now) ? rule->past
                                                    : rule->lifetime;
}

/*
 * What an answer's body is: data, none of it, or no answer in truth. An error
 * may come with status 200.
 */
enum content { DATA, EMPTY, NO_DATA };

static enum content
read_object(struct json_reader *reader)
{
    struct span name, value;
    bool is_empty = true, is_error = false;
    int rc;

    while ((rc = json_member(reader, &name, &value)) == 1) {
        is_empty = false;
        is_error |= json_string_equals(name, "Error Message");
    }
    return rc == -1 || is_error ? NO_DATA : is_empty ? EMPTY : DATA;
}

static enum content
read_array(struct json_reader *reader)
{
    struct span value;
    bool is_empty = true;
    int rc;

    while ((rc = json_element(reader, &value)) == 1)
        is_empty = false;
    return rc == -1 ? NO_DATA : is_empty ? EMPTY : DATA;
}

static enum content
read_content(const struct text *body)
{
    struct span text = {body->len > 0 ? body->data : "", body->len};
    struct json_reader reader;

    json_reader_init(&reader, text, MAX_DEPTH);
    switch (text.at[strspn(text.at, " \t\r\n")]) {
    case '{':
        return read_object(&reader);
    case '[':
        return read_array(&reader);
    default:
        return NO_DATA;
    }
}

int64_t
market_policy_lifetime(const struct market_request *request,
                       const struct market_answer *answer, time_t now)
{
    int64_t lifetime;

    switch (answer->status) {
    case 402:  /* not in the plan, of which the text says more */
        return HOUR;
    case 404:
        return read_content(&answer->body) == NO_DATA ? 0 : HOUR;
    case 200:
        break;
    default:
        return 0;
    }
    lifetime = find_lifetime(request, now);
    switch (read_content(&answer->body)) {
    case DATA:
        return lifetime;
    case EMPTY:  /* nothing there yet, or a mishap */
        return lifetime < 5 * MINUTE ? lifetime : 5 * MINUTE;
    default:
        return 0;
    }
}

/*** Asking ***/

static bool
contains(const struct text *body, const char *words)
{
    return body->len > 0 &&
           memmem(body->data, body->len, words, strlen(words)) != NULL;
}

/* The calls of this minute are spent. (So may be the day's: the words are the
 * same.) The month's bytes are another matter, and take days. */
static bool
is_minute_limit(const struct market_answer *answer)
{
    return answer->status == 429 && contains(&answer->body, "Limit Reach") &&
           !contains(&answer->body, "Bandwidth Limit");
}

int64_t
market_policy_pause(const struct market_answer *answer, int retries,
                    unsigned int random)
{
    int64_t pause = (int64_t)SECOND << retries;

    if (retries >= RETRIES ||
        !(answer->may_pass || answer->status >= 500 ||
          is_minute_limit(answer)))
        return -1;
    if (answer->retry_after != MARKET_NO_RETRY_AFTER)
        return (int64_t)answer->retry_after * SECOND + random % 250;
    return pause * 3 / 4 + random % (unsigned int)(pause / 2);
}

int
market_policy_patience(const char *path)
{
    /* Those were seen to take the server most of a minute. */
    bool is_slow = strstr(path, "as-reported") != NULL ||
                   strcmp(path, "executive-compensation-benchmark") == 0 ||
                   strcmp(path, "governance-executive-compensation") == 0;

    return is_slow ? LONG_PATIENCE : PATIENCE;
}
