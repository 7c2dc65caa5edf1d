/* SPDX-License-Identifier: Apache-2.0 */
/*
 * At build time: generate SPEC CODE makes C of a .spec, by DPDK's own generator. That builds a pipeline of the .spec and
 * knows only SWX's own hash functions, so `siphash` is replaced before (compiled.h). What it writes is changed in one
 * place: each function of the pipeline gets a copy of its packet's state (own.h).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_swx_pipeline.h>

#include "library.h"

enum { LINE_LEN_MAX = 4096 };

/* What own.h must know of a .spec. */
struct shape {
	unsigned headers;
	unsigned metadata_bits;
};

static const char hash[] = "\thash siphash ", standin[] = "\thash " COMPILED_STANDIN " ";

static void die(const char *path, const char *text)
{
	fprintf(stderr, "generate: %s: %s\n", path, text);
	exit(1);
}

/* Adds a line's part to the shape. A struct is metadata if the line behind it says so, so each one is counted. */
static void look(const char *path, const char *line, struct shape *shape)
{
	static const char *const copied[] = {"\tlearn ", "\tmirror ", "\trecirculate", "\textern "};
	static char name[64];
	static unsigned bits;
	char word[64];
	unsigned width;

	for (unsigned i = 0; i < sizeof(copied) / sizeof(*copied); i++)
		if (!strncmp(line, copied[i], strlen(copied[i])))
			die(path,
			    "has an instruction of which own.h keeps no state: learn, mirror, recirculate, extern");
	if (sscanf(line, "struct %63s {", word) == 1) {
		strcpy(name, word);
		bits = 0;
	} else if (sscanf(line, "\tbit<%u>", &width) == 1) {
		bits += width;
	} else if (!strncmp(line, "header ", 7)) {
		shape->headers++;
	} else if (sscanf(line, "metadata instanceof %63s", word) == 1) {
		if (strcmp(word, name))
			die(path, "has another struct between that of the metadata and its use");
		shape->metadata_bits = bits;
	}
}

/* The .spec with the other hash function, as a file. */
static FILE *read_spec(const char *path, struct shape *shape)
{
	FILE *spec = fopen(path, "r"), *out = tmpfile();
	char line[LINE_LEN_MAX];

	if (!spec || !out)
		die(path, "can't be read");
	while (fgets(line, sizeof(line), spec)) {
		look(path, line, shape);
		if (!strncmp(line, standin, sizeof(standin) - 1))
			die(path, "uses the hash function " COMPILED_STANDIN ", which stands for siphash here");
		if (!strncmp(line, hash, sizeof(hash) - 1))
			fprintf(out, "%s%s", standin, line + sizeof(hash) - 1);
		else
			fputs(line, out);
	}
	fclose(spec);
	rewind(out);
	return out;
}

/* The generated code with OWN_THREAD in its functions of the pipeline. */
static void copy_code(const char *path, FILE *from, FILE *to)
{
	static const char thread[] = "\tstruct thread *t = &p->threads[p->thread_id];\n";
	char line[LINE_LEN_MAX];
	unsigned functions = 0, changed = 0;

	rewind(from);
	while (fgets(line, sizeof(line), from)) {
		if (!strncmp(line, "pipeline_func_", 14))
			functions++;
		if (functions && !strcmp(line, thread)) {
			fputs("\tOWN_THREAD\n", to);
			changed++;
		} else {
			fputs(line, to);
		}
	}
	if (!functions || changed != functions)
		die(path, "DPDK's generated code has another form than own.h is for");
}

int main(int argc, char **argv)
{
	struct shape shape = {0};
	char id[BUILD_ID_MAX];
	const char *text = NULL;
	uint32_t line = 0;
	FILE *spec, *made, *code;

	if (argc != 3)
		die("usage", "generate SPEC CODE");
	build_id_read(id);
	if (!id[0])
		die("DPDK", "its pipeline library has no build id, by which the program could know it again");
	spec = read_spec(argv[1], &shape);
	made = tmpfile();
	code = fopen(argv[2], "w");
	if (!made || !code)
		die(argv[2], "can't be written");
	if (rte_swx_pipeline_codegen(spec, made, &line, &text)) {
		fprintf(stderr, "generate: %s: line %u: %s\n", argv[1], line, text ? text : "no reason given");
		return 1;
	}
	/* structs: one for an action's arguments, the headers', the metadata's */
	fprintf(code, "enum { OWN_STRUCTS = %u, OWN_METADATA_BYTES = %u };\n", shape.headers + 2,
		(shape.metadata_bits + 7) / 8);
	fputs("#include \"inline.h\"\n#include \"rte_swx_pipeline_internal.h\"\n#include \"own.h\"\n", code);
	copy_code(argv[1], made, code);
	fputs("\nconst unsigned compiled_structs = OWN_STRUCTS, compiled_metadata_bytes = OWN_METADATA_BYTES;\n", code);
	fprintf(code, "const char compiled_for[] = \"%s\";\n", id);
	fclose(spec);
	fclose(made);
	if (fclose(code))
		die(argv[2], "can't be written");
	return 0;
}
