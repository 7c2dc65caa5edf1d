/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * What packets and notices teach a server: the highest generation of a service, which it keeps at `seen` and only ever
 * raises. A form that includes this defines fl_form_seconds(), the Unix time, which is asked for seldom.
 */
#ifndef FAIRLEAD_LEARN_H
#define FAIRLEAD_LEARN_H

#include <fairlead/decide.h>
#include <fairlead/generation.h>
#include <fairlead/notice.h>

#include "server.h"

enum fl_learn_numbers {
	FL_LEARN_TRIES = 8, /* a try fails only if another processor has just raised it */
};

static fl_u32 fl_form_seconds(void);

FL_INLINE fl_u32 fl_learn_seen(const fl_u32 *seen)
{
	return *(const volatile fl_u32 *)seen;
}

/* Never lowers it. */
FL_INLINE void fl_learn_raise(fl_u32 *seen, fl_u32 to)
{
	fl_u32 is = fl_learn_seen(seen);
	int i;

	for (i = 0; i < FL_LEARN_TRIES && is < to; i++)
		is = __sync_val_compare_and_swap(seen, is, to);
}

/* Learns from what is trusted. False: not, as it is a jump that no tag vouches for; the caller counts it. */
FL_INLINE bool fl_learn(fl_u32 *seen, fl_u32 generation, bool is_tagged)
{
	fl_u32 before = fl_learn_seen(seen);

	if (generation <= before)
		return true;
	if (!is_tagged && fl_generation_is_jump(before, generation, fl_form_seconds()))
		return false;
	fl_learn_raise(seen, generation);
	return true;
}

/* The same of a packet: only what it brought. What was seen when it was decided about may have been forgotten since. */
FL_INLINE bool fl_learn_packet(fl_u32 *seen, const struct fl_decide_in *in, bool is_tagged)
{
	return fl_learn(seen, in->list.generation, is_tagged);
}

/* The tag of a notice to self. keys: of self. */
FL_INLINE fl_u64 fl_learn_notice_tag(const struct fl_key_pair *keys, const struct fl_notice *notice,
				     const struct fl_address *self)
{
	return fl_notice_tag(notice->flags & FL_LIST_KEY ? &keys->by_bit[1] : &keys->by_bit[0], notice, self);
}

/* Reads a notice to self of len bytes at data. keys: NULL if none is tagged. Returns 0, or the counter of its drop. */
FL_INLINE enum fl_counter fl_learn_notice_read(const fl_u8 *data, const fl_u8 *end, fl_u32 len,
					       const struct fl_key_pair *keys, const struct fl_address *self,
					       struct fl_notice *notice)
{
	enum fl_list_error error = fl_notice_parse(data, end, len, notice);

	if (error != FL_LIST_OK)
		return fl_counter_of_list_error(error);
	if (notice->flags & FL_NOTICE_ACK)
		return FL_COUNTER_DROP_MALFORMED_NOTICE; /* of another server, to a mux */
	if (!keys)
		return (enum fl_counter)0;
	if (!(notice->flags & FL_LIST_TAG))
		return FL_COUNTER_DROP_UNTRUSTED_TAG_MISSING;
	return notice->tag == fl_learn_notice_tag(keys, notice, self) ? (enum fl_counter)0
								      : FL_COUNTER_DROP_UNTRUSTED_TAG_WRONG;
}

/* Makes a notice that was read, and learned from, its acknowledgement. */
FL_INLINE void fl_learn_notice_answer(const fl_u32 *seen, const struct fl_key_pair *keys, const struct fl_address *self,
				      struct fl_notice *notice)
{
	notice->generation = fl_learn_seen(seen);
	notice->flags |= FL_NOTICE_ACK;
	if (keys)
		notice->tag = fl_learn_notice_tag(keys, notice, self);
}

#endif
