/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The verdict over the raw bytes of its input, and the properties that hold for every input: nothing is learned from
 * strangers or of a packet without a bucket, generations only rise, no chain beyond the hop limit, none by memory beyond
 * the window, no move of the future, passed on once, and no RST of what a server on the way knew to be late.
 */
#include <string.h>

#include <fairlead/verdict.h>

static void require(bool property)
{
	if (!property)
		__builtin_trap();
}

static bool same_memory(const struct fl_bucket_memory *a, const struct fl_bucket_memory *b)
{
	return a->since == b->since && a->generation == b->generation && fl_address_equal(&a->previous, &b->previous);
}

/* 17 choices of address in a byte, so that equal ones are not left to luck. */
static struct fl_address pick(fl_u8 byte)
{
	struct fl_address a = {{0}};

	a.bytes[15] = byte & 3;
	a.bytes[0] = byte & 0x80;
	return a;
}

struct cursor {
	const fl_u8 *at, *end;
};

static fl_u32 take(struct cursor *c, int bytes)
{
	fl_u32 value = 0;

	while (bytes-- && c->at < c->end)
		value = value << 8 | *c->at++;
	return value;
}

/* A time near now (one byte in two's complement) or anywhere. */
static fl_u32 take_time(struct cursor *c, fl_u32 now)
{
	fl_u32 byte = take(c, 1);

	return byte == 0x80 ? take(c, 4) : now + (fl_u32)(int8_t)byte;
}

static void fill(struct cursor *c, struct fl_verdict_in *in)
{
	fl_u32 bits = take(c, 1), byte;

	memset(in, 0, sizeof(*in));
	in->packet = (enum fl_packet_class)(FL_PACKET_SYN + (bits & 3));
	in->trusted = !(bits & 4);
	in->chaining = !(bits & 8);
	in->malformed = bits & 16 ? (enum fl_steer_error)(take(c, 1) % FL_STEER_ERRORS) : FL_STEER_OK;
	in->now = take(c, 4);
	in->window = bits & 32 ? take(c, 4) : take(c, 1);
	in->generation_seen = bits & 64 ? take(c, 4) : take(c, 1);
	in->steer.flags = bits & 128 ? FL_STEER_MOVED : 0;
	byte = take(c, 1);
	in->steer.hops = byte & 15;
	in->steer.bucket = byte & 0x80 ? FL_STEER_BUCKET_NONE : 0;
	if (in->packet == FL_PACKET_UNKNOWN && byte & 0x40)
		in->packet = FL_PACKET_NO_RESET;
	if (in->packet == FL_PACKET_SYN && byte & 0x40)
		in->packet = FL_PACKET_REFUSED;
	in->steer.flags |= byte & 0x10 ? FL_STEER_LATE : 0;
	in->steer.generation = take(c, 1) + 1;
	in->steer.since = take_time(c, in->now);
	in->steer.previous = pick((fl_u8)take(c, 1));
	in->memory.since = take_time(c, in->now);
	in->memory.generation = take(c, 1);
	in->memory.previous = pick((fl_u8)take(c, 1));
	in->self = pick((fl_u8)take(c, 1));
	byte = take(c, 1);
	if (!(byte & 1))
		return;
	in->steer.flags |= byte & 2 ? FL_STEER_SECOND : FL_STEER_SECOND | FL_STEER_MOVED2;
	in->steer.second.bucket = byte & 4 ? FL_STEER_BUCKET_NONE : 1;
	in->steer.second.owner = pick((fl_u8)take(c, 1));
	if (in->steer.flags & FL_STEER_MOVED2) {
		in->steer.second.since = take_time(c, in->now);
		in->steer.second.previous = pick((fl_u8)take(c, 1));
	}
}

/*
 * Passed on once, to the second bucket's owner, and only a SYN, or what would be stale or reset without a second bucket.
 */
