/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Whether a packet with a list has the tag that a server with a key asks for. */
#ifndef FAIRLEAD_LIST_TRUST_H
#define FAIRLEAD_LIST_TRUST_H

#include <fairlead/list_tag.h>

#include "counters.h"

/*
 * The drop counter of a missing or wrong tag, or of an inner packet without a whole IP header; 0 if the tag is right. key:
 * of the list's service. self: what the packet was sent to. Leaves the tag's message in *message.
 */
FL_INLINE enum fl_counter fl_list_trust_check(const struct fl_siphash_key *key, const struct fl_list *list,
					      const struct fl_address *self, const fl_u8 *inner, const fl_u8 *end,
					      struct fl_list_message *message)
{
	if (!(list->flags & FL_LIST_TAG))
		return FL_COUNTER_DROP_UNTRUSTED_TAG_MISSING;
	if (!fl_list_tag_message(list, self, inner, end, message))
		return FL_COUNTER_DROP_MALFORMED_INNER;
	if (!fl_list_tag_is_right(key, list, message))
		return FL_COUNTER_DROP_UNTRUSTED_TAG_WRONG;
	return (enum fl_counter)0;
}

#endif
