/* SPDX-License-Identifier: Apache-2.0 */
/* What is forgotten of a service on an operator's order: its generation. */
#ifndef FAIRLEAD_FORGET_H
#define FAIRLEAD_FORGET_H

#include "running.h"

/*
 * Makes an attached XDP program forget a service; *generation is what it had seen, 0 for none. Returns 0 or a negative
 * errno.
 */
int forget_service(const struct running *running, fl_u16 service, fl_u32 *generation);

/* Says what was forgotten, or that there was nothing: then -ENOENT. where: the interface, or the form. */
int forget_report(fl_u16 service, fl_u32 generation, const char *where);

#endif
