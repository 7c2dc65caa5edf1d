/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steer: from the hash to the bucket's row, from the row to its backend; with KIND_SECOND the same for a second bucket;
 * then to the candidates that the header names (candidates.p4). Generation, then arrays, region, then rows, then backends: mux/ring/ring.h says why, and README.md
 * in which order they are written.
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

/* What scratch holds here. */
#define LINE meta.index
#define BEHIND meta.words /* the backends' words, behind the rows */

#include "order.p4"
#include "candidates.p4"

control steer(inout headers_t hdr, inout metadata_t meta) {
    order() ordering;
    choose_codes() choosing;
    candidates() listing;

    apply {
        LINE = (bit<64>)meta.slot;
        LINE = LINE << 3;
        READ(meta.generation, services, LINE)
        meta.word = meta.hash; /* whose low bits are the bucket */
        meta.octet = meta.kind & KIND_SECOND;
        if (meta.octet != 0) {
            LINE = LINE + 6;
            READ(meta.second_word, services, LINE)
            meta.wide = meta.second_word >> 63; /* sets, or the least difference of maat */
            if (meta.wide != 0) {
                choosing.apply(hdr, meta);
            }
            LINE = (bit<64>)meta.slot;
            LINE = LINE << 3;
        }
        LINE = LINE + 1;
        READ(meta.wide, services, LINE)
        LINE = LINE + 1;
        meta.other = meta.wide >> 32; /* the mask */
        meta.wide = meta.wide & 0xffffffff;
        BEHIND = meta.wide + meta.other;
        BEHIND = BEHIND + 1;
        meta.second_bucket = meta.other & meta.second_hash;
        meta.other = meta.other & meta.word; /* the bucket */
        meta.second = 0;
        meta.second_first = 0;
        meta.names_second = 0;
        meta.names_former = 0;
        meta.list_len = 0;
        meta.half = (bit<16>)meta.kind;
        meta.half = meta.half & 8; /* KIND_BY_ID */
        if (meta.generation == 0) {
            meta.verdict = VERDICT_NO_RING;
        } else {
            if (meta.half == 0) {
                meta.octet = meta.kind & KIND_SECOND;
                if (meta.octet != 0 && meta.second_bucket != meta.other) {
                    meta.second = 1;
                    meta.second_row = meta.wide + meta.second_bucket;
                    READ(meta.second_row, ring, meta.second_row)
                }
                meta.wide = meta.wide + meta.other;
                READ(meta.row, ring, meta.wide)
                if (meta.second != 0) {
                    ordering.apply(hdr, meta);
                }
                meta.octet = meta.kind & KIND_STATELESS;
                if (HAS_TCP(hdr, meta)) {
                    meta.octet = hdr.tcp.flags;
                    meta.octet = meta.octet & TCP_SYN;
                }
                if (meta.octet != 0) { /* present owners alone */
                    meta.row = meta.row & 0xffff;
                    meta.second_row = meta.second_row & 0xffff;
                }
            }
            meta.other = meta.row & 0xffff; /* the backend */
            meta.wide = BEHIND + meta.other;
            READ(meta.word, ring, meta.wide)
            meta.wide = meta.word >> WORD_STATE;
            if (meta.other == 0) {
                meta.wide = STATE_ABSENT;
            }
            if (meta.half != 0) {
                meta.other = meta.word & WORD_REMOVED;
                if (meta.other != 0) {
                    meta.wide = STATE_ABSENT;
                }
            }
            if (meta.wide == STATE_ABSENT) {
                meta.verdict = VERDICT_NO_BACKEND;
                if (meta.half != 0) {
                    meta.verdict = VERDICT_NO_BACKEND_ID;
                }
            } else if (meta.wide == STATE_LOOP) {
                meta.verdict = VERDICT_BACKEND_LOOP;
            } else if (meta.wide == STATE_NO_NEIGHBOUR) {
                meta.verdict = VERDICT_NO_NEIGHBOUR;
            } else if (meta.wide != STATE_READY) {
                meta.verdict = VERDICT_REFERRED;
            } else {
                listing.apply(hdr, meta);
                meta.index = (bit<64>)meta.ip_len;
                meta.wide = (bit<64>)meta.list_len;
                meta.wide = meta.wide + meta.index;
                meta.other = meta.word >> WORD_ROOM;
                meta.octet = meta.names_former | meta.names_second;
                if (meta.octet != 0) {
                    LINE = (bit<64>)meta.slot;
                    LINE = LINE << 3;
                    LINE = LINE + 2;
                    READ(meta.other, services, LINE)
                    meta.index = meta.ready & READY_IPV6;
                    if (meta.index != 0) {
                        meta.wide = meta.wide + OUTER6_MORE;
                    }
                }
                meta.other = meta.other & 0xffff; /* room for the inner packet and candidates */
                /* nested: of `&&` with `>` the compiler leaves the second half out */
                if (meta.verdict == VERDICT_SERVICE) {
                    if (meta.wide > meta.other) {
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
