/* SPDX-License-Identifier: Apache-2.0 */
/* What is forgotten of a service on an operator's order: its generation, and the moves of its buckets. */
#ifndef FAIRLEAD_FORGET_H
#define FAIRLEAD_FORGET_H

#include "running.h"

/* What a server knew of a service. */
struct forgotten {
	fl_u16 service;
	fl_u32 generation; /* 0: never seen */
	unsigned int moves;
};

/* Makes an attached XDP program forget a service; fills in *forgotten. Returns 0 or a negative errno. */
int forget_service(const struct running *running, fl_u16 service, struct forgotten *forgotten);

/* Says what was forgotten, or that there was nothing: then -ENOENT. where: the interface, or the form. */
int forget_report(const struct forgotten *forgotten, const char *where);

#endif
