// SPDX-License-Identifier: Apache-2.0
#include "opener.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

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
static int is_attached(const char *interface)
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
					: answer(socket, is_attached(interface), NULL)))
			return;
}

struct opener *opener_start(const char *interface)
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

int opener_maps(struct opener *opener, int *settings, int *states)
{
	int maps[MAPS] = {-1, -1}, err = ask(opener, ASK_MAPS, maps);

	*settings = maps[0];
	*states = maps[1];
	return err;
}

int opener_is_attached(struct opener *opener)
{
	return ask(opener, ASK_ATTACHED, NULL);
}

int opener_shed(void)
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

void opener_stop(struct opener *opener)
{
	if (!opener)
		return;
	close(opener->socket);
	waitpid(opener->process, NULL, 0);
	free(opener);
}
