/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Codes: with arrays (steering `othello`) what takes the place of the hash's halves, of which steer.p4 makes buckets.
 * protocol/README.md, section 12, has the lookup, README.md how arrays lie in the register cells.
 */

const bit<64> SET_NONE = 0;     /* no second bucket */
const bit<64> SET_LOW_BITS = 1; /* no arrays: the hash's low bits */

/* What scratch holds here, and fields of earlier stages. SWX's hashes reach only such as come first. */
#define SETS meta.second_word
#define SET meta.index
#define IN_A meta.source_high
#define IN_B meta.source_low

/* The cell at this place of the set whose cells begin at SET. place is then scratch. */
#define CELL(result, place)                 \
    meta.other = place & 3;                 \
    meta.other = meta.other << 4;           \
    place = place >> 2;                     \
    place = place + SET;                    \
    READ(result, cells, place)              \
    SHIFT_RIGHT(result, meta.other)

#define CODE(result)                                    \
    READ(hdr.cells.seed, cells, SET)                    \
    SET = SET + 1;                                      \
    READ(hdr.cells.sizes, cells, SET)                   \
    SET = SET + 1;                                      \
    meta.octet = meta.kind & KIND_SIPHASH; /* CELLS_SIPHASH */ \
    hdr.cells.kind = meta.octet;                        \
    HASH_CELLS(IN_A, placing, hdr.cells)                \
    meta.octet = meta.octet | CELLS_B;                  \
    hdr.cells.kind = meta.octet;                        \
    HASH_CELLS(IN_B, placing, hdr.cells)                \
    CELL(meta.wide, IN_A)                               \
    CELL(result, IN_B)                                  \
    result = result ^ meta.wide;                        \
    result = result & 0xffff;

/* Sets meta.word and meta.second_hash by a service's sets; both the same: there is no second bucket. */
control choose_codes(inout headers_t hdr, inout metadata_t meta) {
    CELLS(placing)

    apply {
        hdr.cells.setValid();
        hdr.cells.hash = meta.second_hash << 32;
        hdr.cells.hash = hdr.cells.hash | meta.hash;
        SET = SETS & 0xffffffff;
        if (SET != SET_LOW_BITS) {
            CODE(meta.word)
        }
        meta.second_hash = meta.word;
        SET = SETS >> 32;
        SET = SET & 0x7fffffff;
        meta.octet = 0;
        if (HAS_TCP(hdr, meta)) {
            meta.octet = hdr.tcp.flags;
            meta.octet = meta.octet & TCP_SYN;
        }
        if (meta.octet != 0) { /* what the second one's owner opened would be lost with the sets before */
            SET = SET_NONE;
        }
        if (SET == SET_LOW_BITS) {
            meta.second_hash = meta.hash;
        } else if (SET != SET_NONE) {
            CODE(meta.second_hash)
        }
    }
}
