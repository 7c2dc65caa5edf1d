/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What Katran's XDP program costs a packet, by BPF_PROG_TEST_RUN. bench/run peers builds the program and runs this as
 * root:
 *
 *	peer_packet FLOWS,... PACKETS IPIP GUE IPIP_UNGUARDED GUE_UNGUARDED
 *
 * The last four are files, the program in each of its builds; unguarded: it remembers new flows at any rate. Each line
 * on standard input asks for a round, which is answered by a line of JSON: every row measured once, beginning one row
 * later each time.
 *
 * Method. One system call repeats feed() (peer_feed.bpf.c), which makes the buffer a packet of the next flow and calls
 * the program. The same is done with two programs of our own in its place, immediately before: keep() returns at once,
 * grow() makes room for a header as the program does. With K, G and B the times of a repetition with the program, with
 * grow() and with keep(), a packet costs K - G + (G - B) / 2. G - B is what it takes to make room and to take it back,
 * which are the same work, and the program pays only for the first. Time is the thread's own, over hundreds of
 * thousands of packets a call, so that the call does not count.
 *
 * Errors. A processor does part of feed()'s work while it waits for the program's memory, so a difference of times is
 * too small by up to feed()'s own, which is reported. All packets lie in one buffer, which stays in the first-level
 * cache; a real port's do not. No port sends them. All three favour the program.
 *
 * Known flows come in random order, from a cache with twice their number of places. New flows have never been seen,
 * and their cache is full before the first is measured, so that each one that is remembered evicts another. The program
 * remembers at most 125,000 new flows a second; rows with this guard measure packets past that limit: its counter is
 * set there before each call, and a call in which the second ended is left out. After each run the program's own
 * counters must say that the packets met what the row is about.
 */
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <jansson.h>
#include <linux/bpf.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "peer_feed.h"
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Woverlength-strings" /* the program is one */
#include "peer_feed.skel.h"
#pragma GCC diagnostic pop
#include "peer_tables.h"

enum encap { IPIP, GUE, ENCAPS };
enum kind { CACHED, NO_CACHE, NEW, SYN };

enum {
	SIZES_MAX = 8,
	ROWS_MAX = ENCAPS * (SIZES_MAX + 5),
	CALL_MAX = 1 << 19, /* packets of a system call */
	WARM = 1 << 14,
	CALL_GUARDED = 1 << 15, /* a few milliseconds */
	TRIES = 1000,           /* of calls that a second ended in */
	PACKETS_MAX = 100000000,
	ETHERNET = 14,
	IPV4 = 20,
	UDP = 8,
	GUE_PORT = 6080, /* the program's, without another by its macros */
	AT_FLAGS = 47,
	ACK_FLAG = 0x10,
	SYN_FLAG = 0x02,
};

static const char *const encap_names[ENCAPS] = {"ipip", "gue"};
static const char *const kind_names[] = {"cached", "no cache", "new", "SYN"};
static const uint32_t headers[ENCAPS] = {IPV4, IPV4 + UDP};

struct row {
	enum encap encap;
	enum kind kind;
	uint32_t flows; /* 0: each packet's is new */
	bool is_guarded;
	double ns, feed; /* a packet, of the last round */
	double packets;
};

struct bench {
	uint32_t sizes[SIZES_MAX], size_count, packets, processor;
	uint64_t seed;
	struct peer peers[ENCAPS][2]; /* unguarded, guarded */
	int known, fresh;             /* caches */
	struct peer_feed *feed;
	struct row rows[ROWS_MAX];
	uint32_t row_count;
};

static const uint8_t frame[PEER_FRAME] = {2,    0, 0, 0,  0, 1, 2,  0, 0,  0, 0, 2, 8, 0, /* Ethernet */
					  0x45, 0, 0, 50, 0, 0, 64, 0, 64, 6, 0, 0, 0, 0, 0, 0,    10,
					  99,   0, 0, 0,  0, 0, 80, 0, 0,  0, 0, 0, 0, 0, 0, 0x50, ACK_FLAG};

