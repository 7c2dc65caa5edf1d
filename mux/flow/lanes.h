/* SPDX-License-Identifier: Apache-2.0 */
/* A group's packets in lanes, side by side (packet/lanes_stages.h). */
#ifndef FAIRLEAD_MUX_FLOW_LANES_H
#define FAIRLEAD_MUX_FLOW_LANES_H

#include <fairlead/ring.h>

#include "flow/burst.h"

struct backends;
struct ring;

#ifdef LANES_BYTES
#include "flow/lanes_names.h"
#endif

enum { LANES = BURST_GROUP, LANES_ALL = GROUP_BITS, LANES_LIST_WORDS = 16 };

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
	/*
	 * If any is `listed`: the list as a row names it, an address 32 bytes before its end, and, of a header without a
	 * tag, bytes from the outer IP header on, and lengths as mbufs have them.
	 */
	uint64_t named[LANES] __attribute__((aligned(64)));
	uint64_t cell[LANES] __attribute__((aligned(64)));
	uint64_t more[LANES] __attribute__((aligned(64)));
	uint64_t frames[LANES] __attribute__((aligned(64)));
	uint32_t own_lists[LANES][LANES_LIST_WORDS];                         /* of `merged`, from the middle on */
	fl_row rows[LANES] __attribute__((aligned(64)));                     /* if has_rows; or of `steady` */
	struct service *service[LANES] __attribute__((aligned(64)));         /* [0] alone if is_one */
	struct ring *ring[LANES] __attribute__((aligned(64)));               /* the same */
	const struct backends *backends[LANES] __attribute__((aligned(64))); /* the same, if has_rows */
	/* Unless is_one: */
	uint64_t destinations[LANES]
	    __attribute__((aligned(64))); /* unless is_ipv6; lookup_common() is asked for them */
	uint64_t service_key[2][LANES] __attribute__((aligned(64)));
	uint64_t row_at[LANES] __attribute__((aligned(64))); /* addresses of rows */
	/* Of methods with two buckets: */
	uint64_t second[LANES] __attribute__((aligned(64)));
	fl_row second_rows[LANES] __attribute__((aligned(64)));   /* if has_rows */
	uint64_t second_line[LANES] __attribute__((aligned(64))); /* the same: addresses of their owners' lines */
	uint64_t own[4][LANES] __attribute__((aligned(64)));      /* what the method keeps until rows are read */
	const void *data;                                         /* the same */
	uint64_t destination; /* of lane 0; its service is service[0], or NULL, unless the lanes have several */
	bool is_ipv6;         /* all of `in` are; otherwise none is */
	bool is_one;          /* all of `in` have one service, and so one ring */
	bool has_rows;        /* lanes_rows() has read them */
	bool is_unpacked;     /* struct packet says all of this, too */
	uint8_t in;           /* whose lanes went through look, then find and begin */
	uint8_t udp;          /* of these */
	uint8_t syns;         /* of these */
	uint8_t whole;        /* of these, whose services hash ports, too */
	uint8_t method;       /* of a group that is_one: the steering method's number */
	uint8_t by_lanes;     /* of these, whose rows are read in lanes */
	bool is_waiting;      /* buckets are not known before what was prefetched has arrived */
	uint8_t clamped;      /* of `syns`: their MSS may have to be changed */
	uint8_t seconds;      /* of `by_lanes`, who have a second bucket */
	uint8_t listed;       /* of `steady`, whose headers have a list, or LATE */
	uint8_t with_second;  /* of `listed`, whose list begins with the second bucket's owner */
	uint8_t merged;       /* of `listed`, whose list has former owners, of one of two buckets or of both */
	uint8_t steady;       /* of these, who get the plain header if their backends' lines allow that */
	uint8_t port;         /* of an encapsulated group that is not unpacked: by which all leave, or PORTS_DIFFER */
};

enum { PORTS_DIFFER = 0xff };

/* Fills in struct packet of `in`, as the general stages up to here would have. */
void lanes_unpack(struct burst *burst, uint32_t first, struct lanes *lanes);

/* What a steering method needs besides its fetch (steering/methods/inline.h). */
struct lanes_method {
	bool has_second;
	void (*buckets)(struct lanes *lanes);
	void (*order)(struct burst *burst, uint32_t first, struct lanes *lanes);
};

#endif
