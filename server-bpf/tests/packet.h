/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packets for the tests, built the plain way: every header byte by byte, every checksum over everything.
 *
 *	Ethernet 14 | IPv4 20 or IPv6 40 | UDP 8 | GUE base and list | IPv4 or IPv6 | TCP, UDP, ICMP
 */
#ifndef FAIRLEAD_TESTS_PACKET_H
#define FAIRLEAD_TESTS_PACKET_H

#include <stddef.h>

#include <fairlead/ip.h>
#include <fairlead/list.h>

enum packet_numbers {
	PACKET_MAX = 2048,
	PACKET_OUTER_AT = FL_ETHERNET_LEN,
	PACKET_UDP_AT = PACKET_OUTER_AT + 20, /* with an outer IPv4 header */
	PACKET_GUE_AT = PACKET_UDP_AT + 8,
	PACKET_IPV6_MORE = 20, /* an outer IPv6 header is so much longer */
	TCP_FIN = 0x01,
	TCP_SYN = 0x02,
	TCP_RST = 0x04,
	TCP_ACK = 0x10,
};

struct packet {
	fl_u8 data[PACKET_MAX];
	size_t len;
};

/* One direction of a connection; addresses as fl_address, both of the same family. */
struct packet_flow {
	struct fl_address source, destination;
	fl_u16 source_port, destination_port;
};

struct packet_tcp {
	struct packet_flow flow;
	fl_u8 flags;
	fl_u32 sequence, acknowledgement;
};

/* Text to address; ends the program if it isn't one. */
struct fl_address packet_address(const char *text);

/* The way back. */
struct packet_flow packet_reverse(const struct packet_flow *flow);

/* Each writes an IP packet at the packet's end, and no Ethernet header. */
void packet_add_tcp(struct packet *packet, const struct packet_tcp *tcp);
void packet_add_udp(struct packet *packet, const struct packet_flow *flow, size_t payload);
/* An ICMP error from router about the quoted packet (its IP header and 8 bytes), to the quoted packet's source. */
void packet_add_icmp_error(struct packet *packet, const struct fl_address *router, const struct packet *quoted);

void packet_add_ethernet(struct packet *packet, const fl_u8 *destination, const fl_u8 *source, fl_u16 type);
void packet_add_bytes(struct packet *packet, const void *bytes, size_t len);

/* Ethernet, outer IP of the addresses' family and UDP around what the caller adds behind; packet_finish_outer() then
 * fills the lengths. */
void packet_begin_outer(struct packet *packet, const struct fl_address *source, const struct fl_address *destination,
			fl_u16 port);
void packet_finish_outer(struct packet *packet);

/* RFC 1071 over all bytes, in the order that a header stores it. */
fl_u16 packet_checksum(const fl_u8 *data, size_t len, fl_u32 sum);

#endif
