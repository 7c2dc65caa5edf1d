/* SPDX-License-Identifier: Apache-2.0 */
#include "spec.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <rte_swx_table.h>

enum {
	WORDS_MAX = RTE_SWX_INSTRUCTION_TOKENS_MAX,
	FIELDS_MAX = 256,
	LINES_MAX = 4096, /* of one block of instructions */
	ACTIONS_MAX = 64,
};

/* A .spec as it is read: the line in hand, and its words. */
struct reader {
	struct rte_swx_pipeline *pipeline;
	FILE *file;
	unsigned line;
	char text[RTE_SWX_INSTRUCTION_SIZE * 2];
	char copy[RTE_SWX_INSTRUCTION_SIZE * 2];
	char *words[WORDS_MAX + 1];
	unsigned count;
	struct reason *why;
};

/* Strings that live until the pipeline has copied them. */
struct strings {
	char *at[LINES_MAX];
	unsigned count;
};

static void strings_clear(struct strings *strings)
{
	while (strings->count)
		free(strings->at[--strings->count]);
}

static int fail(const struct reader *reader, int error, const char *what)
{
	return reason_set(reader->why, error, "the pipeline's .spec, line %u: '%.80s': %s", reader->line, reader->copy,
			  what);
}

/* Reads the next line that has words; false at the end. The words point into text, copy keeps the line. */
static bool next(struct reader *reader)
{
	while (fgets(reader->text, sizeof(reader->text), reader->file)) {
		char *at = reader->text, *word;

		reader->line++;
		reader->text[strcspn(reader->text, "\r\n")] = 0;
		at += strspn(at, " \t");
		snprintf(reader->copy, sizeof(reader->copy), "%s", at);
		if (!*at || *at == ';' || *at == '#' || !strncmp(at, "//", 2))
			continue;
		reader->count = 0;
		while (reader->count <= WORDS_MAX && (word = strtok_r(reader->count ? NULL : at, " \t", &at)))
			reader->words[reader->count++] = word;
		return true;
	}
	return false;
}

static bool is(const struct reader *reader, unsigned word, const char *text)
{
	return word < reader->count && !strcmp(reader->words[word], text);
}

static bool is_end(const struct reader *reader)
{
	return reader->count == 1 && is(reader, 0, "}");
}

static bool number(const char *text, uint64_t *out)
{
	char *end;

	errno = 0;
	*out = strtoull(text, &end, 0);
	return *text && !*end && !errno;
}

static char *keep(struct strings *strings, const char *text)
{
	char *copy = strings->count < LINES_MAX ? strdup(text) : NULL;

	if (copy)
		strings->at[strings->count++] = copy;
	return copy;
}

/* bit<N> or varbit<N>; 0: neither. */
static uint32_t bits(const char *word, bool *is_variable)
{
	unsigned n = 0;
	char end;

	*is_variable = !strncmp(word, "varbit<", 7);
	return sscanf(word, *is_variable ? "varbit<%u%c" : "bit<%u%c", &n, &end) == 2 && end == '>' ? n : 0;
}

/* struct NAME { */
static int read_struct(struct reader *reader, struct strings *strings)
{
	struct rte_swx_field_params fields[FIELDS_MAX];
	char *name = reader->count == 3 && is(reader, 2, "{") ? keep(strings, reader->words[1]) : NULL;
	bool is_variable = false;
	uint32_t count = 0;
	int error;

	if (!name)
		return fail(reader, -EINVAL, "allowed: struct NAME {");
	while (next(reader) && !is_end(reader)) {
		if (count == FIELDS_MAX || reader->count != 2 || is_variable)
			return fail(reader, -EINVAL, "allowed: bit<N> FIELD, or as the last one varbit<N> FIELD");
		fields[count].n_bits = bits(reader->words[0], &is_variable);
		fields[count].name = keep(strings, reader->words[1]);
		if (!fields[count].n_bits || !fields[count].name)
			return fail(reader, -EINVAL, "allowed: bit<N> FIELD, or as the last one varbit<N> FIELD");
		count++;
	}
	error = rte_swx_pipeline_struct_type_register(reader->pipeline, name, fields, count, is_variable);
	return error ? fail(reader, error, "the struct before is not valid") : 0;
}

