/* SPDX-License-Identifier: Apache-2.0 */
/* The host's prerequisites of a configuration, checked before anything is attached. */
#ifndef FAIRLEAD_HOST_H
#define FAIRLEAD_HOST_H

#include "config.h"

/* Returns 0, or prints a sentence with the remedy and returns -EINVAL. */
int host_check(const struct config *config, const char *interface);

/*
 * Whether a packet that leaves by its incoming interface should be redirected there. veth's XDP_TX wakes its peer only
 * if the peer has an XDP program too; otherwise the packet waits until something else is sent. XDP_REDIRECT always
 * wakes a peer that has GRO on; a peer without GRO accepts neither. Network cards are faster with XDP_TX.
 */
bool host_needs_redirect(const char *interface);

#endif
