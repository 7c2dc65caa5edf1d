// SPDX-License-Identifier: Apache-2.0
#include "figures.h"

#include <stdio.h>
#include <string.h>

enum {
	SHOWN_MAX = 40, /* bytes of a value in a message */
	DIGITS_MAX = 18,
};

/* A part of a text. */
struct span {
	const char *at, *end;
};

static bool refuse(char why[FIGURES_WHY_MAX], const char *field, struct span value, const char *allowed)
{
	size_t len = (size_t)(value.end - value.at);
	char shown[SHOWN_MAX + 1];

	len = len < SHOWN_MAX ? len : SHOWN_MAX;
	for (size_t i = 0; i < len; i++)
		shown[i] = value.at[i] >= ' ' && value.at[i] <= '~' ? value.at[i] : '?';
	shown[len] = '\0';
	snprintf(why, FIGURES_WHY_MAX, "%s: '%s' is not allowed; allowed: %s", field, shown, allowed);
	return false;
}

static bool is_digit(char letter)
{
	return letter >= '0' && letter <= '9';
}

/* Takes a number off the front of the span; false: it does not begin with one, or with one that is too long. */
static bool number_take(struct span *span, fl_u64 *number)
{
	const char *begun = span->at;

	*number = 0;
	while (span->at < span->end && is_digit(*span->at) && span->at - begun < DIGITS_MAX)
		*number = *number * 10 + (fl_u64)(*span->at++ - '0');
	return span->at > begun && (span->at == span->end || !is_digit(*span->at));
}

/* Takes the word off the front of the span. */
static bool word_take(struct span *span, const char *word)
{
	size_t len = strlen(word);

	if ((size_t)(span->end - span->at) < len || memcmp(span->at, word, len) != 0)
		return false;
	span->at += len;
	return true;
}

/* The rest of the line that begins with the word; its end is without blanks. False: there is none. */
static bool line_find(const char *text, size_t len, const char *word, struct span *line)
{
	struct span rest = {text, text + len};

	while (rest.at < rest.end) {
		const char *newline = memchr(rest.at, '\n', (size_t)(rest.end - rest.at));

		*line = (struct span){rest.at, newline ? newline : rest.end};
		rest.at = newline ? newline + 1 : rest.end;
		while (line->end > line->at && (line->end[-1] == ' ' || line->end[-1] == '\r'))
			line->end--;
		if (word_take(line, word))
			return true;
	}
	*line = (struct span){text, text + len};
	return false;
}

/* Without the request that asked. */
static fl_u32 others(fl_u64 busy)
{
	return busy ? (fl_u32)(busy - 1) : 0;
}

bool figures_nginx(const char *text, size_t len, fl_u32 *busy, char why[FIGURES_WHY_MAX])
{
	struct span line, all;
	fl_u64 reading, writing, waiting;

	if (!line_find(text, len, "Reading: ", &line))
		return refuse(why, "stub_status", line, "a line 'Reading: N Writing: N Waiting: N'");
	all = line;
	if (!number_take(&line, &reading) || !word_take(&line, " Writing: ") || !number_take(&line, &writing) ||
	    !word_take(&line, " Waiting: ") || !number_take(&line, &waiting) || line.at != line.end)
		return refuse(why, "Reading", all, "N Writing: N Waiting: N");
	if (reading > FIGURES_MAX || writing > FIGURES_MAX)
		return refuse(why, "Reading", all, "numbers to 1,000,000,000");
	*busy = others(reading + writing);
	return true;
}

bool figures_apache(const char *text, size_t len, fl_u32 *busy, char why[FIGURES_WHY_MAX])
{
	static const char work[] = "RWDLG", none[] = "_SKCI.";
	struct span line;
	fl_u64 count = 0;

	if (!line_find(text, len, "Scoreboard: ", &line))
		return refuse(why, "server-status?auto", line, "a line 'Scoreboard: ' and a letter for each worker");
	if (line.at == line.end)
		return refuse(why, "Scoreboard", line, "a letter for each worker");
	for (const char *at = line.at; at < line.end; at++) {
		if (*at && strchr(work, *at))
			count++;
		else if (!*at || !strchr(none, *at))
			return refuse(why, "Scoreboard", (struct span){at, at + 1}, "_SRWKDCLGI and .");
	}
	if (count > FIGURES_MAX)
		return refuse(why, "Scoreboard", line, "at most 1,000,000,000 workers");
	*busy = others(count);
	return true;
}

bool figures_pressure(const char *text, size_t len, fl_u64 *microseconds, char why[FIGURES_WHY_MAX])
{
	struct span line, all;

	if (!line_find(text, len, "some ", &line))
		return refuse(why, "/proc/pressure/cpu", line, "a line 'some avg10=.. total=N'");
	all = line;
	while (line.at < line.end && !word_take(&line, " total="))
		line.at++;
	if (!number_take(&line, microseconds) || line.at != line.end)
		return refuse(why, "some", all, "avg10=.. total=N");
	return true;
}

bool figures_line(const char *text, size_t len, fl_u32 *busy, char why[FIGURES_WHY_MAX])
{
	struct span line = {text, text + len}, all = line;
	fl_u64 number;

	if (!number_take(&line, &number) || line.at != line.end || number > FIGURES_MAX)
		return refuse(why, "the command's line", all, "a whole number from 0 to 1,000,000,000");
	*busy = (fl_u32)number;
	return true;
}
