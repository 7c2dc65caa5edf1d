/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A received packet, and the encapsulations that servers receive (fairlead/encap.h). An encapsulation is a file with its
 * struct fl_encap: where packets come in, it fills in an arrival and calls fl_receive(), which uses the rest.
 */
#ifndef FAIRLEAD_RECEIVE_H
#define FAIRLEAD_RECEIVE_H

#include <fairlead/decide.h>
#include <fairlead/encap.h>
#include <fairlead/notice.h>

#include "instance.h"
#include "mangle.h"

struct fl_encap;

/* The encapsulation fills in the first six. */
struct fl_arrival {
	const struct fl_encap *encap;
	struct fl_instance *instance;
	const struct fl_setup *setup;
	struct net *net;
	struct sk_buff *skb;
	enum fl_outer_family came_to; /* which of our addresses */
	unsigned int inner_at;        /* from skb->data */
	struct fl_flow flow;
	struct fl_flow_headers headers;
	bool mangled, conflict; /* conflict: both ends have another connection here */
	struct fl_mangling mangling;
	union { /* the inner header as the host's sockets will see it, if mangled */
		struct iphdr ipv4;
		struct ipv6hdr ipv6;
	} header;
	struct fl_decide_in in;
	struct fl_decide_out out;
	const struct fl_notice *answer; /* which is to be returned to out.next; NULL: a packet is sent on */
	struct fl_load *load; /* of the service of a SYN that was asked for; NULL: none, and nothing is counted */
};

struct fl_encap {
	bool has_options;  /* the outer header may have IP options */
	bool is_merged;    /* GRO merges its packets, and the kernel takes them apart where they are sent on */
	bool is_ipv6_only; /* packets are sent on to servers' IPv6 addresses only */

	/* Fills in in.list and inner_at if it returns FL_LIST_OK. What the encapsulation reads is linear. */
	enum fl_list_error (*parse)(struct fl_arrival *arrival);

	/*
	 * Sends the packet on to the candidate out.next, or the answer there. Takes it, and returns the counter of its exit;
	 * or FL_CHAIN_NOWHERE, and it is unchanged and still the caller's.
	 */
	enum fl_counter (*send_on)(struct fl_arrival *arrival);

	/* Packets come in from now on, and no longer. NULL: they come in by the instance's sockets. */
	int (*open)(void);
	void (*close)(void);
};

/* Classifies, decides and acts. Called in softirq under rcu_read_lock(). Takes every packet: returns 0. */
int fl_receive(struct fl_arrival *arrival);

/* gue.c */
enum fl_list_error fl_gue_parse(struct fl_arrival *arrival);

/* Returns 0 for a complete packet of a peer of one of these roles, whose headers are then linear; else the drop's counter. */
enum fl_counter fl_receive_check_outer(struct fl_arrival *arrival, u32 roles);

/* Frees the packet and counts why. Returns 0. */
int fl_receive_drop(const struct fl_arrival *arrival, enum fl_counter why);

/* notice.c: learns from a notice, and returns it as its acknowledgement. Takes it: returns 0. */
int fl_notice_receive(struct fl_arrival *arrival);

/* Opens all encapsulations: their packets reach the servers that are set up for them. */
int fl_receive_register(void);
void fl_receive_unregister(void);

#define FL_ENCAP_ROW(NAME, word) extern const struct fl_encap fl_##word;
FL_ENCAPS(FL_ENCAP_ROW)
#undef FL_ENCAP_ROW

#endif
