/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steer: from the hash to the bucket's row, from the row to its backend; with KIND_SECOND the same for a second bucket;
 * then to the candidates that the header names (candidates.p4). Generation, then arrays, region, then rows, then
 * backends: mux/ring/ring.h says why, and README.md in which order they are written.
 */

/* Bits of a backend's word in the register ring (README.md). */
const bit<64> WORD_IPV6 = 0x0010000000000000;
const bit<64> WORD_REMOVED = 0x0020000000000000;
#define WORD_ROOM 32
#define WORD_PORT 48
#define WORD_STATE 56

const bit<64> STATE_ABSENT = 0;
const bit<64> STATE_NO_NEIGHBOUR = 1;
const bit<64> STATE_LOOP = 2;
const bit<64> STATE_READY = 3;

const bit<64> OUTER6_MORE = 20; /* bytes of an IPv6 header, which a server may send on with; IPv4 has as many fewer */

#include "order.p4"
#include "candidates.p4"

control steer(inout headers_t hdr, inout metadata_t meta) {
    order() ordering;
    choose_codes() choosing;
    candidates() listing;

    apply {
        bit<64> line = (bit<64>)meta.slot << 3;
        bit<64> low = meta.hash; /* in its low bits the bucket, */
        bit<64> high = meta.second_hash; /* in these the second one */
        bit<64> region;

        READ(meta.generation, services, line)
        if ((meta.kind & KIND_SECOND) != 0) {
            bit<64> sets; /* or the least difference of maat */

            READ(sets, services, line + 6)
            if (sets >> 63 != 0) {
                choosing.apply(hdr, meta, sets, low, high);
            }
        }
        READ(region, services, line + 1)
        bit<64> base = region & 0xffffffff;
        bit<64> mask = region >> 32;
        bit<64> bucket = mask & low;
        bit<64> second_bucket = mask & high;
        bit<8> by_id = meta.kind & KIND_BY_ID;

        meta.backends = base + mask + 1;
        meta.second = 0;
        meta.second_first = 0;
        meta.names_second = 0;
        meta.names_former = 0;
        meta.list_len = 0;
        if (meta.generation == 0) {
            meta.verdict = VERDICT_NO_RING;
        } else {
            if (by_id == 0) {
                bit<8> alone = meta.kind & KIND_STATELESS;

                if ((meta.kind & KIND_SECOND) != 0 && second_bucket != bucket) {
                    meta.second = 1;
                    READ(meta.second_row, ring, base + second_bucket)
                }
                READ(meta.row, ring, base + bucket)
                if (meta.second != 0) {
                    ordering.apply(hdr, meta, line);
                }
                if (HAS_TCP(hdr, meta)) {
                    alone = hdr.tcp.flags & TCP_SYN;
                }
                if (alone != 0) { /* present owners alone */
                    meta.row = meta.row & 0xffff;
                    meta.second_row = meta.second_row & 0xffff;
                }
            }
            bit<64> backend = meta.row & 0xffff;

            READ(meta.word, ring, meta.backends + backend)
            bit<64> state = meta.word >> WORD_STATE;

            if (backend == 0) {
                state = STATE_ABSENT;
            }
            if (by_id != 0 && (meta.word & WORD_REMOVED) != 0) {
                state = STATE_ABSENT;
            }
            if (state == STATE_ABSENT) {
                meta.verdict = VERDICT_NO_BACKEND;
                if (by_id != 0) {
                    meta.verdict = VERDICT_NO_BACKEND_ID;
                }
            } else if (state == STATE_LOOP) {
                meta.verdict = VERDICT_BACKEND_LOOP;
            } else if (state == STATE_NO_NEIGHBOUR) {
                meta.verdict = VERDICT_NO_NEIGHBOUR;
            } else if (state != STATE_READY) {
                meta.verdict = VERDICT_REFERRED;
            } else {
                listing.apply(hdr, meta);
                bit<64> len = (bit<64>)meta.ip_len + (bit<64>)meta.list_len;
                bit<64> room = meta.word >> WORD_ROOM; /* for the inner packet and candidates */

                if ((meta.names_former | meta.names_second) != 0) {
                    READ(room, services, line + 2)
                    if ((meta.ready & READY_IPV6) != 0) {
                        len = len + OUTER6_MORE;
                    }
                }
                room = room & 0xffff;
                /* nested: of `&&` with `>` the compiler leaves the second half out */
                if (meta.verdict == VERDICT_SERVICE) {
                    if (len > room) {
                        meta.verdict = VERDICT_TOO_BIG;
                    }
                }
                if (meta.verdict != VERDICT_SERVICE) {
                    NO_CANDIDATE
                }
            }
        }
    }
}
