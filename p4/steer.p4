/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steer: from the hash to the bucket's row, from the row to its backend. Generation, then region, then row, then
 * backend: mux/ring/ring.h says why, and README.md in which order they are written.
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

control steer(inout headers_t hdr, inout metadata_t meta) {
    apply {
        LINE = (bit<64>)meta.slot;
        LINE = LINE << 3;
        READ(meta.bucket_generation, services, LINE)
        LINE = LINE + 1;
        READ(meta.wide, services, LINE)
        meta.other = meta.wide >> 32; /* the mask */
        meta.wide = meta.wide & 0xffffffff;
        BEHIND = meta.wide + meta.other;
        BEHIND = BEHIND + 1;
        meta.other = meta.other & meta.hash; /* the bucket */
        meta.moved = 0;
        meta.half = (bit<16>)meta.kind;
        meta.half = meta.half & 8; /* KIND_BY_ID */
        if (meta.bucket_generation == 0) {
            meta.verdict = VERDICT_NO_RING;
        } else {
            if (meta.half != 0) {
                meta.other = BUCKET_NONE;
            } else {
                meta.wide = meta.wide + meta.other;
                READ(meta.row, ring, meta.wide)
                meta.octet = meta.kind & KIND_STATELESS;
                if (meta.octet != 0) {
                    meta.row = meta.row & 0xffff;
                    meta.other = BUCKET_NONE;
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
                meta.other = meta.word >> WORD_ROOM;
                meta.wide = meta.row & 0xffffffff;
                meta.wide = meta.wide >> 16; /* the previous owner */
                if (meta.wide != 0) {
                    BEHIND = BEHIND + meta.wide;
                    LINE = LINE + 1;
                    READ(meta.previous_word, services, LINE)
                    meta.wide = meta.row >> 32;
                    meta.wide = meta.wide + meta.previous_word; /* the window's end */
                    READ(meta.previous_word, clock, 0)
                    if (meta.previous_word < meta.wide) {
                        READ(meta.previous_word, ring, BEHIND)
                        meta.wide = meta.previous_word >> WORD_STATE;
                        if (meta.wide != STATE_ABSENT) {
                            LINE = LINE + 1;
                            READ(meta.other, services, LINE)
                            meta.moved = 1;
                            meta.wide = meta.previous_word & WORD_IPV6;
                            if (meta.wide != 0) {
                                meta.moved = 2;
                                meta.other = meta.other >> 16;
                            }
                        }
                    }
                }
                meta.other = meta.other & 0xffff; /* room for the inner packet */
                meta.wide = (bit<64>)meta.ip_len;
                if (meta.wide > meta.other) {
                    meta.verdict = VERDICT_TOO_BIG;
                }
            }
        }
    }
}
