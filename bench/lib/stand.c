/* SPDX-License-Identifier: Apache-2.0 */
#include "stand.h"

#include <stdio.h>
#include <string.h>

const char *const stand_stages[STAND_STAGES] = {"classify", "hash", "choose", "rows", "encap"};

void stand_cpu(char *out, size_t size)
{
	FILE *info = fopen("/proc/cpuinfo", "r");
	char line[256];

	snprintf(out, size, "unknown");
	while (info && fgets(line, sizeof(line), info)) {
		const char *value = strchr(line, ':');

		if (strncmp(line, "model name", 10) || !value)
			continue;
		snprintf(out, size, "%.*s", (int)strcspn(value + 2, "\n\"\\"), value + 2);
		break;
	}
	if (info)
		fclose(info);
}

static void print_row(FILE *out, const struct stands *stands, const struct stand *s)
{
	fprintf(out,
		"  {\"name\": \"%s\", \"hash\": \"%s\", \"encap\": \"%s\", \"steering\": \"%s\", "
		"\"buckets\": %u, \"flows\": %u, \"services\": %u, \"generations\": %lu, \"bytes\": %lu,\n   "
		"\"median\": %.2f, \"fastest\": %.2f, \"slowest\": %.2f, \"ratio\": %.3f",
		s->row.name, s->row.hash == FL_HASH_CRC32 ? "crc32" : "siphash", s->row.encap->name,
		s->row.stateful ? "flowtable" : s->row.steering->name, s->row.buckets, s->row.flows, s->row.services,
		(unsigned long)s->generations, (unsigned long)s->bytes, s->median, s->fastest, s->slowest, s->ratio);
	fprintf(out, ", \"cycles\": %.1f, \"stages\": {", s->median / stands->ns_of_cycle);
	for (int stage = 0; stage < STAND_STAGES; stage++)
		fprintf(out, "%s\"%s\": %.2f", stage ? ", " : "", stand_stages[stage], s->stage[stage]);
	fprintf(out, "}");
	if (s->instructions >= 0)
		fprintf(out, ", \"instructions\": %.1f", s->instructions);
	if (s->misses >= 0)
		fprintf(out, ", \"cache_misses\": %.2f", s->misses);
	fprintf(out, "}");
}

bool stands_write(const struct stands *stands, const char *path)
{
	FILE *out = fopen(path, "w");
	char cpu[128];

	if (!out)
		return false;
	stand_cpu(cpu, sizeof(cpu));
	fprintf(out,
		"{\"benchmark\": \"mux_packet\", \"cpu\": \"%s\",\n \"seed\": %lu, \"runs\": %u, "
		"\"backends\": %d,\n",
		cpu, (unsigned long)stands->seed, stands->runs, STAND_BACKENDS);
	fprintf(out,
		" \"frame_bytes\": %d, \"unit\": \"ns per packet\", \"cycle_ns\": %.4f, \"core_cycle_ns\": %.4f, "
		"\"counters\": %s,\n",
		STAND_FRAME, stands->ns_of_cycle, stands->core_ns,
		stands->list[0].misses < 0 ? "\"none on this machine\"" : "\"perf\"");
	fprintf(out, " \"results\": [\n");
	for (int i = 0; i < stands->count; i++) {
		print_row(out, stands, &stands->list[i]);
		fputs(i + 1 < stands->count ? ",\n" : "\n", out);
	}
	fputs("]}\n", out);
	return !fclose(out);
}

void stands_print(const struct stands *stands)
{
	printf("ns per packet, %d bytes, %d backends, median of %u runs (fastest .. slowest), seed %lu\n", STAND_FRAME,
	       STAND_BACKENDS, stands->runs, (unsigned long)stands->seed);
	printf("%s\n\n", stands->list[0].misses < 0
			     ? "this machine has no counters: instructions by single steps are in the JSON file"
			     : "instructions and cache misses are in the JSON file");
	printf("%-30s median                ratio  cycles   Mpps   classify   hash     choose   rows  encap\n", "");
	for (int i = 0; i < stands->count; i++) {
		const struct stand *s = &stands->list[i];

		printf("%-30s %6.1f (%5.1f..%6.1f) %6.2f %7.0f %6.1f   %8.1f %6.1f %10.1f %6.1f %6.1f\n", s->row.name,
		       s->median, s->fastest, s->slowest, s->ratio, s->median / stands->ns_of_cycle, 1000 / s->median,
		       s->stage[0], s->stage[1], s->stage[2], s->stage[3], s->stage[4]);
	}
}
