/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The packet path by vectors: a group's eight packets side by side, each in a 64-bit lane of its own. Only the common
 * packet stays in its lane: untagged Ethernet, IPv4 without options or IPv6 without extension headers, no fragment, TCP
 * or UDP, in one buffer, with nothing wrong. Whatever else a packet is, and whatever it meets later, it leaves its lane
 * there and goes on as all packets do without lanes (general.h), since lanes_unpack() leaves in struct packet what the
 * general stages would have: that path says what is right, and tests compare both (test_paths.c, fuzz_paths.c). With a
 * method that is more than the hash's low half, all eight packets of a group stay until rows are read, or none.
 *
 *	look	checks headers, finds the service	wrong headers, other protocols and ports leave, as do
 *							packets without room in front for any header
 *	find	finds services, if there are several	other ports leave
 *	begin	reads services				those whose bucket or backend a packet may name leave
 *	hash	hash, bucket, prefetches rows, or what buckets come from
 *	buckets	buckets, if they come from what was prefetched
 *	rows	rows, templates, prefetches lists	SYNs whose MSS may change leave
 *	measure	lists, lengths of headers
 *	headers	writes headers				backends without a plain header leave
 *
 * Each stage is called for all groups of a burst before the next one is, so that services, rows and templates have time
 * to arrive.
 */
#ifndef FAIRLEAD_MUX_LANES_STAGES_H
#define FAIRLEAD_MUX_LANES_STAGES_H

#include "flow/lanes.h"
#include "headers/lanes_headers.h"

struct lookup;

/* All stages. Outside of lanes it is called by its name for a width (flow/lanes_names.h), as all functions here. */
void lanes_steer(struct burst *burst);

/* The stages for a whole group: packets first to first + LANES - 1. before: the group before, NULL: this is the first. */
void lanes_look(struct burst *burst, uint32_t first, struct lanes *lanes, const struct lanes *before);
void lanes_look_ipv6(struct burst *burst, uint32_t first, struct lanes *lanes); /* lanes_look() calls it */
void lanes_find(const struct lookup *lookup, struct lanes *lanes);              /* unless is_one or is_ipv6 */
void lanes_begin(struct lanes *lanes); /* unless is_one; hash does it otherwise */

/* Two groups, which may be one: together sooner than one after the other. */
void lanes_hash_two(struct lanes *a, struct lanes *b);

/* Buckets of a group that is_waiting. */
void lanes_buckets(struct lanes *lanes);

/* For a group all of whose packets are in `by_lanes`; the same as general_rows(). */
void lanes_rows(struct burst *burst, uint32_t first, struct lanes *lanes);

/* Of a group that was written, but not unpacked: what the caller of a brief burst wants of struct packet. */
void lanes_tell(struct burst *burst, uint32_t first, const struct lanes *lanes);

/* Bytes of the IP packets of all lanes. */
uint32_t lanes_ip_bytes(const struct lanes *lanes);

#endif
