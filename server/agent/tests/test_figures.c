// SPDX-License-Identifier: Apache-2.0
/* What nginx, Apache, the kernel and commands say: real texts, and wrong ones, which are refused by name. */
#include <string.h>

#include "agent/figures.h"

#include "vectors.h"

#define NGINX(line) "Active connections: 7 \nserver accepts handled requests\n 191 191 370 \n" line

/* Of apache2 2.4 with mpm_event, two processes of 25 threads, one of which is this request. */
#define APACHE(board)                                                                                                  \
	"localhost\nServerVersion: Apache/2.4.62 (Debian)\nServerMPM: event\nTotal Accesses: 12\nBusyWorkers: 5\n"     \
	"IdleWorkers: 45\nProcesses: 2\nStopping: 0\nConnsTotal: 4\nScoreboard: " board "\n"

#define PRESSURE(some) some "full avg10=0.00 avg60=0.00 avg300=0.00 total=0\n"

enum what {
	NGINX_PAGE,
	APACHE_PAGE,
	PRESSURE_FILE,
	LINE,
};

static const struct row {
	const char *name;
	enum what what;
	const char *text;
	fl_u64 expected;
	const char *refused; /* NULL: it is not */
} rows[] = {
    {"nginx at rest", NGINX_PAGE, NGINX("Reading: 0 Writing: 1 Waiting: 0 \n"), 0, NULL},
    {"nginx at work", NGINX_PAGE, NGINX("Reading: 2 Writing: 40 Waiting: 900 \n"), 41, NULL},
    {"nginx without a newline", NGINX_PAGE, NGINX("Reading: 0 Writing: 3 Waiting: 0"), 2, NULL},
    {"a copy of nginx's page that nobody serves", NGINX_PAGE, NGINX("Reading: 0 Writing: 0 Waiting: 0 \n"), 0, NULL},
    {"nginx without the line", NGINX_PAGE, NGINX(""), 0, "stub_status: 'Active connections"},
    {"an empty page of nginx", NGINX_PAGE, "", 0, "stub_status: ''"},
    {"nginx: an error page", NGINX_PAGE, "<html>\r\n<head><title>404", 0, "stub_status: '<html>"},
    {"nginx: no number", NGINX_PAGE, NGINX("Reading: x Writing: 1 Waiting: 0 \n"), 0, "Reading: 'x Writing"},
    {"nginx: below zero", NGINX_PAGE, NGINX("Reading: -1 Writing: 1 Waiting: 0 \n"), 0, "Reading: '-1"},
    {"nginx: too many", NGINX_PAGE, NGINX("Reading: 0 Writing: 1000000001 Waiting: 0 \n"), 0, "1,000,000,000"},
    {"nginx: a number that would wrap", NGINX_PAGE, NGINX("Reading: 0 Writing: 18446744073709551617 Waiting: 0\n"), 0,
     "Reading: '0 Writing"},
    {"nginx: a line that ends early", NGINX_PAGE, NGINX("Reading: 0 Writing: 1\n"), 0, "Reading: '0 Writing: 1'"},
    {"nginx: a line that goes on", NGINX_PAGE, NGINX("Reading: 0 Writing: 1 Waiting: 0 More: 1\n"), 0, "Reading: "},
    {"Apache at rest", APACHE_PAGE, APACHE("W________________________........"), 0, NULL},
    {"Apache at work", APACHE_PAGE, APACHE("_WRWKK__DLGCSI__W......."), 6, NULL},
    {"a copy of Apache's page that nobody serves", APACHE_PAGE, APACHE("_______"), 0, NULL},
    {"Apache with carriage returns", APACHE_PAGE, "Scoreboard: W_W\r\n", 1, NULL},
    {"Apache without a scoreboard", APACHE_PAGE, "BusyWorkers: 5\n", 0, "server-status?auto: 'BusyWorkers"},
    {"Apache: an empty scoreboard", APACHE_PAGE, "Scoreboard: \n", 0, "server-status?auto"},
    {"Apache: a scoreboard of blanks", APACHE_PAGE, "Scoreboard:   \n", 0, "server-status?auto"},
    {"Apache: another letter", APACHE_PAGE, APACHE("__x_"), 0, "Scoreboard: 'x' is not allowed"},
    {"Apache: a page for people", APACHE_PAGE, "<h1>Apache Server Status</h1>", 0, "server-status?auto: '<h1>"},
    {"pressure", PRESSURE_FILE, PRESSURE("some avg10=91.16 avg60=38.09 avg300=11.69 total=61993695\n"), 61993695, NULL},
    {"pressure without total", PRESSURE_FILE, PRESSURE("some avg10=91.16\n"), 0, "some: 'avg10"},
    {"pressure without some", PRESSURE_FILE, PRESSURE(""), 0, "/proc/pressure/cpu: 'full"},
    {"pressure: no number", PRESSURE_FILE, PRESSURE("some avg10=1 total=x\n"), 0, "some: "},
    {"0", LINE, "0", 0, NULL},
    {"1000000000", LINE, "1000000000", 1000000000, NULL},
    {"1000000001", LINE, "1000000001", 0, "the command's line: '1000000001'"},
    {"18446744073709551616", LINE, "18446744073709551616", 0, "the command's line"},
    {"an empty line", LINE, "", 0, "the command's line: ''"},
    {"-1", LINE, "-1", 0, "'-1'"},
    {"1.5", LINE, "1.5", 0, "'1.5'"},
    {" 1", LINE, " 1", 0, "' 1'"},
    {"1 request", LINE, "1 request", 0, "'1 request'"},
    {"0x10", LINE, "0x10", 0, "'0x10'"},
};

static void row(void **state)
{
	const struct row *row = *state;
	char why[FIGURES_WHY_MAX] = "";
	size_t len = strlen(row->text);
	fl_u64 found = 0;
	fl_u32 busy = 0;
	bool is_read;

	switch (row->what) {
	case NGINX_PAGE:
		is_read = figures_nginx(row->text, len, &busy, why);
		break;
	case APACHE_PAGE:
		is_read = figures_apache(row->text, len, &busy, why);
		break;
	case PRESSURE_FILE:
		is_read = figures_pressure(row->text, len, &found, why);
		break;
	default:
		is_read = figures_line(row->text, len, &busy, why);
	}
	assert_int_equal(is_read, !row->refused);
	if (is_read)
		assert_int_equal(row->what == PRESSURE_FILE ? found : busy, row->expected);
	else if (!strstr(why, row->refused) || !strstr(why, "; allowed: "))
		fail_msg("%s: expected in it: %s", why, row->refused);
}

int main(void)
{
	struct vectors_tests tests = {NULL, 0};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		vectors_add_plain(&tests, rows[i].name, row, (void *)&rows[i]);
	return vectors_run("figures", &tests);
}
