/* SPDX-License-Identifier: Apache-2.0 */
#include "flow/verdict.h"

#define NAME(name, word, class)  [VERDICT_##name] = word,
#define CLASS(name, word, class) [VERDICT_##name] = VERDICT_CLASS_##class,
#define IN_ORDER(name, word, class)                                                                                    \
	_Static_assert(                                                                                                \
	    (VERDICT_##name >= VERDICTS) == (VERDICT_CLASS_##class == VERDICT_CLASS_NOT_FINAL) &&                      \
		(VERDICT_##name - SERVICE_DROP_FIRST >= 0 && VERDICT_##name - SERVICE_DROP_FIRST < SERVICE_DROPS) ==   \
		    (VERDICT_CLASS_##class == VERDICT_CLASS_OF_SERVICE),                                               \
	    "the list is in the order of classes");

VERDICT_LIST(IN_ORDER)

const char *verdict_name(enum verdict verdict)
{
	static const char *const names[VERDICTS_ALL] = {VERDICT_LIST(NAME)};

	return verdict < VERDICTS_ALL ? names[verdict] : "unknown";
}

enum verdict_class verdict_class(enum verdict verdict)
{
	static const enum verdict_class classes[VERDICTS_ALL] = {VERDICT_LIST(CLASS)};

	return classes[verdict];
}
