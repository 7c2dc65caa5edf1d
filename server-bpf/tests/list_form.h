/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The form of the server side under tests of lists: the XDP program, to which packets are handed (list_form_bpf.c), or
 * the module, to which they come by a wire (kernel-module/tests/test_list.c). Each group of tests runs with both.
 */
#ifndef FAIRLEAD_TESTS_LIST_FORM_H
#define FAIRLEAD_TESTS_LIST_FORM_H

#include "counters.h"
#include "list_packet.h"
#include "vectors.h"

struct list_form {
	const char *name;
	enum fl_counter by_kernel; /* of a packet to a neighbour that is not resolved */
	enum fl_counter not_ours;  /* of a packet that is not the server's; FL_COUNTERS: it is counted elsewhere */
	enum fl_counter short_srh; /* of one that ends before its SRH; the same */
	int random_packets;        /* how many are tried */
	fl_u16 udp_checksum;       /* which servers do not check */

	/* From now on the server has this configuration. What it remembers may stay. */
	void (*set)(const struct config *config);

	/* Has it forget the routes that it remembers. NULL: it remembers none. */
	void (*routes_forget)(void);

	/* Sends a packet; returns its exit's counter, FL_COUNTERS unless it was exactly one, by one. */
	enum fl_counter (*send)(const struct packet *packet);

	/* Fail the test unless this came of the packet that was sent last. is_by_kernel: to such a neighbour. */
	void (*expect_delivered)(const struct packet *expected);
	void (*expect_onward)(const struct packet *expected, bool is_by_kernel);
	void (*expect_returned)(const struct packet *expected);

	fl_u64 (*counter)(enum fl_counter counter);

	/* The rest is of RIG_SERVICE. The highest generation seen; 0: none was. */
	void (*generation_set)(fl_u32 generation);
	fl_u32 (*generation)(void);

	/* As the command does, and the server is then quiet for as long as before. */
	void (*forget)(void);

	/* For so many seconds from now on. */
	void (*quiet)(fl_u32 seconds);

	/* A setting that counts until the test's end; NULL: none. */
	void (*load_set)(const struct fl_load_setting *setting);
	struct fl_load_state (*load)(void);
};

/* Each runs a group of tests in the rig, which is open, and returns what main() returns. more: one more test, or NULL. */
int list_decisions_run(const struct list_form *form, const char *more_name, CMUnitTestFunction more);
int list_decide_run(const struct list_form *form, const char *folder);
int list_vectors_run(const struct list_form *form, const char *folder);
int list_srv6_run(const struct list_form *form, const char *folder);
int list_generations_run(const struct list_form *form);
int list_flood_run(const struct list_form *form);
int list_notices_run(const struct list_form *form, const char *folder, const char *more_name, CMUnitTestFunction more);

#endif
