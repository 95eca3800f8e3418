/*
 * notify.h - tells systemd how the service is, as sd_notify(3) does.
 *
 * For the master alone. Without $NOTIFY_SOCKET, as when anything else starts
 * us, nothing is told. A message that cannot be delivered is lost.
 */

#ifndef SANDBOX_NOTIFY_H
#define SANDBOX_NOTIFY_H

/* Tell it "KEY=VALUE", several with newlines between them. */
__attribute__((format(printf, 1, 2)))
void notify(const char *format, ...);

/* A reload begins; READY=1 ends it. */
void notify_reloading(void);

/*
 * For each turn of the main loop: reassure the watchdog, if there is one and
 * it is time. Takes the ms that the loop wants to wait, -1 for no limit;
 * returns the ms that it may.
 */
int notify_alive(int wait_ms);

#endif
