/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The instructions that a packet takes most, in place of those of DPDK's internal header, which load and store 8 bytes
 * whatever the width of a field. A field of one byte that has just been written was then read as part of 8 bytes, of
 * which the processor had others in its store buffer: it waited some 15 cycles for them, dozens of times a packet. Here
 * a field is loaded and stored by its own width, so that the compiler knows that fields differ, and keeps them in
 * registers (own.h). Of DPDK's own there are left those that take no metadata but by t->metadata: generate.c has the list,
 * and refuses any other.
 *
 * Metadata and an action's arguments are in host order, headers in network order.
 */
#ifndef FAIRLEAD_P4_COMPILED_NARROW_H
#define FAIRLEAD_P4_COMPILED_NARROW_H

typedef uint16_t narrow16 __attribute__((aligned(1), may_alias));
typedef uint32_t narrow32 __attribute__((aligned(1), may_alias));
typedef uint64_t narrow64 __attribute__((aligned(1), may_alias));

/* The bytes as they are, as a number in host order. */
static inline uint64_t narrow_load(const uint8_t *at, unsigned bits)
{
	switch (bits) {
	case 8:
		return *at;
	case 16:
		return *(const narrow16 *)at;
	case 32:
		return *(const narrow32 *)at;
	default:
		return *(const narrow64 *)at & UINT64_MAX >> (64 - bits);
	}
}

static inline void narrow_store(uint8_t *at, unsigned bits, uint64_t value)
{
	uint64_t mask = UINT64_MAX >> (64 - bits);

	switch (bits) {
	case 8:
		*at = (uint8_t)value;
		break;
	case 16:
		*(narrow16 *)at = (uint16_t)value;
		break;
	case 32:
		*(narrow32 *)at = (uint32_t)value;
		break;
	case 64:
		*(narrow64 *)at = value;
		break;
	default:
		*(narrow64 *)at = (*(narrow64 *)at & ~mask) | (value & mask);
	}
}

/* From host to network order, or back. */
static inline uint64_t narrow_swap(uint64_t value, unsigned bits)
{
	return __builtin_bswap64(value) >> (64 - bits);
}

#define NARROW_AT(t, operand)                                                                                          \
	(((operand).struct_id == OWN_STRUCTS - 1 ? (t)->metadata : (t)->structs[(operand).struct_id]) +                \
	 (operand).offset)
#define NARROW_GET(t, operand)             narrow_load(NARROW_AT(t, operand), (operand).n_bits)
#define NARROW_GET_NET(t, operand)         narrow_swap(NARROW_GET(t, operand), (operand).n_bits)
#define NARROW_SET(t, operand, value)      narrow_store(NARROW_AT(t, operand), (operand).n_bits, value)
#define NARROW_SET_NET(t, operand, value)  NARROW_SET(t, operand, narrow_swap(value, (operand).n_bits))
#define NARROW_REGISTER(p, ip)             (&(p)->regarray_runtime[(ip)->regarray.regarray_id])
#define NARROW_READ(p, ip, index)          NARROW_REGISTER(p, ip)->regarray[(index)&NARROW_REGISTER(p, ip)->size_mask]
#define NARROW_ALU(t, ip, operator, value) NARROW_SET(t, (ip)->alu.dst, NARROW_GET(t, (ip)->alu.dst) operator(value))
#define NARROW_ALU_M(t, ip, operator)      NARROW_ALU(t, ip, operator, NARROW_GET(t, (ip)->alu.src))
#define NARROW_ALU_I(t, ip, operator)      NARROW_ALU(t, ip, operator,(ip)->alu.src_val)

#define instr_operand_hbo(t, operand) NARROW_GET(t, *(operand))
#define instr_operand_nbo(t, operand) NARROW_GET_NET(t, *(operand))

#define __instr_mov_exec(p, t, ip)    NARROW_SET(t, (ip)->mov.dst, NARROW_GET(t, (ip)->mov.src))
#define __instr_mov_i_exec(p, t, ip)  NARROW_SET(t, (ip)->mov.dst, (ip)->mov.src_val)
#define __instr_mov_mh_exec(p, t, ip) NARROW_SET(t, (ip)->mov.dst, NARROW_GET_NET(t, (ip)->mov.src))
#define __instr_mov_hm_exec(p, t, ip) NARROW_SET_NET(t, (ip)->mov.dst, NARROW_GET(t, (ip)->mov.src))

