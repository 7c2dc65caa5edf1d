/* SPDX-License-Identifier: Apache-2.0 */
#include "observe/pcapng.h"

#include <stdbool.h>
#include <string.h>

enum block_type {
	BLOCK_SECTION = 0x0a0d0d0a,
	BLOCK_INTERFACE = 1,
	BLOCK_STATISTICS = 5,
	BLOCK_PACKET = 6,
};

/* Option numbers have a meaning per block, except the first two. */
enum option {
	OPTION_END = 0,
	OPTION_COMMENT = 1,
	OPTION_SECTION_APPLICATION = 4,
	OPTION_INTERFACE_NAME = 2,
	OPTION_INTERFACE_RESOLUTION = 9,
	OPTION_PACKET_FLAGS = 2,
	OPTION_STATISTICS_ACCEPTED = 6,
	OPTION_STATISTICS_DROPPED = 7,
	OPTION_STATISTICS_GIVEN = 8,
};

enum {
	BYTE_ORDER_MAGIC = 0x1a2b3c4d,
	VERSION_MAJOR = 1,
	LINK_ETHERNET = 1,
	NANOSECONDS = 9, /* a timestamp's unit is 10^-9 s */
	OPTION_LEN_MAX = 0xffff,
};

/* A block under construction; data that does not fit is left out, which end() reports. */
struct block {
	uint8_t *out;
	size_t room, at;
	bool full;
};

static void add(struct block *block, const void *data, size_t len)
{
	static const uint8_t zeros[4] = {0};
	size_t padding = -len & 3;

	if (block->full || len + padding > block->room - block->at) {
		block->full = true;
		return;
	}
	memcpy(block->out + block->at, data, len);
	memcpy(block->out + block->at + len, zeros, padding);
	block->at += len + padding;
}

static void add_word(struct block *block, uint32_t word)
{
	add(block, &word, sizeof(word));
}

static void add_time(struct block *block, uint64_t time_ns)
{
	add_word(block, (uint32_t)(time_ns >> 32));
	add_word(block, (uint32_t)time_ns);
}

static void add_option(struct block *block, enum option option, const void *data, size_t len)
{
	uint16_t head[2] = {(uint16_t)option, (uint16_t)(len < OPTION_LEN_MAX ? len : OPTION_LEN_MAX)};

	add(block, head, sizeof(head));
	add(block, data, head[1]);
}

static void add_text(struct block *block, enum option option, const char *text)
{
	add_option(block, option, text, strlen(text));
}

static struct block begin(uint8_t *out, size_t room, enum block_type type)
{
	struct block block = {.out = out, .room = room};

	add_word(&block, type);
	add_word(&block, 0); /* the length, see end() */
	return block;
}

static size_t end(struct block *block)
{
	uint32_t len = (uint32_t)block->at + 2 * sizeof(len); /* including the end of options and this length */

	add_word(block, OPTION_END);
	add_word(block, len);
	if (block->full)
		return 0;
	memcpy(block->out + 4, &len, sizeof(len));
	return len;
}

size_t pcapng_section(uint8_t *out, size_t room, const char *application, const char *comment)
{
	static const uint16_t version[2] = {VERSION_MAJOR, 0};
	static const uint64_t unknown = ~0ULL; /* the section's length: it is streamed */
	struct block block = begin(out, room, BLOCK_SECTION);

	add_word(&block, BYTE_ORDER_MAGIC);
	add(&block, version, sizeof(version));
	add(&block, &unknown, sizeof(unknown));
	add_text(&block, OPTION_SECTION_APPLICATION, application);
	add_text(&block, OPTION_COMMENT, comment);
	return end(&block);
}

size_t pcapng_interface(uint8_t *out, size_t room, const char *name, uint32_t captured_max)
{
	static const uint16_t link[2] = {LINK_ETHERNET, 0};
	static const uint8_t resolution = NANOSECONDS;
	struct block block = begin(out, room, BLOCK_INTERFACE);

	add(&block, link, sizeof(link));
	add_word(&block, captured_max);
	add_text(&block, OPTION_INTERFACE_NAME, name);
	add_option(&block, OPTION_INTERFACE_RESOLUTION, &resolution, sizeof(resolution));
	return end(&block);
}

size_t pcapng_packet(uint8_t *out, size_t room, const struct pcapng_packet *packet)
{
	struct block block = begin(out, room, BLOCK_PACKET);
	uint32_t flags = packet->direction;

	add_word(&block, packet->interface);
	add_time(&block, packet->time_ns);
	add_word(&block, packet->captured);
	add_word(&block, packet->len);
	add(&block, packet->data, packet->captured);
	add_option(&block, OPTION_PACKET_FLAGS, &flags, sizeof(flags));
	add_text(&block, OPTION_COMMENT, packet->comment);
	return end(&block);
}

size_t pcapng_statistics(uint8_t *out, size_t room, const struct pcapng_statistics *statistics)
{
	struct block block = begin(out, room, BLOCK_STATISTICS);

	add_word(&block, statistics->interface);
	add_time(&block, statistics->time_ns);
	add_option(&block, OPTION_STATISTICS_ACCEPTED, &statistics->accepted, 8);
	add_option(&block, OPTION_STATISTICS_DROPPED, &statistics->dropped, 8);
	add_option(&block, OPTION_STATISTICS_GIVEN, &statistics->given, 8);
	return end(&block);
}
