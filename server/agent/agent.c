// SPDX-License-Identifier: Apache-2.0
/*
 * One loop. A report goes through these steps, and between any two of them events are read:
 *
 *	WAIT	until it is due; a service that has become known makes it due
 *	LIST	without events: all connections
 *	SWEEP	half-open connections and accept queues
 *	POST	the report; its answer has new questions
 *	FETCH	the services, at first and if the answer says that they have changed
 */
#include "commands.h"

#include <curl/curl.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "answer.h"
#include "exchange.h"
#include "follower.h"
#include "clock.h"
#include "form.h"
#include "pace.h"
#include "parts.h"
#include "readings.h"

enum step {
	WAIT,
	LIST,
	SWEEP,
	POST,
	FETCH,
};

enum numbers {
	POLL_MS_MAX = 60000,
	SHARE_OF_LISTS = 5,   /* without events: lists take at most a fifth of a processor */
	SHARE_OF_SWEEPS = 10, /* and sweeps a tenth: reports then come later */
	HURRY_MS = 1000,      /* from a report to the next where there is much to tell of connections */
};

struct agent {
	struct options options;
	struct census *census;
	struct follower *follower;
	struct exchange *exchange;
	struct report report;
	struct readings *readings;
	struct pace pace;
	enum step step;
	fl_u64 due_ns, answered_ns;
	fl_u64 list_begun_ns, list_took_ns;   /* the latter in processor time */
	fl_u64 sweep_begun_ns, sweep_took_ns; /* as well */
	fl_u64 used_before_ns;
	size_t known;          /* services, in the last report */
	char trouble[256];     /* the last one that was printed; empty: the last request was answered */
	bool services_doubted; /* a report was refused: they may have changed */
	int signals;
};

static fl_u64 now_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