static double seconds_of(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* What the peer sends to a server: one of ours, by its encapsulation, the packet behind it unchanged. */
static void sent_check(enum encap encap, const uint8_t *packet, uint32_t len)
{
	const uint8_t *ip = packet + ETHERNET, *inner = ip + headers[encap];
	uint8_t vip[4], server[4];

	peer_vip_address(vip);
	peer_server_address(server, 0);
	if (len != PEER_FRAME + headers[encap] || ip[0] != 0x45 || ip[9] != (encap == GUE ? IPPROTO_UDP : IPPROTO_IPIP))
		peer_die("a packet left by %s is %u bytes long, its outer protocol %u", encap_names[encap], len, ip[9]);
	if (encap == GUE && (ip[IPV4 + 2] << 8 | ip[IPV4 + 3]) != GUE_PORT)
		peer_die("a packet left to UDP port %u, not %u", ip[IPV4 + 2] << 8 | ip[IPV4 + 3], GUE_PORT);
	if (memcmp(ip + 16, server, 2) || inner[0] != 0x45 || memcmp(inner + 16, vip, sizeof(vip)))
		peer_die("a packet left to %u.%u.%u.%u, which is no server", ip[16], ip[17], ip[18], ip[19]);
}

/* Repeats feed() over packets in one call; returns the thread's seconds. sent: what the last one became, or NULL. */
static double call(const struct bench *b, uint32_t packets, bool is_syn, const struct row *sent)
{
	uint8_t in[PEER_FRAME], out[4096];
	double start;
	LIBBPF_OPTS(bpf_test_run_opts, options, .data_in = in, .data_size_in = sizeof(in), .data_out = out,
		    .data_size_out = sizeof(out), .repeat = (int)packets);

	memcpy(in, frame, sizeof(in));
	in[AT_FLAGS] = is_syn ? SYN_FLAG : ACK_FLAG;
	start = seconds_of(CLOCK_THREAD_CPUTIME_ID);
	if (bpf_prog_test_run_opts(bpf_program__fd(b->feed->progs.feed), &options))
		peer_die("the kernel can't run the program: %s", strerror(errno));
	start = seconds_of(CLOCK_THREAD_CPUTIME_ID) - start;
	if (options.retval != XDP_TX)
		peer_die("the program returned %u for a packet of the service, not XDP_TX", options.retval);
	if (sent)
		sent_check(sent->encap, out, options.data_size_out);
	return start;
}

static double calls(const struct bench *b, uint32_t packets, bool is_syn, const struct row *sent)
{
	double spent = 0;

	for (uint32_t done = 0, n; done < packets; done += n) {
		n = packets - done < CALL_MAX ? packets - done : CALL_MAX;
		spent += call(b, n, is_syn, sent);
	}
	return spent;
}

static void target_set(const struct bench *b, int program)
{
	const uint32_t key = 0;

	if (bpf_map_update_elem(bpf_map__fd(b->feed->maps.peer), &key, &program, BPF_ANY))
		peer_die("the program can't be called by ours: %s", strerror(errno));
}

/* splitmix64 */
static uint64_t chance(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

/* The numbers below flows in random order; 0: new flows. */
static void order_set(struct bench *b, uint32_t flows)
{
	uint32_t *order = b->feed->bss->order;

	b->feed->bss->flows = flows;
	b->feed->bss->at = 0;
	for (uint32_t i = 0; i < flows; i++) {
		uint32_t other = (uint32_t)(chance(&b->seed) % (i + 1));

		order[i] = order[other];
		order[other] = i;
	}
}

static void counts_check(const struct row *row, struct peer_count before, struct peer_count after, double packets)
{
	double all = (double)(after.first - before.first), missed = (double)(after.second - before.second);

	if (all != packets || missed != (row->kind == CACHED ? 0 : packets))
		peer_die("%s, %s, %u flows: of %.0f packets the program counted %.0f, and %.0f not in its cache",
			 encap_names[row->encap], kind_names[row->kind], row->flows, packets, all, missed);
}

/* Calls past the limit of new flows; returns the seconds of those that ended before the limit was lifted. */
static double calls_guarded(const struct bench *b, const struct row *row, double *packets)
{
	double spent = 0;
	uint32_t tries = 0;

	for (uint32_t done = 0; done < b->packets;) {
		struct peer_count before;
		double took;

		peer_guard_set(&b->peers[row->encap][true]);
		before = peer_packets(&b->peers[row->encap][true]);
		took = call(b, CALL_GUARDED, row->kind == SYN, row);
		counts_check(row, before, peer_packets(&b->peers[row->encap][true]), CALL_GUARDED);
		if (!peer_guard_is_on(&b->peers[row->encap][true])) {
			if (++tries == TRIES)
				peer_die("too busy a machine: calls of %d packets take a second", CALL_GUARDED);
			continue;
		}
		spent += took;
		done += CALL_GUARDED;
		*packets = done;
	}
	return spent;
}

static void row_run(struct bench *b, struct row *row)
{
	const struct peer *peer = &b->peers[row->encap][row->is_guarded];
	double keep, grow, spent;
	bool is_syn = row->kind == SYN;
	struct peer_count before;

	peer_service_set(peer, row->kind != NO_CACHE);
	peer_cache_set(peer, b->processor, row->flows ? b->known : b->fresh);
	order_set(b, row->flows);
	b->feed->bss->header = headers[row->encap];
	target_set(b, bpf_program__fd(b->feed->progs.keep));
	calls(b, WARM, is_syn, NULL);
	keep = calls(b, b->packets, is_syn, NULL) / b->packets;
	target_set(b, bpf_program__fd(b->feed->progs.grow));
	grow = calls(b, b->packets, is_syn, NULL) / b->packets;
	target_set(b, peer->program);
	if (row->is_guarded) {
		spent = calls_guarded(b, row, &row->packets);
	} else {
		calls(b, row->flows > WARM ? row->flows : WARM, is_syn, row);
		before = peer_packets(peer);
		spent = calls(b, b->packets, is_syn, row);
		row->packets = b->packets;
		counts_check(row, before, peer_packets(peer), row->packets);
	}
	row->feed = grow * 1e9;
	row->ns = (spent / row->packets - grow + (grow - keep) / 2) * 1e9;
}

static void row_add(struct bench *b, enum encap encap, enum kind kind, uint32_t flows, bool is_guarded)
{
	b->rows[b->row_count++] = (struct row){.encap = encap, .kind = kind, .flows = flows, .is_guarded = is_guarded};
}

static void rows_make(struct bench *b)
{
	for (enum encap encap = IPIP; encap < ENCAPS; encap++) {
		for (uint32_t i = 0; i < b->size_count; i++)
			row_add(b, encap, CACHED, b->sizes[i], false);
		row_add(b, encap, NO_CACHE, b->sizes[b->size_count - 1], false);
		row_add(b, encap, NEW, 0, true);
		row_add(b, encap, NEW, 0, false);
		row_add(b, encap, SYN, 0, true);
		row_add(b, encap, SYN, 0, false);
	}
}

static void round_print(const struct bench *b)
{
	json_t *rows = json_array(), *line = json_object();

	for (uint32_t i = 0; i < b->row_count; i++) {
		const struct row *row = &b->rows[i];

		json_array_append_new(rows, json_pack("{s:s, s:s, s:i, s:b, s:f, s:f, s:f}", "encap",
						      encap_names[row->encap], "kind", kind_names[row->kind], "flows",
						      (int)row->flows, "guard", row->is_guarded, "ns", row->ns, "feed",
						      row->feed, "packets", row->packets));
	}
	json_object_set_new(line, "rows", rows);
	if (json_dumpf(line, stdout, JSON_COMPACT) || putchar('\n') == EOF || fflush(stdout))
		peer_die("standard output can't be written");
	json_decref(line);
}

/* Binds the process to its processor: the program has a cache for each. */
static void processor_hold(struct bench *b)
{
	int processor = sched_getcpu();
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(processor, &one);
	if (processor < 0 || sched_setaffinity(0, sizeof(one), &one))
		peer_die("the process can't be bound to a processor: %s", strerror(errno));
	b->processor = (uint32_t)processor;
}

/* Both caches in the state that the rows need: all known flows are in one, and only others in the full second one. */
static void caches_fill(struct bench *b)
{
	uint32_t most = 0, places;
	const struct peer *peer = &b->peers[IPIP][false];

	for (uint32_t i = 0; i < b->size_count; i++)
		most = b->sizes[i] > most ? b->sizes[i] : most;
	places = 2 * most > 1 << 16 ? 2 * most : 1 << 16;
	b->known = peer_cache_new(places);
	b->fresh = peer_cache_new(places);
	peer_service_set(peer, true);
	target_set(b, peer->program);
	peer_cache_set(peer, b->processor, b->known);
	order_set(b, most);
	calls(b, most, false, NULL);
	peer_cache_set(peer, b->processor, b->fresh);
	order_set(b, 0);
	calls(b, places + places / 4, false, NULL);
}

static uint32_t number(const char *what, const char *text, char **end, uint32_t max)
{
	unsigned long value = strtoul(text, end, 10);

	if (text[0] < '0' || text[0] > '9' || value < 1 || value > max)
		peer_die("%s: '%s' is not allowed; allowed: 1 to %u", what, text, max);
	return (uint32_t)value;
}

static uint32_t whole(const char *what, const char *text, uint32_t max)
{
	char *end;
	uint32_t value = number(what, text, &end, max);

	if (*end)
		peer_die("%s: '%s' is not allowed; allowed: 1 to %u", what, text, max);
	return value;
}

static void sizes_parse(struct bench *b, char *text)
{
	for (char *at = text;; at++) {
		if (b->size_count == SIZES_MAX)
			peer_die("FLOWS: '%s' are too many; allowed: %d", text, SIZES_MAX);
		b->sizes[b->size_count++] = number("FLOWS", at, &at, PEER_FLOWS_MAX);
		if (!*at)
			return;
		if (*at != ',')
			peer_die("FLOWS: '%s' is not allowed; allowed: numbers with commas between", text);
	}
}

int main(int argc, char **argv)
{
	static struct bench b = {.seed = 1};
	uint32_t first = 0;
	char line[16];

	if (argc != 7)
		peer_die("wanted: FLOWS,... PACKETS IPIP GUE IPIP_UNGUARDED GUE_UNGUARDED");
	sizes_parse(&b, argv[1]);
	b.packets = whole("PACKETS", argv[2], PACKETS_MAX);
	processor_hold(&b);
	for (enum encap encap = IPIP; encap < ENCAPS; encap++) {
		peer_open(&b.peers[encap][true], argv[3 + encap]);
		peer_open(&b.peers[encap][false], argv[5 + encap]);
	}
	b.feed = peer_feed__open_and_load();
	if (!b.feed)
		peer_die("our own program can't be loaded: %s", strerror(errno));
	caches_fill(&b);
	rows_make(&b);
	while (fgets(line, sizeof(line), stdin)) {
		for (uint32_t i = 0; i < b.row_count; i++)
			row_run(&b, &b.rows[(first + i) % b.row_count]);
		first++;
		round_print(&b);
	}
	peer_feed__destroy(b.feed);
	for (enum encap encap = IPIP; encap < ENCAPS; encap++)
		for (int guard = 0; guard < 2; guard++)
			peer_close(&b.peers[encap][guard]);
	return 0;
}
