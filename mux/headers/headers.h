/* SPDX-License-Identifier: Apache-2.0 */
/* The packet path's last stage (packet/burst.h): writes the outer headers. */
#ifndef FAIRLEAD_MUX_HEADERS_H
#define FAIRLEAD_MUX_HEADERS_H

#include "encap/gue.h"
#include "flow/burst.h"

enum { HEADERS_LEN_MAX = GUE_LEN_MAX }; /* the longest */

/* Of packets first to end - 1, at most BURST_GROUP. Adds to moved, second and bytes. */
void headers_write(struct burst *burst, uint32_t first, uint32_t end);

/* The same of packets whose headers are not written yet. written: a bit for each, from the first on. */
void headers_write_rest(struct burst *burst, uint32_t first, uint32_t end, uint32_t written);

#endif
