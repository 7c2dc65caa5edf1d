/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables, which the control plane fills (README.md, "Tables"): inside the main control, so that their names are plain. A
 * table's actions are its own: the compiler renames those that two tables share.
 */
#define SERVE(name)                                                                            \
    action name(bit<16> slot, bit<16> service, bit<8> kind, bit<16> backend, bit<32> crc) {    \
        meta.slot = (bit<32>)slot;                                                             \
        meta.service = service;                                                                \
        meta.kind = kind;                                                                      \
        meta.row = (bit<64>)backend;                                                           \
        meta.hash = (bit<64>)crc;                                                              \
        meta.is_vip = 1;                                                                       \
    }

#define MARK(name, field) \
    action name() {       \
        meta.field = 1;   \
    }

#define NOTHING(name) \
    action name() {   \
    }

    SERVE(serve4)
    NOTHING(serve_nothing4)
    table ports4 {
        key = {
            meta.destination_low: exact;
            meta.destination_port: exact;
            meta.protocol: exact;
        }
        actions = {
            serve4;
            serve_nothing4;
        }
        const default_action = serve_nothing4;
        size = 65536;
    }

    SERVE(serve6)
    NOTHING(serve_nothing6)
    table ports6 {
        key = {
            meta.destination_high: exact;
            meta.destination_low: exact;
            meta.destination_port: exact;
            meta.protocol: exact;
        }
        actions = {
            serve6;
            serve_nothing6;
        }
        const default_action = serve_nothing6;
        size = 65536;
    }

    MARK(is_vip4, is_vip)
    NOTHING(no_vip4)
    table vips4 {
        key = {
            meta.destination_low: exact;
        }
        actions = {
            is_vip4;
            no_vip4;
        }
        const default_action = no_vip4;
        size = 16384;
    }

    MARK(is_vip6, is_vip)
    NOTHING(no_vip6)
    table vips6 {
        key = {
            meta.destination_high: exact;
            meta.destination_low: exact;
        }
        actions = {
            is_vip6;
            no_vip6;
        }
        const default_action = no_vip6;
        size = 16384;
    }

    MARK(is_source4, is_source)
    NOTHING(no_source4)
    table sources4 {
        key = {
            meta.source_low: exact;
        }
        actions = {
            is_source4;
            no_source4;
        }
        const default_action = no_source4;
        size = 16384;
    }

    MARK(is_source6, is_source)
    NOTHING(no_source6)
    table sources6 {
        key = {
            meta.source_high: exact;
            meta.source_low: exact;
        }
        actions = {
            is_source6;
            no_source6;
        }
        const default_action = no_source6;
        size = 16384;
    }
