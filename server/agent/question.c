// SPDX-License-Identifier: Apache-2.0
#include "question.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static size_t size_of(const struct bucket_set *set)
{
	return (set->buckets + 63) / 64 * sizeof(set->words[0]);
}

void question_end(struct question *question)
{
	free(question->buckets);
	free(question->half_open);
	*question = (struct question){0};
}

void question_ask(struct question *question, const char *name, struct bucket_set *buckets, fl_u64 now_ns)
{
	struct bucket_set *half_open = bucket_set_new(buckets->buckets);

	question_end(question);
	if (!half_open) { /* no answer; the controller asks again with the buckets */
		free(buckets);
		return;
	}
	snprintf(question->name, sizeof(question->name), "%s", name);
	question->buckets = buckets;
	question->half_open = half_open;
	question->asked_ns = now_ns;
}

void question_sweep(struct question *question)
{
	question->half_open_count = 0;
	if (question->half_open)
		memset(question->half_open->words, 0, size_of(question->half_open));
}

/* Adds the bucket by the low half of the hash to those that were found; false: it was not asked about. */
static bool find(const struct bucket_set *asked, struct bucket_set *found, fl_u64 hash)
{
	fl_u32 bucket = fl_bucket(hash, asked->buckets);

	if (!bucket_set_has(asked, bucket))
		return false;
	bucket_set_add(found, bucket);
	return true;
}

static bool find_both(const struct bucket_set *asked, struct bucket_set *found, fl_u64 flow_hash)
{
	bool first = find(asked, found, flow_hash);

	return find(asked, found, flow_hash >> 32) || first;
}

void question_half_open(struct question *question, fl_u64 flow_hash, bool two_buckets)
{
	question->half_open_count += two_buckets ? find_both(question->buckets, question->half_open, flow_hash)
						 : find(question->buckets, question->half_open, flow_hash);
}

static bool find_connection(const struct services *services, const struct connection *connection,
			    const struct bucket_set *asked, struct bucket_set *found)
{
	const struct endpoint *endpoint = &services->endpoints[connection->endpoint];

	if (!services->list[endpoint->service].two_buckets)
		return find(asked, found, connection->flow_hash);
	return find_both(asked, found,
			 services_flow_hash(services, endpoint, &connection->remote, connection->remote_port,
					    connection->local_port));
}

void question_answer_all(const struct services *services, const struct connections *table, struct answer_of *answers)
{
	const struct connection *slots = table->slots;
	bool is_asked = false;
	size_t i;

	for (i = 0; i < services->count; i++) {
		const struct question *question = answers[i].question;

		answers[i] = (struct answer_of){question, NULL, question->half_open_count};
		if (!question->buckets)
			continue;
		answers[i].buckets = bucket_set_new(question->buckets->buckets);
		if (!answers[i].buckets)
			continue;
		is_asked = true;
		memcpy(answers[i].buckets->words, question->half_open->words, size_of(question->half_open));
	}
	for (i = 0; is_asked && i <= table->mask; i++) {
		const struct endpoint *endpoint = &services->endpoints[slots[i].endpoint];
		struct answer_of *answer = &answers[endpoint->service];

		if (slots[i].state == CONNECTION_LIVE && endpoint->has_bucket && answer->buckets)
			answer->connections +=
			    find_connection(services, &slots[i], answer->question->buckets, answer->buckets);
	}
}
