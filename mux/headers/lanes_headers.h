/* SPDX-License-Identifier: Apache-2.0 */
/* The headers of groups in lanes (packet/lanes_stages.h). */
#ifndef FAIRLEAD_MUX_LANES_HEADERS_H
#define FAIRLEAD_MUX_LANES_HEADERS_H

#include "flow/lanes.h"

/* Of a bucket whose list is merged with another one: as many as a bucket has, if packets have two (protocol/README.md, 2). */
enum { LANES_MERGED_MAX = 2 };

/* Whether headers without tags need lanes_measure(): not if each has the second bucket's owner alone. */
static inline bool lanes_need_lists(const struct lanes *lanes)
{
	return lanes->listed && (lanes->with_second != LANES_ALL || lanes->merged);
}

/* Prefetches lists of a group whose rows are read. */
void lanes_fetch_lists(const struct burst *burst, const struct lanes *lanes);

/* Of a group some of whose packets are `listed`: their lists, and how long headers get. */
void lanes_measure(const struct burst *burst, struct lanes *lanes);

/* The tags of a group's headers (fairlead/list_tag.h). Comes before lanes_headers(). */
void lanes_tag(const struct burst *burst, struct lanes *lanes);

/*
 * Writes the headers of `steady` as far as they are plain; returns those that were written. Unpacks the group if others
 * are left. Adds to burst->bytes.
 */
uint32_t lanes_headers(struct burst *burst, uint32_t first, struct lanes *lanes);

#endif
