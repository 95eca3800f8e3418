/*
 * probe.h - does each layer hold? Tried from inside, before anything runs.
 */

#ifndef SANDBOX_PROBE_H
#define SANDBOX_PROBE_H

#include "confine.h"

#include <stdbool.h>

/*
 * Confine a process as a run would be, and let it try what each layer must
 * refuse. Once, in the zygote, after confine_zygote().
 *
 * With show, print a table of all layers to standard output (each line a
 * comment of an ini file). Returns whether all hold that limits asks for;
 * without show it dies instead, naming the first that does not.
 */
bool probe_layers(const struct limits *limits, bool show);

/* Print, in one line for the responder, the layers that are asked for. */
void probe_say_in_force(const struct limits *limits);

#endif
