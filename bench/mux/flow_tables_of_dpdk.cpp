// SPDX-License-Identifier: Apache-2.0
// rte_hash in three forms, and the mux's own table (Cuckoo++).
#include "flow_tables_of.hpp"

#include <mutex>

#include <rte_hash.h>
#include <rte_malloc.h>
#include <rte_rcu_qsbr.h>

#include "flowtable/flow_cuckoo.h"

namespace
{

class RteTable : public Table
{
      public:
	RteTable(uint32_t capacity, uint8_t flags, unsigned threads)
	{
		static unsigned number;
		std::string name = "flows " + std::to_string(number++);
		rte_hash_parameters parameters{};

		parameters.name = name.c_str();
		parameters.entries = capacity;
		parameters.key_len = sizeof(Flow);
		parameters.socket_id = SOCKET_ID_ANY;
		parameters.extra_flag = flags;
		hash = rte_hash_create(&parameters);
		entries =
		    static_cast<Entry *>(rte_malloc(nullptr, (capacity + 1ULL) * sizeof(Entry), RTE_CACHE_LINE_SIZE));
		if (hash && (flags & RTE_HASH_EXTRA_FLAGS_RW_CONCURRENCY_LF))
			follow_readers(threads);
	}
	~RteTable() override
	{
		rte_hash_free(hash);
		rte_free(entries);
		rte_free(readers);
	}
	bool ready() const
	{
		return hash && entries;
	}
	uint32_t find(const Flow *flows, uint32_t count, uint32_t now) override
	{
		const void *keys[burst_max];
		hash_sig_t signatures[burst_max];
		int32_t positions[burst_max];
		uint32_t missing = 0;

		for (uint32_t i = 0; i < count; i++) {
			keys[i] = &flows[i];
			signatures[i] = static_cast<hash_sig_t>(FlowHash{}(flows[i]));
		}
		rte_hash_lookup_with_hash_bulk(hash, keys, signatures, count, positions);
		for (uint32_t i = 0; i < count; i++)
			if (positions[i] >= 0)
				__builtin_prefetch(&entries[positions[i]], 1);
		for (uint32_t i = 0; i < count; i++) {
			if (positions[i] < 0)
				missing |= 1U << i;
			else
				__atomic_store_n(&entries[positions[i]].last, now, __ATOMIC_RELAXED);
		}
		return missing;
	}
	bool find_one(const Flow &flow, uint32_t now) override
	{
		int32_t at = rte_hash_lookup_with_hash(hash, &flow, static_cast<hash_sig_t>(FlowHash{}(flow)));

		if (at >= 0)
			__atomic_store_n(&entries[at].last, now, __ATOMIC_RELAXED);
		return at >= 0;
	}
	uint32_t insert(const Flow *flows, uint32_t count, uint32_t now) override
	{
		std::unique_lock<std::mutex> lock(writer, std::defer_lock);
		uint32_t failed = 0;

		if (readers)
			lock.lock();
		for (uint32_t i = 0; i < count; i++) {
			int32_t at =
			    rte_hash_add_key_with_hash(hash, &flows[i], static_cast<hash_sig_t>(FlowHash{}(flows[i])));

			if (at < 0)
				failed++;
			else
				entries[at] = {1, now};
		}
		return failed;
	}
	void erase(const Flow *flows, uint32_t count) override
	{
		std::unique_lock<std::mutex> lock(writer, std::defer_lock);

		if (readers)
			lock.lock();
		for (uint32_t i = 0; i < count; i++)
			rte_hash_del_key_with_hash(hash, &flows[i], static_cast<hash_sig_t>(FlowHash{}(flows[i])));
	}
	void expire(uint32_t now) override
	{
		uint32_t next = 0;
		const void *key;
		void *data;

		for (int32_t at; (at = rte_hash_iterate(hash, &key, &data, &next)) >= 0;)
			if (now - entries[at].last > idle_seconds) {
				Flow flow = *static_cast<const Flow *>(key);

				erase(&flow, 1);
			}
	}
	uint64_t size() const override
	{
		return static_cast<uint64_t>(rte_hash_count(hash));
	}
	void quiescent(unsigned thread) override
	{
		if (readers)
			rte_rcu_qsbr_quiescent(readers, thread);
	}

