/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The load of an attached XDP program: elements of two of its maps. find() asks the kernel which program is attached, 10
 * microseconds, since the maps of one that was detached would still take what is written into them.
 *
 * The kernel opens a program's maps by their ids for CAP_SYS_ADMIN alone, with which a process may do almost all that root
 * may. The agent reads what comes from the network, so it hands the capability to a second process, the opener, which reads
 * one byte at a time and answers with the two maps of load.h. It ends with the agent.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "load_form.h"
#include "running.h"

enum {
	ASK_MAPS = 'm',
	ASK_ATTACHED = 'a',
	MAPS = 2,
};

struct opener {
	int socket;
	pid_t process;
};

/* A message of the answer: a number, and the maps. */
union control {
	struct cmsghdr header;
	char bytes[CMSG_SPACE(MAPS * sizeof(int))];
};

static bool answer(int socket, int number, const int *maps)
{
	struct iovec bytes = {.iov_base = &number, .iov_len = sizeof(number)};
	struct msghdr message = {.msg_iov = &bytes, .msg_iovlen = 1};
	union control control = {.bytes = {0}};

	if (maps) {
		message.msg_control = &control;
		message.msg_controllen = sizeof(control);
		control.header.cmsg_level = SOL_SOCKET;
		control.header.cmsg_type = SCM_RIGHTS;
		control.header.cmsg_len = CMSG_LEN(MAPS * sizeof(int));
		memcpy(CMSG_DATA(&control.header), maps, MAPS * sizeof(int));
	}
	return sendmsg(socket, &message, MSG_NOSIGNAL) == sizeof(number);
}

static bool answer_maps(int socket, const char *interface)
{
	struct running running = running_none();
	int err = running_open(&running, interface);
	bool is_sent;

	if (!err)
		err = running_check(&running);
	is_sent = answer(
	    socket, err,
	    err ? NULL : (const int[MAPS]){running.maps[RUNNING_LOAD_SETTINGS], running.maps[RUNNING_LOAD_STATES]});
	running_close(&running);
	return is_sent;
}

/* Any process may ask which program is there; only CAP_SYS_ADMIN, whose it is. */
static int is_server_at(const char *interface)
{
	struct bpf_prog_info info = {0};
	__u32 id = 0, len = sizeof(info);
	int ifindex = (int)if_nametoindex(interface);
	int program, err = ifindex ? bpf_xdp_query_id(ifindex, 0, &id) : 0;

	if (err || !id)
		return err;
	program = bpf_prog_get_fd_by_id(id);
	if (program < 0)
		return program != -ENOENT;
	err = bpf_obj_get_info_by_fd(program, &info, &len) ? -errno : 0;
	close(program);
	return err ? err : !strcmp(info.name, FL_SERVER_PROGRAM);
}

/* The opener's process, until its agent has ended. */
static void serve(int socket, const char *interface)
{
	char asked;

	while (recv(socket, &asked, 1, 0) == 1)
		if (!(asked == ASK_MAPS ? answer_maps(socket, interface)
					: answer(socket, is_server_at(interface), NULL)))
			return;
}

/* For an interface of this network namespace. Before any thread of this process. NULL and errno. */
static struct opener *opener_start(const char *interface)
{
	struct opener *opener = calloc(1, sizeof(*opener));
	int ends[2];

	if (!opener)
		return NULL;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends)) {
		free(opener);
		return NULL;
	}
	opener->process = fork();
	if (!opener->process) {
		if (dup2(ends[1], STDERR_FILENO + 1) < 0 || close_range(STDERR_FILENO + 2, ~0U, 0))
			_exit(1);
		serve(STDERR_FILENO + 1, interface);
		_exit(0);
	}
	close(ends[1]);
	opener->socket = ends[0];
	if (opener->process > 0)
		return opener;
	close(opener->socket);
	free(opener);
	return NULL;
}

/* Returns the answer's number, or -EPIPE; maps may be NULL. */
static int ask(struct opener *opener, char what, int *maps)
{
	int number = -EPIPE;
	struct iovec bytes = {.iov_base = &number, .iov_len = sizeof(number)};
	union control control;
	struct msghdr message = {
	    .msg_iov = &bytes, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)};

	if (send(opener->socket, &what, 1, MSG_NOSIGNAL) != 1 ||
	    recvmsg(opener->socket, &message, MSG_CMSG_CLOEXEC) != sizeof(number))
		return -EPIPE;
	if (maps && !number && message.msg_controllen >= CMSG_LEN(MAPS * sizeof(int)))
		memcpy(maps, CMSG_DATA(&control.header), MAPS * sizeof(int));
	return number;
}