static void check_passed(struct fl_verdict_in in, const struct fl_verdict_out *out)
{
	struct fl_verdict_out without;

	bool is_refused = in.packet == FL_PACKET_REFUSED, is_late = fl_verdict_is_late(&in);

	require(in.chaining && in.steer.flags & FL_STEER_SECOND && (in.packet == FL_PACKET_UNKNOWN || is_refused));
	require(fl_address_equal(&out->next, &in.steer.second.owner) && !fl_address_is_none(&out->next));
	in.steer.flags &= FL_STEER_MOVED | FL_STEER_LATE;
	fl_verdict_decide(&in, &without);
	require(without.verdict == FL_VERDICT_DELIVER || (without.verdict == FL_VERDICT_DROP_STALE && !is_refused));
	require(same_memory(&without.memory, &out->memory) && without.learned == out->learned);
	in.steer.flags |= FL_STEER_SECOND;
	fl_verdict_promote(&in);
	require(!(in.steer.flags & FL_STEER_SECOND) && !in.steer.hops && !(in.steer.flags & FL_STEER_LATE) == !is_late);
	fl_verdict_decide(&in, &without);
	require(without.verdict != FL_VERDICT_PASS && (!is_refused || without.verdict == FL_VERDICT_DELIVER));
	/* A server that has seen nothing does not reset it. */
	in.generation_seen = 0;
	fl_verdict_decide(&in, &without);
	require(is_refused || !is_late || without.verdict != FL_VERDICT_DELIVER);
}

int LLVMFuzzerTestOneInput(const fl_u8 *data, size_t size);
int LLVMFuzzerTestOneInput(const fl_u8 *data, size_t size)
{
	struct cursor c = {data, data + size};
	struct fl_verdict_in in;
	struct fl_verdict_out out;
	bool believed, unknown, told, is_sent_on;

	fill(&c, &in);
	memset(&out, 0xa5, sizeof(out));
	fl_verdict_decide(&in, &out);

	believed = in.trusted && in.malformed == FL_STEER_OK;
	unknown = in.packet == FL_PACKET_UNKNOWN || in.packet == FL_PACKET_NO_RESET;
	told = fl_verdict_is_told(&in);
	is_sent_on = in.steer.hops || in.steer.flags & FL_STEER_MOVED;
	require(out.verdict >= FL_VERDICT_DELIVER && out.verdict < FL_VERDICTS);
	require((out.verdict == FL_VERDICT_DROP_UNTRUSTED) == !in.trusted);
	require((out.verdict == FL_VERDICT_DROP_MALFORMED) == (in.trusted && in.malformed != FL_STEER_OK));
	require(out.generation_seen >= in.generation_seen);
	require(believed || (!out.learned && out.generation_seen == in.generation_seen));
	require(out.learned || same_memory(&out.memory, &in.memory));
	if (out.learned) {
		require(in.steer.flags & FL_STEER_MOVED);
		require(out.memory.since <= (fl_u64)in.now + FL_FUTURE_MAX && out.memory.since >= in.memory.since);
		require(!fl_address_equal(&out.memory.previous, &in.self) && !fl_address_is_none(&out.memory.previous));
	}
	if (out.verdict == FL_VERDICT_PASS) {
		check_passed(in, &out);
	} else if (out.verdict == FL_VERDICT_CHAIN) {
		require(unknown && in.chaining && in.steer.hops < FL_STEER_HOPS_MAX);
		require(told || fl_verdict_is_open(&in, in.memory.since) || is_sent_on);
		require(in.packet == FL_PACKET_UNKNOWN || fl_verdict_is_open(&in, in.memory.since) ||
			fl_verdict_is_open(&in, in.steer.since));
		require((told && fl_address_equal(&out.next, &in.steer.previous)) ||
			fl_address_equal(&out.next, &in.memory.previous));
		require(!fl_address_is_none(&out.next));
	} else {
		require(fl_address_is_none(&out.next));
	}
	if (in.steer.bucket == FL_STEER_BUCKET_NONE)
		require(!out.learned && out.verdict != FL_VERDICT_CHAIN);
	if (believed && !unknown && out.verdict != FL_VERDICT_PASS)
		require(out.verdict == FL_VERDICT_DELIVER);
	if (out.verdict == FL_VERDICT_DROP_STALE)
		require(in.packet == FL_PACKET_UNKNOWN && fl_verdict_is_late(&in));
	if (believed && in.packet == FL_PACKET_UNKNOWN && fl_verdict_is_late(&in))
		require(out.verdict != FL_VERDICT_DELIVER);

	/* What was learned once is no news the second time, and the verdict stands. */
	if (believed) {
		struct fl_verdict_out second;

		in.memory = out.memory;
		in.generation_seen = out.generation_seen;
		fl_verdict_decide(&in, &second);
		require(!second.learned && second.verdict == out.verdict &&
			second.generation_seen == out.generation_seen);
	}
	return 0;
}