      private:
	void follow_readers(unsigned threads)
	{
		rte_hash_rcu_config config{};

		readers = static_cast<rte_rcu_qsbr *>(
		    rte_zmalloc(nullptr, rte_rcu_qsbr_get_memsize(threads), RTE_CACHE_LINE_SIZE));
		if (!readers || rte_rcu_qsbr_init(readers, threads))
			return;
		config.v = readers;
		config.mode = RTE_HASH_QSBR_MODE_DQ;
		config.max_reclaim_size = 1024; // by default 16, and deletions would hold places for long
		for (unsigned i = 0; i < threads; i++) {
			rte_rcu_qsbr_thread_register(readers, i);
			rte_rcu_qsbr_thread_online(readers, i);
		}
		if (rte_hash_rcu_qsbr_add(hash, &config)) {
			rte_hash_free(hash);
			hash = nullptr;
		}
	}

	rte_hash *hash = nullptr;
	Entry *entries = nullptr;
	rte_rcu_qsbr *readers = nullptr;
	std::mutex writer;
};

template <uint8_t flags> std::unique_ptr<Table> make_rte(uint32_t capacity, unsigned threads)
{
	auto table = std::make_unique<RteTable>(capacity, flags, threads);

	return table->ready() ? std::move(table) : nullptr;
}

class CuckooPlusTable : public Table
{
	static constexpr uint32_t words = sizeof(Flow) / sizeof(uint64_t);

      public:
	explicit CuckooPlusTable(uint32_t capacity) : table(flow_cuckoo_new(capacity, words))
	{
	}
	~CuckooPlusTable() override
	{
		flow_cuckoo_free(table);
	}
	bool ready() const
	{
		return table;
	}
	uint32_t find(const Flow *flows, uint32_t count, uint32_t now) override
	{
		const uint64_t *keys[burst_max];
		uint64_t hashes[burst_max];
		flow_cuckoo_entry *found[burst_max];
		uint32_t missing = 0;

		for (uint32_t i = 0; i < count; i++) {
			keys[i] = &flows[i].addresses;
			hashes[i] = FlowHash{}(flows[i]);
		}
		flow_cuckoo_find_bulk(table, keys, hashes, count, words, found);
		for (uint32_t i = 0; i < count; i++) {
			if (found[i])
				__atomic_store_n(&found[i]->last, now, __ATOMIC_RELAXED);
			else
				missing |= 1U << i;
		}
		return missing;
	}
	bool find_one(const Flow &flow, uint32_t now) override
	{
		flow_cuckoo_entry *entry = flow_cuckoo_find(table, &flow.addresses, FlowHash{}(flow), words);

		if (entry)
			__atomic_store_n(&entry->last, now, __ATOMIC_RELAXED);
		return entry;
	}
	uint32_t insert(const Flow *flows, uint32_t count, uint32_t now) override
	{
		uint32_t failed = 0;
		bool is_new;

		for (uint32_t i = 0; i < count; i++) {
			flow_cuckoo_entry *entry =
			    flow_cuckoo_add(table, &flows[i].addresses, FlowHash{}(flows[i]), &is_new);

			if (entry)
				*entry = {1, now};
			else
				failed++;
		}
		return failed;
	}
	void erase(const Flow *flows, uint32_t count) override
	{
		for (uint32_t i = 0; i < count; i++)
			flow_cuckoo_delete(table, &flows[i].addresses, FlowHash{}(flows[i]));
	}
	void expire(uint32_t now) override
	{
		flow_cuckoo_sweep(table, table->mask + 1, now, idle_seconds);
	}
	uint64_t size() const override
	{
		return table->count;
	}

      private:
	flow_cuckoo *table;
};

std::unique_ptr<Table> make_cuckoo_plus(uint32_t capacity, unsigned)
{
	auto table = std::make_unique<CuckooPlusTable>(capacity);

	return table->ready() ? std::move(table) : nullptr;
}

} // namespace

const std::vector<TableKind> &table_kinds()
{
	static std::vector<TableKind> kinds;

	if (kinds.empty()) {
		kinds = {
		    {"rte_hash", false, true, make_rte<0>},
		    {"rte_hash, extendable", false, false, make_rte<RTE_HASH_EXTRA_FLAGS_EXT_TABLE>},
		    {"rte_hash, lock-free", true, false, make_rte<RTE_HASH_EXTRA_FLAGS_RW_CONCURRENCY_LF>},
		    {"Cuckoo++", false, true, make_cuckoo_plus},
		};
		kinds.insert(kinds.end(), map_kinds().begin(), map_kinds().end());
	}
	return kinds;
}
