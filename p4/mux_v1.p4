/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The mux for v1model: bmv2's simple_switch runs it, and a switch's own form can begin with it. RESULTS.md records what
 * it was run with.
 */
#include <core.p4>
#include <v1model.p4>

#include "arch_v1.p4"
#include "headers.p4"
#include "metadata.p4"
#include "verdicts.p4"

#include "registers.p4"

parser mux_parser(packet_in packet, out headers_t hdr, inout metadata_t meta,
                  inout standard_metadata_t standard_metadata) {
#include "parser.p4"
}

#include "check.p4"
#include "siphash_v1.p4"
#include "cells_v1.p4"
#include "hash.p4"
#include "codes.p4"
#include "steer.p4"
#include "encap.p4"

/* The sum of a whole header, its own checksum in it, inverted: 0 of a right one, as meta.wrong_sum still is. */
control mux_checksum(inout headers_t hdr, inout metadata_t meta) {
    apply {
        verify_checksum(hdr.ipv4.isValid(),
                        { hdr.ipv4.version_ihl, hdr.ipv4.tos, hdr.ipv4.total_len, hdr.ipv4.id, hdr.ipv4.fragment,
                          hdr.ipv4.ttl, hdr.ipv4.protocol, hdr.ipv4.checksum, hdr.ipv4.source, hdr.ipv4.destination },
                        meta.wrong_sum, HashAlgorithm.csum16);
    }
}

control mux_stages(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
#include "tables.p4"
#include "stages.p4"
}

control mux_main(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    mux_stages() stages;

    apply {
        meta.wrong_sum = (bit<16>)standard_metadata.checksum_error;
        stages.apply(hdr, meta, standard_metadata);
    }
}

/* Nothing is left to do: the outer header is there. */
control mux_leave(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    apply {
    }
}

control mux_update(inout headers_t hdr, inout metadata_t meta) {
    apply {
    }
}

control mux_deparser(packet_out packet, in headers_t hdr) {
#include "deparser.p4"
}

V1Switch(mux_parser(), mux_checksum(), mux_main(), mux_leave(), mux_update(), mux_deparser()) main;
