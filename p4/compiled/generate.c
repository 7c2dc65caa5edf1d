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

enum { LINE_LEN_MAX = 4096, FIELDS_MAX = 256 };

/* What own.h must know of a .spec. */
struct shape {
	unsigned headers;
	unsigned fields; /* of the last struct: in the end, of the metadata */
	unsigned bits[FIELDS_MAX];
	char name[64];     /* its */
	char metadata[64]; /* once that is known */
};

static const char hash[] = "\thash siphash ", standin[] = "\thash " COMPILED_STANDIN " ";

static void die(const char *path, const char *text)
{
	fprintf(stderr, "generate: %s: %s\n", path, text);
	exit(1);
}

/* Adds a line's part to the shape. */
static void look(const char *path, const char *line, struct shape *shape)
{
	static const char *const refused[] = {"\tlearn ", "\tmirror ", "\trecirculate", "\textern "};
	unsigned bits;
	char name[64];

	for (unsigned i = 0; i < sizeof(refused) / sizeof(*refused); i++)
		if (!strncmp(line, refused[i], strlen(refused[i])))
			die(path, "has learn, mirror, recirculate or extern, whose state own.h does not keep");
	if (sscanf(line, "struct %63s {", name) == 1 && !shape->metadata[0]) {
		strcpy(shape->name, name);
		shape->fields = 0;
	} else if (sscanf(line, "\tbit<%u>", &bits) == 1 && !shape->metadata[0]) {
		if (shape->fields == FIELDS_MAX || bits % 8)
			die(path, "has a struct of more fields than 256, or one that is not of whole bytes");
		shape->bits[shape->fields++] = bits;
	} else if (!strncmp(line, "header ", 7)) {
		shape->headers++;
	} else if (sscanf(line, "metadata instanceof %63s", shape->metadata) == 1 &&
		   strcmp(shape->metadata, shape->name)) {
		die(path, "has another struct between that of the metadata and its use");
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

/* Structs are one for an action's arguments, the headers', and the metadata's. */
static void write_shape(FILE *code, const struct shape *shape)
{
	fprintf(code, "#include <stdint.h>\n\nenum { OWN_STRUCTS = %u };\n\nstruct own_fields {\n", shape->headers + 2);
	for (unsigned i = 0; i < shape->fields; i++) {
		unsigned bits = shape->bits[i];

		if (bits == 8 || bits == 16 || bits == 32 || bits == 64)
			fprintf(code, "\tuint%u_t field%u;\n", bits, i);
		else
			fprintf(code, "\tuint8_t field%u[%u];\n", i, bits / 8);
	}
	fputs("} __attribute__((packed));\n\n", code);
}

/* In the generated code, of an instruction. */
static void check_instruction(const char *path, const char *line)
{
	static const char *const known[] = {/* of narrow.h */
					    "mov", "mov_i", "mov_mh", "mov_hm", "alu_add", "alu_sub", "alu_and",
					    "alu_or", "alu_xor", "alu_add_mi", "alu_and_i", "alu_or_i", "alu_xor_i",
					    "alu_shl_mi", "alu_shr_mi", "regrd_mrm", "regrd_mri", "regrd_hrm",
					    "regadd_rmi", "regadd_rmh", "regadd_rmm", "regwr_rmi", "regwr_rmm",
					    "alu_sub_mi", "alu_shl", "alu_shr", "hdr_emit",
					    /* of DPDK, without metadata in t->structs */
					    "hash_func", "alu_ckadd_struct20", "hdr_validate", "hdr_invalidate"};
	static const char begin[] = "__instr_", end[] = "_exec(";
	const char *name = strstr(line, begin), *behind = name ? strstr(name, end) : NULL;
	size_t len;

	if (!behind)
		return;
	name += sizeof(begin) - 1;
	len = (size_t)(behind - name);
	if ((!strncmp(name, "hdr_emit", 8) && !strncmp(behind - 3, "_tx", 3)) || !strncmp(name, "hdr_extract", 11))
		return;
	for (unsigned i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (strlen(known[i]) == len && !strncmp(known[i], name, len))
			return;
	fprintf(stderr, "generate: %s: p4/compiled/narrow.h has no instruction %.*s\n", path, (int)len, name);
	exit(1);
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
		if (functions)
			check_instruction(path, line);
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
	write_shape(code, &shape);
	fputs("#include \"inline.h\"\n#include \"rte_swx_pipeline_internal.h\"\n#include \"narrow.h\"\n#include "
	      "\"own.h\"\n",
	      code);
	copy_code(argv[1], made, code);
	fputs("\nconst unsigned compiled_structs = OWN_STRUCTS, compiled_metadata_bytes = sizeof(struct own_fields);\n",
	      code);
	fprintf(code, "const char compiled_for[] = \"%s\";\n", id);
	fclose(spec);
	fclose(made);
	if (fclose(code))
		die(argv[2], "can't be written");
	return 0;
}
