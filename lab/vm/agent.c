// SPDX-License-Identifier: Apache-2.0
/*
 * The agent inside a virtual machine: runs the commands that arrive on one virtio-serial port, one after the other.
 *
 *	host:   struct request | argv, each word ended by NUL | standard input
 *	agent:  struct frame | up to FRAME_MAX bytes, as often as the command writes, then one frame of the kind EXIT
 *
 * Numbers are little-endian: both ends run on this machine's processor. A frame is one write, so that a host which
 * connects after another left in the middle begins at the start of a frame; it ignores frames of other sessions. When
 * the host hangs up, or sends the next request, a command that still runs is killed with its process group. The port
 * reports a host's arrival or departure separately from the data, maybe later, so hanging up counts only once it has
 * lasted. lab/vm/channel.py is the other end.
 *
 * On a port without a host poll() returns at once: the host has hung up, and the port is readable; the read is empty.
 * So poll() cannot wait for a host: the driver sends SIGIO when one connects.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	FRAME_MAX = 16 * 1024, /* a write to the port takes 32 KiB at most */
	ARGV_MAX = 128 * 1024,
	STDIN_MAX = 16 * 1024 * 1024,
	HUNG_UP_MS = 500, /* from then on the host has gone */
	PAUSE_MS = 10,
	IDLE_SECONDS = 1, /* to look for a host whose signal came too early */
	EXIT_NOT_FOUND = 127,
	EXIT_BY_SIGNAL = 128, /* plus the signal's number, as a shell says it */
};

enum kind {
	KIND_STDOUT = 1,
	KIND_STDERR = 2,
	KIND_EXIT = 3, /* the payload is the exit code, 32 bit */
};

struct request {
	uint32_t session;
	uint32_t argv_length;
	uint32_t stdin_length;
};

struct frame {
	uint32_t session;
	uint32_t kind;
	uint32_t length;
	char payload[FRAME_MAX];
};

enum { FRAME_HEAD = offsetof(struct frame, payload) };

_Static_assert(sizeof(struct request) == 12, "as lab/vm/channel.py packs it");
_Static_assert(FRAME_HEAD == 12, "as lab/vm/channel.py unpacks it");

/* A running command. */
struct command {
	uint32_t session;
	pid_t pid;
	int ended; /* pidfd: readable once it has */
	int out, err;
};

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static int is_hung_up(int port)
{
	struct pollfd fd = {.fd = port};

	return poll(&fd, 1, 0) > 0 && fd.revents & POLLHUP;
}

/* Whether there is no host at the other end; true only after that has lasted. */
static int host_gone(int port)
{
	int waited;

	for (waited = 0; waited < HUNG_UP_MS; waited += PAUSE_MS) {
		if (!is_hung_up(port))
			return 0;
		poll(NULL, 0, PAUSE_MS);
	}
	return 1;
}

/* The signal is only for host_await(): it is blocked here, and not in the commands. */
static sigset_t sigio_set(void)
{
	sigset_t signals;

	sigemptyset(&signals);
	sigaddset(&signals, SIGIO);
	return signals;
}

/* Sleeps as long as there is no host at the other end. */
static void host_await(int port)
{
	const struct timespec idle = {.tv_sec = IDLE_SECONDS};
	const sigset_t signals = sigio_set();

	while (is_hung_up(port))
		sigtimedwait(&signals, NULL, &idle);
}

/* Waits until the port may be ready; false if the host has gone. */
static int port_await(int port, short events)
{
	struct pollfd fd = {.fd = port, .events = events};

	return poll(&fd, 1, -1) < 0 || !(fd.revents & POLLHUP) || !host_gone(port);
}

/* False if the host has gone before all bytes arrived. */
static int read_all(int port, void *to, size_t length)
{
	size_t done = 0;

	while (done < length) {
		ssize_t got = read(port, (char *)to + done, length - done);

		if (got > 0)
			done += (size_t)got;
		else if (!port_await(port, POLLIN))
			return 0;
	}
	return 1;
}

/* Frames that cannot be written because the host has gone are lost. A write to the port takes a whole frame or none. */
static void send_frame(int port, const struct frame *frame)
{
	while (write(port, frame, FRAME_HEAD + frame->length) < 0 && port_await(port, POLLOUT))
		;
}

static int input_file(const char *input, size_t length)
{
	int file = memfd_create("stdin", MFD_CLOEXEC);

	if (file < 0 || write(file, input, length) != (ssize_t)length || lseek(file, 0, SEEK_SET))
		die("standard input");
	return file;
}

static void __attribute__((noreturn)) become(char *words, size_t length, int input, int out, int err)
{
	const sigset_t signals = sigio_set();
	char *argv[length + 1]; /* a word has at least its NUL */
	size_t count = 0;
	char *word;

	for (word = words; word < words + length; word += strlen(word) + 1)
		argv[count++] = word;
	argv[count] = NULL;
	setsid();
	sigprocmask(SIG_UNBLOCK, &signals, NULL);
	if (dup2(input, 0) < 0 || dup2(out, 1) < 0 || dup2(err, 2) < 0)
		_exit(EXIT_NOT_FOUND);
	execvp(argv[0], argv);
	fprintf(stderr, "%s: %s\n", argv[0], strerror(errno));
	_exit(EXIT_NOT_FOUND);
}

