/* SPDX-License-Identifier: Apache-2.0 */
/* All stages between parser and deparser, in their order: inside the main control, behind the tables. */
    arrive() arriving;
    judge() judging;
    hash_flow() hashing;
    steer() steering;
    encap() encapsulating;

    apply {
        meta.index = INPUT_PORT;
        arriving.apply(hdr, meta);
        if (meta.inner_protocol == 4) {
            ports4.apply();
            if (meta.is_vip == 0) {
                vips4.apply();
            }
            if (hdr.udp.isValid()) {
                sources4.apply();
            }
        } else if (meta.inner_protocol == 41) {
            ports6.apply();
            if (meta.is_vip == 0) {
                vips6.apply();
            }
            if (hdr.udp.isValid()) {
                sources6.apply();
            }
        }
        if (meta.is_vip != 0) {
            judging.apply(hdr, meta);
        }
        if (meta.verdict == VERDICT_SERVICE) {
            hashing.apply(hdr, meta);
            steering.apply(hdr, meta);
        }
        meta.wide = (bit<64>)meta.verdict;
        meta.other = (bit<64>)meta.slot;
        meta.other = meta.other << 6;
        meta.other = meta.other | meta.wide;
        COUNT(packets, meta.other)
        if (meta.verdict == VERDICT_SERVICE) {
            meta.index = (bit<64>)meta.slot;
            COUNT_BYTES(bytes, meta.index, hdr)
            meta.other = 0; /* a constant would count in the first register array of all, as DPDK 22.11 has it */
            if (meta.names_former != 0) {
                COUNT(moved, meta.other)
            }
            if (meta.names_second != 0) {
                COUNT(second, meta.other)
            }
            if (meta.second_first != 0) {
                COUNT(second_first, meta.other)
                if (meta.second_first == 2) {
                    COUNT(second_syns, meta.other)
                }
            }
            encapsulating.apply(hdr, meta);
            meta.index = meta.word >> WORD_PORT;
            meta.index = meta.index & 0xf;
        } else {
            READ(meta.other, dispositions, meta.wide)
            meta.index = INPUT_PORT;
            meta.index = meta.index + 4;
            if (meta.other != 0) {
                meta.index = 8;
            }
        }
        LEAVE(meta.index)
    }
