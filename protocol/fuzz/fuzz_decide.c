/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The decision over raw bytes of its input, and what holds for every input: nothing is learned from strangers,
 * generations only rise, fewer candidates are left each time, and no RST of what a server on the way knew to be late.
 */
#include <string.h>

#include <fairlead/decide.h>

static void require(bool property)
{
	if (!property)
		__builtin_trap();
}

/* A few choices of address in a byte, so that equal ones are not left to luck. */
static struct fl_address pick(fl_u8 byte)
{
	struct fl_address a = {{0}};

	a.bytes[15] = byte & 7;
	a.bytes[0] = byte & 0x80;
	return a;
}

/* Goes along the whole list, each candidate skipped or not by the bits of `skips`; the last server has seen nothing. */
static void check_way(struct fl_decide_in in, unsigned skips)
{
	struct fl_decide_out out;
	bool late = false;

	for (unsigned hop = 0;; hop++) {
		require(hop <= FL_LIST_MAX);
		fl_decide(&in, &out);
		while (out.verdict == FL_VERDICT_CHAIN && skips >> hop & 1) {
			fl_u8 before = out.left;

			fl_decide_skip(&in, &out);
			require(out.late && (out.verdict != FL_VERDICT_CHAIN || out.left < before));
			skips >>= 1;
		}
		late |= out.late;
		if (out.verdict != FL_VERDICT_CHAIN)
			break;
		require(out.left < in.list.left && out.left < in.list.count);
		require(fl_address_equal(&out.next, &in.list.candidate[in.list.count - out.left - 1]));
		require(fl_address_is_none(&out.next) || !fl_address_equal(&out.next, &in.self[0]));
		in.list.left = out.left;
		in.list.flags |= out.late ? FL_LIST_LATE : 0;
		in.self[0] = out.next;
		in.generation_seen = 0;
		in.quiet = false;
	}
	if (in.packet == FL_PACKET_UNKNOWN)
		require(out.verdict == (late ? FL_VERDICT_DROP_STALE : FL_VERDICT_DELIVER));
	else
		require(out.verdict == FL_VERDICT_DELIVER);
}

int LLVMFuzzerTestOneInput(const fl_u8 *data, size_t size);
int LLVMFuzzerTestOneInput(const fl_u8 *data, size_t size)
{
	fl_u8 bytes[16] = {0};
	struct fl_decide_in in;
	struct fl_decide_out out;
	bool believed;

	memcpy(bytes, data, size < sizeof(bytes) ? size : sizeof(bytes));
	memset(&in, 0, sizeof(in));
	in.packet = (enum fl_packet_class)(FL_PACKET_SYN + bytes[0] % FL_PACKET_REFUSED);
	in.trusted = !(bytes[1] & 1);
	in.quiet = bytes[1] & 2;
	in.malformed = bytes[1] & 4 ? (enum fl_list_error)(bytes[2] % FL_LIST_ERRORS) : FL_LIST_OK;
	in.list.flags = bytes[1] & 8 ? FL_LIST_LATE : 0;
	in.generation_seen = bytes[3];
	in.list.generation = bytes[4] + 1U;
	in.list.count = bytes[5] % (FL_LIST_MAX + 1);
	in.list.left = in.list.count ? bytes[6] % (in.list.count + 1) : 0;
	in.self[0] = pick(bytes[7]);
	in.self[1] = pick(bytes[8]);
	for (fl_u8 i = 0; i < in.list.count; i++)
		in.list.candidate[i] = pick(bytes[9 + i]);
	memset(&out, 0xa5, sizeof(out));
	fl_decide(&in, &out);
	believed = in.trusted && in.malformed == FL_LIST_OK;
	require((out.verdict == FL_VERDICT_DROP_UNTRUSTED) == !in.trusted);
	require((out.verdict == FL_VERDICT_DROP_MALFORMED) == (in.trusted && in.malformed != FL_LIST_OK));
	require(out.generation_seen ==
		(believed && in.list.generation > in.generation_seen ? in.list.generation : in.generation_seen));
	if (believed)
		check_way(in, bytes[15]);
	return 0;
}
