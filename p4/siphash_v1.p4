/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SipHash-2-4 of a connection's key (protocol/README.md, section 1) in plain P4, of which flow_h says which half. The
 * key's words are the bytes as on the wire read as little-endian, whereas fields are read as big-endian.
 */
#ifndef FAIRLEAD_P4_SIPHASH
#define FAIRLEAD_P4_SIPHASH

#define ROTATE(value, bits) value = (value << bits) | (value >> (64 - bits));
#define ROUND             \
    v0 = v0 + v1;         \
    ROTATE(v1, 13)        \
    v1 = v1 ^ v0;         \
    ROTATE(v0, 32)        \
    v2 = v2 + v3;         \
    ROTATE(v3, 16)        \
    v3 = v3 ^ v2;         \
    v0 = v0 + v3;         \
    ROTATE(v3, 21)        \
    v3 = v3 ^ v0;         \
    v2 = v2 + v1;         \
    ROTATE(v1, 17)        \
    v1 = v1 ^ v2;         \
    ROTATE(v2, 32)

#define REVERSE16(value) value[7:0] ++ value[15:8]
#define REVERSE32(value) value[7:0] ++ value[15:8] ++ value[23:16] ++ value[31:24]
#define REVERSE64(value)                                           \
    value[7:0] ++ value[15:8] ++ value[23:16] ++ value[31:24]      \
    ++ value[39:32] ++ value[47:40] ++ value[55:48] ++ value[63:56]

control siphash_2_4(in flow_h flow, inout bit<64> half) {
    bit<64> v0 = flow.k0 ^ 0x736f6d6570736575;
    bit<64> v1 = flow.k1 ^ 0x646f72616e646f6d;
    bit<64> v2 = flow.k0 ^ 0x6c7967656e657261;
    bit<64> v3 = flow.k1 ^ 0x7465646279746573;
    bit<64> word = 0;

    action absorb() {
        v3 = v3 ^ word;
        ROUND
        ROUND
        v0 = v0 ^ word;
    }

    action finish() {
        v2 = v2 ^ 0xff;
        ROUND
        ROUND
        ROUND
        ROUND
        v0 = v0 ^ v1 ^ v2 ^ v3;
    }

    apply {
        bit<8> len = 8;
        if (flow.kind & FLOW_IPV6 == 0) {
            word = REVERSE32(flow.destination_low) ++ REVERSE32(flow.source_low);
            absorb();
        } else {
            len = 32;
            word = REVERSE64(flow.source_high);
            absorb();
            word = REVERSE64(flow.source_low);
            absorb();
            word = REVERSE64(flow.destination_high);
            absorb();
            word = REVERSE64(flow.destination_low);
            absorb();
        }
        if (flow.kind & FLOW_CLIENT != 0) {
            word = len ++ 56w0;
        } else {
            len = len + 5; /* ports and protocol */
            word = len ++ 16w0 ++ flow.protocol ++ REVERSE16(flow.destination_port) ++ REVERSE16(flow.source_port);
        }
        absorb();
        finish();
        if (flow.kind & FLOW_HIGH != 0) {
            v0 = v0 >> 32;
        }
        half = v0 & 0xffffffff;
    }
}

#endif
