/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the server's XDP program costs a packet, by BPF_PROG_TEST_RUN with real sockets behind it. Run as root.
 *
 *	server_bpf [--runs N] [--packets N] [--row TEXT] [--json FILE]
 *
 * Two numbers a row. "loop" repeats one packet, everything in the first-level cache (server_looped.h). "single" hands the
 * packet over each time, with a system call between two packets, which leaves the caches as a busy host might. From
 * both an empty program measured in the same way is taken off. They are medians of `runs` runs over `packets` packets, all
 * rows in turns; the fastest and slowest run stand beside "single". The first row is the empty program in the loop: what
 * the kernel's repetition and putting the packet back cost, and no other row has in it. --row: only rows whose names
 * contain the text.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <jansson.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "program.h"
#include "server_looped.h"
#include "skeleton.h"
#include "tests/rig.h"

enum {
	RUNS_MAX = 101,
	PACKETS_MAX = 10000000,
	WARM_UP = 1000,
	LOOP_MORE = 10, /* packets of the loop for each single one, which takes as long */
};

struct bench {
	unsigned int runs, packets;
	const char *json, *row;
	struct fl_server *plain, *tagged; /* without and with keys */
	int empty;                        /* a program that does nothing */
	struct looped *looped;
};

struct result {
	const char *name;
	double single, fastest, slowest;
	double loop;
};

struct subject {
	const char *name;
	void (*make)(struct packet *packet);
	bool is_tagged;
	int action;
	const struct fl_load_setting *load; /* of the service; NULL if nobody set it */
	bool is_calm;                       /* no SYN cookies have been sent lately */
};

static const struct fl_siphash_key tag_key = {0x0706050403020100, 0x0f0e0d0c0b0a0908};

static void die(const char *what)
{
	fprintf(stderr, "server_bpf: %s\n", what);
	exit(1);
}

static void tcp_make(struct packet *packet, const struct fl_list *list, const struct packet_tcp *tcp)
{
	rig_begin(packet, list);
	packet_add_tcp(packet, tcp);
	packet_finish_outer(packet);
}

/* The header of a packet that names these servers, all of which are still to be tried. */
static struct fl_list list_of(const char *first, const char *second)
{
	const char *const names[] = {first, second};
	struct fl_list list = rig_list(RIG_IPV4);

	for (; list.count < 2 && names[list.count]; list.count++) {
		list.candidate[list.count] = packet_address(names[list.count]);
		if (!fl_address_is_ipv4(&list.candidate[list.count]))
			list.flags |= FL_LIST_IPV6;
	}
	list.left = list.count;
	return list;
}

static void established_make(struct packet *packet)
{
	struct fl_list list = list_of(NULL, NULL);

	tcp_make(packet, &list, &rig_packets(RIG_IPV4)->established);
}

static void established_listed_make(struct packet *packet)
{
	struct fl_list list = list_of("10.1.0.21", "10.1.0.23");

	tcp_make(packet, &list, &rig_packets(RIG_IPV4)->established);
}

static void syn_make(struct packet *packet)
{
	struct fl_list list = list_of(NULL, NULL);

	tcp_make(packet, &list, &rig_packets(RIG_IPV4)->syn);
}

static void syn_listed_make(struct packet *packet)
{
	struct fl_list list = list_of("10.1.0.21", NULL);

	tcp_make(packet, &list, &rig_packets(RIG_IPV4)->syn);
}

static void unknown_make(struct packet *packet)
{
	struct fl_list list = list_of(NULL, NULL);

	tcp_make(packet, &list, &rig_packets(RIG_IPV4)->unknown);
}

static void stale_make(struct packet *packet)
{
	struct fl_list list = list_of(NULL, NULL);

	list.generation--;
	tcp_make(packet, &list, &rig_packets(RIG_IPV4)->unknown);
}

static void chained_make(struct packet *packet)
{
	struct fl_list list = list_of("10.1.0.21", NULL);

	tcp_make(packet, &list, &rig_packets(RIG_IPV4)->unknown);
}

static void chained_first_make(struct packet *packet)
{
	struct fl_list list = list_of("10.1.0.21", "10.1.0.23");

	tcp_make(packet, &list, &rig_packets(RIG_IPV4)->unknown);
}

static void chained_ipv6_make(struct packet *packet)
{
	struct fl_list list = list_of("2001:db8:1::21", NULL);

	tcp_make(packet, &list, &rig_packets(RIG_IPV4)->unknown);
}

