// SPDX-License-Identifier: Apache-2.0
#include "source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "diag.h"
#include "command.h"
#include "page.h"
#include "refusal.h"
#include "work.h"

#define US_NS 1000ULL

enum {
	PRESSURE_BYTES = 512,
	PERCENT = 100,
};

static const struct {
	const char *word, *argument; /* what follows "=", NULL: nothing */
} kinds[] = {
    [SOURCE_CONNECTIONS] = {"connections", NULL},
    [SOURCE_NGINX] = {"nginx", "an http or https URL of stub_status"},
    [SOURCE_APACHE] = {"apache", "an http or https URL of server-status?auto"},
    [SOURCE_PSI] = {"psi", NULL},
    [SOURCE_ACCEPT_QUEUE] = {"accept-queue", NULL},
    [SOURCE_COMMAND] = {"command", "an absolute path"},
};

struct source {
	enum source_kind kind;
	struct work *work;
	struct page *page;
	struct diag *diag;
	struct command *command;
	int pressure; /* /proc/pressure/cpu, or -1 */
	fl_u64 pressure_us, pressure_ns;
};

static int refuse(const char *text)
{
	return refusal_print("--busy", text,
			     "connections, nginx=URL, apache=URL, psi, accept-queue, command=PATH; URL: http or https, "
			     "without user and password; PATH: absolute");
}

int source_choose(const char *text, struct source_choice *choice)
{
	const char *equals = strchr(text, '=');
	size_t len = equals ? (size_t)(equals - text) : strlen(text);

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (strlen(kinds[i].word) != len || strncmp(text, kinds[i].word, len) != 0)
			continue;
		*choice = (struct source_choice){(enum source_kind)i, equals ? equals + 1 : NULL, text};
		if (!kinds[i].argument != !equals)
			break;
		if (i == SOURCE_COMMAND)
			return equals[1] == '/' ? 0 : refuse(text);
		return !equals || page_url_is_right(equals + 1) ? 0 : refuse(text);
	}
	return refuse(text);
}

static bool open_kind(struct source *source, const struct source_choice *choice, bool with_programs)
{
	switch (choice->kind) {
	case SOURCE_CONNECTIONS:
		source->work = work_open(with_programs);
		return source->work != NULL;
	case SOURCE_NGINX:
	case SOURCE_APACHE:
		source->page = page_open(choice->argument);
		return source->page != NULL;
	case SOURCE_PSI:
		source->pressure = open("/proc/pressure/cpu", O_RDONLY | O_CLOEXEC);
		return source->pressure >= 0;
	case SOURCE_ACCEPT_QUEUE:
		source->diag = diag_open();
		return source->diag != NULL;
	default:
		source->command = command_open(choice->argument);
		return source->command != NULL;
	}
}

struct source *source_open(const struct source_choice *choice, bool with_programs, char why[FIGURES_WHY_MAX])
{
	struct source *source = calloc(1, sizeof(*source));

	snprintf(why, FIGURES_WHY_MAX, "there is no memory");
	if (!source)
		return NULL;
	source->kind = choice->kind;
	source->pressure = -1;
	errno = ENOMEM;
	if (open_kind(source, choice, with_programs))
		return source;
	snprintf(why, FIGURES_WHY_MAX, "%scannot be opened: %s",
		 choice->kind == SOURCE_PSI ? "/proc/pressure/cpu (the kernel may need psi=1) " : "", strerror(errno));
	source_close(source);
	return NULL;
}

void source_close(struct source *source)
{
	if (!source)
		return;
	work_close(source->work);
	page_close(source->page);
	diag_close(source->diag);
	command_close(source->command);
	if (source->pressure >= 0)
		close(source->pressure);
	free(source);
}

const char *source_flaw(const struct source *source)
{
	return source->work ? work_why(source->work) : NULL;
}

void source_serve(struct source *source, const struct services *services)
{
	if (source->work)
		work_serve(source->work, services);
}

static void give(const struct services *services, fl_u32 number, fl_u32 *busy)
{
	for (size_t i = 0; i < services->count; i++)
		busy[i] = number;
}

