/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Encap: the outer header, as mux/encap/gue.c and ipip.c write it. What all packets to a backend share comes from its
 * template; lengths, TOS, checksum, source port, generation and candidates are the packet's own.
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

/* A sum of terms below 2^16 as one: two folds suffice for up to 2^16 of them. */
#define FOLD(sum)                           \
    sum = (sum & 0xffff) + (sum >> 16);     \
    sum = (sum & 0xffff) + (sum >> 16);

control encap_gue(inout headers_t hdr, inout metadata_t meta) {
    apply {
        bit<16> len = meta.ip_len + UDP_PLAIN + meta.list_len;
        bit<64> udp_len = (bit<64>)len << 16;
        bit<64> udp = ((meta.hash >> 18) << 48) | UDP_PORTS | udp_len;
        /* the list's length in words; all are left */
        bit<64> gue = (((bit<64>)meta.list_len << 54) + GUE_PLAIN) | (meta.ready << 16) | ((meta.ready >> 4) << 24)
                      | ((bit<64>)meta.inner_protocol << 48) | (bit<64>)meta.service;
        bit<64> place = meta.word & 0xffffffff;
        bit<64> tail = place >> 3;
        bit<8> tos;

        if (hdr.ipv4.isValid()) {
            tos = hdr.ipv4.tos;
        } else {
            tos = (bit<8>)(hdr.ipv6.version_class >> 4);
        }

        if (hdr.odd.isValid()) {
            hdr.odd.generation_first = hdr.odd.generation_first | (meta.generation << 32);
        } else {
            hdr.even.setValid();
            hdr.even.generation = (bit<32>)meta.generation;
        }

        if ((meta.word & WORD_IPV6) == 0) {
            bit<64> sum;

            hdr.outer4.setValid();
            READ(hdr.outer4.macs, templates, place)
            READ(hdr.outer4.tail, tails, tail)
            READ(sum, templates, place + 1)
            READ(hdr.outer4.addresses, templates, place + 2)
            len = len + 20;
            TRIM(len + 14)
            hdr.outer4.version = 0x45;
            hdr.outer4.tos = tos;
            hdr.outer4.len = len;
            sum = sum + (bit<64>)len + (bit<64>)tos;
            FOLD(sum)
            hdr.outer4.id_to_checksum = (sum ^ 0xffff) | IPV4_REST;
            hdr.outer4.udp = udp;
            hdr.outer4.gue_list = gue;
        } else {
            hdr.outer6.setValid();
            TRIM(len + 54)
            READ(hdr.outer6.macs, templates, place)
            READ(hdr.outer6.tail, tails, tail)
            READ(hdr.outer6.source_high, templates, place + 2)
            READ(hdr.outer6.source_low, templates, place + 3)
            READ(hdr.outer6.destination_high, templates, place + 4)
            READ(hdr.outer6.destination_low, templates, place + 5)
            /* its length is where UDP's is; the flow label */
            hdr.outer6.ipv6 = udp_len | IPV6_FIRST | ((bit<64>)tos << 52) | ((meta.hash >> 12) << 32);
            hdr.outer6.udp = udp;
            hdr.outer6.gue_list = gue;
        }
    }
}

/* Its services, VIPs and backends have IPv4, and no second bucket. Its time is the present one (mux/encap/ipip.c). */
control encap_ipip(inout headers_t hdr, inout metadata_t meta) {
    apply {
        bit<64> previous = 0;
        bit<64> since = 0;
        bit<64> sum;
        bit<64> place = meta.word & 0xffffffff;
        bit<16> len = meta.ip_len + IPIP_LEN;

        if (meta.names_former != 0) {
            bit<64> now;

            READ(previous, lists, (meta.row >> ROW_LIST) + 3)
            previous = previous & 0xffffffff;
            READ(now, clock, 0)
            /* its bytes in the opposite order */
            since = ((now << 24) & 0xff000000) | ((now << 8) & 0xff0000) | ((now >> 8) & 0xff00) | (now >> 24);
        }
        hdr.outer_ipip.setValid();
        READ(hdr.outer_ipip.macs, templates, place)
        READ(hdr.outer_ipip.tail, tails, place >> 3)
        READ(sum, templates, place + 1)
        READ(hdr.outer_ipip.addresses, templates, place + 2)
        hdr.outer_ipip.version = 0x49;
        hdr.outer_ipip.tos = hdr.ipv4.tos;
        hdr.outer_ipip.len = len;
        sum = sum + IPIP_SUM + (bit<64>)len + (bit<64>)hdr.ipv4.tos + (previous >> 16) + (previous & 0xffff)
              + (since >> 16) + (since & 0xffff) + (meta.generation >> 16) + (meta.generation & 0xffff);
        FOLD(sum)
        hdr.outer_ipip.id_to_checksum = (sum ^ 0xffff) | IPIP_REST;
        hdr.outer_ipip.option_previous = previous | IPIP_OPTION;
        hdr.outer_ipip.since_generation = (since << 32) | meta.generation;
        TRIM(len + 14)
    }
}

control encap(inout headers_t hdr, inout metadata_t meta) {
    encap_gue() gue;
    encap_ipip() ipip;

    apply {
        if ((meta.kind & KIND_IPIP) != 0) {
            ipip.apply(hdr, meta);
        } else {
            gue.apply(hdr, meta);
        }
        hdr.ethernet.setInvalid();
        hdr.vlan0.setInvalid();
        hdr.vlan1.setInvalid();
    }
}