/* With a tag of the service's key, or one that differs from it in these bits. */
static void tagged_make(struct packet *packet, struct fl_list list, const struct packet_tcp *tcp, fl_u64 wrong)
{
	struct fl_siphash_key key = fl_list_key(&tag_key, RIG_SERVICE);
	struct fl_address self = packet_address(RIG_SELF);
	struct fl_list_message message;
	struct packet inner = {.len = 0};

	list.flags |= FL_LIST_TAG;
	packet_add_tcp(&inner, tcp);
	if (!fl_list_tag_message(&list, &self, inner.data, inner.data + inner.len, &message))
		die("a packet that cannot be tagged");
	fl_store_be64(list.tag, fl_list_tag(&key, &message) ^ wrong);
	tcp_make(packet, &list, tcp);
}

static void established_tagged_make(struct packet *packet)
{
	tagged_make(packet, list_of(NULL, NULL), &rig_packets(RIG_IPV4)->established, 0);
}

static void established_listed_tagged_make(struct packet *packet)
{
	tagged_make(packet, list_of("10.1.0.21", "10.1.0.23"), &rig_packets(RIG_IPV4)->established, 0);
}

static void chained_tagged_make(struct packet *packet)
{
	tagged_make(packet, list_of("10.1.0.21", NULL), &rig_packets(RIG_IPV4)->unknown, 0);
}

/* Of a connection whose right tag no row has, so that none is remembered. */
static void wrong_tag_make(struct packet *packet)
{
	tagged_make(packet, list_of(NULL, NULL), &rig_packets(RIG_IPV4)->syn, 1);
}

static void wrong_tag_listed_make(struct packet *packet)
{
	tagged_make(packet, list_of("10.1.0.21", "10.1.0.23"), &rig_packets(RIG_IPV4)->syn, 1);
}

/* To a VIP that this host lacks: the packet stays as it is, and can be looped. */
static void foreign_make(struct packet *packet, const struct fl_list *list)
{
	struct packet_tcp tcp = rig_packets(RIG_IPV4)->syn;

	tcp.flow.destination = packet_address("10.99.0.2");
	tcp_make(packet, list, &tcp);
}

static void foreign_syn_make(struct packet *packet)
{
	struct fl_list list = list_of(NULL, NULL);

	foreign_make(packet, &list);
}

static void stranger_make(struct packet *packet)
{
	fl_u8 *ip = packet->data + PACKET_OUTER_AT;

	established_make(packet);
	fl_store_be32(ip + 12, 0xc0000201);
	fl_store_be16(ip + 10, 0);
	fl_store_be16(ip + 10, packet_checksum(ip, 20, 0));
}

static void not_ours_make(struct packet *packet)
{
	established_make(packet);
	packet->data[PACKET_UDP_AT + 3]++;
}

/* Thresholds that are never reached, and one that always is; one packet in 50 ends dynamic's window. */
static const struct fl_load_setting takes = {.threshold = UINT32_MAX, .policy = FL_LOAD_STATIC};
static const struct fl_load_setting adapts = {
    .threshold = UINT32_MAX, .window = 50, .epsilon = 100, .policy = FL_LOAD_DYNAMIC};
static const struct fl_load_setting refuses = {.busy = 1, .threshold = 1, .policy = FL_LOAD_STATIC};

/*
 * One with a wrong tag is hashed each time: it costs, beyond one without a tag, what hashing costs. The rig's listeners
 * have sent SYN cookies lately, as in a flood: then each unknown ACK is looked at as one.
 */
