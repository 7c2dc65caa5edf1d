// SPDX-License-Identifier: Apache-2.0
// Maps of C++ libraries, each by its own defaults, with room for `capacity` flows. std::unordered_map keeps its
// number of chains, as in the report; the others grow when their own limit is reached.
#include "flow_tables_of.hpp"

#include <unordered_map>

#include <absl/container/flat_hash_map.h>
#include <boost/unordered/unordered_flat_map.hpp>
#include <libcuckoo/cuckoohash_map.hh>
#include <sparsehash/dense_hash_map>
#include <tsl/hopscotch_map.h>
#include <tsl/robin_map.h>

namespace
{

using Chains = std::unordered_map<Flow, Entry, FlowHash>;
using Hopscotch = tsl::hopscotch_map<Flow, Entry, FlowHash>;
using Robin = tsl::robin_map<Flow, Entry, FlowHash>;
using Swiss = absl::flat_hash_map<Flow, Entry, FlowHash>;
using Flat = boost::unordered_flat_map<Flow, Entry, FlowHash>;
using Dense = google::dense_hash_map<Flow, Entry, FlowHash>;
using Locked = libcuckoo::cuckoohash_map<Flow, Entry, FlowHash>;

void prepare(Chains &map, uint32_t capacity)
{
	map.reserve(capacity);
	map.max_load_factor(32);
}

void prepare(Dense &map, uint32_t capacity)
{
	map.set_empty_key({~0ULL, ~0ULL});
	map.set_deleted_key({~0ULL, ~0ULL - 1});
	map.resize(capacity);
}

template <class Map> void prepare(Map &map, uint32_t capacity)
{
	map.reserve(capacity);
}

Entry &entry_of(Hopscotch::iterator at)
{
	return at.value();
}

Entry &entry_of(Robin::iterator at)
{
	return at.value();
}

template <class Iterator> Entry &entry_of(Iterator at)
{
	return at->second;
}

template <class Map> void fetch(const Map &, const Flow *, uint32_t)
{
}

void fetch(const Swiss &map, const Flow *flows, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		map.prefetch(flows[i]);
}

// Deletes the entry and returns the next: as each library allows it while one walks through.
template <class Map> typename Map::iterator erase_at(Map &map, typename Map::iterator at)
{
	if constexpr (std::is_same_v<decltype(map.erase(at)), void>) {
		map.erase(at++);
		return at;
	} else {
		return map.erase(at);
	}
}

template <class Map> class MapTable : public Table
{
      public:
	explicit MapTable(uint32_t capacity)
	{
		prepare(map, capacity);
	}
	uint32_t find(const Flow *flows, uint32_t count, uint32_t now) override
	{
		uint32_t missing = 0;

		fetch(map, flows, count);
		for (uint32_t i = 0; i < count; i++)
			if (!MapTable::find_one(flows[i], now))
				missing |= 1U << i;
		return missing;
	}
	bool find_one(const Flow &flow, uint32_t now) override
	{
		auto at = map.find(flow);

		if (at == map.end())
			return false;
		__atomic_store_n(&entry_of(at).last, now, __ATOMIC_RELAXED);
		return true;
	}
	uint32_t insert(const Flow *flows, uint32_t count, uint32_t now) override
	{
		for (uint32_t i = 0; i < count; i++)
			entry_of(map.insert({flows[i], Entry{1, now}}).first) = {1, now};
		return 0;
	}
	void erase(const Flow *flows, uint32_t count) override
	{
		for (uint32_t i = 0; i < count; i++)
			map.erase(flows[i]);
	}
	void expire(uint32_t now) override
	{
		for (auto at = map.begin(); at != map.end();) {
			if (now - entry_of(at).last > idle_seconds)
				at = erase_at(map, at);
			else
				++at;
		}
	}
	uint64_t size() const override
	{
		return map.size();
	}

      private:
	Map map;
};

// libcuckoo locks by itself: each function takes the locks of a flow's two buckets.
class LibcuckooTable : public Table
{
      public:
	explicit LibcuckooTable(uint32_t capacity)
	{
		map.reserve(capacity);
	}
	uint32_t find(const Flow *flows, uint32_t count, uint32_t now) override
	{
		uint32_t missing = 0;

		for (uint32_t i = 0; i < count; i++)
			if (!LibcuckooTable::find_one(flows[i], now))
				missing |= 1U << i;
		return missing;
	}
	bool find_one(const Flow &flow, uint32_t now) override
	{
		return map.update_fn(flow, [now](Entry &entry) { entry.last = now; });
	}
	uint32_t insert(const Flow *flows, uint32_t count, uint32_t now) override
	{
		for (uint32_t i = 0; i < count; i++)
			map.insert_or_assign(flows[i], Entry{1, now});
		return 0;
	}
	void erase(const Flow *flows, uint32_t count) override
	{
		for (uint32_t i = 0; i < count; i++)
			map.erase(flows[i]);
	}
	void expire(uint32_t now) override
	{
		auto all = map.lock_table();

		for (auto at = all.begin(); at != all.end();) {
			if (now - at->second.last > idle_seconds)
				at = all.erase(at);
			else
				++at;
		}
	}
	uint64_t size() const override
	{
		return map.size();
	}

      private:
	Locked map;
};

template <class Kind> std::unique_ptr<Table> make(uint32_t capacity, unsigned)
{
	return std::make_unique<Kind>(capacity);
}

} // namespace

const std::vector<TableKind> &map_kinds()
{
	static const std::vector<TableKind> kinds = {
	    {"std::unordered_map", false, true, make<MapTable<Chains>>},
	    {"hopscotch", false, true, make<MapTable<Hopscotch>>},
	    {"robin-map", false, false, make<MapTable<Robin>>},
	    {"absl::flat_hash_map", false, false, make<MapTable<Swiss>>},
	    {"boost::unordered_flat_map", false, false, make<MapTable<Flat>>},
	    {"dense_hash_map", false, false, make<MapTable<Dense>>},
	    {"libcuckoo", true, false, make<LibcuckooTable>},
	};

	return kinds;
}
