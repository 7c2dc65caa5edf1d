/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hash: the connection's hash (protocol/README.md, section 1), whose halves are computed apart.
 *
 * CRC-32 is affine: over the bits of a message, crc(a ^ b) = crc(a) ^ crc(b) ^ crc(0). Destination and protocol are
 * the same for all packets of an entry of ports4 or ports6, so that entry has the CRC of a message whose other bytes are
 * zero, and each other byte adds what its register says. Registers have 256 entries for each of four variants of the
 * message: IPv4 or IPv6, with ports or without.
 */

/* Adds the part of the lowest byte of `rest`, and shifts that out. `variant`: 256 x the variant. */
#define CRC_PART(register)                              \
    READ(part, register, (rest & 0xff) | variant)       \
    meta.hash = meta.hash ^ part;                       \
    rest = rest >> 8;

control hash_flow(inout headers_t hdr, inout metadata_t meta) {
    SIPHASH(siphash)

    apply {
        if ((meta.kind & KIND_SIPHASH) != 0) {
            bit<64> key = ((bit<64>)meta.slot << 3) + 4;

            hdr.flow.setValid();
            READ(hdr.flow.k0, services, key)
            READ(hdr.flow.k1, services, key + 1)
            hdr.flow.source_high = meta.source_high;
            hdr.flow.source_low = meta.source_low;
            hdr.flow.destination_high = meta.destination_high;
            hdr.flow.destination_low = meta.destination_low;
            hdr.flow.source_port = meta.source_port;
            hdr.flow.destination_port = meta.destination_port;
            hdr.flow.protocol = meta.protocol;
            hdr.flow.kind = meta.kind & KIND_CLIENT; /* FLOW_CLIENT */
            if (meta.inner_protocol != 4) {
                hdr.flow.kind = hdr.flow.kind | FLOW_IPV6;
            }
            HASH_SIPHASH(meta.hash, siphash, hdr.flow)
            if ((meta.kind & KIND_SECOND) != 0) {
                hdr.flow.kind = hdr.flow.kind | FLOW_HIGH;
                HASH_SIPHASH(meta.second_hash, siphash, hdr.flow)
            }
        } else {
            bit<64> variant = ((bit<64>)meta.kind & 2) << 7; /* KIND_CLIENT */
            bit<64> rest = meta.source_low;
            bit<64> part;

            if (meta.inner_protocol == 4) {
                CRC_PART(crc_s3)
                CRC_PART(crc_s2)
                CRC_PART(crc_s1)
                CRC_PART(crc_s0)
            } else {
                variant = variant | 0x200;
                CRC_PART(crc_s15)
                CRC_PART(crc_s14)
                CRC_PART(crc_s13)
                CRC_PART(crc_s12)
                CRC_PART(crc_s11)
                CRC_PART(crc_s10)
                CRC_PART(crc_s9)
                CRC_PART(crc_s8)
                rest = meta.source_high;
                CRC_PART(crc_s7)
                CRC_PART(crc_s6)
                CRC_PART(crc_s5)
                CRC_PART(crc_s4)
                CRC_PART(crc_s3)
                CRC_PART(crc_s2)
                CRC_PART(crc_s1)
                CRC_PART(crc_s0)
            }
            rest = (bit<64>)meta.source_port;
            CRC_PART(crc_p1)
            CRC_PART(crc_p0)
            /* the high half: the low one with its halves exchanged */
            meta.second_hash = (meta.hash << 16) | (meta.hash >> 16);
        }
    }
}