#define __instr_alu_add_exec(p, t, ip)    NARROW_ALU_M(t, ip, +)
#define __instr_alu_sub_exec(p, t, ip)    NARROW_ALU_M(t, ip, -)
#define __instr_alu_and_exec(p, t, ip)    NARROW_ALU_M(t, ip, &)
#define __instr_alu_or_exec(p, t, ip)     NARROW_ALU_M(t, ip, |)
#define __instr_alu_xor_exec(p, t, ip)    NARROW_ALU_M(t, ip, ^)
#define __instr_alu_add_mi_exec(p, t, ip) NARROW_ALU_I(t, ip, +)
#define __instr_alu_sub_mi_exec(p, t, ip) NARROW_ALU_I(t, ip, -)
#define __instr_alu_shl_exec(p, t, ip)    NARROW_ALU_M(t, ip, <<)
#define __instr_alu_shr_exec(p, t, ip)    NARROW_ALU_M(t, ip, >>)
#define __instr_alu_and_i_exec(p, t, ip)  NARROW_ALU_I(t, ip, &)
#define __instr_alu_or_i_exec(p, t, ip)   NARROW_ALU_I(t, ip, |)
#define __instr_alu_xor_i_exec(p, t, ip)  NARROW_ALU_I(t, ip, ^)
#define __instr_alu_shl_mi_exec(p, t, ip) NARROW_ALU_I(t, ip, <<)
#define __instr_alu_shr_mi_exec(p, t, ip) NARROW_ALU_I(t, ip, >>)

#define __instr_regrd_mrm_exec(p, t, ip)                                                                               \
	NARROW_SET(t, (ip)->regarray.dstsrc, NARROW_READ(p, ip, NARROW_GET(t, (ip)->regarray.idx)))
#define __instr_regrd_mri_exec(p, t, ip)                                                                               \
	NARROW_SET(t, (ip)->regarray.dstsrc, NARROW_READ(p, ip, (ip)->regarray.idx_val))
#define __instr_regrd_hrm_exec(p, t, ip)                                                                               \
	NARROW_SET_NET(t, (ip)->regarray.dstsrc, NARROW_READ(p, ip, NARROW_GET(t, (ip)->regarray.idx)))

#define NARROW_ADD(p, t, ip, value)       NARROW_READ(p, ip, NARROW_GET(t, (ip)->regarray.idx)) += (value)
#define __instr_regadd_rmi_exec(p, t, ip) NARROW_ADD(p, t, ip, (ip)->regarray.dstsrc_val)
#define __instr_regadd_rmh_exec(p, t, ip) NARROW_ADD(p, t, ip, NARROW_GET_NET(t, (ip)->regarray.dstsrc))
#define __instr_regadd_rmm_exec(p, t, ip) NARROW_ADD(p, t, ip, NARROW_GET(t, (ip)->regarray.dstsrc))
#define NARROW_WRITE(p, t, ip, value)     NARROW_READ(p, ip, NARROW_GET(t, (ip)->regarray.idx)) = (value)
#define __instr_regwr_rmi_exec(p, t, ip)  NARROW_WRITE(p, t, ip, (ip)->regarray.dstsrc_val)
#define __instr_regwr_rmm_exec(p, t, ip)  NARROW_WRITE(p, t, ip, NARROW_GET(t, (ip)->regarray.dstsrc))

static inline void narrow_extract(struct thread *t, uint32_t header_id, uint32_t struct_id, uint32_t bytes)
{
	t->structs[struct_id] = t->ptr;
	t->valid_headers = MASK64_BIT_SET(t->valid_headers, header_id);
	t->pkt.offset += bytes;
	t->pkt.length -= bytes;
	t->ptr += bytes;
}

/* A header that leaves: right behind the one before, or apart. */
static inline void narrow_emit(struct thread *t, uint32_t header_id, uint32_t struct_id)
{
	const struct header_runtime *header = &t->headers[header_id];
	struct header_out_runtime *last = t->headers_out + t->n_headers_out - 1;
	uint8_t *ptr = t->structs[struct_id];

	if (!HEADER_VALID(t, header_id))
		return;
	if (t->n_headers_out && last->ptr + last->n_bytes == ptr) {
		last->n_bytes += header->n_bytes;
		return;
	}
	last[1].ptr0 = header->ptr0;
	last[1].ptr = ptr;
	last[1].n_bytes = header->n_bytes;
	t->n_headers_out++;
}

