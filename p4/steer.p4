/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steer: from the hash to the bucket's row, from the row to its backend; with KIND_SECOND the same for a second bucket,
 * whose owner the header names. Generation, then arrays, region, then rows, then backends: mux/ring/ring.h says why, and README.md
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

const bit<64> BUCKET_NONE = 0xffffffff;

/* What scratch holds here. */
#define LINE meta.index
#define BEHIND meta.words /* the backends' words, behind the rows */

/* Bytes of SECOND, MOVED2 or MOVED with an IPv4 address, and how many more with IPv6. */
const bit<16> PART_LEN = 8;
const bit<16> PART_IPV6_MORE = 12;

/*
 * Whether a row's move is news, and the previous owner is known: then moved is 1 or 2, and word is the owner's. LINE is
 * at the service's moved_seconds.
 */
#define MOVED_FROM(row, word, moved)                                    \
    meta.wide = row & 0xffffffff;                                       \
    meta.wide = meta.wide >> 16; /* the previous owner */               \
    if (meta.wide != 0) {                                               \
        word = BEHIND + meta.wide;                                      \
        READ(meta.other, services, LINE)                                \
        meta.wide = row >> 32;                                          \
        meta.wide = meta.wide + meta.other; /* the window's end */      \
        READ(meta.other, clock, 0)                                      \
        if (meta.other < meta.wide) {                                   \
            READ(word, ring, word)                                      \
            meta.wide = word >> WORD_STATE;                             \
            if (meta.wide != STATE_ABSENT) {                            \
                moved = 1;                                              \
                meta.parts_len = meta.parts_len + PART_LEN;             \
                meta.wide = word & WORD_IPV6;                           \
                if (meta.wide != 0) {                                   \
                    moved = 2;                                          \
                    meta.parts_len = meta.parts_len + PART_IPV6_MORE;   \
                }                                                       \
            }                                                           \
        }                                                               \
    }

/* The second bucket's owner, if servers may be told of it: no one that is unknown or whose packets would come back. */
#define SECOND_OWNER                                                \
    meta.other = meta.second_row & 0xffff;                          \
    meta.second_word = BEHIND + meta.other;                         \
    READ(meta.second_word, ring, meta.second_word)                  \
    meta.wide = meta.second_word >> WORD_STATE;                     \
    if (meta.other == 0) {                                          \
        meta.wide = STATE_ABSENT;                                   \
    }                                                               \
    if (meta.wide == STATE_ABSENT) {                                \
        meta.second = 0;                                            \
    } else if (meta.wide == STATE_LOOP) {                           \
        meta.second = 0;                                            \
    } else {                                                        \
        meta.parts_len = PART_LEN;                                  \
        meta.wide = meta.second_word & WORD_IPV6;                   \
        if (meta.wide != 0) {                                       \
            meta.second = 2;                                        \
            meta.parts_len = meta.parts_len + PART_IPV6_MORE;       \
        }                                                           \
        MOVED_FROM(meta.second_row, meta.second_previous_word, meta.second_moved) \
    }

#include "order.p4"

control steer(inout headers_t hdr, inout metadata_t meta) {
    order() ordering;
    choose_codes() choosing;

    apply {
        LINE = (bit<64>)meta.slot;
        LINE = LINE << 3;
        READ(meta.bucket_generation, services, LINE)
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
        meta.moved = 0;
        meta.second = 0;
        meta.second_moved = 0;
        meta.second_first = 0;
        meta.parts_len = 0;
        meta.half = (bit<16>)meta.kind;
        meta.half = meta.half & 8; /* KIND_BY_ID */
        if (meta.bucket_generation == 0) {
            meta.verdict = VERDICT_NO_RING;
        } else {
            if (meta.half != 0) {
                meta.other = BUCKET_NONE;
            } else {
                meta.octet = meta.kind & KIND_SECOND;
                if (meta.octet != 0 && meta.second_bucket != meta.other) {
                    meta.second = 1;
                    meta.second_row = meta.wide + meta.second_bucket;
                    READ(meta.second_row, ring, meta.second_row)
                }
                meta.wide = meta.wide + meta.other;
                READ(meta.row, ring, meta.wide)
                meta.octet = meta.kind & KIND_STATELESS;
                if (meta.octet != 0) {
                    meta.row = meta.row & 0xffff;
                    meta.other = BUCKET_NONE;
                }
                if (meta.second != 0) {
                    ordering.apply(hdr, meta);
                }
            }
            meta.other = meta.other << 32;
            meta.bucket_generation = meta.bucket_generation | meta.other;
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
                if (meta.second != 0) {
                    SECOND_OWNER
                }
                MOVED_FROM(meta.row, meta.previous_word, meta.moved)
                meta.other = meta.word >> WORD_ROOM;
                if (meta.parts_len != 0) {
                    LINE = LINE + 1;
                    READ(meta.other, services, LINE)
                }
                meta.other = meta.other & 0xffff; /* room for the inner packet and parts */
                meta.wide = (bit<64>)meta.parts_len;
                meta.index = (bit<64>)meta.ip_len;
                meta.wide = meta.wide + meta.index;
                if (meta.wide > meta.other) {
                    meta.verdict = VERDICT_TOO_BIG;
                }
            }
        }
    }
}
