/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The mux for PNA, of which DPDK's software switch runs what p4c-dpdk makes of it (mux.spec; README.md).
 */
#include <core.p4>
#include <pna.p4>

#include "headers.p4"
#include "metadata.p4"
#include "verdicts.p4"

#define REGISTER(name, entries) Register<bit<64>, bit<64>>(entries) name;
#define REGISTER48(name, entries) Register<bit<48>, bit<64>>(entries) name;
#define READ(result, register, index) result = register.read(index);
#define COUNTER(name, entries, kind) Counter<bit<64>, bit<64>>(entries, PNA_CounterType_t.kind) name;

/* Over a whole header the sum of a right one is 0xffff. */
#define CHECKSUM(name) InternetChecksum() name;
#define SUM_IPV4(name, result)          \
    name.clear();                       \
    name.add(hdr.ipv4);                 \
    result = name.get();
#define SUM_RIGHT 0xffff

/*
 * The algorithm's name has no word for it: mux.spec says `jhash`, which `regenerate` changes to `siphash`, a function
 * that the program registers (siphash.h).
 */
#define SIPHASH(name) Hash<bit<64>>(PNA_HashAlgorithm_t.TARGET_DEFAULT) name;
#define HASH_SIPHASH(name, meta)                                                                          \
    meta.hash = name.get_hash({ meta.wide, meta.other, meta.source_high, meta.source_low,                 \
                                meta.source_port, meta.destination_high, meta.destination_low,            \
                                meta.destination_port, meta.protocol, meta.hash_kind });

/* The port must be a constant. */
#define SEND(port, number)              \
    if (port == number) {               \
        send_to_port((PortId_t)number); \
    }

#include "registers.p4"

parser mux_parser(packet_in packet, out headers_t hdr, inout metadata_t meta,
                  in pna_main_parser_input_metadata_t istd) {
#include "parser.p4"
}

#include "check.p4"
#include "hash.p4"
#include "steer.p4"
#include "encap.p4"

control mux_before(in headers_t hdr, inout metadata_t meta, in pna_pre_input_metadata_t istd,
                   inout pna_pre_output_metadata_t ostd) {
    apply {
    }
}

control mux_main(inout headers_t hdr, inout metadata_t meta, in pna_main_input_metadata_t istd,
                 inout pna_main_output_metadata_t ostd) {
#include "tables.p4"

    arrive() arriving;
    judge() judging;
    hash() hashing;
    steer() steering;
    encap() encapsulating;

    apply {
        meta.index = (bit<64>)(PortIdUint_t)istd.input_port;
        arriving.apply(hdr, meta);
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
        meta.wide = (bit<64>)meta.verdict;
        meta.other = (bit<64>)meta.slot;
        meta.other = meta.other << 6;
        meta.other = meta.other | meta.wide;
        packets.count(meta.other);
        if (meta.verdict == VERDICT_SERVICE) {
            meta.index = (bit<64>)meta.slot;
            bytes.count(meta.index, (bit<32>)hdr.arrival.frame_len);
            if (meta.moved != 0) {
                moved.count(meta.index);
            }
            encapsulating.apply(hdr, meta);
            meta.index = meta.word >> WORD_PORT;
            meta.index = meta.index & 0xf;
        } else {
            READ(meta.other, dispositions, meta.wide)
            meta.index = (bit<64>)(PortIdUint_t)istd.input_port;
            meta.index = meta.index + 4;
            if (meta.other != 0) {
                meta.index = 8;
            }
        }
        SEND(meta.index, 0)
        else SEND(meta.index, 1)
        else SEND(meta.index, 2)
        else SEND(meta.index, 3)
        else SEND(meta.index, 4)
        else SEND(meta.index, 5)
        else SEND(meta.index, 6)
        else SEND(meta.index, 7)
        else SEND(meta.index, 8)
    }
}

control mux_deparser(packet_out packet, in headers_t hdr, in metadata_t meta, in pna_main_output_metadata_t ostd) {
    apply {
        packet.emit(hdr.outer4);
        packet.emit(hdr.outer6);
        packet.emit(hdr.moved4);
        packet.emit(hdr.moved6);
        packet.emit(hdr.ethernet);
        packet.emit(hdr.vlan0);
        packet.emit(hdr.vlan1);
        packet.emit(hdr.ipv4);
        packet.emit(hdr.ipv6);
        packet.emit(hdr.tcp);
        packet.emit(hdr.udp);
    }
}

PNA_NIC(mux_parser(), mux_before(), mux_main(), mux_deparser()) main;
