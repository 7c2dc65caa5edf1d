/* SPDX-License-Identifier: Apache-2.0 */
/*
 * At build time: generate SPEC CODE makes C of a .spec, by DPDK's own generator. That builds a pipeline of the .spec and
 * knows only SWX's own hash functions, so `siphash` is replaced before (compiled.h).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_swx_pipeline.h>

#include "library.h"

static const char hash[] = "\thash siphash ", standin[] = "\thash " COMPILED_STANDIN " ";

static void die(const char *path, const char *text)
{
	fprintf(stderr, "generate: %s: %s\n", path, text);
	exit(1);
}

/* The .spec with the other hash function, as a file. */
static FILE *read_spec(const char *path)
{
	FILE *spec = fopen(path, "r"), *out = tmpfile();
	char line[4096];

	if (!spec || !out)
		die(path, "can't be read");
	while (fgets(line, sizeof(line), spec)) {
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

int main(int argc, char **argv)
{
	char id[BUILD_ID_MAX];
	const char *text = NULL;
	uint32_t line = 0;
	FILE *spec, *code;

	if (argc != 3)
		die("usage", "generate SPEC CODE");
	build_id_read(id);
	if (!id[0])
		die("DPDK", "its pipeline library has no build id, by which the program could know it again");
	spec = read_spec(argv[1]);
	code = fopen(argv[2], "w");
	if (!code)
		die(argv[2], "can't be written");
	fputs("#include \"inline.h\"\n", code);
	if (rte_swx_pipeline_codegen(spec, code, &line, &text)) {
		fprintf(stderr, "generate: %s: line %u: %s\n", argv[1], line, text ? text : "no reason given");
		return 1;
	}
	fprintf(code, "\nconst char compiled_for[] = \"%s\";\n", id);
	fclose(spec);
	if (fclose(code))
		die(argv[2], "can't be written");
	return 0;
}
