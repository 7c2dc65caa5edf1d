/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The packet path: takes up to 32 packets through the mux, stage by stage, so that memory for one packet is fetched
 * while others are processed. Packets go in groups of eight: eight are hashed together (flow_hash_batch.h), and their
 * rows are fetched while the next eight are classified. Rows of a ring larger than the caches come from memory: fetched
 * 32 at once they wait for each other, and a packet costs 38 ns instead of 31 (a million buckets).
 *
 *	classify	reads headers				verdict, service, key
 *	hash		computes, prefetches ring rows or cells	hash, bucket, generation
 *	rows		reads codes, rows, prefetches templates	bucket, a second one, rows, backend
 *	encap		writes headers				the mbuf, ready to be sent by packet.port
 *
 * It does not log, allocate, lock or make system calls, and knows nothing of ports: tests, the fuzzer and
 * bench/mux_packet run it unchanged. The caller is a reader of the tables and not in a quiescent state (tables.h).
 */
#ifndef FAIRLEAD_MUX_BURST_H
#define FAIRLEAD_MUX_BURST_H

#include <rte_mbuf.h>

#include <fairlead/keys.h>
#include <fairlead/ring.h>

#include "host/mac.h"
#include "packet/packet.h"
#include "ring/backend.h"
#include "ring/lists.h"
#include "service/service.h"

enum { BURST_GROUP = 8, GROUP_BITS = (1 << BURST_GROUP) - 1 };

/* How bursts are steered. All ways give the same results; the reference is the one that says what these are. */
enum burst_path {
	BURST_REFERENCE, /* classify() for each packet */
	BURST_SCALAR,    /* the common packet by fewer branches (classify_common.h) */
	BURST_LANES,     /* eight common packets side by side, by AVX-512 (lanes.h); others as above */
};

struct burst {
	const struct lookup *lookup;
	uint8_t tag_flags; /* TAG, and KEY; 0: packets are not tagged (tag_key.h) */
	uint64_t mac;      /* of the receiving port: mac_word() */
	uint32_t now;      /* Unix seconds */
	uint32_t count;
	struct rte_mbuf *mbufs[BURST_MAX];
	struct packet packets[BURST_MAX] __attribute__((aligned(64))); /* a cache line each */
	uint32_t coded;        /* packets whose buckets arrays of codes give, a bit each; set by hash, used by rows */
	uint32_t seconds;      /* packets with a second bucket, a bit each; set by hash and rows */
	uint32_t ordered;      /* packets of services with steering maat, a bit each; set by hash, used by rows */
	uint32_t alike;        /* groups whose packets all have two buckets of one ring, all bits; set by hash */
	uint32_t alone;        /* packets whose lists name their first bucket's owners alone, a bit each; set by hash */
	uint32_t avoid;        /* groups that go the general way before lanes are tried again */
	uint32_t worker;       /* in whose counts of loads they count */
	uint32_t second_first; /* out: how many have the bucket of their hash's high half first */
	uint32_t second_syns;  /* out: the SYNs among them */
	uint32_t second;       /* out: how many name a second bucket's owner */
	uint64_t moved;        /* out: how many name former owners */
	uint64_t bytes;        /* out: bytes of the frames with VERDICT_SERVICE, as received */
	/*
	 * In: of packets with VERDICT_SERVICE only verdict, ip_len, service and port are wanted afterwards, and if `one`
	 * is set not even these.
	 */
	bool is_brief;
	enum burst_path path; /* set by burst_steer */
	uint8_t one_port;     /* out: see `one` */
	uint32_t ip_bytes;    /* out: see `one` */
	struct service *one;  /* out: all packets are steered, have this service and leave by one_port; or NULL */
};

/* Before a burst's first stage. */
static inline void burst_begin(struct burst *burst)
{
	burst->coded = burst->seconds = burst->ordered = burst->alike = burst->alone = 0;
	burst->moved = burst->second = burst->second_first = burst->second_syns = 0;
	burst->bytes = 0;
	burst->one = NULL;
}

/* One stage for packets first to end - 1, at most BURST_GROUP. Adds to moved, second and bytes. */
void burst_classify(struct burst *burst, uint32_t first, uint32_t end);
void burst_hash(struct burst *burst, uint32_t first, uint32_t end);
void burst_rows(struct burst *burst, uint32_t first, uint32_t end);
void burst_encap(struct burst *burst, uint32_t first, uint32_t end);

/* burst_encap() of packets whose headers are not written yet. written: a bit for each, from the first on. */
void burst_encap_rest(struct burst *burst, uint32_t first, uint32_t end, uint32_t written);

/* Whether a packet's header has what its row says beside the owner. */
static inline bool burst_is_moved(const struct packet *packet)
{
	return packet->row >> 16 && !(packet->flags & PACKET_SYN);
}

/* A row without an owner that the table does not have. */
static inline uint64_t burst_known_row(uint64_t row, const struct backends *backends)
{
	return fl_row_current(row) < backends->size ? row : row & ~(uint64_t)UINT16_MAX;
}

/* The fastest that this machine can; set before main(). No worker may run while it is changed. */
extern enum burst_path burst_path;

/* By enum burst_path. */
extern const char *const burst_path_names[];

/*
 * Steers a packet whose backend id is unknown by its bucket, if that is allowed. The ring may be newer than the one
 * read before, so everything is read again. False: the bucket has no backend.
 */
bool burst_fall_back(struct packet *packet);

/* The verdict of a packet that nothing gives a backend. */
enum verdict burst_absent(const struct packet *packet);

/* All stages, by burst_path. Afterwards every packet has its verdict, and those with VERDICT_SERVICE are rewritten. */
void burst_steer(struct burst *burst);

/* The same by a path of its own. */
void burst_steer_by(struct burst *burst, enum burst_path path);

/* The stages after classification, for packets that already have a verdict. */
void burst_steer_classified(struct burst *burst);

#endif
