/* SPDX-License-Identifier: Apache-2.0 */
/* The place of a cell in plain P4, as cells.c has it for SWX: protocol/README.md, section 12. */

#define MIX_ROUND(v)            \
    v = v + (v << 10);          \
    v = v ^ (v >> 6);           \
    v = v + (v << 3);           \
    v = v ^ (v >> 11);          \
    v = v + (v << 15);

control place_of_cell(in cells_h at, out bit<64> place) {
    apply {
        bit<64> key = at.hash * at.seed;
        bit<32> crc = at.hash[31:0];
        bit<32> part = key[31:0];
        bit<32> count = at.sizes[31:0];

        if ((at.kind & CELLS_B) != 0) {
            count = at.sizes[63:32];
            part = key[63:32];
        }
        if ((at.kind & CELLS_SIPHASH) == 0) {
            if ((at.kind & CELLS_B) != 0) {
                part = (crc[15:0] ++ crc[31:16]) ^ at.seed[63:32];
            } else {
                part = crc ^ at.seed[31:0];
            }
            MIX_ROUND(part)
            MIX_ROUND(part)
        }
        place = (bit<64>)part * (bit<64>)count;
        place = place >> 32;
        if ((at.kind & CELLS_B) != 0) {
            place = place + (bit<64>)at.sizes[31:0];
        }
    }
}
