/*
 * touch.h - the pages that every run comes to need.
 *
 * After a fork each page that is written to costs a fault, and a copy; most
 * of what a small program takes of the processor is that. Which pages they
 * are is known from a rehearsal. A child writes to them while it waits, and
 * its program meets few that it has not.
 */

#ifndef SANDBOX_TOUCH_H
#define SANDBOX_TOUCH_H

/*
 * In the zygote, once its memory is settled: fork a child that runs a program
 * of ours to its end, and keep which pages it has made its own. Dies if it
 * fails. Where the kernel does not tell, there are none.
 */
void touch_learn(void);

/* In a forked child: write to each, what is there. */
void touch_pages(void);

#endif
