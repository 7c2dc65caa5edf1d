/* SPDX-License-Identifier: Apache-2.0 */
/* What the P4 mux's registers and tables hold, made from the C mux's own tables (README.md, "Registers"). */
#ifndef FAIRLEAD_P4_LAYOUT_H
#define FAIRLEAD_P4_LAYOUT_H

#include "ring/backend.h"
#include "service/service.h"
#include "steering/steering.h"

enum p4_layout_numbers {
	P4_LINE_WORDS = 8, /* of a service, and of a template */
	P4_SLOTS = 4096,   /* slot 0: no service */
	P4_PLACES = 131072,
	P4_RING_WORDS = 4194304,
	P4_LISTS_WORDS = 524288,
	P4_CELLS_WORDS = 2097152,
	P4_PACKETS_SHIFT = 6, /* register packets: slot << 6 | verdict */

	P4_LINE_GENERATION = 0, /* words of a service's line */
	P4_LINE_REGION = 1,
	P4_LINE_ROOM = 2,
	P4_LINE_KEY = 4,
	P4_LINE_LEAST = 6,
	P4_LINE_FILTER = 7,

	P4_TEMPLATE_SCORE = 6, /* a word of a template's line */

	P4_NOTED = 1048576, /* cells of the register noted: of all filters */
	P4_FILTER_HASHES_MAX = 3,
	P4_LINE_SETS = 6, /* with steering othello, in place of the least difference */

	P4_SET_NONE = 0,     /* where sets of cells are, in place of where they begin */
	P4_SET_LOW_BITS = 1, /* no arrays: the hash's low bits */
	P4_SET_FIRST = 2,    /* they begin here or later */
	P4_SET_HEAD = 2,     /* words in front of the cells */
	P4_SET_CELLS = 4,    /* in a word */

	P4_KIND_SIPHASH = 0x01,
	P4_KIND_CLIENT = 0x02,
	P4_KIND_STATELESS = 0x04,
	P4_KIND_BY_ID = 0x08,
	P4_KIND_REFER_SYN = 0x10,
	P4_KIND_REFER = 0x20,
	P4_KIND_SECOND = 0x40,
	P4_KIND_IPIP = 0x80,

	P4_STATE_REFERRED = 4, /* of a backend; those below are enum backend_state */

	P4_LIST_IPV6_MAX = 4,   /* candidates of 16 bytes that the program writes */
	P4_LIST_SECOND_MAX = 2, /* former owners of each bucket that it compares */
	P4_ROW_REFERRED = 0xff, /* a row's count, of a list that the register has no room for */
};

/* Verdicts of this program alone; those of mux/flow/verdict.h are below them. */
enum p4_verdict {
	P4_VERDICT_FRAGMENT = 48,
	P4_VERDICT_ICMP,
	P4_VERDICT_OPTIONS,
	P4_VERDICT_EXTENSIONS,
	P4_VERDICT_REFERRED,
	P4_VERDICTS,
};

/* As verdict_name(), of both kinds. */
const char *p4_verdict_name(unsigned verdict);

/*
 * The argument `kind` of `serve` for a port of a service. tagged: the cluster has a key. by_id: the port names a
 * backend. What the program does not do is referred: tags, encapsulations and steering methods that it does not have,
 * QUIC's connection ids.
 */
uint8_t p4_kind(const struct service *service, uint8_t protocol, bool by_id, bool tagged);

/* Whether the program has the encapsulation, and the steering method. */
bool p4_has_encap(const struct encap *encap);
bool p4_has_steering(const struct steering *steering);

/* The service's place in tables and registers. */
static inline uint32_t p4_slot(const struct service *service)
{
	return service->slot + 1U;
}

/* A service's line, except for generation, region, and what is of steering `maat`. */
void p4_service_line(const struct service *service, const struct backends *backends, uint64_t line[P4_LINE_WORDS]);

/*
 * With steering `maat`: a backend's load over weight, in 2^20ths; P4_SCORE_UNKNOWN: it is never taken for the less loaded
 * one. And by how much the second must be below the first.
 */
#define P4_SCORE_UNKNOWN (UINT64_C(1) << 63)
uint64_t p4_score(const struct service *service, uint16_t id);
uint64_t p4_least(const struct service *service);

/* Word P4_LINE_FILTER of a service whose filter has so many cells from base on in the register noted. */
uint64_t p4_filter(const struct service *service, uint32_t base);

static inline uint64_t p4_region(uint32_t base, uint32_t buckets)
{
	return (uint64_t)(buckets - 1) << 32 | base;
}

/*
 * A row of the C mux's (ring/lists.h) as the register ring has it, of a region with the words of so many ids; the
 * words of its list from its place in the register lists on, 0 without one; and each of these.
 */
uint64_t p4_row(fl_row row, uint32_t ids);
uint32_t p4_list_words(fl_row row);
uint64_t p4_list_word(const struct lists *lists, fl_row row, uint32_t at);

struct othello_arrays;

/* Of word P4_LINE_SETS, which no least difference has. */
#define P4_SETS (UINT64_C(1) << 63)

/* Words of register cells that arrays take, and each of these. */
uint64_t p4_set_words(const struct othello_arrays *arrays);
uint64_t p4_set_word(const struct othello_arrays *arrays, uint32_t at);

/* A service's word: where the sets for the bucket and the second bucket are. */
static inline uint64_t p4_sets(uint32_t first, uint32_t second)
{
	return P4_SETS | (uint64_t)second << 32 | first;
}

/* A backend's line in templates, its entry in tails, and its word behind the rows of a region; wire: the pipeline port of backend->port. */
void p4_template(const struct backend *backend, uint64_t line[P4_LINE_WORDS]);
uint64_t p4_tail(const struct backend *backend);
uint64_t p4_backend_word(const struct backends *backends, const struct backend *backend, uint32_t place, uint8_t wire);

/* A port's MAC address as the register macs has it. */
uint64_t p4_mac(const uint8_t mac[6]);

#endif
