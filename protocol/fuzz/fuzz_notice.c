/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a notice: what parses can be written again and says the same, its digest is that of the payload, and no
 * notice is a client's packet. What does not parse leaves no trace. The first byte is the padding of the frame.
 */
#include <stdlib.h>
#include <string.h>

#include <fairlead/notice.h>

static const struct fl_siphash_key key = {1, 2};

static void require(bool property)
{
	if (!property)
		__builtin_trap();
}

static void check_tag(const fl_u8 *data, const fl_u8 *end, const struct fl_notice *notice)
{
	struct fl_tag_message message;
	fl_u64 digest;

	require(fl_notice_digest(&key, data, end, notice, &digest));
	require(digest == fl_siphash(&key, data + notice->steer.header_len, notice->count * FL_NOTICE_BUCKET_LEN));
	require(fl_notice_message(&key, data, end, notice, &message));
	require(fl_tag_load(message.bytes + FL_TAG_AT_SOURCE) == digest);
	/* An end that has moved: refused where a bucket is missing, without a read beyond. */
	if (notice->count)
		require(!fl_notice_digest(&key, data, data + notice->steer.header_len, notice, &digest));
}

static void check_written(const fl_u8 *data, const fl_u8 *end, const struct fl_notice *notice)
{
	fl_u32 buckets[FL_NOTICE_BUCKETS_MAX], i, bucket, len;
	fl_u8 written[FL_NOTICE_MAX_LEN];
	struct fl_tag_message message;
	struct fl_notice again;

	for (i = 0; i < notice->count; i++)
		require(fl_notice_bucket(data, end, notice, i, &buckets[i]));
	require(!fl_notice_bucket(data, end, notice, i, &bucket));
	len = fl_notice_write(&notice->steer, buckets, notice->count, &key, written);
	require(len <= sizeof(written));
	require(fl_notice_parse(written, written + len, len, &again) == FL_STEER_OK);
	require(again.count == notice->count && again.steer.service == notice->steer.service);
	require(again.steer.generation == notice->steer.generation && again.steer.since == notice->steer.since);
	require(fl_address_equal(&again.steer.previous, &notice->steer.previous));
	for (i = 0; i < again.count; i++) {
		require(fl_notice_bucket(written, written + len, &again, i, &bucket));
		require(bucket == buckets[i]);
	}
	require(fl_notice_message(&key, written, written + len, &again, &message));
	if (again.steer.flags & FL_STEER_TAG)
		require(fl_tag_load(again.steer.tag) == fl_tag(&key, &message));
}

int LLVMFuzzerTestOneInput(const fl_u8 *data, size_t size);
int LLVMFuzzerTestOneInput(const fl_u8 *data, size_t size)
{
	struct fl_notice notice, untouched;
	struct fl_steer steer;
	const fl_u8 *end = data + size;
	fl_u32 len;

	if (!size)
		return 0;
	len = (fl_u32)(size - 1);
	len -= data[0] < len ? data[0] : len;
	data++;
	memset(&notice, 0xa5, sizeof(notice));
	untouched = notice;
	if (fl_notice_parse(data, end, len, &notice) != FL_STEER_OK) {
		require(!memcmp(&notice, &untouched, sizeof(notice)));
		return 0;
	}
	require(fl_notice_is(data, end) && fl_steer_parse(data, end, &steer) == FL_STEER_INNER_PROTOCOL);
	require(notice.steer.header_len + notice.count * FL_NOTICE_BUCKET_LEN == len);
	check_tag(data, end, &notice);
	check_written(data, end, &notice);
	return 0;
}
