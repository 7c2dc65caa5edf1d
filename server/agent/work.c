// SPDX-License-Identifier: Apache-2.0
#include "work.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "work.bpf.h"
#include "clock.h"
#include "diag.h"

/* the program is one string of its bytes */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Woverlength-strings"
#include "agent_work.skel.h"
#pragma GCC diagnostic pop

enum {
	CLOSE_WAIT = 8,  /* from the kernel's net/tcp_states.h */
	LIST_MAX = 1024, /* connections a read */
	MARK_SECONDS = 60,
};

struct work {
	struct agent_work *program;
	struct bpf_link *mark_all, *list;
	bool is_marked; /* what was open before, at marked_ns */
	fl_u64 marked_ns;
	const char *why;
	struct diag *diag; /* if there is no program */
};

static const char *attach(struct work *work)
{
	union bpf_iter_link_info info = {.map.map_fd = (__u32)bpf_map__fd(work->program->maps.marks)};
	LIBBPF_OPTS(bpf_iter_attach_opts, options, .link_info = &info, .link_info_len = sizeof(info));

	work->program->links.mark_new = bpf_program__attach(work->program->progs.mark_new);
	if (!work->program->links.mark_new)
		return "the kernel has no tracepoint sock/inet_sock_set_state, or does not attach to it";
	work->mark_all = bpf_program__attach_iter(work->program->progs.mark_all, NULL);
	work->list = bpf_program__attach_iter(work->program->progs.list_work, &options);
	return work->mark_all && work->list ? NULL : "the kernel does not list sockets by a program";
}

static const char *load(struct work *work)
{
	struct stat netns;

	if (access("/sys/kernel/btf/vmlinux", R_OK))
		return "the kernel has no BTF";
	work->program = agent_work__open();
	if (!work->program)
		return "the program cannot be read";
	if (stat("/proc/self/ns/net", &netns))
		return "/proc does not name the network namespace";
	work->program->rodata->netns = (__u32)netns.st_ino;
	if (agent_work__load(work->program))
		return errno == EPERM ? "CAP_BPF and CAP_PERFMON are missing" : "the kernel does not load the program";
	return attach(work);
}

static void unload(struct work *work)
{
	bpf_link__destroy(work->mark_all);
	bpf_link__destroy(work->list);
	agent_work__destroy(work->program);
	work->mark_all = work->list = NULL;
	work->program = NULL;
}

struct work *work_open(bool with_program)
{
	struct work *work = calloc(1, sizeof(*work));
	libbpf_print_fn_t loud;

	if (!work)
		return NULL;
	work->why = "--no-events";
	if (with_program) {
		loud = libbpf_set_print(NULL);
		work->why = load(work);
		libbpf_set_print(loud);
	}
	if (!work->why)
		return work;
	unload(work);
	work->diag = diag_open();
	if (work->diag)
		return work;
	free(work);
	return NULL;
}

void work_close(struct work *work)
{
	if (!work)
		return;
	unload(work);
	diag_close(work->diag);
	free(work);
}

const char *work_why(const struct work *work)
{
	return work->why;
}

struct reading {
	const struct services *services;
	fl_u32 *counts;
};

static void count(const struct reading *reading, const struct fl_address *local, fl_u16 port)
{
	unsigned endpoint = services_endpoint(reading->services, local, port);

	if (endpoint != SERVICES_NO_ENDPOINT)
		reading->counts[reading->services->endpoints[endpoint].service]++;
}

/* Reads the list of an iterator's link to its end. Returns 0 or a negative errno. */
static int list(const struct bpf_link *link, const struct reading *reading)
{
	struct agent_work_end found[LIST_MAX];
	int fd = bpf_iter_create(bpf_link__fd(link));
	struct fl_address local;
	ssize_t got;
	int err;

	if (fd < 0)
		return -errno;
	while ((got = read(fd, found, sizeof(found))) > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR)))
		for (ssize_t i = 0; i < got / (ssize_t)sizeof(found[0]); i++) {
			memcpy(local.bytes, found[i].address, sizeof(local.bytes));
			count(reading, &local, (fl_u16)found[i].port);
		}
	err = got < 0 ? -errno : 0;
	close(fd);
	return err;
}

void work_serve(struct work *work, const struct services *services)
{
	__u64 *ports;

	if (!work->program)
		return;
	ports = work->program->bss->ports;
	memset(ports, 0, sizeof(work->program->bss->ports));
	for (size_t i = 0; i < services->endpoint_count; i++)
		for (unsigned port = services->endpoints[i].first; port <= services->endpoints[i].last; port++)
			ports[port / 64] |= 1ULL << port % 64;
	work->is_marked = false;
}

static int read_program(struct work *work, const struct reading *reading, fl_u64 now_ns)
{
	int err = 0;

	if (!work->is_marked || now_ns - work->marked_ns >= MARK_SECONDS * SECOND_NS) {
		err = list(work->mark_all, reading);
		work->is_marked = !err;
		work->marked_ns = now_ns;
	}
	return err ? err : list(work->list, reading);
}

static void take(void *context, const struct diag_socket *socket)
{
	const struct tcp_info *info = socket->info;

	/* a client's FIN counts as a byte */
	if (info && info->tcpi_bytes_received > (info->tcpi_state == CLOSE_WAIT) &&
	    (!info->tcpi_bytes_sent || info->tcpi_last_data_recv < info->tcpi_last_data_sent))
		count(context, &socket->name.local, socket->name.local_port);
}

static int read_diag(struct work *work, struct reading *reading)
{
	int more = diag_begin(work->diag, DIAG_WORK);

	if (more)
		return more;
	do
		more = diag_step(work->diag, take, reading);
	while (more > 0);
	return more;
}

int work_read(struct work *work, const struct services *services, fl_u64 now_ns, fl_u32 *counts)
{
	struct reading reading = {services, counts};

	memset(counts, 0, services->count * sizeof(*counts));
	return work->program ? read_program(work, &reading, now_ns) : read_diag(work, &reading);
}