static fl_u64 used_ns(void)
{
	return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

static fl_u32 draw(void)
{
	fl_u32 number = 0;

	if (getrandom(&number, sizeof(number), 0) != sizeof(number))
		abort();
	return number;
}

static const char *controller(const struct agent *agent)
{
	return agent->options.controllers[agent->pace.current];
}

static void wait_ms(struct agent *agent, fl_u32 ms)
{
	agent->step = WAIT;
	agent->due_ns = now_ns() + ms * MS_NS;
}

/* Prints the trouble if it is another than the last, and lets the next controller be tried later. */
static void fail(struct agent *agent, const char *what, const char *why)
{
	char trouble[sizeof(agent->trouble)];

	snprintf(trouble, sizeof(trouble), "%s: %s", what, why);
	if (strcmp(trouble, agent->trouble))
		fprintf(stderr, "fairlead-server: agent: %s: %s; tried again, from 1 s to every 30 s\n",
			controller(agent), trouble);
	memcpy(agent->trouble, trouble, sizeof(trouble));
	wait_ms(agent, pace_failed(&agent->pace, draw()));
}

static void answered(struct agent *agent, fl_u32 seconds)
{
	if (agent->trouble[0])
		fprintf(stderr, "fairlead-server: agent: %s answers again\n", controller(agent));
	agent->trouble[0] = '\0';
	wait_ms(agent, pace_answered(&agent->pace, seconds, draw()));
	agent->answered_ns = now_ns();
	if (agent->due_ns < agent->sweep_begun_ns + SHARE_OF_SWEEPS * agent->sweep_took_ns)
		agent->due_ns = agent->sweep_begun_ns + SHARE_OF_SWEEPS * agent->sweep_took_ns;
}

static void fetch(struct agent *agent)
{
	agent->step = FETCH;
	if (exchange_begin(agent->exchange, controller(agent), "/v1/agent/services", NULL))
		fail(agent, "services", "the request cannot be made");
}

static size_t known(const struct agent *agent)
{
	const struct services *services = agent->census->services;
	size_t count = 0;

	for (size_t i = 0; services && i < services->count; i++)
		count += census_knows(agent->census, i);
	return count;
}

static void take_load(struct agent *agent)
{
	const struct services *services = agent->census->services;

	for (size_t i = 0; i < services->count; i++) {
		struct load_figures figures;

		if (!services->list[i].two_buckets)
			continue;
		figures = readings_of(agent->readings, &services->list[i], now_ns());
		report_load(&agent->census->tallies[i], &figures);
	}
}

static void post(struct agent *agent)
{
	char *text;

	take_load(agent);
	follower_read_signals(agent->follower);
	agent->step = POST;
	parts_draw(agent->census, now_ns());
	agent->report.sequence++;
	agent->report.has_events = agent->follower->events;
	agent->report.lost_events = follower_lost(agent->follower);
	agent->report.signals = follower_signals(agent->follower);
	agent->known = known(agent);
	if (agent->report.form)
		agent->report.is_attached = readings_is_attached(agent->readings);
	text = report_write(&agent->report, agent->census);
	if (!text)
		fail(agent, "report", "there is no memory");
	else if (exchange_begin(agent->exchange, controller(agent), "/v1/agent/reports", text))
		fail(agent, "report", "the request cannot be made");
	free(text);
}

static void sweep(struct agent *agent)
{
	agent->step = SWEEP;
	agent->sweep_begun_ns = now_ns();
	agent->used_before_ns = used_ns();
	if (follower_sweep_begin(agent->follower) < 0)
		fail(agent, "report", "half-open connections are unknown");
}

static void begin_report(struct agent *agent)
{
	fl_u64 now = now_ns();

	if (!agent->census->services || agent->services_doubted) {
		fetch(agent);
	} else if (!agent->follower->events && now - agent->list_begun_ns >= SHARE_OF_LISTS * agent->list_took_ns) {
		agent->step = LIST;
		agent->list_begun_ns = now;
		agent->used_before_ns = used_ns();
		follower_list(agent->follower, now);
	} else {
		sweep(agent);
	}
}

/* Prints the status and what the controller says about it. */
static void refuse(struct agent *agent, const char *what, const struct exchange_result *result)
{
	char why[200];

	if (result->state == EXCHANGE_FAILED)
		snprintf(why, sizeof(why), "%s", result->error);
	else
		snprintf(why, sizeof(why), "status %ld: %.*s", result->status,
			 (int)(result->len < 150 ? result->len : 150), result->len ? result->body : "");
	for (char *at = why; *at; at++)
		if ((unsigned char)*at < ' ')
			*at = ' ';
	fail(agent, what, why);
}

static bool is_current(const struct agent *agent, const struct services *services)
{
	const struct services *current = agent->census->services;

	return current && !strcmp(current->version, services->version) && current->asks_form == services->asks_form &&
	       current->asks_signals == services->asks_signals;
}

static void end_fetch(struct agent *agent, const struct exchange_result *result)
{
	bool is_first = !agent->census->services;
	struct services *services;

	if (result->state == EXCHANGE_FAILED || result->status != 200) {
		refuse(agent, "services", result);
		return;
	}
	services = services_read(result->body, result->len, &agent->options.mangle);
	if (!services) {
		fail(agent, "services", "the answer is refused, as above");
		return;
	}
	agent->services_doubted = false;
	if (is_current(agent, services)) {
		services_free(services);
	} else {
		readings_serve(agent->readings, services);
		follower_read_signals(agent->follower); /* which belong to the former services */
		if (!census_serve(agent->census, services)) {
			fail(agent, "services", "there is no memory");
			return;
		}
		follower_serve(agent->follower);
	}
	/* a follower may still have other services than the leader that answers reports: that must not become a loop */
	wait_ms(agent, is_first ? 0 : PACE_BACKOFF_MIN_MS);
}

static void end_post(struct agent *agent, const struct exchange_result *result)
{
	struct answer answer;
	bool is_right, has_changed;

	if (result->state == EXCHANGE_FAILED || result->status != 200) {
		agent->services_doubted = result->status >= 400 && result->status < 500;
		refuse(agent, "report", result);
		return;
	}
	if (!answer_read(result->body, result->len, agent->census->services, &answer)) {
		fail(agent, "report", "the answer is refused, as above");
		return;
	}
	report_answered(agent->census);
	has_changed = strcmp(answer.services_version, agent->census->services->version) != 0;
	is_right = answer_apply(&answer, agent->census, now_ns(), draw());
	if (is_right)
		answered(agent, answer.next_seconds);
	else
		fail(agent, "report", "the answer is refused, as above");
	answer_free(&answer);
	if (is_right && has_changed)
		fetch(agent);
}

static void hurry(struct agent *agent)
{
	fl_u64 early = agent->answered_ns + HURRY_MS * MS_NS;
	fl_u64 least = agent->sweep_begun_ns + SHARE_OF_SWEEPS * agent->sweep_took_ns;

	if (early < least)
		early = least;
	if (!agent->trouble[0] && early < agent->due_ns && parts_hurry(agent->census, now_ns()))
		agent->due_ns = early;
}

static void step(struct agent *agent)
{
	struct exchange_result result;
	int more;

	switch (agent->step) {
	case WAIT:
		/* what has just become known is not kept for the rest of ten seconds */
		if (!agent->trouble[0] && known(agent) > agent->known && !agent->follower->is_listing &&
		    agent->follower->events) {
			agent->known = known(agent);
			agent->due_ns = now_ns();
		}
		hurry(agent);
		if (now_ns() >= agent->due_ns)
			begin_report(agent);
		break;
	case LIST:
		if (agent->follower->is_listing)
			break;
		agent->list_took_ns = used_ns() - agent->used_before_ns;
		sweep(agent);
		break;
	case SWEEP:
		more = follower_sweep_step(agent->follower);
		if (more < 0)
			fail(agent, "report", "half-open connections are unknown");
		if (!more) {
			agent->sweep_took_ns = used_ns() - agent->used_before_ns;
			post(agent);
		}
		break;
	case POST:
	case FETCH:
		result = exchange_result(agent->exchange);
		if (result.state == EXCHANGE_RUNNING)
			break;
		if (agent->step == POST)
			end_post(agent, &result);
		else
			end_fetch(agent, &result);
		break;
	}
}

static int wait_of(const struct agent *agent)
{
	fl_u64 now = now_ns(), until = follower_deadline(agent->follower, now);

	if (agent->step == SWEEP)
		return 0;
	if (agent->step == WAIT && agent->due_ns < until)
		until = agent->due_ns;
	if (until <= now)
		return 0;
	return (until - now) / MS_NS >= POLL_MS_MAX ? POLL_MS_MAX : (int)((until - now) / MS_NS) + 1;
}

static bool is_stopped(const struct agent *agent)
{
	struct signalfd_siginfo signal;

	return read(agent->signals, &signal, sizeof(signal)) == sizeof(signal);
}

static void run(struct agent *agent)
{
	while (!is_stopped(agent)) {
		int fds[] = {follower_fd(agent->follower), agent->signals};

		census_age(agent->census, now_ns());
		follower_step(agent->follower, now_ns());
		step(agent);
		exchange_poll(agent->exchange, fds, 2, wait_of(agent));
	}
}

static int open_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	if (sigprocmask(SIG_BLOCK, &set, NULL))
		return -1;
	signal(SIGPIPE, SIG_IGN);
	return signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
}

