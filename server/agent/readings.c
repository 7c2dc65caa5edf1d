// SPDX-License-Identifier: Apache-2.0
#include "readings.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "form.h"
#include "load_form.h"

enum numbers {
	COUNTS_FOR = 4, /* readings, by their spacing */
	COUNTS_MS_MIN = 200,
	SHARE = 5,         /* readings take at most a fifth of a processor */
	DEADLINE_OF = 2,   /* a reading may take so many intervals */
	DEADLINE_MS = 100, /* at least */
	WHY_MAX = 300,
	SAID_MS = 10000, /* at most one trouble in this time is printed */
};

/* Of one kind. */
struct trouble {
	char said[WHY_MAX]; /* what was printed, and is not over; empty: nothing */
	fl_u64 said_ns;     /* when something was printed last; 0: never */
};

struct readings {
	const struct readings_options *options;
	pthread_t thread;
	pthread_mutex_t lock; /* of all that follows, but what is the thread's */
	pthread_cond_t changed;
	bool is_stopped;
	struct services *next; /* those that the thread has not begun to use */
	struct load *load;     /* NULL: no form is told */

	/* the last reading */
	struct services *services; /* changed by the thread only, with the lock */
	fl_u32 *busy;
	bool has_busy;
	fl_u64 until_ns;

	/* the thread's */
	struct source *source;
	fl_u32 *fresh;
	fl_u32 sequence;
	fl_u64 spacing_ns;
	fl_u64 tell_ns; /* processor time that telling the form has taken last */
	struct trouble source_trouble, form_trouble;
};

/*
 * Prints what is wrong if that is another thing than before, which may be with each reading: so not more often than once
 * in SAID_MS. NULL: nothing is wrong any more.
 */
static void say(struct trouble *trouble, const char *what, const char *wrong, const char *then, const char *again)
{
	fl_u64 now_ns;

	if (!wrong) {
		if (trouble->said[0])
			fprintf(stderr, "fairlead-server: agent: %s: %s\n", what, again);
		trouble->said[0] = '\0';
		return;
	}
	now_ns = clock_ns(CLOCK_MONOTONIC);
	if (!strcmp(trouble->said, wrong) || (trouble->said_ns && now_ns - trouble->said_ns < SAID_MS * MS_NS))
		return;
	fprintf(stderr, "fairlead-server: agent: %s: %s; %s\n", what, wrong, then);
	snprintf(trouble->said, WHY_MAX, "%s", wrong);
	trouble->said_ns = now_ns;
}

static void say_source(struct readings *readings, const char *trouble)
{
	char what[WHY_MAX];

	snprintf(what, sizeof(what), "--busy %s", readings->options->source.text);
	say(&readings->source_trouble, what, trouble, "the server takes every connection until it can be read",
	    "is read again");
}

static void say_form(struct readings *readings, const char *trouble)
{
	say(&readings->form_trouble, "steering hunt", trouble, "the server takes every connection until then",
	    "the attached form is told again how busy the server is");
}

static bool wants(const struct services *services)
{
	for (size_t i = 0; services && i < services->count; i++)
		if (services->list[i].two_buckets && !services->list[i].ambiguous)
			return true;
	return false;
}

static const char *form_trouble(int err)
{
	if (err == -ENOENT)
		return "no server is attached";
	if (err == -EPIPE)
		return "the agent's second process, which opens the form's maps, has ended; start the agent again";
	return strerror(-err);
}

/* Tells the form the last reading, as far as it can. */
static void tell(struct readings *readings)
{
	fl_u64 begun_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	int absent = readings->load ? 0 : -ENODEV, err = 0, one;
	bool hunts = false;

	readings->sequence++;
	for (size_t i = 0; i < readings->services->count; i++) {
		const struct service *service = &readings->services->list[i];
		struct fl_load_setting setting = service->hunt;

		if (!service->has_hunt || service->ambiguous)
			continue;
		if (!hunts && !absent)
			absent = readings->load->form->find(readings->load);
		hunts = true;
		setting.until_ns = readings->until_ns;
		setting.busy = readings->busy[i];
		setting.sequence = readings->sequence;
		one = absent ? absent : readings->load->form->set(readings->load, service->id, &setting);
		err = err ? err : one;
	}
	readings->tell_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - begun_ns;
	if (!hunts)
		return;
	if (!readings->load)
		say_form(readings, "there is neither --interface nor --form module");
	else if (err)
		say_form(readings, form_trouble(err));
	else
		say_form(readings, NULL);
}

static bool open_source(struct readings *readings, char why[FIGURES_WHY_MAX])
{
	const char *flaw;

	if (readings->source)
		return true;
	readings->source = source_open(&readings->options->source, !readings->options->no_programs, why);
	if (!readings->source)
		return false;
	flaw = source_flaw(readings->source);
	if (flaw)
		fprintf(stderr,
			"fairlead-server: agent: --busy %s: connections in work are listed by sock_diag, which is not "
			"exact: no program, as %s\n",
			readings->options->source.text, flaw);
	source_serve(readings->source, readings->services);
	return true;
}

