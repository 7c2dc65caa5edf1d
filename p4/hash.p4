/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hash: the connection's hash (protocol/README.md, section 1), whose halves are computed apart.
 *
 * CRC-32 is affine: over the bits of a message, crc(a ^ b) = crc(a) ^ crc(b) ^ crc(0). Destination and protocol are
 * the same for all packets of an entry of ports4 or ports6, so that entry has the CRC of a message whose other bytes are
 * zero, and each other byte adds what its register says. Registers have 256 entries for each of four variants of the
 * message: IPv4 or IPv6, with ports or without.
 */

/* Adds the part of the lowest byte of meta.wide, and shifts that out. meta.words: 256 x the variant. */
#define CRC_PART(register)                      \
    meta.index = meta.wide & 0xff;              \
    meta.index = meta.index | meta.words;       \
    READ(meta.other, register, meta.index)      \
    meta.hash = meta.hash ^ meta.other;         \
    meta.wide = meta.wide >> 8;

control hash_flow(inout headers_t hdr, inout metadata_t meta) {
    SIPHASH(siphash)

    apply {
        meta.octet = meta.kind & KIND_SIPHASH;
        if (meta.octet != 0) {
            meta.index = (bit<64>)meta.slot;
            meta.index = meta.index << 3;
            meta.index = meta.index + 4;
            hdr.flow.setValid();
            READ(hdr.flow.k0, services, meta.index)
            meta.index = meta.index + 1;
            READ(hdr.flow.k1, services, meta.index)
            hdr.flow.source_high = meta.source_high;
            hdr.flow.source_low = meta.source_low;
            hdr.flow.destination_high = meta.destination_high;
            hdr.flow.destination_low = meta.destination_low;
            hdr.flow.source_port = meta.source_port;
            hdr.flow.destination_port = meta.destination_port;
            hdr.flow.protocol = meta.protocol;
            meta.octet = meta.kind & KIND_CLIENT; /* FLOW_CLIENT */
            if (meta.inner_protocol != 4) {
                meta.octet = meta.octet | FLOW_IPV6;
            }
            hdr.flow.kind = meta.octet;
            HASH_SIPHASH(meta.hash, siphash, hdr.flow)
            meta.octet = meta.octet | FLOW_HIGH;
            hdr.flow.kind = meta.octet;
            meta.octet = meta.kind & KIND_SECOND;
            if (meta.octet != 0) {
                HASH_SIPHASH(meta.second_hash, siphash, hdr.flow)
            }
        } else {
            meta.words = (bit<64>)meta.kind;
            meta.words = meta.words & 2; /* KIND_CLIENT */
            meta.words = meta.words << 7;
            if (meta.inner_protocol == 4) {
                meta.wide = meta.source_low;
                CRC_PART(crc_s3)
                CRC_PART(crc_s2)
                CRC_PART(crc_s1)
                CRC_PART(crc_s0)
            } else {
                meta.words = meta.words | 0x200;
                meta.wide = meta.source_low;
                CRC_PART(crc_s15)
                CRC_PART(crc_s14)
                CRC_PART(crc_s13)
                CRC_PART(crc_s12)
                CRC_PART(crc_s11)
                CRC_PART(crc_s10)
                CRC_PART(crc_s9)
                CRC_PART(crc_s8)
                meta.wide = meta.source_high;
                CRC_PART(crc_s7)
                CRC_PART(crc_s6)
                CRC_PART(crc_s5)
                CRC_PART(crc_s4)
                CRC_PART(crc_s3)
                CRC_PART(crc_s2)
                CRC_PART(crc_s1)
                CRC_PART(crc_s0)
            }
            meta.wide = (bit<64>)meta.source_port;
            CRC_PART(crc_p1)
            CRC_PART(crc_p0)
            /* the high half: the low one with its halves exchanged */
            meta.second_hash = meta.hash << 16;
            meta.other = meta.hash >> 16;
            meta.second_hash = meta.second_hash | meta.other;
        }
    }
}