static void name_report(struct agent *agent)
{
	struct report *report = &agent->report;

	for (unsigned i = 0; i < 4; i++)
		snprintf(report->boot + 8 * i, sizeof(report->boot) - 8 * i, "%08x", draw());
	report->addresses[0] = agent->options.mangle.ipv4;
	report->addresses[1] = agent->options.mangle.ipv6;
	if (agent->options.readings.form) {
		report->form = agent->options.readings.form->word;
		report->interface = agent->options.readings.interface;
	}
}

static int start(struct agent *agent)
{
	struct fl_siphash_key seed = {(fl_u64)draw() << 32 | draw(), (fl_u64)draw() << 32 | draw()};
	char token[OPTIONS_TOKEN_MAX];

	if (agent->options.token_file && options_read_token(agent->options.token_file, token))
		return EXIT_USAGE;
	explicit_bzero(token, sizeof(token));
	agent->signals = open_signals();
	agent->census = census_new(&seed);
	agent->exchange = exchange_new(&agent->options);
	if (agent->signals < 0 || !agent->census || !agent->exchange) {
		fprintf(stderr, "fairlead-server: agent: cannot start: %s\n", strerror(errno ? errno : ENOMEM));
		return EXIT_REFUSED;
	}
	agent->follower = follower_new(agent->census, !agent->options.no_events);
	if (!agent->follower)
		return EXIT_REFUSED;
	agent->readings = readings_start(&agent->options.readings);
	if (!agent->readings) {
		fprintf(stderr, "fairlead-server: agent: cannot start: %s\n", strerror(errno));
		return EXIT_REFUSED;
	}
	name_report(agent);
	agent->pace.controllers = agent->options.controller_count;
	return EXIT_DONE;
}

int agent_main(int argc, char **argv)
{
	struct agent agent = {.signals = -1};
	int code = EXIT_USAGE;

	curl_global_init(CURL_GLOBAL_DEFAULT);
	if (!options_parse(&agent.options, argc, argv)) {
		code = start(&agent);
		if (code == EXIT_DONE)
			run(&agent);
	}
	readings_stop(agent.readings);
	follower_free(agent.follower);
	exchange_free(agent.exchange);
	census_free(agent.census);
	if (agent.signals >= 0)
		close(agent.signals);
	options_free(&agent.options);
	curl_global_cleanup();
	return code;
}
