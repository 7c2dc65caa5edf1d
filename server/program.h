/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The XDP program: built aside with its configuration and peers, then put in place in one step. Where a server is
 * attached already, the new program takes over its memory, generations and counters, and replaces it in one step: each
 * packet meets the one or the other, none meets neither.
 */
#ifndef FAIRLEAD_PROGRAM_H
#define FAIRLEAD_PROGRAM_H

#include "config.h"
#include "running.h"

struct fl_server; /* the skeleton */

enum program_mode {
	PROGRAM_AUTO, /* native if the driver can, else generic; an attached server stays what it is */
	PROGRAM_NATIVE,
	PROGRAM_GENERIC,
};

/* A loaded program, not attached; with the memory of running if that is attached. NULL, and a printed sentence. */
struct fl_server *program_load(const struct config *config, const struct running *running);
void program_close(struct fl_server *program);

/* Both return 0, or a negative errno and a printed sentence; then nothing has changed. */
int program_attach(const struct running *running, const struct config *config, enum program_mode mode);
int program_detach(const struct running *running);

#endif