static const struct subject subjects[] = {
    {"pass: not ours", not_ours_make, false, XDP_PASS, NULL, false},
    {"drop: untrusted", stranger_make, false, XDP_DROP, NULL, false},
    {"drop: stale", stale_make, false, XDP_DROP, NULL, false},
    {"drop: stale, no SYN cookies", stale_make, false, XDP_DROP, NULL, true},
    {"drop: no tag", established_make, true, XDP_DROP, NULL, false},
    {"drop: a wrong tag", wrong_tag_make, true, XDP_DROP, NULL, false},
    {"drop: a wrong tag, two candidates", wrong_tag_listed_make, true, XDP_DROP, NULL, false},
    {"drop: SYN, VIP missing", foreign_syn_make, false, XDP_DROP, NULL, false},
    {"deliver: SYN", syn_make, false, XDP_PASS, NULL, false},
    {"deliver: SYN, a candidate", syn_listed_make, false, XDP_PASS, NULL, false},
    {"deliver: SYN, load is set", syn_make, false, XDP_PASS, &takes, false},
    {"deliver: SYN, a candidate, static", syn_listed_make, false, XDP_PASS, &takes, false},
    {"deliver: SYN, a candidate, dynamic", syn_listed_make, false, XDP_PASS, &adapts, false},
    {"chain: SYN, refused", syn_listed_make, false, XDP_TX, &refuses, false},
    {"deliver: unknown", unknown_make, false, XDP_PASS, NULL, false},
    {"deliver: local socket", established_make, false, XDP_PASS, NULL, false},
    {"deliver: local socket, two candidates", established_listed_make, false, XDP_PASS, NULL, false},
    {"deliver: local socket, tagged", established_tagged_make, true, XDP_PASS, NULL, false},
    {"deliver: the same, two candidates", established_listed_tagged_make, true, XDP_PASS, NULL, false},
    {"chain: told by the packet", chained_make, false, XDP_TX, NULL, false},
    {"chain: the same, no SYN cookies", chained_make, false, XDP_TX, NULL, true},
    {"chain: to the first of two", chained_first_make, false, XDP_TX, NULL, false},
    {"chain: to an IPv6 owner", chained_ipv6_make, false, XDP_TX, NULL, false},
    {"chain: told by the packet, tagged", chained_tagged_make, true, XDP_TX, NULL, false},
};

enum {
	SUBJECTS = sizeof(subjects) / sizeof(subjects[0]),
	ROWS = 1 + SUBJECTS, /* with the empty program's */
};

static int compare(const void *a, const void *b)
{
	double left = *(const double *)a, right = *(const double *)b;

	return (left > right) - (left < right);
}

/* Nanoseconds of one call of BPF_PROG_TEST_RUN, per repetition. */
static double call(int program, const struct packet *packet, unsigned int repeat, int action)
{
	static fl_u8 out[PACKET_MAX];
	struct xdp_md context = {.data_end = (__u32)packet->len, .ingress_ifindex = rig_interface()};
	LIBBPF_OPTS(bpf_test_run_opts, options, .data_in = packet->data, .data_size_in = (__u32)packet->len,
		    .data_out = out, .data_size_out = sizeof(out), .ctx_in = &context, .ctx_size_in = sizeof(context),
		    .repeat = (int)repeat);

	if (bpf_prog_test_run_opts(program, &options))
		die(strerror(errno));
	if ((int)options.retval != action)
		die("the program did something else than what is measured");
	return options.duration;
}

/* Mean of so many packets, each handed over again. */
static double singles(int program, const struct packet *packet, unsigned int packets, int action)
{
	double sum = 0;
	unsigned int i;

	for (i = 0; i < packets; i++)
		sum += call(program, packet, 1, action);
	return sum / packets;
}

/* Of one packet in the loop. */
static double looped(const struct bench *bench, int program, const struct packet *packet, int action)
{
	return call(looped_prepare(bench->looped, program, packet), packet, bench->packets * LOOP_MORE, action);
}

/* One run over a subject's packets; *frame: of the empty program in the loop. */
static void run_once(const struct bench *bench, const struct subject *subject, double *single, double *loop,
		     double *frame)
{
	struct fl_server *server = subject->is_tagged ? bench->tagged : bench->plain;
	int program = bpf_program__fd(server->progs.fairlead_server);
	struct packet packet;
	double empty;

	rig_generation_set(server, RIG_GENERATION);
	rig_load_set(server, subject->load);
	subject->make(&packet);
	rig_command("echo %d >/proc/sys/net/ipv4/tcp_syncookies", subject->is_calm ? 0 : 2);
	singles(program, &packet, WARM_UP, subject->action);
	empty = singles(bench->empty, &packet, bench->packets, XDP_PASS);
	*single = singles(program, &packet, bench->packets, subject->action) - empty;
	*frame = looped(bench, bench->empty, &packet, XDP_PASS);
	*loop = looped(bench, program, &packet, subject->action) - *frame;
}

static bool is_wanted(const struct bench *bench, const char *name)
{
	return !bench->row || strstr(name, bench->row);
}

