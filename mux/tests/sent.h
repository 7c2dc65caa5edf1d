/* SPDX-License-Identifier: Apache-2.0 */
/* A steered packet as its server reads it: where it was sent to, and what its header says. */
#ifndef FAIRLEAD_MUX_TESTS_SENT_H
#define FAIRLEAD_MUX_TESTS_SENT_H

#include <fairlead/hash.h>
#include <fairlead/list.h>

#include <rte_mbuf.h>

#include "service/service.h"

struct sent {
	struct fl_address source, to;
	struct fl_list list;
	const uint8_t *inner, *end;
};

/* A frame with GUE, srv6 or ipip, whose service is then 0. False: a server refuses it. */
bool sent_parse(const uint8_t *frame, uint32_t len, struct sent *out);
bool sent_read(const struct rte_mbuf *mbuf, struct sent *out);

/* Whether it has the tag that it should have. cluster: its key, NULL: none. */
bool sent_is_tagged(const struct sent *sent, const struct fl_siphash_key *cluster);

/* Whether it is sent to whom an explanation says, and names whom it says. */
bool sent_is_explained(const struct sent *sent, const struct explanation *said);

/* Whether a candidate has this address. */
bool sent_names(const struct sent *sent, const struct fl_address *address);

#endif