/* header NAME instanceof STRUCT */
static int read_header(struct reader *reader)
{
	int error;

	if (reader->count != 4 || !is(reader, 2, "instanceof"))
		return fail(reader, -EINVAL, "allowed: header NAME instanceof STRUCT");
	error = rte_swx_pipeline_packet_header_register(reader->pipeline, reader->words[1], reader->words[3]);
	return error ? fail(reader, error, "not a valid header") : 0;
}

static int read_metadata(struct reader *reader)
{
	int error;

	if (reader->count != 3 || !is(reader, 1, "instanceof"))
		return fail(reader, -EINVAL, "allowed: metadata instanceof STRUCT");
	error = rte_swx_pipeline_packet_metadata_register(reader->pipeline, reader->words[2]);
	return error ? fail(reader, error, "not valid metadata") : 0;
}

/* regarray NAME size N initval V */
static int read_regarray(struct reader *reader)
{
	uint64_t size, value;
	int error;

	if (reader->count != 6 || !is(reader, 2, "size") || !is(reader, 4, "initval") ||
	    !number(reader->words[3], &size) || !number(reader->words[5], &value) || size > UINT32_MAX)
		return fail(reader, -EINVAL, "allowed: regarray NAME size N initval V");
	error = rte_swx_pipeline_regarray_config(reader->pipeline, reader->words[1], (uint32_t)size, value);
	return error ? fail(reader, error, "not a valid register array") : 0;
}

/* Lines up to the closing brace. */
static int read_lines(struct reader *reader, struct strings *strings)
{
	while (next(reader) && !is_end(reader))
		if (!keep(strings, reader->copy))
			return fail(reader, -ENOMEM, "too many lines, or no memory");
	return is_end(reader) ? 0 : fail(reader, -EINVAL, "its closing brace is missing");
}

/* action NAME args none|instanceof STRUCT { */
static int read_action(struct reader *reader, struct strings *strings)
{
	struct strings lines = {.count = 0};
	char *name, *args = NULL;
	int error;

	if (reader->count < 5 || !is(reader, 2, "args") || !is(reader, reader->count - 1, "{"))
		return fail(reader, -EINVAL, "allowed: action NAME args none {, or instanceof STRUCT in place of none");
	name = keep(strings, reader->words[1]);
	if (is(reader, 3, "instanceof") && reader->count == 6)
		args = keep(strings, reader->words[4]);
	else if (!is(reader, 3, "none") || reader->count != 5)
		return fail(reader, -EINVAL, "allowed: action NAME args none {, or instanceof STRUCT in place of none");
	error = read_lines(reader, &lines);
	if (!error) {
		error =
		    rte_swx_pipeline_action_config(reader->pipeline, name, args, (const char **)lines.at, lines.count);
		if (error)
			fail(reader, error, "the action before is not valid");
	}
	strings_clear(&lines);
	return error;
}

static int read_key(struct reader *reader, struct strings *strings, struct rte_swx_match_field_params *fields,
		    uint32_t *count)
{
	static const struct {
		const char *word;
		enum rte_swx_table_match_type type;
	} types[] = {{"exact", RTE_SWX_TABLE_MATCH_EXACT},
		     {"wildcard", RTE_SWX_TABLE_MATCH_WILDCARD},
		     {"lpm", RTE_SWX_TABLE_MATCH_LPM}};

	while (next(reader) && !is_end(reader)) {
		unsigned type = 0;

		while (reader->count == 2 && type < 3 && !is(reader, 1, types[type].word))
			type++;
		if (reader->count != 2 || type == 3 || *count == FIELDS_MAX)
			return fail(reader, -EINVAL, "allowed: FIELD exact, wildcard or lpm");
		fields[*count].name = keep(strings, reader->words[0]);
		fields[(*count)++].match_type = types[type].type;
	}
	return 0;
}

static int read_actions(struct reader *reader, struct strings *strings, const char **names, int *for_entries,
			int *for_default, uint32_t *count)
{
	while (next(reader) && !is_end(reader)) {
		bool only_table = is(reader, 1, "@tableonly"), only_default = is(reader, 1, "@defaultonly");

		if (*count == ACTIONS_MAX || reader->count != 1U + (only_table || only_default))
			return fail(reader, -EINVAL, "allowed: ACTION, perhaps @tableonly or @defaultonly");
		names[*count] = keep(strings, reader->words[0]);
		for_entries[*count] = !only_default;
		for_default[(*count)++] = !only_table;
	}
	return 0;
}

