/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a notice: what parses is written again byte by byte, its answer parses and says what it was
 * given, and no tag is right for both; what does not parse leaves no trace. The first byte is the padding of the frame.
 */
#include <stdlib.h>
#include <string.h>

#include <fairlead/notice.h>

static const struct fl_siphash_key key = {1, 2};
static const struct fl_address server = {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 1, 0, 22}};

static void require(bool property)
{
	if (!property)
		__builtin_trap();
}

static void check_answer(const fl_u8 *data, size_t len, const struct fl_notice *notice)
{
	struct fl_notice answer = *notice, found;
	fl_u8 *copy = malloc(len);

	require(copy != NULL);
	memcpy(copy, data, len);
	answer.flags |= FL_NOTICE_ACK;
	answer.generation = ~notice->generation | 1;
	answer.tag = fl_notice_tag(&key, &answer, &server);
	require(fl_notice_answer(copy, copy + len, &answer));
	require(!fl_notice_answer(copy, copy + len - 1, &answer));
	require(fl_notice_parse(copy, copy + len, (fl_u32)len, &found) == FL_LIST_OK);
	require(found.flags == answer.flags && found.service == notice->service);
	require(found.generation == answer.generation);
	require(!(found.flags & FL_LIST_TAG) || found.tag == answer.tag);
	found.flags &= (fl_u8)~FL_NOTICE_ACK;
	require(fl_notice_tag(&key, &found, &server) != answer.tag);
	free(copy);
}

int LLVMFuzzerTestOneInput(const fl_u8 *data, size_t size);
int LLVMFuzzerTestOneInput(const fl_u8 *data, size_t size)
{
	fl_u8 written[FL_NOTICE_MAX_LEN];
	struct fl_notice parsed, untouched;
	size_t len;

	if (size < 1 || data[0] >= size)
		return 0;
	len = size - 1 - data[0];
	data++;
	memset(&parsed, 0xa5, sizeof(parsed));
	untouched = parsed;
	if (fl_notice_parse(data, data + size - 1, (fl_u32)len, &parsed) != FL_LIST_OK) {
		require(!memcmp(&parsed, &untouched, sizeof(parsed)));
		return 0;
	}
	require(fl_notice_write(&parsed, written) == len && !memcmp(written, data, len));
	check_answer(data, len, &parsed);
	return 0;
}
