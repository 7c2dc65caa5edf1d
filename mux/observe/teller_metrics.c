/* SPDX-License-Identifier: Apache-2.0 */
#include "observe/teller_metrics.h"

#include <inttypes.h>

#include "tell/teller.h"

/* Each count of enum teller_count, in its order. */
static const struct {
	const char *metric, *help, *result;
} rows[TELLER_COUNTS] = {
    [TELLER_SENT] = {"notices_total", "Notices to servers, by result.", "sent"},
    [TELLER_REPEATED] = {"notices_total", NULL, "repeated"},
    [TELLER_REFRESHED] = {"notices_total", NULL, "refreshed"},
    [TELLER_SEND_FAILED] = {"notices_total", NULL, "failed"},
    [TELLER_ACKNOWLEDGED] = {"notice_answers_total", "Answers to notices, by result.", "acknowledged"},
    [TELLER_BEHIND] = {"notice_answers_total", NULL, "behind"},
    [TELLER_MALFORMED] = {"notice_answers_total", NULL, "malformed"},
    [TELLER_TAG] = {"notice_answers_total", NULL, "tag"},
    [TELLER_UNASKED] = {"notice_answers_total", NULL, "unasked"},
    [TELLER_ALL_KNOW] = {"generations_told_total", "Generations of which servers were told before they were applied.",
			 "acknowledged"},
    [TELLER_TOO_LATE] = {"generations_told_total", NULL, "too_late"},
};

void teller_metrics_write(FILE *out, const struct teller *teller)
{
	for (int i = 0; i < TELLER_COUNTS; i++) {
		if (rows[i].help)
			fprintf(out, "# HELP fairlead_mux_%s %s\n# TYPE fairlead_mux_%s counter\n", rows[i].metric,
				rows[i].help, rows[i].metric);
		fprintf(out, "fairlead_mux_%s{result=\"%s\"} %" PRIu64 "\n", rows[i].metric, rows[i].result,
			teller->counts[i]);
	}
	fprintf(
	    out,
	    "# HELP fairlead_mux_silent_servers Servers that did not acknowledge in time, which nothing waits for.\n"
	    "# TYPE fairlead_mux_silent_servers gauge\nfairlead_mux_silent_servers %" PRIu32 "\n",
	    teller_silent(teller));
}
