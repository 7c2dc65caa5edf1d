/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rig of the XDP form's tests (server-bpf/tests/rig.h) with the module in the kernel below: packets are put on the
 * wire at rig1, and captured there and at rig0. Runs in its own virtual machine, since it sets the clock.
 *
 * Inner packets that come in at rig0 end in a blackhole route, after packet sockets have seen them: the rig's half-open
 * connections must not be completed by the test's packets.
 */
#ifndef FAIRLEAD_MODULE_TESTS_STAND_H
#define FAIRLEAD_MODULE_TESTS_STAND_H

#include "client.h"
#include "rig.h"

/* Makes all of it; ends the program with a sentence if the machine can't. The server is not set up yet. */
void stand_open(void);

/* Inner packets reach the stack from now on. */
void stand_let_in(void);

struct genetlink *stand_client(void);

/* Sets the server up as it is, or refuses it with a sentence in the client. */
int stand_try_set(const struct config *config);

/* Sets the server up, and gives the host the configuration's addresses in place of those of the last one. */
void stand_set(const struct config *config);
void stand_detach(void);

/* Adds a candidate that has not been tried. */
void stand_list_add(struct fl_list *list, const char *candidate);

/* Begins a packet of the mux to that address of the server, with this list: the inner packet is next. */
void stand_begin(struct packet *packet, const char *self, const struct fl_list *list);

/* Where GUE begins. */
size_t stand_gue_at(const struct packet *packet);

/* Puts a packet on the wire; returns the exit's counter, FL_COUNTERS unless it was exactly one, by one. */
enum fl_counter stand_send(const struct packet *packet);

/* The same for two, one behind the other: the first is nothing to the module if the counter is the second's. */
enum fl_counter stand_send_both(const struct packet *first, const struct packet *second);

/* The same for one that is put on the wire by the test's own means, which get the last argument, too. */
enum fl_counter stand_send_by(void (*put)(const struct packet *packet, size_t inner_at), const struct packet *packet,
			      size_t inner_at);

/* Puts a packet on the wire, and looks at no counter: for many of them. */
void stand_put(const struct packet *packet);

/* Fails the test unless these bytes behind an Ethernet header came in at rig0 since the last stand_send(). */
void stand_expect_delivered(const fl_u8 *inner, size_t len);

/* Takes the IPIP packet (protocol 4) that went out at rig1 since the last stand_send(); fails the test without one. */
void stand_expect_chained_ipip(struct packet *packet);

/* The same with the packet that has a routing header (protocol 43). */
void stand_expect_chained_srv6(struct packet *packet);

/* Takes the GUE packet that went out at rig1 since the last stand_send(); fails the test if there is none. */
void stand_expect_chained(struct packet *packet);

/* The same with the GUE packet that went back to the port of a mux's socket. */
void stand_expect_returned(struct packet *packet);

/* How many connections are known to have come by a VIP. */
fl_u32 stand_flows(void);

fl_u64 stand_counter(enum fl_counter counter);
/* Waits until it has come that far; returns it as it is then, or at the deadline. */
fl_u64 stand_counter_await(enum fl_counter counter, fl_u64 value);
fl_u32 stand_generation(fl_u16 service);

/* Sets the machine's clock to the begin of that second. */
void stand_clock_set(fl_u64 now);
fl_u64 stand_clock(void);

#endif
