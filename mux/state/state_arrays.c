/* SPDX-License-Identifier: Apache-2.0 */
#include "state/state_arrays.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include <fairlead/types.h>

#include "state/state_folder.h"

enum { AT_HAS_PREVIOUS = 4, AT_PREVIOUS = 8, AT_ZERO = 12, AT_FILE_CHECKSUM = 8, AT_FILE_ZERO = 12 };

static void store_file(const struct arrays_file *file, uint8_t *out)
{
	fl_store_le64(out, file->len);
	fl_store_le32(out + AT_FILE_CHECKSUM, file->checksum);
	fl_store_le32(out + AT_FILE_ZERO, 0);
}

size_t state_arrays_store(const struct arrays_set *set, uint8_t out[STATE_ARRAYS_PART_MAX])
{
	if (!set->version.newest)
		return 0;
	fl_store_le32(out, set->version.newest);
	fl_store_le32(out + AT_HAS_PREVIOUS, set->version.has_previous);
	fl_store_le32(out + AT_PREVIOUS, set->version.previous);
	fl_store_le32(out + AT_ZERO, 0);
	store_file(&set->newest_file, out + STATE_ARRAYS_VERSION_LEN);
	if (!set->version.previous)
		return STATE_ARRAYS_VERSION_LEN + STATE_ARRAYS_FILE_LEN;
	store_file(&set->previous_file, out + STATE_ARRAYS_VERSION_LEN + STATE_ARRAYS_FILE_LEN);
	return STATE_ARRAYS_PART_MAX;
}

static int load_file(const uint8_t *data, uint32_t generation, struct arrays_file *out, struct reason *why)
{
	out->len = fl_load_le64(data);
	out->checksum = fl_load_le32(data + AT_FILE_CHECKSUM);
	if (out->len && out->len <= STEERING_ARRAYS_BYTES_MAX && !fl_load_le32(data + AT_FILE_ZERO))
		return 0;
	return reason_set(why, -EINVAL, "arrays of generation %u: length %" PRIu64 ", then %u; allowed: 1..%d, then 0",
			  generation, out->len, fl_load_le32(data + AT_FILE_ZERO), STEERING_ARRAYS_BYTES_MAX);
}

static int load_version(const uint8_t *data, struct arrays_version *out, struct reason *why)
{
	uint32_t has_previous = fl_load_le32(data + AT_HAS_PREVIOUS);

	*out = (struct arrays_version){
	    .newest = fl_load_le32(data),
	    .has_previous = has_previous,
	    .previous = fl_load_le32(data + AT_PREVIOUS),
	};
	if (out->newest && has_previous <= 1 && out->previous < out->newest && (has_previous || !out->previous) &&
	    !fl_load_le32(data + AT_ZERO))
		return 0;
	return reason_set(why, -EINVAL,
			  "arrays of generation %u with previous %u, %u; allowed: previous 0 or 1, below it",
			  out->newest, has_previous, out->previous);
}

int state_arrays_load(const struct state_part *part, struct arrays_set *out, struct reason *why)
{
	const uint8_t *files = part->data + STATE_ARRAYS_VERSION_LEN;
	struct arrays_set set = {0};
	size_t allowed = STATE_ARRAYS_VERSION_LEN + STATE_ARRAYS_FILE_LEN;
	int error;

	*out = set;
	if (!part->len)
		return 0;
	if (part->len != allowed && part->len != STATE_ARRAYS_PART_MAX)
		return reason_set(why, -EINVAL, "a list of arrays of %zu bytes; allowed: 0, %zu or %d", part->len,
				  allowed, STATE_ARRAYS_PART_MAX);
	error = load_version(part->data, &set.version, why);
	if (error)
		return error;
	if (set.version.previous)
		allowed = STATE_ARRAYS_PART_MAX;
	if (part->len != allowed)
		return reason_set(why, -EINVAL, "a list of arrays of %zu bytes; allowed with previous %u: %zu",
				  part->len, set.version.previous, allowed);
	error = load_file(files, set.version.newest, &set.newest_file, why);
	if (!error && set.version.previous)
		error = load_file(files + STATE_ARRAYS_FILE_LEN, set.version.previous, &set.previous_file, why);
	if (!error)
		*out = set;
	return error;
}

/* What one reading needs. */
struct reading {
	const struct steering_arrays *method;
	const struct steering_arrays_expected *expected;
	state_arrays_reader reader;
	void *context;
};

static int parse(const struct reading *reading, uint32_t generation, const struct state_part *part, void **out,
		 struct reason *why)
{
	struct steering_arrays_expected own = *reading->expected;

	own.generation = generation;
	own.base = 0;
	return reading->method->parse(&own, NULL, part->data, part->len, out, why) ? -EINVAL : 0;
}

/* Reads one file. Whatever is wrong with it, the reason has its name. */
static int read_arrays(const struct reading *reading, uint32_t generation, const struct arrays_file *listed, void **out,
		       struct reason *why)
{
	char name[STATE_NAME_MAX + 1];
	struct state_file file;
	struct reason cause = {""};
	uint8_t *data;
	int error = 0;

	state_name_of_arrays(reading->expected->service, generation, listed->checksum, name);
	if (!reading->reader(reading->context, name, &data, &file))
		return reason_set(why, -EINVAL, "its arrays are in %s, which is refused; allowed: a sound file", name);
	if (file.checksum != listed->checksum || file.parts[0].len != listed->len || file.parts[1].len ||
	    file.parts[2].len)
		error =
		    reason_set(&cause, -EINVAL,
			       "checksum %08x, parts of %zu, %zu and %zu bytes; allowed: %08x, %" PRIu64 ", 0 and 0",
			       file.checksum, file.parts[0].len, file.parts[1].len, file.parts[2].len, listed->checksum,
			       listed->len);
	else
		error = parse(reading, generation, &file.parts[0], out, &cause);
	if (error)
		reason_set(why, error, "%s: %.200s", name, cause.text);
	free(data);
	return error;
}

int state_arrays_read(const struct state_part *part, const struct steering_arrays *method,
		      const struct steering_arrays_expected *expected, state_arrays_reader reader, void *context,
		      struct arrays_set *out, struct reason *why)
{
	const struct reading reading = {method, expected, reader, context};
	struct arrays_set set;
	int error;

	*out = (struct arrays_set){0};
	if (!part->len)
		return 0;
	if (!method)
		return reason_set(why, -EINVAL, "a list of arrays of %zu bytes; allowed with this steering: none",
				  part->len);
	error = state_arrays_load(part, &set, why);
	if (error)
		return error;
	set.method = method;
	error = read_arrays(&reading, set.version.newest, &set.newest_file, &set.newest, why);
	if (!error && set.version.previous)
		error = read_arrays(&reading, set.version.previous, &set.previous_file, &set.previous, why);
	if (error)
		arrays_set_clear(&set);
	else
		*out = set;
	return error;
}
