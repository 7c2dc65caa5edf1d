/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Order: which of a packet's two buckets is first, with steering `maat`, as mux/packet/order.h has it for the C mux.
 *
 *	SYN		the second, if its owner's score is lower by `least`: then it is noted
 *	other packets	the second, if it is noted; FIN and RST end that
 *
 * `noted` has a counting Bloom filter for each service: an entry is a count of 7 bits and above it `used`, which the
 * control plane's sweep looks at. All its cells are read before one is written, so that a cell which a connection has
 * twice counts once. Between two tables a packet is alone in the pipeline, so no other one comes between.
 */

const bit<8> TCP_ENDS = 0x05;          /* FIN, RST */
const bit<64> COUNT_MAX = 0x7f;
const bit<64> USED = 0x80;
const bit<64> LESS = 0xffffffffffffffff;

/* What scratch and fields of earlier and later stages hold here. */
#define FILTER meta.word               /* base 24, hashes 8, mask 32 */
#define AT0 meta.source_high
#define AT1 meta.source_low
#define AT2 meta.destination_high
#define CELL0 meta.destination_low
#define CELL1 meta.second_bucket
#define CELL2 meta.ready
#define STEP meta.second_hash          /* from cell to cell */
#define CHANGE meta.second_hash        /* of counts */
#define FIRST_SCORE meta.word
#define SECOND_SCORE meta.second_hash

/* A full cell stays full: nothing knows how many connections share it. */
#define NOTE(cell, at)              \
    if (cell != COUNT_MAX) {        \
        cell = cell + CHANGE;       \
    }                               \
    if (cell != 0) {                \
        cell = cell | USED;         \
    }                               \
    WRITE(noted, at, cell)

/* Of a packet whose rows are read; LINE is at word 2 of its service's line. */
control order(inout headers_t hdr, inout metadata_t meta) {
    apply {
        LINE = LINE + 5;
        READ(FILTER, services, LINE)
        LINE = LINE - 5;
        meta.wide = meta.second_row & 0xffff;
        meta.second_word = BEHIND + meta.wide;
        READ(meta.second_word, ring, meta.second_word)
        if (meta.wide == 0) {
            FILTER = 0;
        }
        meta.wide = meta.second_word >> WORD_STATE;
        /* the first one's owner may reach what this mux does not */
        if (FILTER != 0 && meta.wide >= STATE_READY) {
            STEP = STEP | 1;
            AT0 = meta.hash + STEP;
            meta.wide = FILTER >> 24;
            meta.wide = meta.wide & 0xff;
            if (meta.wide < 2) {
                STEP = 0;
            }
            AT1 = AT0 + STEP;
            if (meta.wide < 3) {
                STEP = 0;
            }
            AT2 = AT1 + STEP;
            meta.wide = FILTER >> 32;
            AT0 = AT0 & meta.wide;
            AT1 = AT1 & meta.wide;
            AT2 = AT2 & meta.wide;
            meta.wide = FILTER & 0xffffff;
            AT0 = AT0 + meta.wide;
            AT1 = AT1 + meta.wide;
            AT2 = AT2 + meta.wide;
            READ(CELL0, noted, AT0)
            READ(CELL1, noted, AT1)
            READ(CELL2, noted, AT2)
            CELL0 = CELL0 & COUNT_MAX;
            CELL1 = CELL1 & COUNT_MAX;
            CELL2 = CELL2 & COUNT_MAX;
            CHANGE = 0;
            if (CELL0 != 0 && CELL1 != 0 && CELL2 != 0) {
                meta.second_first = 1;
            }
            meta.octet = hdr.tcp.flags;
            meta.octet = meta.octet & TCP_SYN;
            if (meta.octet == 0) {
                meta.octet = hdr.tcp.flags;
                meta.octet = meta.octet & TCP_ENDS;
                if (meta.octet != 0) {
                    CHANGE = LESS;
                }
            } else if (meta.second_first != 0) {
                meta.second_first = 2; /* its SYN was lost or is repeated */
            } else {
                meta.wide = meta.row & 0xffff;
                FIRST_SCORE = BEHIND + meta.wide;
                READ(FIRST_SCORE, ring, FIRST_SCORE)
                if (FIRST_SCORE != 0) { /* the owner's word */
                    meta.wide = FIRST_SCORE & 0xffffffff;
                    meta.wide = meta.wide + 6;
                    READ(FIRST_SCORE, templates, meta.wide)
                    meta.wide = meta.second_word & 0xffffffff;
                    meta.wide = meta.wide + 6;
                    READ(SECOND_SCORE, templates, meta.wide)
                    LINE = LINE + 4;
                    READ(meta.wide, services, LINE)
                    LINE = LINE - 4;
                    SECOND_SCORE = SECOND_SCORE + meta.wide;
                    meta.wide = FIRST_SCORE >> 63; /* unknown */
                    if (meta.wide == 0 && FIRST_SCORE >= SECOND_SCORE) {
                        meta.second_first = 2;
                        CHANGE = 1;
                    }
                }
            }
            if (meta.second_first != 0) {
                NOTE(CELL0, AT0)
                NOTE(CELL1, AT1)
                NOTE(CELL2, AT2)
                meta.wide = meta.row;
                meta.row = meta.second_row;
                meta.second_row = meta.wide;
            }
        }
    }
}
