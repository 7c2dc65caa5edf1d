// SPDX-License-Identifier: Apache-2.0
/* The XDP program acknowledges notices: list_notices.c, and where it cannot transmit (form_bpf.c). */
#include <linux/bpf.h>

#include <fairlead/notice.h>

#include "list_form_bpf.h"

static void by_redirect(void **state)
{
	struct fl_notice notice = {.service = RIG_SERVICE, .generation = 1};
	struct fl_address self = packet_address(RIG_SELF);
	fl_u8 bytes[FL_NOTICE_MAX_LEN];
	struct config config = rig_config();
	struct packet packet;

	(void)state;
	config.program.redirect = 1;
	list_form_bpf.set(&config);
	list_packet_begin(&packet, &self);
	packet_add_bytes(&packet, bytes, fl_notice_write(&notice, bytes));
	packet_finish_outer(&packet);
	assert_int_equal(list_form_bpf.send(&packet), FL_COUNTER_NOTICE);
	assert_int_equal(list_form_bpf_action(), XDP_REDIRECT);
}

int main(int argc, char **argv)
{
	int failed;

	rig_open();
	failed = list_notices_run(&list_form_bpf, argc > 1 ? argv[1] : ".", "by redirect", by_redirect);
	list_form_bpf_close();
	return failed;
}
