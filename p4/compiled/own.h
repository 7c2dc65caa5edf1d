/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Behind DPDK's internal header, in front of its generated code: a packet's state in local variables.
 *
 * SWX keeps that state in a thread of its own, where the metadata are memory that any store through a pointer might
 * change. So the compiler loaded three pointers for each instruction and kept nothing in a register. While one of the
 * generated functions runs, the thread is this function's alone. It works on a copy, whose address no other function
 * gets, and writes back what the next one of them, a table or an action will look at. Behind the last one the packet has
 * left, and its metadata are of no use.
 *
 * generate.c has put OWN_THREAD where a function of the pipeline names its thread, and has defined OWN_STRUCTS and
 * struct own_fields by the .spec; attach.c compares them with the pipeline. What a function ends with is replaced here.
 */
#ifndef FAIRLEAD_P4_COMPILED_OWN_H
#define FAIRLEAD_P4_COMPILED_OWN_H

/* The metadata. Instructions that are not in narrow.h reach up to 7 bytes beyond a field's. */
struct own_metadata {
	struct own_fields fields;
	uint64_t beyond;
} __attribute__((packed));

/* Of the thread what instructions look at. Its structs stay: headers are elsewhere anyway. */
#define OWN_THREAD                                                                                                     \
	struct thread *const home = &p->threads[p->thread_id];                                                         \
	struct own_metadata own_metadata = {.fields = *(const struct own_fields *)home->metadata};                     \
	struct thread own = {.pkt = home->pkt,                                                                         \
			     .ptr = home->ptr,                                                                         \
			     .structs = home->structs,                                                                 \
			     .headers = home->headers,                                                                 \
			     .headers_out = home->headers_out,                                                         \
			     .header_storage = home->header_storage,                                                   \
			     .header_out_storage = home->header_out_storage,                                           \
			     .valid_headers = home->valid_headers,                                                     \
			     .n_headers_out = home->n_headers_out,                                                     \
			     .metadata = (uint8_t *)&own_metadata,                                                     \
			     .action_id = home->action_id,                                                             \
			     .entry_id = home->entry_id,                                                               \
			     .hit = home->hit};                                                                        \
	struct thread *const t = &own;

/* The packet goes on elsewhere. */
static inline void own_leave(struct thread *home, const struct thread *own)
{
	home->pkt = own->pkt;
	home->ptr = own->ptr;
	home->valid_headers = own->valid_headers;
	home->n_headers_out = own->n_headers_out;
	*(struct own_fields *)home->metadata = *(const struct own_fields *)own->metadata;
}

#define thread_ip_inc(p)     (own_leave(home, t), thread_ip_inc(p))
#define thread_ip_set(t, to) (own_leave(home, t), thread_ip_set(home, to))

/* The packet has left. */
#define thread_ip_reset(p, t) thread_ip_reset(p, home)

#endif
