/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Encap: the outer header, as gue_write() of mux/encap/gue.c writes it. What all packets to a backend share comes from
 * its template; lengths, TOS, checksum, source port, bucket and generation are the packet's own.
 */

const bit<16> UDP_PLAIN = 24;                  /* UDP, GUE and steer header without MOVED */
const bit<64> UDP_PORTS = 0xc00017c000000000;  /* source port's highest bits, 6080 */
const bit<64> GUE_PLAIN = 0x0300000010000000;  /* 3 words, version 1 */
const bit<64> GUE_MOVED = 0x0500000010010000;  /* 5 words, MOVED */
const bit<64> GUE_MOVED6 = 0x0800000010030000; /* 8 words, MOVED and PREVIOUS6 */
const bit<64> IPV4_REST = 0x0000400040110000;  /* DF, TTL 64, UDP */
const bit<64> IPV6_FIRST = 0x6000000000001140; /* version 6, UDP, hop limit 64 */

/* What scratch holds here, and fields of earlier stages. */
#define PLACE meta.index
#define UDP_LEN meta.half
#define TOS meta.octet
#define GUE meta.words
#define UDP meta.source_high
#define SUM meta.source_low

control encap(inout headers_t hdr, inout metadata_t meta) {
    apply {
        GUE = GUE_PLAIN;
        UDP_LEN = meta.ip_len + UDP_PLAIN;
        if (meta.moved != 0) {
            PLACE = meta.previous_word & 0xffffffff;
            meta.row = meta.row >> 32; /* since */
            if (meta.moved == 1) {
                PLACE = PLACE + 2;
                READ(meta.wide, templates, PLACE)
                meta.wide = meta.wide & 0xffffffff; /* behind the source */
                meta.row = meta.row << 32;
                meta.wide = meta.wide | meta.row;
                hdr.moved4.setValid();
                hdr.moved4.since_previous = meta.wide;
                GUE = GUE_MOVED;
                UDP_LEN = UDP_LEN + 8;
            } else {
                hdr.moved6.setValid();
                hdr.moved6.since = (bit<32>)meta.row;
                PLACE = PLACE + 4;
                READ(hdr.moved6.previous_high, templates, PLACE)
                PLACE = PLACE + 1;
                READ(hdr.moved6.previous_low, templates, PLACE)
                GUE = GUE_MOVED6;
                UDP_LEN = UDP_LEN + 20;
            }
        }
        meta.wide = (bit<64>)meta.inner_protocol;
        meta.wide = meta.wide << 48;
        GUE = GUE | meta.wide;
        meta.wide = (bit<64>)meta.service;
        GUE = GUE | meta.wide;
        UDP = meta.hash >> 18;
        UDP = UDP << 48;
        UDP = UDP | UDP_PORTS;
        meta.wide = (bit<64>)UDP_LEN;
        meta.wide = meta.wide << 16;
        UDP = UDP | meta.wide;
        if (hdr.ipv4.isValid()) {
            TOS = hdr.ipv4.tos;
        } else {
            meta.l4_len = hdr.ipv6.version_class;
            meta.l4_len = meta.l4_len >> 4;
            TOS = (bit<8>)meta.l4_len;
        }

        PLACE = meta.word & 0xffffffff;
        meta.other = PLACE >> 3;
        meta.row = meta.word & WORD_IPV6;
        if (meta.row == 0) {
            hdr.outer4.setValid();
            READ(hdr.outer4.macs, templates, PLACE)
            READ(hdr.outer4.tail, tails, meta.other)
            PLACE = PLACE + 1;
            READ(SUM, templates, PLACE)
            PLACE = PLACE + 1;
            READ(hdr.outer4.addresses, templates, PLACE)
            UDP_LEN = UDP_LEN + 20;
            hdr.outer4.version = 0x45;
            TRIM(UDP_LEN + 14)
            hdr.outer4.tos = TOS;
            hdr.outer4.len = UDP_LEN;
            /* three terms below 2^16: one fold leaves at most 0x10000, so two suffice */
            meta.wide = (bit<64>)UDP_LEN;
            SUM = SUM + meta.wide;
            meta.wide = (bit<64>)TOS;
            SUM = SUM + meta.wide;
            meta.wide = SUM >> 16;
            SUM = SUM & 0xffff;
            SUM = SUM + meta.wide;
            meta.wide = SUM >> 16;
            SUM = SUM & 0xffff;
            SUM = SUM + meta.wide;
            SUM = SUM ^ 0xffff;
            SUM = SUM | IPV4_REST;
            hdr.outer4.id_to_checksum = SUM;
            hdr.outer4.udp = UDP;
            hdr.outer4.gue_steer = GUE;
            hdr.outer4.bucket_generation = meta.bucket_generation;
        } else {
            hdr.outer6.setValid();
            TRIM(UDP_LEN + 54)
            READ(hdr.outer6.macs, templates, PLACE)
            READ(hdr.outer6.tail, tails, meta.other)
            PLACE = PLACE + 2;
            READ(hdr.outer6.source_high, templates, PLACE)
            PLACE = PLACE + 1;
            READ(hdr.outer6.source_low, templates, PLACE)
            PLACE = PLACE + 1;
            READ(hdr.outer6.destination_high, templates, PLACE)
            PLACE = PLACE + 1;
            READ(hdr.outer6.destination_low, templates, PLACE)
            meta.wide = meta.wide | IPV6_FIRST; /* its length is where UDP's is */
            meta.other = (bit<64>)TOS;
            meta.other = meta.other << 52;
            meta.wide = meta.wide | meta.other;
            meta.other = meta.hash >> 12; /* the flow label */
            meta.other = meta.other << 32;
            meta.wide = meta.wide | meta.other;
            hdr.outer6.ipv6 = meta.wide;
            hdr.outer6.udp = UDP;
            hdr.outer6.gue_steer = GUE;
            hdr.outer6.bucket_generation = meta.bucket_generation;
        }
        hdr.ethernet.setInvalid();
        hdr.vlan0.setInvalid();
        hdr.vlan1.setInvalid();
    }
}
