/* SPDX-License-Identifier: Apache-2.0 */
/* What the host must have for a configuration to work; found out before anything is attached. */
#ifndef FAIRLEAD_HOST_H
#define FAIRLEAD_HOST_H

#include "config.h"

/* Returns 0, or prints a sentence with the remedy and returns -EINVAL. */
int host_check(const struct config *config, const char *interface);

/*
 * Whether a packet that leaves by the interface that it came from should be redirected there. veth's XDP_TX wakes its
 * peer only if that has an XDP program too; otherwise the packet waits until something else is sent. XDP_REDIRECT wakes
 * it in any case (a peer with GRO on, that is: without, it takes neither). Network cards are faster with XDP_TX.
 */
bool host_needs_redirect(const char *interface);

#endif
