/* SPDX-License-Identifier: Apache-2.0 */
/* What can be checked before DPDK starts: privileges, memory, clock, BGP, and the kernel's side of the ports. */
#ifndef FAIRLEAD_MUX_HOST_CHECKS_H
#define FAIRLEAD_MUX_HOST_CHECKS_H

#include "preflight/report.h"

void preflight_host(struct preflight *preflight, const struct options *options);

#endif
