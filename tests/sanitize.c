/*
 * What AddressSanitizer is told in Python's process, which has no environment.
 */

const char *__asan_default_options(void);

const char *
__asan_default_options(void)
{
    return "allocator_may_return_null=1"  /* a MemoryError, as without it */
           ":handle_segv=0:handle_sigbus=0:handle_sigfpe=0"  /* ... a signal */
           ":disable_coredump=0"          /* the limit is ours to set */
           ":detect_leaks=0"              /* Python keeps what it has */
           ":symbolize=0"                 /* there is nothing to exec */
           ":quarantine_size_mb=32";      /* many processes have it */
}
