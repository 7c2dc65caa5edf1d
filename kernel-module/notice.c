// SPDX-License-Identifier: GPL-2.0-only
/* Notices: learned from as from one packet of each listed bucket, and as to which servers were removed. skb->data is at the UDP header. */
#include "receive.h"

#include <linux/udp.h>

#include <fairlead/notice.h>

static const u8 *gue_base(const struct sk_buff *skb)
{
	return skb->data + sizeof(struct udphdr);
}

/* The drop counter of a missing or wrong tag, 0 if the tag is right. */
static enum fl_counter tag_check(struct fl_arrival *arrival, const struct fl_notice *notice)
{
	const struct fl_siphash_key *key = &arrival->setup->tag_key;
	const u8 *gue = gue_base(arrival->skb), *end = arrival->skb->data + skb_headlen(arrival->skb);

	if (!(notice->steer.flags & FL_STEER_TAG))
		return FL_COUNTER_DROP_UNTRUSTED_TAG_MISSING;
	if (!fl_notice_message(key, gue, end, notice, &arrival->tagged) ||
	    fl_tag_load(notice->steer.tag) != fl_tag(key, &arrival->tagged))
		return FL_COUNTER_DROP_UNTRUSTED_TAG_WRONG;
	return 0;
}

enum fl_counter fl_notice_learn(struct fl_arrival *arrival)
{
	struct sk_buff *skb = arrival->skb; /* UDP has cut what is behind its length */
	struct fl_verdict_in *in = &arrival->in;
	struct fl_notice notice;
	enum fl_counter wrong;
	u32 i;

	in->malformed = fl_notice_parse(gue_base(skb), skb->data + skb_headlen(skb),
					skb->len - (u32)sizeof(struct udphdr), &notice);
	if (in->malformed != FL_STEER_OK)
		return fl_counter_of_steer_error(in->malformed);
	if (!pskb_may_pull(skb, skb->len))
		return FL_COUNTER_DROP_NO_ROOM;
	wrong = arrival->setup->tagged ? tag_check(arrival, &notice) : 0;
	if (wrong)
		return wrong;
	in->packet = FL_PACKET_LOCAL_SOCKET; /* nothing is chained, and nothing stale */
	in->steer = notice.steer;
	fl_receive_decide(arrival); /* the generation: the header names no bucket */
	for (i = 0; fl_notice_bucket(gue_base(skb), skb->data + skb_headlen(skb), &notice, i, &in->steer.bucket); i++) {
		if (fl_notice_is_removal(in->steer.bucket))
			fl_receive_removal(arrival);
		else
			fl_receive_decide(arrival);
	}
	return FL_COUNTER_NOTICE;
}
