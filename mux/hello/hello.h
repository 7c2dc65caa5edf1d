/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hellos over UDP: once a second this mux tells every peer (hello_peers.h) about its services, by a kernel socket that
 * is bound to its outer address. It belongs to the control thread; workers have no part in it.
 */
#ifndef FAIRLEAD_MUX_HELLO_H
#define FAIRLEAD_MUX_HELLO_H

#include "config/reason.h"
#include "hello/hello_peers.h"

enum hello_socket_numbers {
	HELLO_ANSWER_MS = 40,    /* later, when muxes have said that they withdraw a service */
	HELLO_JITTER_MS = 100,   /* an interval is up to this much shorter, so that muxes do not keep step */
	HELLO_RECEIVE_MAX = 512, /* packets per hello_receive(), so that nothing else waits for long */
	HELLO_BUFFER = 4 << 20,  /* of the socket: a second's hellos of 100 muxes with 1,000 services take 2 MB */
	HELLO_EXPIRE_MS = 60000,
};

struct hello_counters {
	uint64_t sent;   /* packets */
	uint64_t failed; /* that the kernel did not take: no route, no buffer */
	uint64_t received;
	uint64_t refused[HELLO_ERRORS];
};

struct hello {
	int fd; /* readable when hello_receive() has work */
	uint16_t port;
	bool has_key;
	struct fl_siphash_key key; /* of the cluster, for tags */
	bool has_cluster;
	struct hello_head head; /* of the next packet */
	struct hello_peers *peers;
	struct hello_counters counters;
	uint64_t now_ms;  /* of the last hello_receive() */
	uint64_t send_at; /* milliseconds of the monotonic clock when the next hellos are due */
	unsigned starts;  /* of others, as of the last hello_receive() */
	unsigned asks;    /* likewise */
	uint64_t answer_at;
	uint64_t expire_at;
	unsigned seed; /* of the jitter */
};

/*
 * self: the mux's outer address, which the kernel need not have yet. keys NULL: hellos have no tags. boot: Unix
 * milliseconds. Returns NULL and why, for example if another program has the port.
 */
struct hello *hello_open(const struct fl_address *self, uint16_t port, const struct tag_keys *keys, uint64_t boot,
			 struct reason *why);
void hello_close(struct hello *hello);

/*
 * Reads what has arrived. A mux that has just been started is answered at once: hellos are due then. They are due
 * HELLO_ANSWER_MS later if a mux began to say that it withdraws a service, whatever is sent until then.
 */
void hello_receive(struct hello *hello, uint64_t now_ms);

/* The name of the cluster is known; hellos are sent and accepted only if it is 32 hex digits. hello may be NULL. */
void hello_join(struct hello *hello, const char *cluster);

/* Sends all services, by ascending id, to all peers, and sets send_at. */
void hello_send(struct hello *hello, const struct hello_service *services, unsigned count, uint64_t now_ms);

#endif
