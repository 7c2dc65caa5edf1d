/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Headers as they arrive and as they leave. Those that leave are made of words of up to 64 bits, since each field costs
 * an instruction: with a field for each value, a packet took twice as long.
 */
#ifndef FAIRLEAD_P4_HEADERS
#define FAIRLEAD_P4_HEADERS

const bit<16> TYPE_IPV4 = 0x0800;
const bit<16> TYPE_IPV6 = 0x86dd;
const bit<16> TYPE_VLAN = 0x8100;
const bit<16> TYPE_SERVICE_VLAN = 0x88a8;

const bit<8> PROTOCOL_HOP_BY_HOP = 0;
const bit<8> PROTOCOL_ICMP = 1;
const bit<8> PROTOCOL_TCP = 6;
const bit<8> PROTOCOL_UDP = 17;
const bit<8> PROTOCOL_ROUTING = 43;
const bit<8> PROTOCOL_FRAGMENT = 44;
const bit<8> PROTOCOL_AUTHENTICATION = 51;
const bit<8> PROTOCOL_ICMPV6 = 58;
const bit<8> PROTOCOL_DESTINATION = 60;

const bit<8> TCP_SYN = 0x02;

/* Of each frame, from the port or the architecture, since no header says how long a frame is. It never leaves. */
header arrival_h {
    bit<16> frame_len;
    bit<16> data_len; /* of these in the first buffer */
    bit<32> zero;
}

header ethernet_h {
    bit<48> destination;
    bit<48> source;
    bit<16> type;
}

header vlan_h {
    bit<16> tag;
    bit<16> type;
}

header ipv4_h {
    bit<8> version_ihl;
    bit<8> tos;
    bit<16> total_len;
    bit<16> id;
    bit<16> fragment;
    bit<8> ttl;
    bit<8> protocol;
    bit<16> checksum;
    bit<32> source;
    bit<32> destination;
}

header ipv6_h {
    bit<16> version_class; /* and the flow label's first 4 bits */
    bit<16> label;
    bit<16> payload_len;
    bit<8> next_header;
    bit<8> hop_limit;
    bit<64> source_high;
    bit<64> source_low;
    bit<64> destination_high;
    bit<64> destination_low;
}

header tcp_h {
    bit<16> source_port;
    bit<16> destination_port;
    bit<64> sequence_acknowledgment;
    bit<8> offset;
    bit<8> flags;
    bit<48> window_checksum_urgent;
}

header udp_h {
    bit<16> source_port;
    bit<16> destination_port;
    bit<16> len;
    bit<16> checksum;
}

/* Ethernet, IPv4, UDP, GUE and list header up to its generation: ENCAP_HEAD_LEN of mux/encap/encap.h. */
header outer4_h {
    bit<64> macs;              /* destination 48, source's first 16 */
    bit<48> tail;              /* source's last 32, type */
    bit<8> version;            /* and header length */
    bit<8> tos;
    bit<16> len;
    bit<64> id_to_checksum;    /* id, DF, TTL, protocol, checksum */
    bit<64> addresses;
    bit<64> udp;
    bit<64> gue_list;          /* GUE base; version, left, count, flags, service */
}

/* The same over IPv6. */
header outer6_h {
    bit<64> macs;
    bit<48> tail;
    bit<64> ipv6;              /* version, class, label, length, next header, hop limit */
    bit<64> source_high;
    bit<64> source_low;
    bit<64> destination_high;
    bit<64> destination_low;
    bit<64> udp;
    bit<64> gue_list;
}

/* The generation alone, and with the first of an odd number of candidates of IPv4. */
header even_h {
    bit<32> generation;
}

header odd_h {
    bit<64> generation_first;
}

/* Ethernet, IPv4 and the option of protocol/include/fairlead/ipip.h. */
header outer_ipip_h {
    bit<64> macs;
    bit<48> tail;
    bit<8> version;            /* and header length */
    bit<8> tos;
    bit<16> len;
    bit<64> id_to_checksum;
    bit<64> addresses;
    bit<64> option_previous;   /* type, length, 0, the previous owner */
    bit<64> since_generation;  /* since has its last byte first */
}

/* Two candidates of IPv4; one of IPv6, or as ::ffff:a.b.c.d. */
header two4_h {
    bit<64> addresses;
}

header one6_h {
    bit<64> high;
    bit<64> low;
}

/* What SipHash is computed of, in one piece and in the packet's byte order: it never arrives and never leaves. */
header flow_h {
    bit<64> k0;
    bit<64> k1;
    bit<64> source_high;
    bit<64> source_low;
    bit<64> destination_high;
    bit<64> destination_low;
    bit<16> source_port;
    bit<16> destination_port;
    bit<8> protocol;
    bit<8> kind;               /* FLOW_ bits */
}

const bit<8> FLOW_IPV6 = 0x01;
const bit<8> FLOW_CLIENT = 0x02; /* affinity: addresses only */
const bit<8> FLOW_HIGH = 0x04;   /* the hash's high half, else the low one */

/* What the place of a cell is computed of (codes.p4), likewise. */
header cells_h {
    bit<64> hash;
    bit<64> seed;
    bit<64> sizes;             /* cells of A, of B << 32 */
    bit<8> kind;               /* CELLS_ bits */
}

const bit<8> CELLS_SIPHASH = 0x01;
const bit<8> CELLS_B = 0x02;   /* of B, else of A */

struct headers_t {
    arrival_h arrival;
    outer6_h outer6;
    outer4_h outer4;
    even_h even; /* right behind outer4: SWX then sends both by one copy */
    odd_h odd;
    two4_h two4_0;
    two4_h two4_1;
    two4_h two4_2;
    one6_h one6_0;
    one6_h one6_1;
    one6_h one6_2;
    one6_h one6_3;
    one6_h one6_4;
    outer_ipip_h outer_ipip;
    flow_h flow;
    cells_h cells;
    ethernet_h ethernet;
    vlan_h vlan0;
    vlan_h vlan1;
    ipv4_h ipv4;
    ipv6_h ipv6;
    tcp_h tcp;
    udp_h udp;
}

#endif
