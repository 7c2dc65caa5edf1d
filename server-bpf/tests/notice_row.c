// SPDX-License-Identifier: Apache-2.0
#include "notice_row.h"

#include <string.h>

#include "verdict_row.h"

static struct notice_row_move *move_of(struct notice_row_taught *taught, fl_u32 bucket)
{
	size_t i;

	for (i = 0; i < taught->count; i++)
		if (taught->moves[i].bucket == bucket)
			return &taught->moves[i];
	assert_true(taught->count < FL_NOTICE_BUCKETS_MAX);
	taught->moves[taught->count] = (struct notice_row_move){.bucket = bucket};
	return &taught->moves[taught->count++];
}

static void decide(struct notice_row_taught *taught, struct fl_verdict_in *in, const struct config *config)
{
	struct notice_row_move *move = move_of(taught, in->steer.bucket);
	struct fl_verdict_out out;

	in->self = fl_address_is_ipv4(&in->steer.previous) ? config->program.self : config->program.self6;
	in->generation_seen = taught->generation;
	in->memory = move->memory;
	fl_verdict_decide(in, &out);
	taught->generation = out.generation_seen;
	taught->learned += out.learned;
	move->memory = out.memory;
}

void notice_row_teach(const json_t *row, const struct config *config, fl_u64 now, struct notice_row_taught *taught)
{
	const json_t *fields = vectors_get(row, "fields"), *bucket;
	struct fl_verdict_in in = {.packet = FL_PACKET_LOCAL_SOCKET,
				   .trusted = true,
				   .chaining = true,
				   .now = (fl_u32)now,
				   .window = config->program.window};
	size_t i;

	in.steer.inner_protocol = FL_GUE_PROTO_IPV4;
	in.steer.flags = (fl_u8)vectors_number(fields, "flags");
	in.steer.service = (fl_u16)vectors_number(fields, "service");
	in.steer.generation = (fl_u32)vectors_number(fields, "generation");
	if (in.steer.flags & FL_STEER_MOVED) {
		in.steer.since = (fl_u32)vectors_number(fields, "since");
		in.steer.previous = vectors_address(fields, "previous");
	}
	memset(taught, 0, sizeof(*taught));
	taught->service = in.steer.service;
	taught->generation = 0;
	json_array_foreach(vectors_list(fields, "buckets"), i, bucket)
	{
		in.steer.bucket = (fl_u32)json_integer_value(bucket);
		if (fl_notice_is_removal(in.steer.bucket))
			taught->removed = 1;
		else
			decide(taught, &in, config);
	}
	taught->generation = in.steer.generation;
	taught->learned += taught->removed;
}

struct packet notice_row_packet(const json_t *row, enum rig_family family, size_t padding)
{
	struct fl_address mux = packet_address(family == RIG_IPV4 ? RIG_MUX : RIG_MUX6);
	struct fl_address self = packet_address(family == RIG_IPV4 ? RIG_SELF : RIG_SELF6);
	struct vectors_bytes bytes = vectors_bytes(row, "bytes");
	static const fl_u8 trailer[64] = {0xee, 0xee};
	struct packet packet;

	assert_true(padding <= sizeof(trailer));
	packet_begin_outer(&packet, &mux, &self, FL_GUE_PORT);
	packet_add_bytes(&packet, bytes.data, bytes.len);
	packet_finish_outer(&packet);
	packet_add_bytes(&packet, trailer, padding);
	vectors_free(&bytes);
	return packet;
}

enum fl_counter notice_row_malformed(const json_t *row)
{
	enum fl_counter counter = fl_counter_of_steer_error(verdict_row_error(row, "error"));
	struct vectors_bytes bytes = vectors_bytes(row, "bytes");

	/* A row of `malformed` is read as a notice; what names a client's packet is read as that. */
	if (counter == FL_COUNTER_DROP_MALFORMED_INNER_PROTOCOL && bytes.len > 1 &&
	    (bytes.data[1] == FL_GUE_PROTO_IPV4 || bytes.data[1] == FL_GUE_PROTO_IPV6))
		counter = FL_COUNTERS;
	vectors_free(&bytes);
	return counter;
}

enum fl_counter notice_row_tagged(const json_t *row)
{
	const char *result = vectors_text(row, "result");

	if (!strcmp(result, "right"))
		return FL_COUNTER_NOTICE;
	return !strcmp(result, "missing") ? FL_COUNTER_DROP_UNTRUSTED_TAG_MISSING : FL_COUNTER_DROP_UNTRUSTED_TAG_WRONG;
}
