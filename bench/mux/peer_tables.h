/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Katran's program and its tables, as far as a service for TCP over IPv4 needs them. Names, sizes and places are facts
 * of the program's interface, as its maps' BTF tells them; each is compared with the loaded program before it is used.
 */
#ifndef FAIRLEAD_BENCH_PEER_TABLES_H
#define FAIRLEAD_BENCH_PEER_TABLES_H

#include <stdbool.h>
#include <stdint.h>

struct bpf_object;

/* All in network order where a packet has it so. */
struct peer_vip {
	uint8_t address[16]; /* the first four of IPv4 */
	uint16_t port;
	uint8_t protocol, padding;
};

struct peer_service {
	uint32_t flags, number;
};

struct peer_server {
	uint8_t address[16];
	uint8_t flags, padding[3];
};

struct peer_control {
	uint8_t mac[8];
};

struct peer_flow {
	uint8_t source[16], destination[16];
	uint16_t ports[2];
	uint8_t protocol, padding[3];
};

struct peer_choice {
	uint32_t server, padding;
	uint64_t used;
};

struct peer_count {
	uint64_t first, second;
};

_Static_assert(sizeof(struct peer_vip) == 20, "a VIP's key");
_Static_assert(sizeof(struct peer_service) == 8, "a VIP's value");
_Static_assert(sizeof(struct peer_server) == 20, "a server");
_Static_assert(sizeof(struct peer_control) == 8, "a control value");
_Static_assert(sizeof(struct peer_flow) == 40, "a flow");
_Static_assert(sizeof(struct peer_choice) == 16, "a flow's server");
_Static_assert(sizeof(struct peer_count) == 16, "a counter");

enum {
	PEER_RING = 65537,  /* entries for a service */
	PEER_SERVERS = 256, /* numbered from 1 */
	PEER_NO_CACHE = 2,  /* a service's flag: neither look up nor remember flows */
	PEER_PORT = 80,
};

/* One build of the program, loaded. */
struct peer {
	struct bpf_object *object;
	int program;
	int vips, stats;   /* maps */
	uint32_t services; /* that it has room for: behind their counters are those of the program */
};

/* Loads a build and fills its tables except the cache; ends the process with a sentence if it can't. */
void peer_open(struct peer *peer, const char *file);

void peer_close(struct peer *peer);

/* A table of flows as the program expects one for each processor; it does not belong to a program. */
int peer_cache_new(uint32_t entries);

/* The cache of the processor that the caller is bound to. */
void peer_cache_set(const struct peer *peer, uint32_t processor, int cache);

void peer_service_set(const struct peer *peer, bool is_cached);

/* Packets to the service so far, and those of them whose flow was not in the cache. */
struct peer_count peer_packets(const struct peer *peer);

/* As if a million new flows had come within this second, so that the program remembers no more of them. */
void peer_guard_set(const struct peer *peer);

/* False: that second is over, and it remembers flows again. */
bool peer_guard_is_on(const struct peer *peer);

/* The address of the VIP and of a server, as bytes of a packet. */
void peer_vip_address(uint8_t out[4]);
void peer_server_address(uint8_t out[4], uint32_t server);

_Noreturn void peer_die(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