/* The subjects in turns, so that what else the machine does meets all of them. Returns how many rows there are. */
static size_t measure(const struct bench *bench, struct result results[ROWS])
{
	static double single[SUBJECTS][RUNS_MAX], loop[SUBJECTS][RUNS_MAX], frame[SUBJECTS * RUNS_MAX];
	size_t n, rows = 0, frames = 0;
	unsigned int run;

	for (run = 0; run < bench->runs; run++)
		for (n = 0; n < SUBJECTS; n++)
			if (is_wanted(bench, subjects[n].name))
				run_once(bench, &subjects[n], &single[n][run], &loop[n][run], &frame[frames++]);
	qsort(frame, frames, sizeof(double), compare);
	results[rows++] = (struct result){.name = "an empty program", .loop = frame[frames / 2]};
	for (n = 0; n < SUBJECTS; n++) {
		if (!is_wanted(bench, subjects[n].name))
			continue;
		qsort(single[n], bench->runs, sizeof(double), compare);
		qsort(loop[n], bench->runs, sizeof(double), compare);
		results[rows++] = (struct result){.name = subjects[n].name,
						  .single = single[n][bench->runs / 2],
						  .fastest = single[n][0],
						  .slowest = single[n][bench->runs - 1],
						  .loop = loop[n][bench->runs / 2]};
	}
	return rows;
}

static int empty_load(void)
{
	const struct bpf_insn instructions[] = {
	    {.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = XDP_PASS},
	    {.code = BPF_JMP | BPF_EXIT},
	};
	/* for frames in several buffers, as the server's: else the loop could not call it */
	LIBBPF_OPTS(bpf_prog_load_opts, options, .prog_flags = BPF_F_XDP_HAS_FRAGS, .expected_attach_type = BPF_XDP);
	int fd = bpf_prog_load(BPF_PROG_TYPE_XDP, "empty", "GPL", instructions, 2, &options);

	if (fd < 0)
		die("cannot load an empty program");
	return fd;
}

static void print_table(const struct result *results, size_t count)
{
	size_t i;

	printf("%-38s %8s %8s %8s %8s\n", "ns per packet", "single", "fastest", "slowest", "loop");
	for (i = 0; i < count; i++) {
		printf("%-38s %8.0f %8.0f %8.0f %8.1f\n", results[i].name, results[i].single, results[i].fastest,
		       results[i].slowest, results[i].loop);
	}
}

static void print_json(const struct bench *bench, const struct result *results, size_t count)
{
	json_t *rows = json_array(), *document;
	FILE *file;
	size_t i;

	for (i = 0; i < count; i++)
		json_array_append_new(rows, json_pack("{s:s, s:f, s:f, s:f, s:f}", "name", results[i].name, "single",
						      results[i].single, "fastest", results[i].fastest, "slowest",
						      results[i].slowest, "loop", results[i].loop));
	document = json_pack("{s:s, s:s, s:i, s:i, s:o}", "benchmark", "server_bpf", "unit", "ns per packet", "runs",
			     (int)bench->runs, "packets", (int)bench->packets, "rows", rows);
	file = fopen(bench->json, "w");
	if (!file || json_dumpf(document, file, JSON_INDENT(2)) || fputs("\n", file) < 0 || fclose(file))
		die("cannot write the JSON file");
	json_decref(document);
}

static unsigned int number(const char *flag, const char *text, unsigned long max)
{
	char *end;
	unsigned long value = strtoul(text, &end, 10);

	if (text[0] < '0' || text[0] > '9' || *end || value < 1 || value > max) {
		fprintf(stderr, "server_bpf: %s: '%s' is not allowed; allowed: 1 to %lu\n", flag, text, max);
		exit(2);
	}
	return (unsigned int)value;
}

int main(int argc, char **argv)
{
	struct bench bench = {.runs = 5, .packets = 1000000};
	struct result results[ROWS];
	struct config config = rig_config_both();
	size_t rows;
	int i;

	for (i = 1; i < argc; i += 2) {
		if (i + 1 < argc && !strcmp(argv[i], "--runs"))
			bench.runs = number(argv[i], argv[i + 1], RUNS_MAX);
		else if (i + 1 < argc && !strcmp(argv[i], "--packets"))
			bench.packets = number(argv[i], argv[i + 1], PACKETS_MAX);
		else if (i + 1 < argc && !strcmp(argv[i], "--row"))
			bench.row = argv[i + 1];
		else if (i + 1 < argc && !strcmp(argv[i], "--json"))
			bench.json = argv[i + 1];
		else
			die("allowed: --runs 1..101, --packets 1..10000000, --row TEXT, --json FILE");
	}
	rig_open();
	bench.plain = rig_load(&config);
	rig_tag(&config, &tag_key);
	bench.tagged = rig_load(&config);
	bench.empty = empty_load();
	bench.looped = looped_open();
	rows = measure(&bench, results);
	if (rows == 1)
		die("--row: no row's name contains it; without --row all are printed");
	print_table(results, rows);
	if (bench.json)
		print_json(&bench, results, rows);
	program_close(bench.plain);
	program_close(bench.tagged);
	looped_close(bench.looped);
	close(bench.empty);
	return 0;
}