static bool read_page(struct source *source, const struct services *services, int deadline_ms, fl_u32 *busy,
		      char why[FIGURES_WHY_MAX])
{
	size_t len;
	const char *text = page_fetch(source->page, deadline_ms, &len, why);
	fl_u32 number;
	bool is_read;

	if (!text)
		return false;
	is_read = source->kind == SOURCE_NGINX ? figures_nginx(text, len, &number, why)
					       : figures_apache(text, len, &number, why);
	if (is_read)
		give(services, number, busy);
	return is_read;
}

/* Per cent of the time since the last reading; the first one has none, and is 0. */
static bool read_pressure(struct source *source, const struct services *services, fl_u64 now_ns, fl_u32 *busy,
			  char why[FIGURES_WHY_MAX])
{
	char text[PRESSURE_BYTES];
	ssize_t got = pread(source->pressure, text, sizeof(text), 0);
	fl_u64 us, elapsed_us, percent = 0;

	if (got < 0) {
		snprintf(why, FIGURES_WHY_MAX, "/proc/pressure/cpu: %s", strerror(errno));
		return false;
	}
	if (!figures_pressure(text, (size_t)got, &us, why))
		return false;
	elapsed_us = (now_ns - source->pressure_ns) / US_NS;
	if (source->pressure_ns && elapsed_us && us > source->pressure_us)
		percent = (us - source->pressure_us) * PERCENT / elapsed_us;
	source->pressure_us = us;
	source->pressure_ns = now_ns;
	give(services, percent < PERCENT ? (fl_u32)percent : PERCENT, busy);
	return true;
}

struct queues {
	const struct services *services;
	fl_u32 *busy;
	fl_u32 *counted; /* the listener that was counted last, from 1 */
	fl_u32 listener;
};

static void take(void *context, const struct diag_socket *socket)
{
	const struct listener *listener = &socket->listener;
	struct queues *queues = context;

	queues->listener++;
	for (size_t i = 0; i < queues->services->endpoint_count; i++) {
		const struct endpoint *endpoint = &queues->services->endpoints[i];

		/* once for each service, which may have several VIPs */
		if (queues->counted[endpoint->service] == queues->listener ||
		    !services_listens(endpoint, &listener->local, listener->port, listener->ipv6_only))
			continue;
		queues->counted[endpoint->service] = queues->listener;
		queues->busy[endpoint->service] += listener->length;
	}
}

static bool read_queues(struct source *source, const struct services *services, fl_u32 *busy, char why[FIGURES_WHY_MAX])
{
	struct queues queues = {services, busy, calloc(services->count + 1, sizeof(fl_u32)), 0};
	int more = queues.counted ? diag_begin(source->diag, DIAG_LISTENERS) : -ENOMEM;

	give(services, 0, busy);
	if (!more)
		do
			more = diag_step(source->diag, take, &queues);
		while (more > 0);
	free(queues.counted);
	if (more)
		snprintf(why, FIGURES_WHY_MAX, "sockets cannot be listed: %s", strerror(-more));
	return !more;
}

bool source_read(struct source *source, const struct services *services, fl_u64 now_ns, int deadline_ms, fl_u32 *busy,
		 char why[FIGURES_WHY_MAX])
{
	fl_u32 number = 0;
	int err;

	switch (source->kind) {
	case SOURCE_CONNECTIONS:
		err = work_read(source->work, services, now_ns, busy);
		if (err)
			snprintf(why, FIGURES_WHY_MAX, "sockets cannot be listed: %s", strerror(-err));
		return !err;
	case SOURCE_NGINX:
	case SOURCE_APACHE:
		return read_page(source, services, deadline_ms, busy, why);
	case SOURCE_PSI:
		return read_pressure(source, services, now_ns, busy, why);
	case SOURCE_ACCEPT_QUEUE:
		return read_queues(source, services, busy, why);
	default:
		if (!command_read(source->command, now_ns, deadline_ms, &number, why))
			return false;
		give(services, number, busy);
		return true;
	}
}
