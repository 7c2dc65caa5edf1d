/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hash: the connection's hash (protocol/README.md, section 1), of which the low 32 bits are all that rings need.
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
            meta.octet = meta.kind & KIND_CLIENT;
            meta.hash_kind = meta.hash_kind | meta.octet;
            meta.index = (bit<64>)meta.slot;
            meta.index = meta.index << 3;
            meta.index = meta.index + 4;
            READ(meta.wide, services, meta.index) /* the key */
            meta.index = meta.index + 1;
            READ(meta.other, services, meta.index)
            HASH_SIPHASH(siphash, meta)
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
        }
    }
}
