/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the agent's table costs, in process: a dump of many connections, then as many events as a second may bring, an
 * answer to a question about every bucket, and memory. With a hash: the same table where connections are reported one
 * by one: a step of their age, the same events, all connections in reports, and some ends. Connections are drawn from a
 * seed.
 *
 *	agent_census [CONNECTIONS [PAIRS [SEED [siphash|crc32]]]]
 *
 * Prints one JSON object. A pair is one connection that opens and one that closes. Times are of the processor.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "agent/aging.h"
#include "agent/census.h"
#include "agent/parts.h"
#include "agent/report.h"

enum {
	BUCKETS = 65536,
	AGE_SECONDS = 60,
	ENDS = 200000, /* told, at most */
};

#define SECOND_NS 1000000000ULL

#define DOCUMENT(version, hash, more)                                                                                  \
	"{\"format\": 1, \"version\": \"" version                                                                      \
	"\", \"services\": [{\"name\": \"web\", \"id\": 1, \"vips\": [\"10.99.0.1\"], "                                \
	"\"ports\": [{\"protocol\": \"tcp\", \"port\": 443}], \"buckets\": 65536, \"hash\": \"" hash                   \
	"\", \"hashKey\": "                                                                                            \
	"\"000102030405060708090a0b0c0d0e0f\", \"affinity\": \"connection\", \"backends\": [{\"id\": 7, \"address\": " \
	"\"10.2.0.7\"}]" more "}]}"
#define CONNECTIONS ", \"connections\": {\"ageSeconds\": 60}"

static const char text[] = DOCUMENT("1", "siphash", "");
static const char two_buckets[] = DOCUMENT("1", "siphash", ", \"twoBuckets\": true");
static const char told_siphash[] = DOCUMENT("1", "siphash", CONNECTIONS);
static const char told_crc32[] = DOCUMENT("1", "crc32", CONNECTIONS);

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

static void serve(struct census *census, const char *document)
{
	static const struct services_mangle plain = {
	    false, {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 2, 0, 7}}, {{0}}};

	if (!census_serve(census, services_read(document, strlen(document), &plain)))
		die("no memory for services");
}

/* Sends reports until all is told; how many bytes of JSON that took. */
static size_t tell(struct census *census)
{
	static struct report report = {.boot = "0", .has_events = true};
	struct told_answer answer = {"m", "k", ""};
	const struct told *told = &census->tallies[0].told;
	size_t bytes = 0;

	do {
		char *made;

		parts_draw(census, AGE_SECONDS * SECOND_NS);
		report.sequence++;
		made = report_write(&report, census);
		if (!made)
			die("no memory for a report");
		bytes += strlen(made);
		free(made);
		parts_answered(census, 0, &answer, AGE_SECONDS * SECOND_NS, 0);
	} while (told->has_more);
	return bytes;
}

/* The same connections where they are reported one by one. */
static void told(fl_u64 seed, fl_u64 connections, fl_u64 pairs, const char *document)
{
	struct fl_siphash_key key = {mixed(seed), mixed(seed + 1)};
	struct census *census = census_new(&key);
	fl_u64 now = AGE_SECONDS * SECOND_NS, ends = connections < ENDS ? connections : ENDS;
	struct told_answer asks = {"m", "k", ""};
	double begun, stepped, paired, told_all, ended;
	size_t bytes;

	serve(census, document);
	census_age(census, now);
	census_dump_begin(census, now);
	census_dump_end(census, true);
	for (fl_u64 i = 0; i < connections; i++) {
		struct socket_name name = name_of(seed, i);

		census_open(census, &name, now);
	}
	begun = seconds();
	census_age(census, now + AGE_SECONDS * SECOND_NS / AGING_OLD);
	stepped = seconds();
	for (fl_u64 i = 0; i < pairs; i++) {
		struct socket_name opened = name_of(seed, connections + i), closed = name_of(seed, i);

		census_open(census, &opened, now);
		census_close(census, &closed);
	}
	paired = seconds();
	census_age(census, now + 2 * AGE_SECONDS * SECOND_NS);
	parts_answered(census, 0, &asks, now, 0);
	told_all = seconds();
	bytes = tell(census);
	told_all = seconds() - told_all;
	for (fl_u64 i = 0; i < ends; i++) {
		struct socket_name closed = name_of(seed, pairs + i);

		census_close(census, &closed);
	}
	ended = seconds();
	tell(census);
	ended = seconds() - ended;
	printf("{\"hash\": \"%s\", \"stepMs\": %.1f, \"pairNs\": %.1f, \"toldNs\": %.1f, \"toldBytes\": %.1f, "
	       "\"endNs\": %.1f, "
	       "\"residentKb\": %ld, \"peakKb\": %ld}\n",
	       census->services->list[0].hash == FL_HASH_CRC32 ? "crc32" : "siphash", (stepped - begun) * 1e3,
	       (paired - stepped) / (double)pairs * 1e9, told_all / (double)connections * 1e9,
	       (double)bytes / (double)connections, ended / (double)ends * 1e9, status("VmRSS:"), status("VmHWM:"));
	census_free(census);
}