/* Gives up the capability that only the opener needs: this process has it no more, nor threads that it starts. */
static int shed(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3];
	__u32 bit = ~CAP_TO_MASK(CAP_SYS_ADMIN);

	if (syscall(SYS_capget, &header, sets))
		return -errno;
	/* It leaves the ambient set with the permitted one. */
	sets[CAP_TO_INDEX(CAP_SYS_ADMIN)].effective &= bit;
	sets[CAP_TO_INDEX(CAP_SYS_ADMIN)].permitted &= bit;
	sets[CAP_TO_INDEX(CAP_SYS_ADMIN)].inheritable &= bit;
	return syscall(SYS_capset, &header, sets) ? -errno : 0;
}

static void opener_stop(struct opener *opener)
{
	close(opener->socket);
	waitpid(opener->process, NULL, 0);
	free(opener);
}

struct load_of_bpf {
	struct load load;
	char interface[IF_NAMESIZE];
	struct opener *opener;
	int settings, states; /* the program's maps; -1: none */
	__u32 program; /* the id of the program that was opened last, whether or not it can be used; 0 for none */
	int err;       /* of opening it */
};

static struct load *open_interface(const char *interface)
{
	struct load_of_bpf *load = calloc(1, sizeof(*load));

	if (!load)
		return NULL;
	load->load.form = &load_bpf;
	snprintf(load->interface, sizeof(load->interface), "%s", interface);
	load->settings = load->states = -1;
	load->opener = opener_start(interface);
	if (load->opener)
		return &load->load;
	free(load);
	return NULL;
}

static void maps_close(struct load_of_bpf *load)
{
	if (load->settings >= 0)
		close(load->settings);
	if (load->states >= 0)
		close(load->states);
	load->settings = load->states = -1;
}

/* Opens the program that is attached now, whose id this is. */
static int program_open(struct load_of_bpf *load, __u32 program)
{
	int maps[MAPS] = {-1, -1};

	maps_close(load);
	load->program = program;
	load->err = ask(load->opener, ASK_MAPS, maps);
	load->settings = maps[0];
	load->states = maps[1];
	return load->err;
}

/* Makes sure that the maps are those of the attached program. */
static int find(struct load *open)
{
	struct load_of_bpf *load = (struct load_of_bpf *)open;
	unsigned int ifindex = if_nametoindex(load->interface);
	__u32 program = 0;
	int err = ifindex ? bpf_xdp_query_id((int)ifindex, 0, &program) : -ENODEV;

	if (err)
		return err;
	if (!program) {
		maps_close(load);
		load->program = 0;
		return -ENOENT;
	}
	return program == load->program ? load->err : program_open(load, program);
}

static bool is_found(const struct load_of_bpf *load)
{
	return load->program && !load->err;
}

static int set(struct load *open, fl_u16 service, const struct fl_load_setting *setting)
{
	struct load_of_bpf *load = (struct load_of_bpf *)open;
	__u32 slot = service;

	return is_found(load) ? bpf_map_update_elem(load->settings, &slot, setting, BPF_ANY) : -ENOENT;
}

static int read_state(struct load *open, fl_u16 service, struct fl_load_state *state)
{
	struct load_of_bpf *load = (struct load_of_bpf *)open;
	__u32 slot = service;

	return is_found(load) ? bpf_map_lookup_elem(load->states, &slot, state) : -ENOENT;
}

static int is_attached(struct load *open)
{
	return ask(((struct load_of_bpf *)open)->opener, ASK_ATTACHED, NULL);
}

static void close_interface(struct load *open)
{
	struct load_of_bpf *load = (struct load_of_bpf *)open;

	maps_close(load);
	opener_stop(load->opener);
	free(load);
}

const struct load_form load_bpf = {
    .open = open_interface,
    .find = find,
    .set = set,
    .read = read_state,
    .is_attached = is_attached,
    .shed = shed,
    .close = close_interface,
};
