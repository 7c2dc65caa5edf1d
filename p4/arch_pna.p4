/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the stages need of an architecture, by PNA: registers, counters, sums, hashes, ports. All other files but mux.p4
 * are of no architecture.
 */
#ifndef FAIRLEAD_P4_ARCH
#define FAIRLEAD_P4_ARCH

#define REGISTER(name, entries) Register<bit<64>, bit<64>>(entries) name;
#define REGISTER48(name, entries) Register<bit<48>, bit<64>>(entries) name;
#define READ(result, register, index) result = register.read(index);
#define WRITE(register, index, value) register.write(index, value);
#define COUNTER(name, entries) Counter<bit<64>, bit<64>>(entries, PNA_CounterType_t.PACKETS) name;
#define COUNTER_BYTES(name, entries) Counter<bit<64>, bit<64>>(entries, PNA_CounterType_t.BYTES) name;
#define COUNT(name, index) name.count(index);
#define COUNT_BYTES(name, index, hdr) name.count(index, (bit<32>)hdr.arrival.frame_len);

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
#define HASH_SIPHASH(result, name, header) result = name.get_hash({ header });

/* The same function, which knows headers by their lengths. */
#define CELLS(name) Hash<bit<64>>(PNA_HashAlgorithm_t.TARGET_DEFAULT) name;
#define HASH_CELLS(result, name, header) result = name.get_hash({ header });

/* By a number that is not a constant. */
#define SHIFT_RIGHT(number, by) number = number >> (by);

/* The port puts the arrival header in front of each frame. */
#define EXTRACT_ARRIVAL(packet, hdr) packet.extract(hdr.arrival);

/* A header that the frame does not have is read from behind it (parser.p4), so each that is looked for is there. */
#define HAS_TCP(hdr, meta) hdr.tcp.isValid()
#define HAS_UDP(hdr, meta) hdr.udp.isValid()

/* The port cuts off what Ethernet has padded. */
#define TRIM(frame_len)

/* No more fields. */
#define ARCH_METADATA

#define INPUT_PORT (bit<64>)(PortIdUint_t)istd.input_port

/* The port must be a constant. */
#define LEAVE_BY(port, number)          \
    if (port == number) {               \
        send_to_port((PortId_t)number); \
    }
#define LEAVE(port)         \
    LEAVE_BY(port, 0)       \
    else LEAVE_BY(port, 1)  \
    else LEAVE_BY(port, 2)  \
    else LEAVE_BY(port, 3)  \
    else LEAVE_BY(port, 4)  \
    else LEAVE_BY(port, 5)  \
    else LEAVE_BY(port, 6)  \
    else LEAVE_BY(port, 7)  \
    else LEAVE_BY(port, 8)

#endif
