/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cases: what a test fills a rack with and puts through it, written down for another form of the P4 mux to be given the
 * same (test_v1.py). Lines of words, in the order in which things were done:
 *
 *	register NAME INDEX VALUE		is written
 *	add TABLE match ... action ...		an entry, as rte_swx_ctl reads it; delete: the same one
 *	clear					all counters are 0
 *	frame IN BYTES OUT BYTES		a frame by pipeline port IN must leave by port OUT; =: as it came
 *	count NAME INDEX VALUE			of a counter, since it was cleared
 */
#ifndef FAIRLEAD_P4_TESTS_CASES_H
#define FAIRLEAD_P4_TESTS_CASES_H

#include <stdbool.h>
#include <stdint.h>

/* From now on all is written to this file; without this call nothing is. Ends the program if it cannot be opened. */
void cases_open(const char *path);
void cases_close(void);

bool cases_recording(void);

void cases_register(const char *name, uint32_t at, uint64_t value);
void cases_entry(bool add, const char *table, const char *text);
void cases_clear(void);

/* out: NULL, the frame leaves as it came. */
void cases_frame(unsigned in_port, const uint8_t *in, uint32_t in_len, unsigned out_port, const uint8_t *out,
		 uint32_t out_len);
void cases_count(const char *name, uint32_t at, uint64_t value);

#endif
