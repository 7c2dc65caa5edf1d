/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Encap: the outer header, as gue_write() of mux/encap/gue.c and write() of ipip.c write it. What all packets to a
 * backend share comes from its template; lengths, TOS, checksum, source port, bucket and generation are the packet's own.
 */

const bit<16> UDP_PLAIN = 24;                  /* UDP, GUE and steer header without MOVED */
const bit<64> UDP_PORTS = 0xc00017c000000000;  /* source port's highest bits, 6080 */
const bit<64> GUE_PLAIN = 0x0300000010000000;  /* 3 words, version 1 */
const bit<64> GUE_MOVED = 0x00010000;
const bit<64> GUE_PREVIOUS6 = 0x00020000;
const bit<64> GUE_SECOND = 0x00080000;
const bit<64> GUE_SECOND6 = 0x00100000;
const bit<64> GUE_MOVED2 = 0x00200000;
const bit<64> GUE_PREVIOUS2_6 = 0x00400000;
const bit<16> IPIP_LEN = 36;                   /* IPv4 and its option */
const bit<64> IPIP_OPTION = 0x6110000000000000; /* type, length */
const bit<64> IPIP_SUM = 0x6510;               /* of these, and of 0x49 in place of the template's 0x45 */
const bit<64> IPIP_REST = 0x0000400040040000;  /* DF, TTL 64, IPIP */
const bit<64> IPV4_REST = 0x0000400040110000;  /* DF, TTL 64, UDP */
const bit<64> IPV6_FIRST = 0x6000000000001140; /* version 6, UDP, hop limit 64 */

/* What scratch holds here, and fields of earlier stages. */
#define PLACE meta.index
#define UDP_LEN meta.half
#define TOS meta.octet
#define GUE meta.words
#define UDP meta.source_high
#define SUM meta.source_low

/* SECOND, MOVED2 or MOVED: number, then the address of the backend of a word. number is then scratch. */
#define PART(family, number, word, part4, part6, flag, flag6)   \
    if (family != 0) {                                          \
        GUE = GUE | flag;                                       \
        number = number << 32;                                  \
        PLACE = word & 0xffffffff;                              \
        meta.other = PLACE >> 3;                                \
        if (family == 1) {                                      \
            PLACE = PLACE + 2;                                  \
            READ(meta.wide, templates, PLACE)                   \
            meta.wide = meta.wide & 0xffffffff; /* behind the source */ \
            meta.wide = meta.wide | number;                     \
            part4.setValid();                                   \
            part4.number_address = meta.wide;                   \
        } else {                                                \
            GUE = GUE | flag6;                                  \
            part6.setValid();                                   \
            READ(part6.low, lows, meta.other)                   \
            PLACE = PLACE + 4;                                  \
            READ(meta.wide, templates, PLACE)                   \
            meta.other = meta.wide >> 32;                       \
            number = number | meta.other;                       \
            part6.number_high = number;                         \
            PLACE = PLACE + 1;                                  \
            READ(number, templates, PLACE)                      \
            number = number >> 32;                              \
            meta.wide = meta.wide << 32;                        \
            number = number | meta.wide;                        \
            part6.middle = number;                              \
        }                                                       \
    }

control encap_gue(inout headers_t hdr, inout metadata_t meta) {
    apply {
        UDP_LEN = meta.ip_len + UDP_PLAIN;
        UDP_LEN = UDP_LEN + meta.parts_len;
        GUE = (bit<64>)meta.parts_len;
        GUE = GUE << 54; /* in words */
        GUE = GUE + GUE_PLAIN;
        meta.row = meta.row >> 32;               /* since */
        meta.second_row = meta.second_row >> 32;
        PART(meta.second, meta.second_bucket, meta.second_word, hdr.second4, hdr.second6, GUE_SECOND, GUE_SECOND6)
        PART(meta.second_moved, meta.second_row, meta.second_previous_word, hdr.moved2_4, hdr.moved2_6, GUE_MOVED2,
             GUE_PREVIOUS2_6)
        PART(meta.moved, meta.row, meta.previous_word, hdr.moved4, hdr.moved6, GUE_MOVED, GUE_PREVIOUS6)
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
    }
}

