/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Order: which of a packet's two buckets is first, with steering `maat`, as mux/steering/maat/maat_path.h has it for
 * the C mux.
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

/* A full cell stays full: nothing knows how many connections share it. */
#define NOTE(cell, at)              \
    if (cell != COUNT_MAX) {        \
        cell = cell + change;       \
    }                               \
    if (cell != 0) {                \
        cell = cell | USED;         \
    }                               \
    WRITE(noted, at, cell)

/* Of a packet whose rows are read; `line` is its service's. */
control order(inout headers_t hdr, inout metadata_t meta, in bit<64> line) {
    apply {
        bit<64> filter; /* base 24, hashes 8, mask 32 */
        bit<64> second_word;

        READ(filter, services, line + 7)
        READ(second_word, ring, meta.backends + (meta.second_row & 0xffff))
        if ((meta.second_row & 0xffff) == 0) {
            filter = 0;
        }
        /* the first one's owner may reach what this mux does not */
        if (filter != 0 && second_word >> WORD_STATE >= STATE_READY) {
            bit<64> step = meta.second_hash | 1; /* from cell to cell */
            bit<64> hashes = (filter >> 24) & 0xff;
            bit<64> mask = filter >> 32;
            bit<64> base = filter & 0xffffff;
            bit<64> change = 0; /* of counts */
            bit<64> at0 = meta.hash + step;
            bit<64> at1;
            bit<64> at2;
            bit<64> cell0;
            bit<64> cell1;
            bit<64> cell2;

            if (hashes < 2) {
                step = 0;
            }
            at1 = at0 + step;
            if (hashes < 3) {
                step = 0;
            }
            at2 = at1 + step;
            at0 = (at0 & mask) + base;
            at1 = (at1 & mask) + base;
            at2 = (at2 & mask) + base;
            READ(cell0, noted, at0)
            READ(cell1, noted, at1)
            READ(cell2, noted, at2)
            cell0 = cell0 & COUNT_MAX;
            cell1 = cell1 & COUNT_MAX;
            cell2 = cell2 & COUNT_MAX;
            if (cell0 != 0 && cell1 != 0 && cell2 != 0) {
                meta.second_first = 1;
            }
            if ((hdr.tcp.flags & TCP_SYN) == 0) {
                if ((hdr.tcp.flags & TCP_ENDS) != 0) {
                    change = LESS;
                }
            } else if (meta.second_first != 0) {
                meta.second_first = 2; /* its SYN was lost or is repeated */
            } else {
                bit<64> word;

                READ(word, ring, meta.backends + (meta.row & 0xffff))
                if (word != 0) {
                    bit<64> score;
                    bit<64> second_score;
                    bit<64> least;

                    READ(score, templates, (word & 0xffffffff) + 6)
                    READ(second_score, templates, (second_word & 0xffffffff) + 6)
                    READ(least, services, line + 6)
                    if (score >> 63 == 0 && score >= second_score + least) { /* the highest bit: unknown */
                        meta.second_first = 2;
                        change = 1;
                    }
                }
            }
            if (meta.second_first != 0) {
                bit<64> either = meta.row ^ meta.second_row;

                NOTE(cell0, at0)
                NOTE(cell1, at1)
                NOTE(cell2, at2)
                meta.row = meta.row ^ either; /* the other one */
                meta.second_row = meta.second_row ^ either;
            }
        }
    }
}
