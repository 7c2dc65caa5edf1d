/* SPDX-License-Identifier: Apache-2.0 */
/* What is a hang: rows of looks, then real threads that beat, sleep, loop, wait for ever, and starve. */
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <setjmp.h>
#include <cmocka.h>

#include "config/clock.h"
#include "threads/hang.h"
#include "threads/health.h"

enum { MS = 1000000, HUNGRY = 12 };

enum doing {
	TURNS = 1,
	RUNS = 2,
	READY = 4, /* state R */
	SLEEPS = 0,
};

/* How a thread is in each of some looks. */
struct phase {
	unsigned looks;
	unsigned doing;
	unsigned every_ms; /* between looks */
};

#define FOR(looks, doing)                                                                                              \
	{                                                                                                              \
		looks, doing, HANG_LOOK_MS                                                                             \
	}

static void rows(void **state)
{
	static const struct {
		const char *name;
		struct phase phases[4];
		enum hang_kind kind;
	} rows[] = {
	    {"busy", {FOR(50, TURNS | RUNS | READY)}, HANG_NONE},
	    {"idle, and asleep in each look", {FOR(50, TURNS)}, HANG_NONE},
	    {"starved for a long time", {FOR(1, TURNS), FOR(600, READY)}, HANG_NONE},
	    {"starved, asleep in some looks",
	     {FOR(1, TURNS), FOR(4, SLEEPS), FOR(1, READY), FOR(4, SLEEPS)},
	     HANG_NONE},
	    {"gets a little time, and is not in state R in any look", {FOR(1, TURNS), FOR(40, RUNS)}, HANG_LOOPS},
	    {"blocked for a moment", {FOR(1, TURNS), FOR(4, SLEEPS)}, HANG_NONE},
	    {"blocked", {FOR(1, TURNS), FOR(5, SLEEPS)}, HANG_BLOCKED},
	    {"blocked after work", {FOR(9, TURNS | RUNS | READY), FOR(5, SLEEPS)}, HANG_BLOCKED},
	    {"blocked, and goes on", {FOR(1, TURNS), FOR(9, SLEEPS), FOR(1, TURNS | RUNS | READY)}, HANG_NONE},
	    {"loops", {FOR(1, TURNS), FOR(6, RUNS | READY)}, HANG_LOOPS},
	    {"loops with little time", {FOR(1, TURNS), FOR(5, RUNS | READY), FOR(90, READY)}, HANG_NONE},
	    {"the process was stopped for a minute", {FOR(1, TURNS), {1, SLEEPS, 60000}}, HANG_NONE},
	    {"the watcher is late each time", {FOR(1, TURNS), {3, SLEEPS, 5000}}, HANG_BLOCKED},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct hang hang = {0};
		struct hang_look look = {.now_ms = 5000, .turns = 1};
		enum hang_kind kind = HANG_NONE;

		for (int p = 0; p < 4; p++) {
			const struct phase *phase = &rows[i].phases[p];

			for (unsigned n = 0; n < phase->looks; n++) {
				look.now_ms += phase->every_ms;
				look.turns += (phase->doing & TURNS) != 0;
				look.cpu_ns += phase->doing & RUNS ? (uint64_t)HANG_LOOK_MS * MS : 0;
				look.is_runnable = phase->doing & READY;
				kind = hang_judge(&hang, &look);
			}
		}
		if (kind != rows[i].kind)
			fail_msg("%s: %s", rows[i].name, hang_name(kind));
	}
}

/* A real thread. */
struct worker {
	struct beat beat;
	pthread_t thread;
	bool stop; /* atomic */
	void (*turn)(struct worker *worker);
	pthread_mutex_t gate; /* held by the test */
};

static void turn_idle(struct worker *worker)
{
	const struct timespec pause = {.tv_nsec = MS};

	(void)worker;
	nanosleep(&pause, NULL);
}

static void turn_busy(struct worker *worker)
{
	(void)worker;
}

static void turn_loops(struct worker *worker)
{
	while (!__atomic_load_n(&worker->stop, __ATOMIC_RELAXED))
		;
}

static void turn_waits(struct worker *worker)
{
	pthread_mutex_lock(&worker->gate);
	pthread_mutex_unlock(&worker->gate);
}

