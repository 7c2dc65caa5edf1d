// SPDX-License-Identifier: GPL-2.0-only
/*
 * Notices (fairlead/notice.h): learned from, and returned to the mux as acknowledgements with the highest generation that
 * is known then. None is sent to a sender that is no mux, or whose tag is wrong. skb->data is at the UDP header.
 */
#include "act.h"
#include "receive.h"
#include "wire.h"

#include <linux/udp.h>

int fl_notice_receive(struct fl_arrival *arrival)
{
	const struct fl_setup *setup = arrival->setup;
	const struct fl_address *self = &setup->self[arrival->came_to];
	const struct fl_key_pair *keys = setup->config.tagged ? &setup->notice_keys[arrival->came_to] : NULL;
	const struct sk_buff *skb = arrival->skb;
	struct fl_notice notice;
	u32 *seen;
	enum fl_counter wrong = fl_receive_check_outer(arrival, FL_PEER_MUX), exit;

	if (!wrong)
		wrong = fl_learn_notice_read(skb->data + sizeof(struct udphdr), fl_wire_end(skb),
					     skb->len - (u32)sizeof(struct udphdr), keys, self, &notice);
	if (wrong)
		return fl_receive_drop(arrival, wrong);
	seen = &arrival->instance->generations[notice.service];
	if (!fl_learn(seen, notice.generation, setup->config.tagged))
		fl_instance_count(arrival->instance, FL_COUNTER_GENERATION_JUMP);
	fl_learn_notice_answer(seen, keys, self, &notice);
	arrival->answer = &notice;
	arrival->inner_at = sizeof(struct udphdr) + fl_list_len(0, notice.flags);
	arrival->out.next = fl_wire_source(arrival->skb);
	exit = arrival->encap->send_on(arrival);
	if (exit == (enum fl_counter)FL_CHAIN_NOWHERE) /* there is no way back to the mux: its notice is learned from */
		return fl_receive_drop(arrival, FL_COUNTER_NOTICE);
	fl_instance_count(arrival->instance, exit);
	return 0;
}
