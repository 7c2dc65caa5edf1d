// SPDX-License-Identifier: Apache-2.0
/* The XDP program decides about lists: list_decisions.c, also to a candidate behind another interface. */
#include <linux/bpf.h>

#include "list_form_bpf.h"

static void another_interface(void **state)
{
	struct fl_address self = packet_address(RIG_SELF);
	struct fl_list list = {.inner_protocol = FL_LIST_GUE_IPV4,
			       .count = 1,
			       .left = 1,
			       .service = RIG_SERVICE,
			       .generation = 1,
			       .candidate = {packet_address("10.4.0.21")}};
	struct config config = rig_config();
	fl_u8 gue[FL_LIST_MAX_LEN];
	struct packet packet;

	(void)state;
	rig_command("ip link add rig2 type veth peer name rig3 && ip link set rig3 up && ip link set rig2 up");
	rig_command("ip addr add 10.4.0.2/24 dev rig2 && ip neigh add 10.4.0.21 lladdr 02:00:00:00:04:21 dev rig2");
	list_form_bpf.set(&config);
	rig_hops_forget(list_form_bpf_program());
	list_packet_begin(&packet, &self);
	packet_add_bytes(&packet, gue, fl_list_write(&list, gue));
	packet_add_tcp(&packet, &rig_packets(RIG_IPV4)->unknown);
	packet_finish_outer(&packet);
	assert_int_equal(list_form_bpf.send(&packet), FL_COUNTER_CHAIN);
	assert_int_equal(list_form_bpf_action(), XDP_REDIRECT);
	rig_command("ip link del rig2");
}

int main(void)
{
	int failed;

	rig_open();
	failed = list_decisions_run(&list_form_bpf, "a candidate behind another interface", another_interface);
	list_form_bpf_close();
	return failed;
}