static void *run(void *argument)
{
	struct worker *worker = argument;

	__atomic_store_n(&worker->beat.thread, gettid(), __ATOMIC_RELEASE);
	while (!__atomic_load_n(&worker->stop, __ATOMIC_RELAXED)) {
		__atomic_store_n(&worker->beat.turns, worker->beat.turns + 1, __ATOMIC_RELAXED);
		worker->turn(worker);
	}
	__atomic_store_n(&worker->beat.thread, 0, __ATOMIC_RELEASE);
	return NULL;
}

static void start(struct worker *worker, void (*turn)(struct worker *worker))
{
	*worker = (struct worker){.turn = turn, .gate = PTHREAD_MUTEX_INITIALIZER};
	pthread_mutex_lock(&worker->gate);
	assert_int_equal(pthread_create(&worker->thread, NULL, run, worker), 0);
}

static void stop(struct worker *worker)
{
	__atomic_store_n(&worker->stop, true, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&worker->gate);
	pthread_join(worker->thread, NULL);
}

/* What looks at a thread find within this time, at the latest; stops at the first that is no HANG_NONE. */
static enum hang_kind watch(const struct worker *worker, unsigned ms)
{
	const struct timespec pause = {.tv_nsec = HANG_LOOK_MS * MS};
	struct hang hang = {0};
	uint64_t until = clock_ms() + ms;
	enum hang_kind kind = HANG_NONE;

	while (kind == HANG_NONE && clock_ms() < until) {
		nanosleep(&pause, NULL);
		kind = hang_look(&hang, &worker->beat, clock_ms());
	}
	return kind;
}

static void real_threads(void **state)
{
	static const struct {
		void (*turn)(struct worker *worker);
		unsigned ms;
		enum hang_kind kind;
	} rows[] = {
	    {turn_busy, 800, HANG_NONE},
	    {turn_idle, 800, HANG_NONE},
	    {turn_loops, 60000, HANG_LOOPS},
	    {turn_waits, 60000, HANG_BLOCKED},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct worker worker;

		start(&worker, rows[i].turn);
		assert_int_equal(watch(&worker, rows[i].ms), rows[i].kind);
		stop(&worker);
	}
}

/* Many busy threads on one processor, this one at the lowest priority: it gets no turn for long, and does not hang. */
static void starving_is_no_hang(void **state)
{
	struct worker hungry[HUNGRY], starved;
	cpu_set_t before, one;

	(void)state;
	assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
	CPU_ZERO(&one);
	for (int cpu = 0; cpu < CPU_SETSIZE && !CPU_COUNT(&one); cpu++)
		if (CPU_ISSET(cpu, &before))
			CPU_SET(cpu, &one);
	assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0); /* those that are started inherit it */
	start(&starved, turn_idle);
	for (int i = 0; i < HUNGRY; i++)
		start(&hungry[i], turn_busy);
	assert_int_equal(sched_setaffinity(0, sizeof(before), &before), 0);
	assert_int_equal(watch(&starved, 2500), HANG_NONE);
	for (int i = 0; i < HUNGRY; i++)
		stop(&hungry[i]);
	stop(&starved);
}

/* A change waits for a worker that hangs: with VIPs announced it goes on for longer. */
static void when_a_mux_ends(void **state)
{
	static const struct {
		enum ailment ailment;
		bool announces;
		uint64_t waited_ms;
		bool ends;
	} rows[] = {
	    {AILMENT_WORKER, false, HEALTH_WAIT_MAX_MS - 1, false},
	    {AILMENT_WORKER, false, HEALTH_WAIT_MAX_MS, true},
	    {AILMENT_WORKER, true, HEALTH_WAIT_MAX_MS, false},
	    {AILMENT_WORKER, true, HEALTH_WAIT_ANNOUNCED_MS - 1, false},
	    {AILMENT_WORKER, true, HEALTH_WAIT_ANNOUNCED_MS, true},
	    {AILMENT_PORT, false, HEALTH_WAIT_ANNOUNCED_MS, false},
	    {AILMENT_NONE, false, HEALTH_WAIT_ANNOUNCED_MS, false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal(health_must_end(rows[i].ailment, rows[i].announces, rows[i].waited_ms), rows[i].ends);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(rows),
	    cmocka_unit_test(real_threads),
	    cmocka_unit_test(starving_is_no_hang),
	    cmocka_unit_test(when_a_mux_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
