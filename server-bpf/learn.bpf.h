/* SPDX-License-Identifier: GPL-2.0-only */
/* The verdict about a packet, with what the server remembers, and what it remembers from then on. */
#ifndef FAIRLEAD_LEARN_BPF_H
#define FAIRLEAD_LEARN_BPF_H

#include <fairlead/generation.h>
#include "absent.bpf.h"
#include "memory.bpf.h"

/* The generation that removed this server, which is dead; 0: none did. */
static __always_inline __u32 removed_by(__u16 service, const struct fl_address *server)
{
	struct fl_memory_key key = fl_memory_key_of_removed(service, server);
	const struct fl_bucket_memory *entry = bpf_map_lookup_elem(&memory, &key);

	return entry ? fl_memory_removed_by(entry, server) : 0;
}

/* Stores that a server was removed, unless an entry of this or a later generation has the key. */
static __always_inline void removal_store(const struct fl_steer *steer, __u32 since)
{
	struct fl_memory_key key = fl_memory_key_of_removed(steer->service, &steer->previous);
	struct fl_bucket_memory value = {.since = since, .generation = steer->generation, .previous = steer->previous};
	const struct fl_bucket_memory *entry = bpf_map_lookup_elem(&memory, &key);

	if (!entry || entry->generation < steer->generation)
		memory_store(&key, &value);
}

/* Fills in what the verdict needs besides the packet and what is remembered, which is NULL if nothing is. */
static __always_inline void recall(struct scratch *scratch, const struct fl_bucket_memory *remembered)
{
	struct fl_verdict_in *in = &scratch->in;

	if (remembered)
		in->memory = *remembered;
	else
		in->memory = (struct fl_bucket_memory){0};
	in->removed = 0;
	if (remembered && (in->packet == FL_PACKET_UNKNOWN || in->packet == FL_PACKET_NO_RESET))
		in->removed = removed_by(in->steer.service, &in->memory.previous);
	in->chaining = config.chaining;
	in->now = clock_seconds(scratch);
	in->window = config.window;
	/* The verdict compares one address: ours of the family of the previous owner. */
	in->self = config_self(!fl_address_is_ipv4(&in->steer.previous));
}

/* Stores a learned move; forgets one that the packet ends. */
static __always_inline void remember(const struct fl_verdict_in *in, const struct fl_verdict_out *out,
				     const struct fl_memory_key *key, bool remembered)
{
	if (out->learned)
		memory_store(key, &out->memory);
	else if (remembered && fl_verdict_forgets(in))
		memory_forget(key);
}

/* Stores a higher generation, unless it is a jump that no tag vouches for. */
static __always_inline void generation_learn(__u32 *seen, __u32 before, __u32 generation, __u32 now)
{
	if (generation == before)
		return;
	if (!config.tagged && fl_generation_is_jump(before, generation, now))
		count(FL_COUNTER_GENERATION_JUMP);
	else
		generation_raise(seen, generation);
}

/* Decides by in.generation_seen, and stores what the packet taught of its bucket. */
static __always_inline void decide(struct scratch *scratch)
{
	struct fl_verdict_in *in = &scratch->in;
	struct fl_verdict_out *out = &scratch->out;
	struct fl_memory_key key = {.service = in->steer.service, .bucket = in->steer.bucket};
	const struct fl_bucket_memory *remembered = memory_find(&key);

	if (!remembered && fl_verdict_is_settled(in)) {
		out->verdict = fl_verdict_settled(in);
		out->generation_seen = in->generation_seen;
		return;
	}
	recall(scratch, remembered);
	fl_verdict_decide(in, out);
	clock_observe(fl_clock_ahead(&in->steer, in->now));
	remember(in, out, &key, remembered != NULL);
}

/*
 * Decides about a trusted, well-formed packet of a known class, whose steer header is in scratch->in.steer, and stores
 * what it taught. False, with nothing decided, never: the array of generations has a slot for each 16-bit id.
 */
static __always_inline bool learn(struct scratch *scratch)
{
	struct fl_verdict_in *in = &scratch->in;
	__u32 *seen = generation_of(in->steer.service);

	if (!seen)
		return false;
	in->generation_seen = *seen;
	decide(scratch);
	generation_learn(seen, in->generation_seen, scratch->out.generation_seen, in->now);
	return true;
}

#endif
