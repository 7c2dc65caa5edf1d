/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the agent's table costs, in process: a dump of many connections, then as many events as a second may bring, an
 * answer to a question about every bucket, and memory. Connections are drawn from a seed.
 *
 *	agent_census [CONNECTIONS [PAIRS [SEED]]]
 *
 * Prints one JSON object. A pair is one connection that opens and one that closes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "agent/census.h"

enum {
	BUCKETS = 65536,
};

static const char text[] =
    "{\"format\": 1, \"version\": \"1\", \"services\": [{\"name\": \"web\", \"id\": 1, \"vips\": [\"10.99.0.1\"], "
    "\"ports\": "
    "[{\"protocol\": \"tcp\", \"port\": 443}], \"buckets\": 65536, \"hash\": \"siphash\", \"hashKey\": "
    "\"000102030405060708090a0b0c0d0e0f\", \"affinity\": \"connection\", \"backends\": [{\"id\": 7, \"address\": "
    "\"10.2.0.7\"}]}]}";

static void die(const char *what)
{
	fprintf(stderr, "agent_census: %s\n", what);
	exit(1);
}

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* A line of /proc/self/status, in KB. */
static long status(const char *key)
{
	FILE *file = fopen("/proc/self/status", "re");
	char line[128];
	long value = -1;

	while (file && fgets(line, sizeof(line), file))
		if (!strncmp(line, key, strlen(key)))
			value = atol(line + strlen(key));
	if (file)
		fclose(file);
	return value;
}

static fl_u64 mixed(fl_u64 x)
{
	x = (x ^ x >> 33) * 0xff51afd7ed558ccdULL;
	x = (x ^ x >> 33) * 0xc4ceb9fe1a85ec53ULL;
	return x ^ x >> 33;
}

static struct socket_name name_of(fl_u64 seed, fl_u64 number)
{
	const fl_u8 vip[4] = {10, 99, 0, 1};
	fl_u64 drawn = mixed(seed << 40 ^ number);
	fl_u8 client[4];

	memcpy(client, &drawn, sizeof(client));
	return (struct socket_name){fl_address_from_ipv4(vip), fl_address_from_ipv4(client), 443,
				    (fl_u16)(drawn >> 48)};
}

int main(int argc, char **argv)
{
	fl_u64 connections = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000000;
	fl_u64 pairs = argc > 2 ? strtoull(argv[2], NULL, 10) : 2000000;
	fl_u64 seed = argc > 3 ? strtoull(argv[3], NULL, 10) : 1;
	static const struct services_mangle plain = {
	    false, {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 2, 0, 7}}, {{0}}};
	struct fl_siphash_key key = {mixed(seed), mixed(seed + 1)};
	struct census *census = census_new(&key);
	struct bucket_set *all = bucket_set_new(BUCKETS);
	double begun, listed, paired, answered, served;
	struct answer_of answer;
	fl_u64 established;
	long resident, peak;

	if (!connections || !census || !all || !census_serve(census, services_read(text, sizeof(text) - 1, &plain)))
		die("no memory, or wrong arguments; allowed: [CONNECTIONS [PAIRS [SEED]]]");
	begun = seconds();
	census_dump_begin(census, 1);
	for (fl_u64 i = 0; i < connections; i++) {
		struct socket_name name = name_of(seed, i);

		census_record(census, &name);
	}
	census_dump_end(census, true);
	listed = seconds();
	for (fl_u64 i = 0; i < pairs; i++) {
		struct socket_name opened = name_of(seed, connections + i), closed = name_of(seed, i);

		census_open(census, &opened);
		census_close(census, &closed);
	}
	paired = seconds();
	resident = status("VmRSS:");
	peak = status("VmHWM:");
	for (fl_u32 i = 0; i < BUCKETS; i++)
		bucket_set_add(all, i);
	census_ask(census, 0, "all", all, 1);
	answered = seconds();
	census_answer(census, &answer);
	answered = seconds() - answered;
	free(answer.buckets);
	established = census_tally(census, 0)->established;
	served = seconds();
	if (!census_serve(census, services_read(text, sizeof(text) - 1, &plain)))
		die("no memory for other services");
	served = seconds() - served;
	printf("{\"connections\": %llu, \"pairs\": %llu, \"seed\": %llu, \"recordNs\": %.1f, \"pairNs\": %.1f, "
	       "\"answerMs\": "
	       "%.1f, \"servicesMs\": %.1f, \"residentKb\": %ld, \"peakKb\": %ld, \"peakServicesKb\": %ld}\n",
	       (unsigned long long)connections, (unsigned long long)pairs, (unsigned long long)seed,
	       (listed - begun) / (double)connections * 1e9, (paired - listed) / (double)pairs * 1e9, answered * 1e3,
	       served * 1e3, resident, peak, status("VmHWM:"));
	if (answer.connections != established)
		die("connections are missing in the answer");
	census_free(census);
	return 0;
}