/* default_action NAME args none|FIELD VALUE ... [const] */
static int read_default(struct reader *reader, struct strings *strings, struct rte_swx_pipeline_table_params *params)
{
	char args[RTE_SWX_INSTRUCTION_SIZE] = "";

	if (reader->count < 4 || !is(reader, 2, "args"))
		return fail(reader, -EINVAL, "allowed: default_action NAME args none, perhaps const");
	params->default_action_name = keep(strings, reader->words[1]);
	params->default_action_is_const = is(reader, reader->count - 1, "const");
	if (is(reader, 3, "none"))
		return 0;
	for (unsigned i = 3; i < reader->count - (params->default_action_is_const ? 1U : 0U); i++) {
		strncat(args, reader->words[i], sizeof(args) - strlen(args) - 1);
		strncat(args, " ", sizeof(args) - strlen(args) - 1);
	}
	params->default_action_args = keep(strings, args);
	return 0;
}

/* table NAME { */
static int read_table(struct reader *reader, struct strings *strings)
{
	struct rte_swx_match_field_params fields[FIELDS_MAX];
	const char *actions[ACTIONS_MAX];
	int for_entries[ACTIONS_MAX], for_default[ACTIONS_MAX];
	struct rte_swx_pipeline_table_params params = {.fields = fields,
						       .action_names = actions,
						       .action_is_for_table_entries = for_entries,
						       .action_is_for_default_entry = for_default};
	char *name = reader->count == 3 && is(reader, 2, "{") ? keep(strings, reader->words[1]) : NULL;
	char *type = NULL, *args = NULL;
	uint64_t size = 0;
	int error = 0;

	if (!name)
		return fail(reader, -EINVAL, "allowed: table NAME {");
	while (!error && next(reader) && !is_end(reader)) {
		if (is(reader, 0, "key"))
			error = read_key(reader, strings, fields, &params.n_fields);
		else if (is(reader, 0, "actions"))
			error = read_actions(reader, strings, actions, for_entries, for_default, &params.n_actions);
		else if (is(reader, 0, "default_action"))
			error = read_default(reader, strings, &params);
		else if (is(reader, 0, "instanceof") && reader->count == 2)
			type = keep(strings, reader->words[1]);
		else if (is(reader, 0, "pragma") && reader->count == 2)
			args = keep(strings, reader->words[1]);
		else if (is(reader, 0, "hash") && reader->count == 2)
			params.hash_func_name = keep(strings, reader->words[1]);
		else if (!is(reader, 0, "size") || reader->count != 2 || !number(reader->words[1], &size) ||
			 size > UINT32_MAX)
			error = fail(reader, -EINVAL,
				     "allowed: key, actions, default_action, instanceof, pragma, hash, size");
	}
	if (error)
		return error;
	error = rte_swx_pipeline_table_config(reader->pipeline, name, &params, type, args, (uint32_t)size);
	return error ? fail(reader, error, "the table before is not valid") : 0;
}

static int read_apply(struct reader *reader)
{
	struct strings lines = {.count = 0};
	int error = read_lines(reader, &lines);

	if (!error) {
		error = rte_swx_pipeline_instructions_config(reader->pipeline, (const char **)lines.at, lines.count);
		if (error)
			fail(reader, error, "the instructions before are not valid");
	}
	strings_clear(&lines);
	return error;
}

static int read_block(struct reader *reader, struct strings *strings)
{
	if (is(reader, 0, "struct"))
		return read_struct(reader, strings);
	if (is(reader, 0, "header"))
		return read_header(reader);
	if (is(reader, 0, "metadata"))
		return read_metadata(reader);
	if (is(reader, 0, "regarray"))
		return read_regarray(reader);
	if (is(reader, 0, "action"))
		return read_action(reader, strings);
	if (is(reader, 0, "table"))
		return read_table(reader, strings);
	if (is(reader, 0, "apply"))
		return read_apply(reader);
	return fail(reader, -EINVAL, "allowed: struct, header, metadata, regarray, action, table, apply");
}

int spec_build(struct rte_swx_pipeline *pipeline, FILE *spec, struct reason *why)
{
	struct reader reader = {.pipeline = pipeline, .file = spec, .why = why};
	struct strings strings = {.count = 0};
	int error = 0;

	while (!error && next(&reader)) {
		error = read_block(&reader, &strings);
		strings_clear(&strings);
	}
	if (!error) {
		error = rte_swx_pipeline_build(pipeline);
		if (error)
			reason_set(why, error, "the pipeline's .spec can't be built: %s", strerror(-error));
	}
	return error;
}