static void start(struct command *command, uint32_t session, char *words, size_t length, int input)
{
	int out[2], err[2];

	if (pipe2(out, O_CLOEXEC) || pipe2(err, O_CLOEXEC))
		die("pipe");
	command->session = session;
	command->pid = fork();
	if (command->pid < 0)
		die("fork");
	if (command->pid == 0)
		become(words, length, input, out[1], err[1]);
	close(out[1]);
	close(err[1]);
	close(input);
	command->out = out[0];
	command->err = err[0];
	fcntl(command->out, F_SETFL, O_NONBLOCK);
	fcntl(command->err, F_SETFL, O_NONBLOCK);
	command->ended = (int)syscall(SYS_pidfd_open, command->pid, 0);
	if (command->ended < 0)
		die("pidfd_open");
}

/* Passes on what can be read; false at the stream's end, or if there is nothing now. */
static int pass_on(int port, const struct command *command, enum kind kind, int *stream)
{
	static struct frame frame;
	ssize_t got = *stream < 0 ? -1 : read(*stream, frame.payload, sizeof(frame.payload));

	if (got == 0) {
		close(*stream);
		*stream = -1;
	}
	if (got <= 0)
		return 0;
	frame.session = command->session;
	frame.kind = kind;
	frame.length = (uint32_t)got;
	send_frame(port, &frame);
	return 1;
}

/* Ends with the command, even if a program that it left running holds its output open. */
static void follow(int port, struct command *command)
{
	struct frame frame = {.session = command->session, .kind = KIND_EXIT, .length = sizeof(uint32_t)};
	struct pollfd fds[] = {
	    {.fd = port, .events = POLLIN},
	    {.fd = command->ended, .events = POLLIN},
	    {.fd = command->out, .events = POLLIN},
	    {.fd = command->err, .events = POLLIN},
	};
	uint32_t code;
	int status;

	while (!fds[1].revents) {
		if (poll(fds, sizeof(fds) / sizeof(fds[0]), -1) < 0)
			continue;
		if (fds[0].revents & POLLHUP ? host_gone(port) : fds[0].revents) {
			kill(-command->pid, SIGKILL);
			fds[0].fd = -1;
		}
		pass_on(port, command, KIND_STDOUT, &command->out);
		pass_on(port, command, KIND_STDERR, &command->err);
		fds[2].fd = command->out;
		fds[3].fd = command->err;
	}
	while (pass_on(port, command, KIND_STDOUT, &command->out) || pass_on(port, command, KIND_STDERR, &command->err))
		;
	waitpid(command->pid, &status, 0);
	code = WIFEXITED(status) ? (uint32_t)WEXITSTATUS(status) : EXIT_BY_SIGNAL + (uint32_t)WTERMSIG(status);
	memcpy(frame.payload, &code, sizeof(code));
	send_frame(port, &frame);
	close(command->ended);
	close(command->out);
	close(command->err);
}

/* Reads one request, if a whole one arrives, and runs it. */
static void serve(int port)
{
	static char words[ARGV_MAX];
	struct command command;
	struct request request;
	char *input;

	if (!read_all(port, &request, sizeof(request)))
		return;
	if (!request.argv_length || request.argv_length > ARGV_MAX || request.stdin_length > STDIN_MAX) {
		fprintf(stderr, "agent: a request of %u and %u bytes\n", request.argv_length, request.stdin_length);
		exit(1); /* not our protocol; init starts another agent */
	}
	input = malloc(request.stdin_length + 1);
	if (!input)
		die("malloc");
	if (read_all(port, words, request.argv_length) && read_all(port, input, request.stdin_length) &&
	    !words[request.argv_length - 1]) {
		start(&command, request.session, words, request.argv_length, input_file(input, request.stdin_length));
		follow(port, &command);
	}
	free(input);
}

static void port_signal(int port)
{
	const sigset_t signals = sigio_set();

	if (sigprocmask(SIG_BLOCK, &signals, NULL) || fcntl(port, F_SETOWN, getpid()) ||
	    fcntl(port, F_SETFL, O_NONBLOCK | O_ASYNC))
		die("SIGIO");
}

int main(int argc, char **argv)
{
	int port;

	if (argc != 2) {
		fprintf(stderr, "usage: agent /dev/vportNpM\n");
		return 2;
	}
	signal(SIGPIPE, SIG_IGN);
	port = open(argv[1], O_RDWR | O_NONBLOCK | O_CLOEXEC);
	if (port < 0)
		die(argv[1]);
	port_signal(port);
	for (;;) {
		host_await(port);
		serve(port);
	}
}
