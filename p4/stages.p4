/* SPDX-License-Identifier: Apache-2.0 */
/* All stages between parser and deparser, in their order: inside the main control, behind the tables. */
    arrive() arriving;
    judge() judging;
    hash_flow() hashing;
    steer() steering;
    encap() encapsulating;

    apply {
        bit<64> port = INPUT_PORT;

        arriving.apply(hdr, meta, port);
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
        bit<64> slot = (bit<64>)meta.slot;
        bit<64> verdict = (bit<64>)meta.verdict;

        COUNT(packets, (slot << 6) | verdict)
        if (meta.verdict == VERDICT_SERVICE) {
            bit<64> all = 0; /* a constant would count in the first register array of all, as DPDK 22.11 has it */

            COUNT_BYTES(bytes, slot, hdr)
            if (meta.names_former != 0) {
                COUNT(moved, all)
            }
            if (meta.names_second != 0) {
                COUNT(second, all)
            }
            if (meta.second_first != 0) {
                COUNT(second_first, all)
                if (meta.second_first == 2) {
                    COUNT(second_syns, all)
                }
            }
            encapsulating.apply(hdr, meta);
            port = (meta.word >> WORD_PORT) & 0xf;
        } else {
            bit<64> drop;

            READ(drop, dispositions, verdict)
            port = port + 4;
            if (drop != 0) {
                port = 8;
            }
        }
        LEAVE(port)
    }
