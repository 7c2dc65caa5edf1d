/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The XDP program: loaded with its configuration and peers, then attached in one step. If a server is already attached,
 * the new program takes over its generations, counters and load, and replaces it in one step: every packet is handled by
 * one of the two.
 */
#ifndef FAIRLEAD_PROGRAM_H
#define FAIRLEAD_PROGRAM_H

#include "config.h"
#include "running.h"

struct fl_server; /* the skeleton */

/* In the order of --mode's words. */
enum program_mode {
	PROGRAM_NATIVE,
	PROGRAM_GENERIC,
	PROGRAM_AUTO, /* native if the driver can, else generic; an attached server keeps its mode */
};

/* Loads a program without attaching it; it shares the maps of running, if attached. NULL, and a printed sentence, if it
 * fails. */
struct fl_server *program_load(const struct config *config, const struct running *running);
void program_close(struct fl_server *program);

/* Both return 0, or a negative errno after printing a sentence; nothing has changed then. */
int program_attach(const struct running *running, const struct config *config, enum program_mode mode);
int program_detach(const struct running *running);

#endif
