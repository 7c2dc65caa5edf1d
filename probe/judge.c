/* SPDX-License-Identifier: Apache-2.0 */
#include "judge.h"

const char *outcome_name(enum outcome outcome)
{
#define OUTCOME_ENTRY(NAME, word, answered) [OUTCOME_##NAME] = word,
	static const char *const names[] = {OUTCOMES(OUTCOME_ENTRY)};
#undef OUTCOME_ENTRY

	return names[outcome];
}

bool outcome_is_answer(enum outcome outcome)
{
#define OUTCOME_ENTRY(NAME, word, answered) [OUTCOME_##NAME] = answered,
	static const bool answers[] = {OUTCOMES(OUTCOME_ENTRY)};
#undef OUTCOME_ENTRY

	return answers[outcome];
}

bool judge_take(struct judge *judge, enum outcome outcome, uint32_t rise, uint32_t fall)
{
	bool is_ok = outcome == OUTCOME_OK;

	if (judge->health == (is_ok ? HEALTH_UP : HEALTH_DOWN)) {
		bool is_other = judge->outcome != outcome;

		judge->streak = 0;
		judge->outcome = (uint8_t)outcome;
		return is_other;
	}
	judge->streak = judge->streak && judge->last_ok == is_ok ? (uint8_t)(judge->streak + 1) : 1;
	judge->last_ok = is_ok;
	if (judge->streak < (is_ok ? rise : fall))
		return false;
	judge->health = is_ok ? HEALTH_UP : HEALTH_DOWN;
	judge->outcome = (uint8_t)outcome;
	judge->streak = 0;
	return true;
}
