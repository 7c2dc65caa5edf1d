/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes blocks of a pcapng file (draft-ietf-opsawg-pcapng) into memory.
 *
 *	section		begins the file: the program that wrote it, and the request
 *	interface	one for each port, numbered from 0 in their order: Ethernet, nanoseconds
 *	packet		an enhanced packet block with a comment (DPDK's own rte_pcapng_copy has no room for one)
 *	statistics	how many packets there were, and how many of them are in the file
 *
 * A block is type 4, length 4, body, options, length 4; all in host byte order, all parts padded to 4 bytes. Each
 * function returns the number of bytes that it wrote, or 0 if the block does not fit.
 */
#ifndef FAIRLEAD_MUX_PCAPNG_H
#define FAIRLEAD_MUX_PCAPNG_H

#include <stddef.h>
#include <stdint.h>

enum pcapng_direction {
	PCAPNG_INBOUND = 1,
	PCAPNG_OUTBOUND = 2,
};

struct pcapng_packet {
	uint32_t interface;
	uint64_t time_ns; /* since 1970 */
	uint32_t len;     /* of the whole frame; data holds captured bytes of it */
	uint32_t captured;
	const uint8_t *data;
	enum pcapng_direction direction;
	const char *comment;
};

struct pcapng_statistics {
	uint32_t interface;
	uint64_t time_ns;
	uint64_t accepted; /* packets that passed the filter */
	uint64_t dropped;  /* of these, dropped for lack of room */
	uint64_t given;    /* of these, written to the file */
};

size_t pcapng_section(uint8_t *out, size_t room, const char *application, const char *comment);
size_t pcapng_interface(uint8_t *out, size_t room, const char *name, uint32_t captured_max);
size_t pcapng_packet(uint8_t *out, size_t room, const struct pcapng_packet *packet);
size_t pcapng_statistics(uint8_t *out, size_t room, const struct pcapng_statistics *statistics);

#endif
