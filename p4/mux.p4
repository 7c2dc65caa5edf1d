/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The mux for PNA, of which DPDK's software switch runs what p4c-dpdk makes of it (mux.spec; README.md).
 */
#include <core.p4>
#include <pna.p4>

#include "arch_pna.p4"
#include "headers.p4"
#include "metadata.p4"
#include "verdicts.p4"

#include "registers.p4"

parser mux_parser(packet_in packet, out headers_t hdr, inout metadata_t meta,
                  in pna_main_parser_input_metadata_t istd) {
#include "parser.p4"
}

#include "check.p4"
#include "hash.p4"
#include "codes.p4"
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
#include "stages.p4"
}

control mux_deparser(packet_out packet, in headers_t hdr, in metadata_t meta, in pna_main_output_metadata_t ostd) {
#include "deparser.p4"
}

PNA_NIC(mux_parser(), mux_before(), mux_main(), mux_deparser()) main;
