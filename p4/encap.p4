/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Encap: the outer header, as gue_write() of mux/encap/gue.c and write() of ipip.c write it. What all packets to a
 * backend share comes from its template; lengths, TOS, checksum, source port, generation and
 * candidates are the packet's own.
 */

const bit<16> UDP_PLAIN = 20;                  /* UDP, GUE and list header without candidates */
const bit<64> UDP_PORTS = 0xc00017c000000000;  /* source port's highest bits, 6080 */
const bit<64> GUE_PLAIN = 0x0200000020000000;  /* 2 words, version 2 */
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

control encap_gue(inout headers_t hdr, inout metadata_t meta) {
    apply {
        UDP_LEN = meta.ip_len + UDP_PLAIN;
        UDP_LEN = UDP_LEN + meta.list_len;
        GUE = (bit<64>)meta.list_len;
        GUE = GUE << 54; /* in words */
        GUE = GUE + GUE_PLAIN;
        meta.wide = meta.ready << 16;
        GUE = GUE | meta.wide;
        meta.wide = meta.ready >> 4; /* all are left */
        meta.wide = meta.wide << 24;
        GUE = GUE | meta.wide;
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

        if (hdr.odd.isValid()) {
            meta.wide = meta.generation << 32;
            meta.other = hdr.odd.generation_first;
            meta.wide = meta.wide | meta.other;
            hdr.odd.generation_first = meta.wide;
        } else {
            hdr.even.setValid();
            hdr.even.generation = (bit<32>)meta.generation;
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
            hdr.outer4.gue_list = GUE;
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
            hdr.outer6.gue_list = GUE;
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
#define TOTAL_LEN meta.half

/* Its services, VIPs and backends have IPv4, and no second bucket. Its time is the present one (mux/encap/ipip.c). */
control encap_ipip(inout headers_t hdr, inout metadata_t meta) {
    apply {
        PREVIOUS = 0;
        SINCE = 0;
        if (meta.names_former != 0) {
            PLACE = meta.row >> ROW_LIST;
            PLACE = PLACE + 3;
            READ(PREVIOUS, lists, PLACE)
            PREVIOUS = PREVIOUS & 0xffffffff;
            /* the clock's bytes in the opposite order */
            READ(meta.row, clock, 0)
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
        ADD_HALVES(meta.generation)
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
        SINCE = SINCE | meta.generation;
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
