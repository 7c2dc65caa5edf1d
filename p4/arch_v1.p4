/* SPDX-License-Identifier: Apache-2.0 */
/* What the stages need of an architecture, by v1model: the same names as in arch_pna.p4. */
#ifndef FAIRLEAD_P4_ARCH
#define FAIRLEAD_P4_ARCH

#define REGISTER(name, entries) register<bit<64>>(entries) name;
#define REGISTER48(name, entries) register<bit<48>>(entries) name;
#define READ(result, register, index) register.read(result, (bit<32>)(index));
#define WRITE(register, index, value) register.write((bit<32>)(index), value);
#define COUNTER(name, entries) counter(entries, CounterType.packets) name;
#define COUNTER_BYTES(name, entries) counter(entries, CounterType.bytes) name;
#define COUNT(name, index) name.count((bit<32>)(index));
#define COUNT_BYTES(name, index, hdr) name.count((bit<32>)(index));

/*
 * The architecture compares checksums in a control of its own, before the stages (mux_v1.p4); the result is then in its
 * metadata. 0: the header's is right.
 */
#define CHECKSUM(name)
#define SUM_IPV4(name, result) result = meta.wrong_sum;
#define SUM_RIGHT 0
#define ARCH_METADATA bit<16> wrong_sum;

/* v1model has no such hash: siphash_v1.p4 computes it. */
#define SIPHASH(name) siphash_2_4() name;
#define HASH_SIPHASH(result, name, header) name.apply(header, result);

/* Nor this one: cells_v1.p4. */
#define CELLS(name) place_of_cell() name;
#define HASH_CELLS(result, name, header) name.apply(header, result);

/* bmv2 takes no shift of more than 8 bits. */
#define SHIFT_RIGHT(number, by) number = number >> (bit<8>)(by);

/* The architecture knows a frame's length, and has it in one piece. */
#define EXTRACT_ARRIVAL(packet, hdr)                                    \
    hdr.arrival.setValid();                                             \
    hdr.arrival.frame_len = (bit<16>)standard_metadata.packet_length;   \
    hdr.arrival.data_len = (bit<16>)standard_metadata.packet_length;

/* A header that the frame does not have in whole is not valid. */
#define HAS_TCP(hdr, meta) meta.protocol == PROTOCOL_TCP
#define HAS_UDP(hdr, meta) meta.protocol == PROTOCOL_UDP

/* Cuts off what Ethernet has padded. */
#define TRIM(frame_len) truncate((bit<32>)(frame_len));

#define INPUT_PORT (bit<64>)standard_metadata.ingress_port

#define LEAVE(port)                                             \
    if (port == 8) {                                            \
        mark_to_drop(standard_metadata);                        \
    } else {                                                    \
        standard_metadata.egress_spec = (bit<9>)port;           \
    }

#endif