/* Without a loop, so that each struct's number is a constant wherever the compiler looks. */
#define NARROW_EACH(count, act)                                                                                        \
	if ((count) > 0)                                                                                               \
		act(0);                                                                                                \
	if ((count) > 1)                                                                                               \
		act(1);                                                                                                \
	if ((count) > 2)                                                                                               \
		act(2);                                                                                                \
	if ((count) > 3)                                                                                               \
		act(3);                                                                                                \
	if ((count) > 4)                                                                                               \
		act(4);                                                                                                \
	if ((count) > 5)                                                                                               \
		act(5);                                                                                                \
	if ((count) > 6)                                                                                               \
		act(6);                                                                                                \
	if ((count) > 7)                                                                                               \
		act(7);

static inline void narrow_extract_many(struct thread *t, const struct instruction *ip, unsigned count)
{
	const struct instr_io *io = &ip->io;

#define NARROW_EXTRACT(i) narrow_extract(t, io->hdr.header_id[i], io->hdr.struct_id[i], io->hdr.n_bytes[i])
	NARROW_EACH(count, NARROW_EXTRACT)
}

static inline void narrow_emit_many(struct thread *t, const struct instruction *ip, unsigned count)
{
	const struct instr_io *io = &ip->io;

#define NARROW_EMIT(i) narrow_emit(t, io->hdr.header_id[i], io->hdr.struct_id[i])
	NARROW_EACH(count, NARROW_EMIT)
}

#define __instr_hdr_extract_exec(p, t, ip)  narrow_extract_many(t, ip, 1)
#define __instr_hdr_extract2_exec(p, t, ip) narrow_extract_many(t, ip, 2)
#define __instr_hdr_extract3_exec(p, t, ip) narrow_extract_many(t, ip, 3)
#define __instr_hdr_extract4_exec(p, t, ip) narrow_extract_many(t, ip, 4)
#define __instr_hdr_extract5_exec(p, t, ip) narrow_extract_many(t, ip, 5)
#define __instr_hdr_extract6_exec(p, t, ip) narrow_extract_many(t, ip, 6)
#define __instr_hdr_extract7_exec(p, t, ip) narrow_extract_many(t, ip, 7)
#define __instr_hdr_extract8_exec(p, t, ip) narrow_extract_many(t, ip, 8)

/* The program's last instruction; its thread neither mirrors nor recirculates (generate.c). */
static inline void narrow_tx(struct rte_swx_pipeline *p, struct thread *t, const struct instruction *ip)
{
	uint64_t number = narrow_load(t->metadata + ip->io.io.offset, ip->io.io.n_bits);
	struct port_out_runtime *port = &p->out[number];

	emit_handler(t);
	port->pkt_tx(port->obj, &t->pkt);
}

#define __instr_hdr_emit_exec(p, t, ip)     narrow_emit_many(t, ip, 1)
#define __instr_hdr_emit_tx_exec(p, t, ip)  (narrow_emit_many(t, ip, 1), narrow_tx(p, t, ip))
#define __instr_hdr_emit2_tx_exec(p, t, ip) (narrow_emit_many(t, ip, 2), narrow_tx(p, t, ip))
#define __instr_hdr_emit3_tx_exec(p, t, ip) (narrow_emit_many(t, ip, 3), narrow_tx(p, t, ip))
#define __instr_hdr_emit4_tx_exec(p, t, ip) (narrow_emit_many(t, ip, 4), narrow_tx(p, t, ip))
#define __instr_hdr_emit5_tx_exec(p, t, ip) (narrow_emit_many(t, ip, 5), narrow_tx(p, t, ip))
#define __instr_hdr_emit6_tx_exec(p, t, ip) (narrow_emit_many(t, ip, 6), narrow_tx(p, t, ip))
#define __instr_hdr_emit7_tx_exec(p, t, ip) (narrow_emit_many(t, ip, 7), narrow_tx(p, t, ip))
#define __instr_hdr_emit8_tx_exec(p, t, ip) (narrow_emit_many(t, ip, 8), narrow_tx(p, t, ip))

#endif
