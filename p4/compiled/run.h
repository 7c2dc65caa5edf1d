/* SPDX-License-Identifier: Apache-2.0 */
/* What the C of mux.spec calls (translate.py), which has defined RUN_REGISTERS. */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <rte_byteorder.h>
#include <rte_prefetch.h>
#include <rte_swx_table_em.h>

#include "rte_swx_pipeline_internal.h"

#include "cells.h"
#include "compiled.h"
#include "run_names.h"
#include "siphash.h"

/* A pipeline's registers, tables and ports. */
struct run {
#define RUN_REGISTER(name, entries) uint64_t *name;
	RUN_REGISTERS(RUN_REGISTER)
#undef RUN_REGISTER
	const struct rte_swx_table_state *tables;
	const struct port_out_runtime *out;
};

/* Any thread may write a register meanwhile; those that are read one after another are read in this order. */
static inline uint64_t run_read(const uint64_t *at)
{
	return *(const volatile uint64_t *)at;
}

/* Fields of headers are in network order. */
static inline uint64_t run_load8(const uint8_t *at)
{
	return *at;
}

static inline uint64_t run_load16(const uint8_t *at)
{
	uint16_t value;

	memcpy(&value, at, sizeof(value));
	return rte_be_to_cpu_16(value);
}

static inline uint64_t run_load32(const uint8_t *at)
{
	uint32_t value;

	memcpy(&value, at, sizeof(value));
	return rte_be_to_cpu_32(value);
}

static inline uint64_t run_load64(const uint8_t *at)
{
	uint64_t value;

	memcpy(&value, at, sizeof(value));
	return rte_be_to_cpu_64(value);
}

static inline uint64_t run_load48(const uint8_t *at)
{
	return run_load32(at) << 16 | run_load16(at + 4);
}

static inline void run_store8(uint8_t *at, uint64_t value)
{
	*at = (uint8_t)value;
}

static inline void run_store16(uint8_t *at, uint64_t value)
{
	uint16_t bytes = rte_cpu_to_be_16((uint16_t)value);

	memcpy(at, &bytes, sizeof(bytes));
}

static inline void run_store32(uint8_t *at, uint64_t value)
{
	uint32_t bytes = rte_cpu_to_be_32((uint32_t)value);

	memcpy(at, &bytes, sizeof(bytes));
}

static inline void run_store48(uint8_t *at, uint64_t value)
{
	run_store32(at, value >> 16);
	run_store16(at + 4, value);
}

static inline void run_store64(uint8_t *at, uint64_t value)
{
	uint64_t bytes = rte_cpu_to_be_64(value);

	memcpy(at, &bytes, sizeof(bytes));
}

/* Of an action's arguments, which are in host order. */
#define RUN_ARGUMENT(bits)                                                                                             \
	static inline uint64_t run_argument##bits(const uint8_t *at)                                                   \
	{                                                                                                              \
		uint##bits##_t value;                                                                                  \
                                                                                                                       \
		memcpy(&value, at, sizeof(value));                                                                     \
		return value;                                                                                          \
	}
RUN_ARGUMENT(8)
RUN_ARGUMENT(16)
RUN_ARGUMENT(32)
RUN_ARGUMENT(64)

/* SWX's ckadd of a header of 20 bytes: never 0. */
static inline uint64_t run_checksum20(uint64_t before, const uint8_t *header)
{
	uint32_t words[5];
	uint64_t sum = ~(uint64_t)rte_cpu_to_be_16((uint16_t)before) & 0xffff;

	memcpy(words, header, sizeof(words));
	for (unsigned i = 0; i < 5; i++)
		sum += words[i];
	for (unsigned i = 0; i < 3; i++)
		sum = (sum & 0xffff) + (sum >> 16);
	sum = ~sum & 0xffff;
	return sum ? rte_be_to_cpu_16((uint16_t)sum) : 0xffff;
}

/* The number of the action that a table has for a key, and its arguments; none: it does nothing. */
static inline uint64_t run_table(const struct run *run, unsigned table, uint8_t *key, const uint8_t **data)
{
	uint8_t *arguments = NULL;
	uint64_t action = 0;
	size_t entry;
	int hit;

	rte_swx_table_exact_match_unoptimized_ops.lkp(run->tables[table].obj, NULL, &key, &action, &arguments, &entry,
						      &hit);
	*data = arguments;
	return hit ? action : UINT64_MAX;
}

/* The packet leaves; it begins at this byte. */
static inline void run_leave(const struct run *run, struct rte_swx_pkt *packet, const uint8_t *begin, uint64_t number)
{
	const struct port_out_runtime *port = &run->out[number];
	uint32_t offset = (uint32_t)(begin - packet->pkt);

	packet->length += packet->offset - offset;
	packet->offset = offset;
	port->pkt_tx(port->obj, packet);
}