/* Adds the two halves of 32 bits to SUM. */
#define ADD_HALVES(number)          \
    meta.wide = number >> 16;       \
    SUM = SUM + meta.wide;          \
    meta.wide = number & 0xffff;    \
    SUM = SUM + meta.wide;

/* What scratch holds in the next control. */
#define PREVIOUS meta.second_word
#define SINCE meta.second_row
#define GENERATION meta.bucket_generation
#define TOTAL_LEN meta.half

/* Its services, VIPs and backends have IPv4, and no second bucket (mux/encap/ipip.c). */
control encap_ipip(inout headers_t hdr, inout metadata_t meta) {
    apply {
        PREVIOUS = 0;
        SINCE = 0;
        GENERATION = GENERATION & 0xffffffff;
        if (meta.moved == 1) {
            PLACE = meta.previous_word & 0xffffffff;
            PLACE = PLACE + 2;
            READ(PREVIOUS, templates, PLACE)
            PREVIOUS = PREVIOUS & 0xffffffff; /* behind the source */
            /* the bytes of since in the opposite order */
            meta.row = meta.row >> 32;
            SINCE = meta.row << 24;
            SINCE = SINCE & 0xff000000;
            meta.wide = meta.row << 8;
            meta.wide = meta.wide & 0xff0000;
            SINCE = SINCE | meta.wide;
            meta.wide = meta.row >> 8;
            meta.wide = meta.wide & 0xff00;
            SINCE = SINCE | meta.wide;
            meta.wide = meta.row >> 24;
            SINCE = SINCE | meta.wide;
        }
        TOTAL_LEN = meta.ip_len + IPIP_LEN;
        TOS = hdr.ipv4.tos;
        PLACE = meta.word & 0xffffffff;
        meta.other = PLACE >> 3;
        hdr.outer_ipip.setValid();
        READ(hdr.outer_ipip.macs, templates, PLACE)
        READ(hdr.outer_ipip.tail, tails, meta.other)
        PLACE = PLACE + 1;
        READ(SUM, templates, PLACE)
        PLACE = PLACE + 1;
        READ(hdr.outer_ipip.addresses, templates, PLACE)
        hdr.outer_ipip.version = 0x49;
        hdr.outer_ipip.tos = TOS;
        hdr.outer_ipip.len = TOTAL_LEN;
        SUM = SUM + IPIP_SUM;
        meta.wide = (bit<64>)TOTAL_LEN;
        SUM = SUM + meta.wide;
        meta.wide = (bit<64>)TOS;
        SUM = SUM + meta.wide;
        ADD_HALVES(PREVIOUS)
        ADD_HALVES(SINCE)
        ADD_HALVES(GENERATION)
        /* ten terms below 2^16: one fold leaves at most 0x10008, so two suffice */
        meta.wide = SUM >> 16;
        SUM = SUM & 0xffff;
        SUM = SUM + meta.wide;
        meta.wide = SUM >> 16;
        SUM = SUM & 0xffff;
        SUM = SUM + meta.wide;
        SUM = SUM ^ 0xffff;
        SUM = SUM | IPIP_REST;
        hdr.outer_ipip.id_to_checksum = SUM;
        PREVIOUS = PREVIOUS | IPIP_OPTION;
        hdr.outer_ipip.option_previous = PREVIOUS;
        SINCE = SINCE << 32;
        SINCE = SINCE | GENERATION;
        hdr.outer_ipip.since_generation = SINCE;
        TRIM(TOTAL_LEN + 14)
    }
}

control encap(inout headers_t hdr, inout metadata_t meta) {
    encap_gue() gue;
    encap_ipip() ipip;

    apply {
        meta.octet = meta.kind & KIND_IPIP;
        if (meta.octet != 0) {
            ipip.apply(hdr, meta);
        } else {
            gue.apply(hdr, meta);
        }
        hdr.ethernet.setInvalid();
        hdr.vlan0.setInvalid();
        hdr.vlan1.setInvalid();
    }
}
