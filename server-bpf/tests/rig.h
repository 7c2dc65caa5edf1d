/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A server to test the XDP program in: a network namespace of the test's own, with real sockets.
 *
 *	lo      VIPs 10.99.0.1, 2001:db8:99::1		TCP listeners on port 80, MPTCP ones on 8080, UDP sockets on port 53
 *	        clients 10.2.1.2, 2001:db8:2::2		their ends of the established connections
 *	rig0    10.1.0.2/24, 2001:db8:1::2/64		where the program's packets come in; neighbours below are known
 *	  |     neighbours: router 10.1.0.1, muxes .11 .., servers .21 ..	MAC 02:00:00:00:00:<same digits>
 *	  |     the same of 2001:db8:1::
 *	rig1    the wire's other end: packets are put in and seen here
 *	nowhere 10.3.0.0/16, 2001:db8:3::/48
 *
 * The program is not attached: packets are handed to it by BPF_PROG_TEST_RUN, as coming in at rig0.
 */
#ifndef FAIRLEAD_TESTS_RIG_H
#define FAIRLEAD_TESTS_RIG_H

#include <fairlead/list_tag.h>

#include "config.h"
#include "load.h"
#include "packet.h"

struct fl_server;

#define RIG_SELF  "10.1.0.22"
#define RIG_MUX   "10.1.0.11"
#define RIG_SELF6 "2001:db8:1::22"
#define RIG_MUX6  "2001:db8:1::11"
#define RIG_VIP4  "10.99.0.1"
#define RIG_VIP6  "2001:db8:99::1"

enum rig_numbers {
	RIG_SERVICE = 1,
	RIG_GENERATION = 12,
};

enum rig_family {
	RIG_IPV4,
	RIG_IPV6,
	RIG_FAMILIES,
};

/* Who speaks MPTCP. The connection does only if both do; the sockets of a listener that does are of another kind. */
enum rig_pair {
	RIG_PLAIN,
	RIG_MPTCP_CLIENT,
	RIG_MPTCP_LISTENER,
	RIG_MPTCP_BOTH,
	RIG_PAIRS,
};

/* A client's segments of a connection that this host has, and of another one with the same ends that it has not. */
struct rig_connection {
	struct packet_tcp established;
	struct packet_tcp established_elsewhere; /* one that acknowledges what this host never sent */
	struct packet_tcp established_before;    /* the same, below */
	struct packet_tcp established_ahead;     /* one beyond what this host may receive */
	struct packet_tcp established_behind;    /* one below what a client would send again */
	struct packet_tcp established_again;     /* what a client sends again */
	struct packet_tcp established_filling;   /* the last segment of a window */
	struct packet_tcp time_wait;             /* acknowledges the FIN */
	struct packet_tcp time_wait_later;
	struct packet_tcp time_wait_reset; /* without an acknowledgement */
	struct packet_tcp time_wait_later_reset;
};

/* Packets from clients to the VIP, one for each thing that the host can know of a connection. */
struct rig_packets {
	struct packet_tcp syn;
	struct packet_tcp established; /* those of the plain pair */
	struct packet_tcp time_wait;
	struct rig_connection connections[RIG_PAIRS];
	struct packet_tcp half_open;           /* the ACK that is still missing */
	struct packet_tcp half_open_elsewhere; /* one that acknowledges another host's SYN-ACK */
	struct packet_tcp half_open_mptcp;     /* both, of a listener that speaks MPTCP */
	struct packet_tcp half_open_mptcp_elsewhere;
	struct packet_tcp cookie_ack; /* the ACK of a SYN cookie that this host sent */
	struct packet_tcp bad_cookie; /* the same with a wrong cookie */
	struct packet_tcp unknown;
	struct packet_tcp no_listener; /* to a port without a listener */
	struct packet_flow udp_connected;
	struct packet_flow udp_other; /* to the same socket, from another sender */
	struct packet_flow udp_unconnected;
};

/* Keeps the calling thread on the processor that it is on. */
void rig_stay(void);

/* Enters a new namespace and makes all of the above; ends the program with a sentence if the machine can't. */
void rig_open(void);
/* With SYN cookies and TIME-WAITs that last half a minute more. The families are one behind the other. */
const struct rig_packets *rig_packets(enum rig_family family);

/* The program with this configuration, loaded; ends the program if it can't be. Free with program_close(). */
struct fl_server *rig_load(const struct config *config);

/*
 * A configuration of RIG_SELF whose peers are 10.1.0.0/24, and servers in other places; and one of RIG_SELF6 as well, and
 * the same of IPv6. Neither is quiet.
 */
struct config rig_config(void);
struct config rig_config_both(void);

/* Has the server demand tags, with the keys that are made of this one of the cluster. */
void rig_tag(struct config *config, const struct fl_siphash_key *cluster);

/* rig0's index. */
unsigned int rig_interface(void);

/* One run: outputs the resulting packet, returns the XDP action. */
int rig_run(struct fl_server *program, struct packet *packet);

/* What a mux says of a packet of RIG_SERVICE in the steady state: no candidates, and the generation RIG_GENERATION. */
struct fl_list rig_list(enum rig_family inner);

/* A packet of the mux to RIG_SELF with this header, and room behind it for an inner packet; finish it with
 * packet_finish_outer(). */
void rig_begin(struct packet *packet, const struct fl_list *list);

/* Maps, as the loader sees them. */
fl_u64 rig_counter(struct fl_server *program, enum fl_counter counter);
/* Sets it on each processor. */
void rig_counter_set(struct fl_server *program, enum fl_counter counter, fl_u64 value);
/* The exit's counter, which the last run has bumped; FL_COUNTERS unless it was exactly one, by one. */
enum fl_counter rig_counter_bumped(struct fl_server *program);
/* Fails the test unless that is the expected one. */
void rig_check_counted(struct fl_server *program, enum fl_counter expected);
void rig_generation_set(struct fl_server *program, fl_u32 generation);
fl_u32 rig_generation_get(struct fl_server *program);

/* Has the program forget the next hops that it remembers, as it would in a quarter of a second. */
void rig_hops_forget(struct fl_server *program);

/* The load of RIG_SERVICE: a setting that counts until the test's end, or none if NULL; both begin a new state. */
void rig_load_set(struct fl_server *program, const struct fl_load_setting *setting);
struct fl_load_state rig_load_get(struct fl_server *program);

/* Runs a command line of the test's own; ends the program if it fails. */
void rig_command(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
