/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Codes: with arrays (steering `othello`) what takes the place of the hash's halves, of which steer.p4 makes buckets.
 * protocol/README.md, section 12, has the lookup, README.md how arrays lie in the register cells.
 */

const bit<64> SET_NONE = 0;     /* no second bucket */
const bit<64> SET_LOW_BITS = 1; /* no arrays: the hash's low bits */

/* The cell at this place of the set whose cells begin at `first`. */
#define CELL(result, place)                     \
    READ(result, cells, (place >> 2) + first)   \
    SHIFT_RIGHT(result, (place & 3) << 4)

/* The bucket by the arrays of a set. */
control code(inout headers_t hdr, in bit<8> kind, in bit<64> set, out bit<64> bucket) {
    CELLS(placing)

    apply {
        bit<64> first = set + 2;
        bit<64> in_a;
        bit<64> in_b;
        bit<64> cell_a;
        bit<64> cell_b;

        READ(hdr.cells.seed, cells, set)
        READ(hdr.cells.sizes, cells, set + 1)
        hdr.cells.kind = kind & KIND_SIPHASH; /* CELLS_SIPHASH */
        HASH_CELLS(in_a, placing, hdr.cells)
        hdr.cells.kind = hdr.cells.kind | CELLS_B;
        HASH_CELLS(in_b, placing, hdr.cells)
        CELL(cell_a, in_a)
        CELL(cell_b, in_b)
        bucket = (cell_a ^ cell_b) & 0xffff;
    }
}

/* Sets both halves of the hash by a service's sets; both the same: there is no second bucket. */
control choose_codes(inout headers_t hdr, inout metadata_t meta, in bit<64> sets, out bit<64> low, out bit<64> high) {
    code() newest;
    code() before;

    apply {
        bit<64> set = sets & 0xffffffff;
        bit<8> syn = 0;

        hdr.cells.setValid();
        hdr.cells.hash = (meta.second_hash << 32) | meta.hash;
        low = meta.hash;
        if (set != SET_LOW_BITS) {
            newest.apply(hdr, meta.kind, set, low);
        }
        high = low;
        set = (sets >> 32) & 0x7fffffff;
        if (HAS_TCP(hdr, meta)) {
            syn = hdr.tcp.flags & TCP_SYN;
        }
        if (syn != 0) { /* what the second one's owner opened would be lost with the sets before */
            set = SET_NONE;
        }
        if (set == SET_LOW_BITS) {
            high = meta.hash;
        } else if (set != SET_NONE) {
            before.apply(hdr, meta.kind, set, high);
        }
    }
}
