/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random frames of every kind that a mux knows: valid ones, and damaged ones with bytes and 16-bit words changed, bytes
 * inserted, removed or copied, or the end cut off. Most then get a right length and IPv4 checksum again, so that the
 * checks behind those are reached.
 */
#ifndef FAIRLEAD_MUX_TESTS_RANDOM_FRAME_H
#define FAIRLEAD_MUX_TESTS_RANDOM_FRAME_H

#include "frame.h"
#include "image.h"

/* Addresses that frames are sent to and from. */
#define RANDOM_SELF  "10.1.0.11"
#define RANDOM_SELF6 "2001:db8:1::11"
#define RANDOM_PEER  "10.1.0.12"
#define RANDOM_PEER6 "2001:db8:1::13"
/* The cluster's, by which wrapped fragments of muxes are tagged. */
extern const struct fl_siphash_key random_key;
extern const char *const random_vips[];
extern const char *const random_vips6[];
enum { RANDOM_VIPS = 6, RANDOM_VIPS6 = 1 };

void random_frame(struct chance *chance, struct frame *out);

/* One of many alike: even numbers are later fragments of one datagram for each number, odd ones echo requests. */
void random_storm(struct chance *chance, uint32_t number, struct frame *out);

/* The internet checksum's sum, not folded, from a sum on. */
uint64_t random_sum(uint64_t sum, const uint8_t *bytes, uint32_t len);
uint16_t random_fold(uint64_t sum);

/* Damages a plain frame: a field is at an edge, a bit inverted, or its end cut off. */
void random_damage(struct chance *chance, bool ipv6, struct frame *frame);

#endif