/* Milliseconds of an answer about every bucket of the ring; dies if a connection is not in it. */
static double ask_all(struct census *census)
{
	struct bucket_set *all = bucket_set_new(BUCKETS);
	struct answer_of answer = {.question = &census->tallies[0].question};
	double begun;

	if (!all)
		die("no memory");
	for (fl_u32 i = 0; i < BUCKETS; i++)
		bucket_set_add(all, i);
	question_ask(&census->tallies[0].question, "all", all, 1);
	begun = seconds();
	question_answer_all(census->services, census->table, &answer);
	begun = seconds() - begun;
	free(answer.buckets);
	if (answer.connections != census->tallies[0].established)
		die("connections are missing in the answer");
	return begun * 1e3;
}

static void counted(fl_u64 seed, fl_u64 connections, fl_u64 pairs)
{
	struct fl_siphash_key key = {mixed(seed), mixed(seed + 1)};
	struct census *census = census_new(&key);
	double begun, listed, paired, answered, served;
	long resident, peak, peak_services;

	if (!census)
		die("no memory");
	serve(census, text);
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

		census_open(census, &opened, 1);
		census_close(census, &closed);
	}
	paired = seconds();
	resident = status("VmRSS:");
	peak = status("VmHWM:");
	answered = ask_all(census);
	served = seconds();
	serve(census, text);
	served = seconds() - served;
	peak_services = status("VmHWM:");
	serve(census, two_buckets);
	printf("{\"connections\": %llu, \"pairs\": %llu, \"seed\": %llu, \"recordNs\": %.1f, \"pairNs\": %.1f, "
	       "\"answerMs\": "
	       "%.1f, \"answerTwoBucketsMs\": %.1f, \"servicesMs\": %.1f, \"residentKb\": %ld, \"peakKb\": %ld, "
	       "\"peakServicesKb\": %ld}\n",
	       (unsigned long long)connections, (unsigned long long)pairs, (unsigned long long)seed,
	       (listed - begun) / (double)connections * 1e9, (paired - listed) / (double)pairs * 1e9, answered,
	       ask_all(census), served * 1e3, resident, peak, peak_services);
	census_free(census);
}

int main(int argc, char **argv)
{
	fl_u64 connections = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000000;
	fl_u64 pairs = argc > 2 ? strtoull(argv[2], NULL, 10) : 2000000;
	fl_u64 seed = argc > 3 ? strtoull(argv[3], NULL, 10) : 1;
	const char *hash = argc > 4 ? argv[4] : NULL;

	if (!connections || !pairs || argc > 5 || (hash && strcmp(hash, "siphash") && strcmp(hash, "crc32")))
		die("wrong arguments; allowed: [CONNECTIONS [PAIRS [SEED [siphash|crc32]]]]");
	if (hash)
		told(seed, connections, pairs, *hash == 's' ? told_siphash : told_crc32);
	else
		counted(seed, connections, pairs);
	return 0;
}
