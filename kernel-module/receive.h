/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A received packet, and the encapsulations that servers receive (fairlead/encap.h). An encapsulation is a file with its
 * struct fl_encap: where packets come in, it fills in an arrival and calls fl_receive(), which uses the rest.
 */
#ifndef FAIRLEAD_RECEIVE_H
#define FAIRLEAD_RECEIVE_H

#include <fairlead/encap.h>
#include <fairlead/generation_notice.h>
#include <fairlead/list_tag.h>

#include <decide.h>

#include "instance.h"
#include "mangle.h"

struct fl_encap;

/* What is known of a packet with a list (list.c). */
struct fl_listed {
	enum fl_outer_family came_to; /* which of our addresses */
	struct fl_decide_in in;
	struct fl_decide_out out;
	struct fl_list_message tagged; /* if the setup has the cluster's key */
};

/* The encapsulation fills in the first five. */
struct fl_arrival {
	const struct fl_encap *encap;
	struct fl_instance *instance;
	const struct fl_setup *setup;
	struct net *net;
	struct sk_buff *skb;
	unsigned int inner_at; /* from skb->data */
	struct fl_flow flow;
	struct fl_flow_headers headers;
	bool mangled, conflict; /* conflict: both ends have another connection here */
	struct fl_mangling mangling;
	union { /* the inner header as the host's sockets will see it, if mangled */
		struct iphdr ipv4;
		struct ipv6hdr ipv6;
	} header;
	struct fl_verdict_in in;                   /* with a list, in.packet alone counts */
	struct fl_verdict_out out;                 /* with a list, out.next */
	struct fl_listed *list;                    /* NULL: the packet is of version 1 */
	const struct fl_generation_notice *answer; /* which is to be returned in its place; NULL: none */
	struct fl_load *load; /* of the service of a SYN that was asked for; NULL: none, and nothing is counted */
	bool promoted;        /* by in, but not in the packet, the second bucket has taken the first one's place */
	struct fl_tag_message tagged; /* if the setup has the cluster's key */
};

struct fl_encap {
	bool has_bucket;  /* packets name their bucket, so that its move is remembered */
	bool has_lists;   /* packets may be of version 2, with GUE behind a UDP header */
	bool has_options; /* the outer header may have IP options */
	bool
	    is_merged; /* GRO merges its packets; the kernel takes them apart again where they are sent on as they are */
	bool is_ipv6_only; /* packets are sent on to servers' IPv6 addresses only */

	/* Fills in.steer and inner_at if it returns FL_STEER_OK. What the encapsulation reads is linear. */
	enum fl_steer_error (*parse)(struct fl_arrival *arrival);

	/* Whether a packet that parse() refused as FL_STEER_INNER_PROTOCOL is a notice. NULL: none are. */
	bool (*is_notice)(const struct fl_arrival *arrival);

	/* Writes arrival->tagged; false if there is no complete inner IP header. NULL: a setup with a key has none. */
	bool (*tag_message)(struct fl_arrival *arrival);

	/*
	 * Chains the packet, or passes it on, to the server out.next. Takes it, and returns the counter of its exit; or
	 * FL_CHAIN_NOWHERE, and it is still the caller's.
	 */
	enum fl_counter (*send_on)(struct fl_arrival *arrival);

	/* Packets come in from now on, and no longer. NULL: they come in by the instance's sockets. */
	int (*open)(void);
	void (*close)(void);
};

/* Classifies, decides and acts. Called in softirq under rcu_read_lock(). Takes every packet: returns 0. */
int fl_receive(struct fl_arrival *arrival);

/* gue.c: what the UDP socket calls for each packet. */
int fl_gue_receive(struct sock *sk, struct sk_buff *skb);
enum fl_steer_error fl_gue_parse(struct fl_arrival *arrival);

/* Frees the packet and counts why. Returns 0. */
int fl_receive_drop(const struct fl_arrival *arrival, enum fl_counter why);

/* What the host knows of the connection in arrival->flow: in.packet. */
void fl_receive_classify(struct fl_arrival *arrival);

/*
 * The class of a SYN. Counts one that is taken if the service's load counts; a refused one is counted by what becomes of
 * it. Only one that the server would rather not take costs a lookup: a client sends a SYN again whose half-open
 * connection is here already.
 */
enum fl_packet_class fl_receive_ask(struct fl_arrival *arrival, u16 service, bool is_offered);

/* Counts a packet that is passed on if it is a SYN that this server refused. */
void fl_receive_count_passed(const struct fl_arrival *arrival);

/* Stores a higher generation, unless it is a jump that no tag vouches for. */
void fl_receive_learn(struct fl_arrival *arrival, u16 service, u32 before, u32 generation);

/* Takes the packet, and returns 0. */
int fl_receive_deliver(struct fl_arrival *arrival);

/* list.c: whether a packet that version 1's parser refuses is of version 2, well-formed or not. */
bool fl_list_is(const struct fl_arrival *arrival);

/* Takes it: returns 0. */
int fl_list_receive(struct fl_arrival *arrival);

/* generation_notice.c: learns from a notice of version 2, and returns it. Takes it: returns 0. */
int fl_generation_notice_receive(struct fl_arrival *arrival);

/* The class of a SYN with a list. */
enum fl_packet_class fl_list_ask(struct fl_arrival *arrival);

/* Decides about a trusted, well-formed packet, and stores what it taught. */
void fl_receive_decide(struct fl_arrival *arrival);

/* Stores what the header of a notice tells: its `previous` is dead and was removed by its generation. */
void fl_receive_removal(struct fl_arrival *arrival);

/* notice.c: learns from a notice of a peer. Returns the counter of its exit; the packet stays the caller's. */
enum fl_counter fl_notice_learn(struct fl_arrival *arrival);

/* Opens all encapsulations: their packets reach the servers that are set up for them. */
int fl_receive_register(void);
void fl_receive_unregister(void);

#define FL_ENCAP_ROW(NAME, word) extern const struct fl_encap fl_##word;
FL_ENCAPS(FL_ENCAP_ROW)
#undef FL_ENCAP_ROW

#endif