/* A reading, without the lock; then, with it, what follows from it. */
static void read_once(struct readings *readings)
{
	fl_u64 interval_ns = readings->options->interval_ms * MS_NS;
	fl_u64 begun_ns = clock_ns(CLOCK_MONOTONIC), used_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID), counts_ns;
	int deadline_ms = (int)readings->options->interval_ms * DEADLINE_OF;
	char why[FIGURES_WHY_MAX] = "";
	bool is_read;

	deadline_ms = deadline_ms > DEADLINE_MS ? deadline_ms : DEADLINE_MS;
	is_read = open_source(readings, why) &&
		  source_read(readings->source, readings->services, begun_ns, deadline_ms, readings->fresh, why);
	used_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - used_ns + readings->tell_ns;
	readings->spacing_ns = SHARE * used_ns > interval_ns ? SHARE * used_ns : interval_ns;
	counts_ns = COUNTS_FOR * readings->spacing_ns;
	say_source(readings, is_read ? NULL : why);
	pthread_mutex_lock(&readings->lock);
	if (!is_read)
		return;
	memcpy(readings->busy, readings->fresh, readings->services->count * sizeof(*readings->busy));
	readings->has_busy = true;
	readings->until_ns = begun_ns + (counts_ns > COUNTS_MS_MIN * MS_NS ? counts_ns : COUNTS_MS_MIN * MS_NS);
	tell(readings);
}

/* Begins to use the services that the agent gave last. */
static void use_next(struct readings *readings)
{
	if (!readings->next)
		return;
	services_free(readings->services);
	free(readings->busy);
	free(readings->fresh);
	readings->services = readings->next;
	readings->next = NULL;
	readings->has_busy = false;
	readings->busy = calloc(readings->services->count + 1, sizeof(*readings->busy));
	readings->fresh = calloc(readings->services->count + 1, sizeof(*readings->fresh));
	if (readings->source)
		source_serve(readings->source, readings->services);
}

static void *run(void *context)
{
	struct readings *readings = context;
	struct timespec until;

	pthread_mutex_lock(&readings->lock);
	while (!readings->is_stopped) {
		fl_u64 begun_ns = clock_ns(CLOCK_MONOTONIC), next_ns;

		use_next(readings);
		if (!wants(readings->services) || !readings->busy || !readings->fresh) {
			source_close(readings->source);
			readings->source = NULL;
			pthread_cond_wait(&readings->changed, &readings->lock);
			continue;
		}
		pthread_mutex_unlock(&readings->lock);
		read_once(readings); /* returns with the lock */
		next_ns = begun_ns + readings->spacing_ns;
		until = (struct timespec){(time_t)(next_ns / SECOND_NS), (long)(next_ns % SECOND_NS)};
		while (!readings->is_stopped && !readings->next && clock_ns(CLOCK_MONOTONIC) < next_ns)
			pthread_cond_timedwait(&readings->changed, &readings->lock, &until);
	}
	pthread_mutex_unlock(&readings->lock);
	return NULL;
}

static void destroy(struct readings *readings)
{
	source_close(readings->source);
	if (readings->load)
		readings->load->form->close(readings->load);
	services_free(readings->services);
	services_free(readings->next);
	free(readings->busy);
	free(readings->fresh);
	pthread_cond_destroy(&readings->changed);
	pthread_mutex_destroy(&readings->lock);
	free(readings);
}

struct readings *readings_start(const struct readings_options *options)
{
	struct readings *readings = calloc(1, sizeof(*readings));
	pthread_condattr_t attributes;
	int err;

	if (!readings)
		return NULL;
	readings->options = options;
	pthread_mutex_init(&readings->lock, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&readings->changed, &attributes);
	pthread_condattr_destroy(&attributes);
	if (options->form)
		readings->load = options->form->load->open(options->interface);
	if (options->form && !readings->load)
		err = errno;
	else
		err = readings->load ? -readings->load->form->shed() : 0;
	if (!err)
		err = pthread_create(&readings->thread, NULL, run, readings);
	if (!err)
		return readings;
	destroy(readings);
	errno = err;
	return NULL;
}

void readings_stop(struct readings *readings)
{
	if (!readings)
		return;
	pthread_mutex_lock(&readings->lock);
	readings->is_stopped = true;
	pthread_cond_signal(&readings->changed);
	pthread_mutex_unlock(&readings->lock);
	pthread_join(readings->thread, NULL);
	destroy(readings);
}

void readings_serve(struct readings *readings, struct services *services)
{
	pthread_mutex_lock(&readings->lock);
	services_free(readings->next);
	readings->next = services_share(services);
	pthread_cond_signal(&readings->changed);
	pthread_mutex_unlock(&readings->lock);
}

int readings_is_attached(struct readings *readings)
{
	int attached;

	pthread_mutex_lock(&readings->lock);
	attached = readings->load->form->is_attached(readings->load);
	pthread_mutex_unlock(&readings->lock);
	return attached;
}

struct load_figures readings_of(struct readings *readings, const struct service *service, fl_u64 now_ns)
{
	struct load_figures figures = {0};

	pthread_mutex_lock(&readings->lock);
	for (size_t i = 0; readings->services && i < readings->services->count; i++) {
		if (readings->services->list[i].id != service->id || !readings->has_busy ||
		    now_ns >= readings->until_ns)
			continue;
		figures.has_busy = true;
		figures.busy = readings->busy[i];
	}
	if (service->has_hunt && readings->load && !readings->load->form->find(readings->load))
		figures.has_state = !readings->load->form->read(readings->load, service->id, &figures.state);
	pthread_mutex_unlock(&readings->lock);
	return figures;
}
