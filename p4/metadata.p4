/* SPDX-License-Identifier: Apache-2.0 */
/* What a stage leaves for later ones. */
#ifndef FAIRLEAD_P4_METADATA
#define FAIRLEAD_P4_METADATA

/* Bits of `kind` in the tables' action `serve`. */
const bit<8> KIND_SIPHASH = 0x01;
const bit<8> KIND_CLIENT = 0x02;    /* affinity: source and destination address only */
const bit<8> KIND_STATELESS = 0x04; /* names no former owners */
const bit<8> KIND_BY_ID = 0x08;     /* the port names the backend */
const bit<8> KIND_REFER_SYN = 0x10;
const bit<8> KIND_REFER = 0x20;
const bit<8> KIND_SECOND = 0x40;    /* a second bucket, by the hash's high half */
const bit<8> KIND_IPIP = 0x80;      /* encapsulation ipip, else gue */

/*
 * Keys of tables are in one piece: else SWX takes them for wildcards.
 *
 * The compiler gives each variable of a stage and each inner expression a field of its own behind these. SWX's
 * instructions reach the first 256 bytes, so words.py lets those share a word that are never needed at once, and puts
 * results of `hash` first, whose place SWX keeps in 8 bits, in bits. scripts/lint checks both bounds in mux.spec. What
 * is hashed is a header: an operand of `hash` that is metadata would be copied first.
 */
struct metadata_t {
    bit<64> hash;             /* its low half; from the tables on, what of the CRC the port's entry knows */
    bit<64> second_hash;      /* its high half, with KIND_SECOND; with CRC-32 other bits are above it */
    bit<64> source_high;      /* of IPv6 */
    bit<64> source_low;       /* IPv4: the address */
    bit<16> source_port;
    bit<64> destination_high; /* of IPv6 */
    bit<64> destination_low;  /* IPv4: the address */
    bit<16> destination_port; /* 0: neither TCP nor UDP */
    bit<8> protocol;
    bit<8> verdict;
    bit<8> kind;
    bit<8> inner_protocol;    /* 4 or 41 */
    bit<8> is_vip;
    bit<8> is_source;
    bit<8> second;            /* 1: it has a second bucket */
    bit<8> names_second;      /* 1: its list has that one's owner, */
    bit<8> names_former;      /* 1: and former owners */
    bit<8> second_first;      /* with steering maat, the second bucket is first: 1; of a SYN: 2 */
    bit<16> list_len;         /* bytes of the candidates */
    bit<16> at_ip;            /* bytes in front of the IP header */
    bit<16> ip_len;           /* of the IP packet */
    bit<16> l4_len;           /* of it behind its header */
    bit<16> data_len;         /* bytes of the frame from the IP header on: in the first buffer, */
    bit<16> frame_len;        /* in all */
    bit<16> service;
    bit<32> slot;
    bit<64> row;              /* of the bucket; before, the backend that the port names */
    bit<64> generation;
    bit<64> backends;         /* where their words begin in the register ring, */
    bit<64> word;             /* and the backend's */
    bit<64> second_row;
    bit<64> ready;            /* the list header's byte of count and flags */
    ARCH_METADATA
}

#endif
