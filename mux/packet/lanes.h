/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The packet path by AVX-512: a group's eight packets side by side, each in a 64-bit lane of its own. Only the common
 * packet stays in its lane: untagged Ethernet, IPv4 without options or IPv6 without extension headers, no fragment, TCP
 * or UDP, in one buffer, with nothing wrong. Whatever else a packet is, and whatever it meets later, it leaves its lane
 * there and goes on as all packets do without AVX-512 (burst.h), since each stage leaves in struct packet what the
 * general one would have: that path says what is right, and tests compare both (test_paths.c, fuzz_paths.c).
 *
 *	look	checks headers, finds the service	wrong headers, other protocols and ports leave, as do
 *							packets without room in front for any header
 *	find	finds services, if there are several	other ports leave
 *	begin	reads services				those whose bucket or backend a packet may name leave
 *	hash	hash, bucket, prefetches rows
 *	rows	rows, templates				SYNs whose MSS may change, other ways leave
 *	encap	writes headers				backends without a plain header leave
 *
 * Each stage is called for all groups of a burst before the next one is, so that services, rows and templates have time
 * to arrive.
 */
#ifndef FAIRLEAD_MUX_LANES_H
#define FAIRLEAD_MUX_LANES_H

#include <fairlead/ring.h>

#include "packet/burst.h"

struct backends;
struct lists;

#ifdef __x86_64__
#define LANES_X86 /* elsewhere all packets go the general way */
#endif

enum { LANES = BURST_GROUP, LANES_ALL = GROUP_BITS };

struct lanes {
	uint64_t word[LANES] __attribute__((aligned(64))); /* struct packet's first: verdict to ip_len */
	uint64_t key[2][LANES] __attribute__((aligned(64)));
	uint64_t addresses6[4][LANES] __attribute__((aligned(64))); /* if is_ipv6: source, destination */
	uint64_t hash[LANES] __attribute__((aligned(64)));
	uint64_t place[LANES] __attribute__((aligned(64))); /* bucket, and above it generation */
	uint64_t frame_len[LANES] __attribute__((aligned(64)));
	uint64_t line[LANES]
	    __attribute__((aligned(64))); /* addresses of struct backend; not `steady`: of an absent one */
	uint64_t tag[LANES] __attribute__((aligned(64))); /* of `steady`, as in headers */
	/* If any has `moved`, of a header without a tag: bytes from the outer IP header on, and lengths as mbufs have them. */
	uint64_t more[LANES] __attribute__((aligned(64)));
	uint64_t frames[LANES] __attribute__((aligned(64)));
	fl_row rows[LANES] __attribute__((aligned(64)));                     /* if has_rows; or of `steady` */
	struct service *service[LANES] __attribute__((aligned(64)));         /* [0] alone if is_one */
	struct ring *ring[LANES] __attribute__((aligned(64)));               /* the same */
	const struct backends *backends[LANES] __attribute__((aligned(64))); /* the same, if has_rows */
	/* Unless is_one: */
	uint64_t destinations[LANES]
	    __attribute__((aligned(64))); /* unless is_ipv6; lookup_common() is asked for them */
	uint64_t service_key[2][LANES] __attribute__((aligned(64)));
	uint64_t row_at[LANES] __attribute__((aligned(64))); /* addresses of rows */
	uint64_t destination; /* of lane 0; its service is service[0], or NULL, unless the lanes have several */
	bool is_ipv6;         /* all of `in` are; otherwise none is */
	bool is_one;          /* all of `in` have one service, and so one ring */
	bool has_rows;        /* lanes_rows() has read them */
	bool is_unpacked;     /* struct packet says all of this, too */
	uint8_t in;           /* whose lanes went through look, then find and begin */
	uint8_t udp;          /* of these */
	uint8_t syns;         /* of these */
	uint8_t whole;        /* of these, whose services hash ports, too */
	uint8_t low;          /* of these, whose bucket is that of the hash's low half, and none other */
	uint8_t clamped;      /* of `syns`: their MSS may have to be changed */
	uint8_t moved;        /* of `steady`, whose headers have a list, or LATE */
	uint8_t steady;       /* of these, who get the plain header if their backends' lines allow that */
	uint8_t port;         /* of an encapsulated group that is not unpacked: by which all leave, or PORTS_DIFFER */
};

enum { PORTS_DIFFER = 0xff };

/* Whether this machine can. */
bool lanes_has_cpu(void);

/* The stages for a whole group: packets first to first + LANES - 1. before: the group before, NULL: this is the first. */
void lanes_look(struct burst *burst, uint32_t first, struct lanes *lanes, const struct lanes *before);
void lanes_look_ipv6(struct burst *burst, uint32_t first, struct lanes *lanes); /* lanes_look() calls it */
void lanes_find(const struct lookup *lookup, struct lanes *lanes);              /* unless is_one or is_ipv6 */
void lanes_begin(struct lanes *lanes); /* unless is_one; hash does it otherwise */

/* Two groups, which may be one: together sooner than one after the other. */
void lanes_hash_two(struct lanes *a, struct lanes *b);

/* Fills in struct packet of `in`, as the general stages up to here would have. */
void lanes_unpack(struct burst *burst, uint32_t first, struct lanes *lanes);

/* For a group all of whose packets are in `low`; the same as burst_rows(). */
void lanes_rows(struct burst *burst, uint32_t first, struct lanes *lanes);

/* Of a group whose rows are read: how long the headers of `moved` get. */
void lanes_measure(const struct lists *lists, struct lanes *lanes);

/* The tags of a group's headers (fairlead/list_tag.h). Comes before encap. */
void lanes_tag(const struct burst *burst, struct lanes *lanes);

/*
 * Writes the headers of `steady` as far as they are plain; returns those that were written. Unpacks the group if others
 * are left. Adds to burst->bytes.
 */
uint32_t lanes_encap(struct burst *burst, uint32_t first, struct lanes *lanes);

/* Of a group that was written, but not unpacked: what the caller of a brief burst wants of struct packet. */
void lanes_tell(struct burst *burst, uint32_t first, const struct lanes *lanes);

/* Bytes of the IP packets of all lanes. */
uint32_t lanes_ip_bytes(const struct lanes *lanes);

#endif
