// SPDX-License-Identifier: GPL-2.0-only
/*
 * Notices of version 2 (fairlead/generation_notice.h): learned from, and returned to the mux as acknowledgements with the
 * highest generation that is known then. None is sent to whom is no peer, or whose tag is wrong. skb->data is at the UDP
 * header.
 */
#include "act.h"
#include "receive.h"

#include <linux/udp.h>
#include <net/ip.h>

/* Reads a notice. Returns 0, or the counter of its drop. */
static enum fl_counter read(const struct fl_arrival *arrival, const struct fl_siphash_key *key,
			    const struct fl_address *self, struct fl_generation_notice *notice)
{
	const struct sk_buff *skb = arrival->skb;
	enum fl_list_error error =
	    fl_generation_notice_parse(skb->data + sizeof(struct udphdr), skb->data + skb_headlen(skb),
				       skb->len - (u32)sizeof(struct udphdr), notice);

	if (error != FL_LIST_OK)
		return fl_counter_of_list_error(error);
	if (notice->flags & FL_GENERATION_NOTICE_ACK)
		return FL_COUNTER_DROP_MALFORMED_NOTICE; /* of another server, to a mux */
	if (!arrival->setup->tagged)
		return 0;
	if (!(notice->flags & FL_LIST_TAG))
		return FL_COUNTER_DROP_UNTRUSTED_TAG_MISSING;
	return notice->tag == fl_generation_notice_tag(key, notice, self) ? 0 : FL_COUNTER_DROP_UNTRUSTED_TAG_WRONG;
}

/* Learns the generation; returns the highest that is known then. */
static u32 learn(struct fl_arrival *arrival, const struct fl_generation_notice *notice)
{
	u32 seen = fl_instance_generation(arrival->instance, notice->service);

	if (notice->generation > seen)
		fl_receive_learn(arrival, notice->service, seen, notice->generation);
	return fl_instance_generation(arrival->instance, notice->service);
}

noinline int fl_generation_notice_receive(struct fl_arrival *arrival)
{
	const struct fl_setup *setup = arrival->setup;
	const struct fl_address *self =
	    &setup->self[ip_hdr(arrival->skb)->version == 4 ? FL_OUTER_IPV4 : FL_OUTER_IPV6];
	struct fl_siphash_key key = fl_generation_key(&setup->tag_key, self);
	struct fl_generation_notice notice;
	enum fl_counter wrong = read(arrival, &key, self, &notice);

	if (wrong)
		return fl_receive_drop(arrival, wrong);
	notice.generation = learn(arrival, &notice);
	notice.flags |= FL_GENERATION_NOTICE_ACK;
	if (setup->tagged)
		notice.tag = fl_generation_notice_tag(&key, &notice, self);
	arrival->answer = &notice;
	arrival->inner_at = sizeof(struct udphdr) + fl_list_len(0, notice.flags);
	arrival->out.next = fl_wire_source(arrival->skb);
	fl_instance_count(arrival->instance, arrival->encap->send_on(arrival));
	return 0;
}
