/* SPDX-License-Identifier: Apache-2.0 */
/* The headers of groups in lanes (packet/lanes.h). */
#ifndef FAIRLEAD_MUX_LANES_HEADERS_H
#define FAIRLEAD_MUX_LANES_HEADERS_H

#include "flow/lanes.h"

struct lists;

/* Of a group whose rows are read, some of them `listed`: their lists, and how long headers get. */
void lanes_measure(const struct lists *lists, struct lanes *lanes);

/* The tags of a group's headers (fairlead/list_tag.h). Comes before lanes_headers(). */
void lanes_tag(const struct burst *burst, struct lanes *lanes);

/*
 * Writes the headers of `steady` as far as they are plain; returns those that were written. Unpacks the group if others
 * are left. Adds to burst->bytes.
 */
uint32_t lanes_headers(struct burst *burst, uint32_t first, struct lanes *lanes);

#endif
