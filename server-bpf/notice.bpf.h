/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Notices (fairlead/notice.h): learned from as from one packet of each listed bucket, and as to which servers were
 * removed; consumed.
 *
 * A notice must lie in the first buffer of a frame that the driver received in several. One of at most 1500 bytes
 * always does. The list is walked by bpf_loop(), so that the verifier sees one bucket and not 352.
 *
 * Reading and learning are functions of their own, one called after the other, since the stacks of functions that call
 * each other share 512 bytes.
 */
#ifndef FAIRLEAD_NOTICE_BPF_H
#define FAIRLEAD_NOTICE_BPF_H

#include <fairlead/notice.h>
#include "learn.bpf.h"
#include "wire.bpf.h"

static __always_inline const __u8 *notice_gue(struct xdp_md *ctx, const struct scratch *scratch)
{
	return (const __u8 *)packet_start(ctx) + (scratch->notice_at & 0xff); /* the mask is for the verifier */
}

/* The drop counter of a missing or wrong tag, 0 if the tag is right. */
static __always_inline enum fl_counter notice_tag_check(const __u8 *gue, const void *end, struct scratch *scratch)
{
	const struct fl_notice *notice = &scratch->notice;
	struct fl_siphash_key key = tag_key_read();

	if (!(notice->steer.flags & FL_STEER_TAG))
		return FL_COUNTER_DROP_UNTRUSTED_TAG_MISSING;
	if (!fl_notice_message(&key, gue, end, notice, &scratch->tagged) ||
	    fl_tag_load(notice->steer.tag) != fl_tag(&key, &scratch->tagged))
		return FL_COUNTER_DROP_UNTRUSTED_TAG_WRONG;
	return (enum fl_counter)0;
}

/* Reads the notice of a peer that scratch->notice_at tells of. Returns 0, or the counter of its drop. */
static __attribute__((noinline)) enum fl_counter notice_read(struct xdp_md *ctx)
{
	struct scratch *scratch = scratch_of_this_cpu();
	const void *end = packet_end(ctx);
	enum fl_steer_error error;
	const __u8 *gue;

	if (!scratch)
		return FL_COUNTER_DROP_NO_ROOM; /* never: slot 0 exists */
	gue = notice_gue(ctx, scratch);
	error = fl_notice_parse(gue, end, scratch->notice_len, &scratch->notice);
	if (error != FL_STEER_OK)
		return fl_counter_of_steer_error(error);
	if (gue + scratch->notice.steer.header_len + scratch->notice.count * FL_NOTICE_BUCKET_LEN > (const __u8 *)end)
		return FL_COUNTER_DROP_MALFORMED_TRUNCATED;
	return config.tagged ? notice_tag_check(gue, end, scratch) : (enum fl_counter)0;
}

/* What the walk over the buckets needs; on the stack, where bpf_loop() wants it. */
struct notice_walk {
	struct xdp_md *ctx;
	struct scratch *scratch;
};

/* Learns what the header says, which names no bucket, then what each of the buckets adds. Returns 1 at the end. */
static long notice_learn(__u32 index, void *context)
{
	struct notice_walk *walk = context;
	struct scratch *scratch = walk->scratch;
	struct fl_verdict_in *in = &scratch->in;

	in->trusted = true;
	in->malformed = FL_STEER_OK;
	in->packet = FL_PACKET_LOCAL_SOCKET; /* nothing is chained, and nothing stale */
	in->steer = scratch->notice.steer;
	if (index && !fl_notice_bucket(notice_gue(walk->ctx, scratch), packet_end(walk->ctx), &scratch->notice,
				       index - 1, &in->steer.bucket))
		return 1;
	if (index && fl_notice_is_removal(in->steer.bucket))
		removal_store(&in->steer, fl_verdict_since(in));
	else
		learn(scratch);
	return 0;
}

/* Takes the notice of a peer that scratch->notice_at tells of. Returns the counter of its exit. */
__attribute__((noinline)) int notice_take(struct xdp_md *ctx)
{
	struct notice_walk walk = {.ctx = ctx, .scratch = scratch_of_this_cpu()};
	enum fl_counter wrong = notice_read(ctx);

	if (wrong || !walk.scratch)
		return wrong;
	bpf_loop(1 + FL_NOTICE_BUCKETS_MAX, notice_learn, &walk, 0);
	return FL_COUNTER_NOTICE;
}

#endif
