// SPDX-License-Identifier: GPL-2.0-only
/*
 * Notices (fairlead/notice.h): learned from, and returned to the mux as acknowledgements with the highest generation that
 * is known then. None is sent to a sender that is no mux, or whose tag is wrong. skb->data is at the UDP header.
 */
#include "act.h"
#include "receive.h"
#include "wire.h"

#include <linux/udp.h>

/* Reads a notice. Returns 0, or the counter of its drop. */
static enum fl_counter read(const struct fl_arrival *arrival, struct fl_notice *notice)
{
	const struct fl_address *self = &arrival->setup->self[arrival->came_to];
	const struct fl_key_pair *keys = &arrival->setup->notice_keys[arrival->came_to];
	const struct sk_buff *skb = arrival->skb;
	enum fl_list_error error = fl_notice_parse(skb->data + sizeof(struct udphdr), skb->data + skb_headlen(skb),
						   skb->len - (u32)sizeof(struct udphdr), notice);

	if (error != FL_LIST_OK)
		return fl_counter_of_list_error(error);
	if (notice->flags & FL_NOTICE_ACK)
		return FL_COUNTER_DROP_MALFORMED_NOTICE; /* of another server, to a mux */
	if (!arrival->setup->tagged)
		return 0;
	if (!(notice->flags & FL_LIST_TAG))
		return FL_COUNTER_DROP_UNTRUSTED_TAG_MISSING;
	return notice->tag == fl_notice_tag(&keys->by_bit[!!(notice->flags & FL_LIST_KEY)], notice, self)
		   ? 0
		   : FL_COUNTER_DROP_UNTRUSTED_TAG_WRONG;
}

/* Learns the generation; returns the highest that is known then. */
static u32 learn(struct fl_arrival *arrival, const struct fl_notice *notice)
{
	fl_receive_learn(arrival, notice->service, fl_instance_generation(arrival->instance, notice->service),
			 notice->generation);
	return fl_instance_generation(arrival->instance, notice->service);
}

/* Makes the notice its acknowledgement. */
static void acknowledge(const struct fl_arrival *arrival, struct fl_notice *notice, u32 known)
{
	const struct fl_key_pair *keys = &arrival->setup->notice_keys[arrival->came_to];

	notice->generation = known;
	notice->flags |= FL_NOTICE_ACK;
	if (arrival->setup->tagged)
		notice->tag = fl_notice_tag(&keys->by_bit[!!(notice->flags & FL_LIST_KEY)], notice,
					    &arrival->setup->self[arrival->came_to]);
}

int fl_notice_receive(struct fl_arrival *arrival)
{
	struct fl_notice notice;
	enum fl_counter wrong = fl_receive_check_outer(arrival, FL_PEER_MUX), exit;

	if (!wrong)
		wrong = read(arrival, &notice);
	if (wrong)
		return fl_receive_drop(arrival, wrong);
	acknowledge(arrival, &notice, learn(arrival, &notice));
	arrival->answer = &notice;
	arrival->inner_at = sizeof(struct udphdr) + fl_list_len(0, notice.flags);
	arrival->out.next = fl_wire_source(arrival->skb);
	exit = arrival->encap->send_on(arrival);
	if (exit == (enum fl_counter)FL_CHAIN_NOWHERE) /* there is no way back to the mux: its notice is learned from */
		return fl_receive_drop(arrival, FL_COUNTER_NOTICE);
	fl_instance_count(arrival->instance, exit);
	return 0;
}
