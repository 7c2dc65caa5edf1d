// SPDX-License-Identifier: Apache-2.0
// Packets a second of threads that do the mux's work on packets and look up their flows: with a table each, or with one
// for all under locks. Rows take turns in slices of time by the clock, since waiting for a lock is part of what is
// measured; a tenth of a millisecond counts only if no thread was preempted in it. One packet in --packets-per-flow is the first of a new flow, in whose stead the oldest one is deleted. The
// part `delay` notes how long each burst takes, and feeds these times into a queue.
#include "flow_state.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <mutex>
#include <shared_mutex>
#include <thread>

#include <pthread.h>
#include <rte_cycles.h>

#include "flow_work.h"

namespace
{

enum class Sharing { none, own, mutex, mutex_burst, rw, free };

constexpr const char *sharing_names[] = {"stateless", "per core", "mutex", "mutex, burst", "rwlock", "concurrent"};
constexpr uint32_t buckets = 65536, queue_packets = 200000, quantiles = 200;
constexpr int attempts_max = 20;
constexpr double group_ns = 100000;

struct Stand {
	const TableKind *kind; // NULL: stateless
	Sharing sharing;
	uint32_t threads;
	std::vector<std::unique_ptr<Table>> tables;
	std::vector<uint64_t> oldest; // of each thread's flows
	std::mutex mutex;
	std::shared_mutex rw;
	std::vector<double> rates, share, known; // Mpps, of the clock, of the packets
	std::vector<float> bursts;               // ns
	uint32_t disturbed = 0;                  // rounds on a machine too busy for undisturbed groups
	uint64_t dropped = 0;                    // groups of bursts in which some thread lost its processor
};

// Some bursts of a thread, one after another.
struct Group {
	uint64_t begin, end; // cycles
	size_t bursts;       // where their times begin
	uint32_t count, missing;
	bool counts, interrupted;
};

struct Thread {
	flow_work *work;
	std::vector<Group> groups;
	std::vector<float> bursts; // ns, of the part `delay`
	double wall = 0, cpu = 0;
};

class Packets
{
      public:
	Packets(const Options &from, bool with_delay) : options(from), delay(with_delay)
	{
		cpu_set_t set;

		CPU_ZERO(&set);
		if (sched_getaffinity(0, sizeof(set), &set))
			die("the allowed processors can't be read");
		for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
			if (CPU_ISSET(cpu, &set))
				cores.push_back(cpu);
		if (cores.size() < options.threads)
			die("--threads: '" + std::to_string(options.threads) + "' is not allowed; allowed: 1 to " +
			    std::to_string(cores.size()) + ", the processors that it may use");
		for (uint32_t i = 0; i < options.threads; i++) {
			works.push_back(flow_work_new(buckets));
			if (!works.back())
				die("no memory for packets");
		}
		add_stands();
	}

	void run()
	{
		const char *before = "";

		for (uint32_t load : options.loads) {
			for (auto &stand : stands)
				fill(*stand, load);
			for (uint32_t run = 0; run < options.runs; run++)
				for (size_t i = 0; i < stands.size(); i++)
					slice(*stands[(i + run) % stands.size()]);
			for (auto &stand : stands) {
				print(*stand, load, before);
				before = ",\n";
			}
		}
		printf("\n");
	}

      private:
	void add_stands()
	{
		for (uint32_t threads = delay ? options.threads : 1; threads <= options.threads; threads++)
			add(nullptr, Sharing::none, threads);
		for (const TableKind &kind : table_kinds()) {
			if (!options.wants(kind.name))
				continue;
			for (uint32_t threads = delay ? options.threads : 1; threads <= options.threads; threads++) {
				if (kind.concurrent) {
					add(&kind, Sharing::free, threads);
					continue;
				}
				add(&kind, Sharing::own, threads);
				add(&kind, Sharing::mutex, threads);
				add(&kind, Sharing::mutex_burst, threads);
				add(&kind, Sharing::rw, threads);
			}
		}
	}

	void add(const TableKind *kind, Sharing sharing, uint32_t threads)
	{
		auto stand = std::make_unique<Stand>();
		uint32_t tables = !kind ? 0 : sharing == Sharing::own ? threads : 1;

		stand->kind = kind;
		stand->sharing = sharing;
		stand->threads = threads;
		for (uint32_t i = 0; i < tables; i++)
			stand->tables.push_back(table_new(*kind, options.capacity() / tables, threads));
		stand->oldest.resize(threads);
		for (uint32_t i = 0; i < threads; i++)
			stand->oldest[i] = static_cast<uint64_t>(i) << 36;
		stands.push_back(std::move(stand));
	}

	Table *table_of(Stand &stand, uint32_t thread)
	{
		return stand.tables.size() > 1 ? stand.tables[thread].get()
		       : stand.tables.empty()  ? nullptr
					       : stand.tables[0].get();
	}

	// Each thread has its part of the flows, as receive-side scaling would give it.
	void fill(Stand &stand, uint32_t load)
	{
		size = std::max(burst_max, options.capacity() / 100 * load);
		stand.rates.clear();
		stand.share.clear();
		stand.known.clear();
		stand.bursts.clear();
		stand.dropped = 0;
		stand.disturbed = 0;
		for (uint32_t thread = 0; thread < stand.threads; thread++) {
			Table *table = table_of(stand, thread);

			for (uint32_t i = 0; table && i < size / stand.threads; i++) {
				Flow flow = flow_of(stand.oldest[thread] + i, options.seed);

				table->insert(&flow, 1, now_seconds);
			}
			if (table)
				for (uint32_t other = 0; other < stand.threads; other++)
					table->quiescent(other);
		}
	}

	static uint32_t insert_missing(Table &table, const Flow *flows, uint32_t missing)
	{
		uint32_t failed = 0;

		for (uint32_t left = missing; left; left &= left - 1)
			failed += table.insert(&flows[__builtin_ctz(left)], 1, now_seconds);
		return failed;
	}

	static uint32_t serve_unlocked(Table &table, const Flow *flows)
	{
		uint32_t missing = table.find(flows, burst_max, now_seconds);

		return missing ? insert_missing(table, flows, missing) : 0;
	}

	// Looks up the burst's flows and adds the unknown ones; returns how many found no place.
	static uint32_t serve(Stand &stand, Table &table, const Flow *flows)
	{
		uint32_t failed = 0;

		switch (stand.sharing) {
		case Sharing::mutex_burst: {
			std::lock_guard<std::mutex> lock(stand.mutex);

			return serve_unlocked(table, flows);
		}
		case Sharing::mutex:
			for (uint32_t i = 0; i < burst_max; i++) {
				std::lock_guard<std::mutex> lock(stand.mutex);

				if (!table.find_one(flows[i], now_seconds))
					failed += table.insert(&flows[i], 1, now_seconds);
			}
			return failed;
		case Sharing::rw:
			for (uint32_t i = 0; i < burst_max; i++) {
				bool known;
				{
					std::shared_lock<std::shared_mutex> lock(stand.rw);

					known = table.find_one(flows[i], now_seconds);
				}
				if (known)
					continue;
				std::lock_guard<std::shared_mutex> lock(stand.rw);
				failed += table.insert(&flows[i], 1, now_seconds);
			}
			return failed;
		default:
			return serve_unlocked(table, flows);
		}
	}

	static void forget(Stand &stand, Table &table, const Flow &flow)
	{
		if (stand.sharing == Sharing::mutex || stand.sharing == Sharing::mutex_burst) {
			std::lock_guard<std::mutex> lock(stand.mutex);

			table.erase(&flow, 1);
		} else if (stand.sharing == Sharing::rw) {
			std::lock_guard<std::shared_mutex> lock(stand.rw);

			table.erase(&flow, 1);
		} else {
			table.erase(&flow, 1);
		}
	}

	// Returns how many of its packets' flows found no place.
	uint32_t burst(Stand &stand, uint32_t number, Thread &thread, Chance &chance, uint64_t *since_new)
	{
		Table *table = table_of(stand, number);
		uint32_t mine = size / stand.threads;
		uint64_t &oldest = stand.oldest[number];
		uint32_t missing = 0;
		Flow flows[burst_max];

		if (!flow_work_burst(thread.work))
			die("the mux did not steer a packet");
		for (Flow &flow : flows) {
			if (++*since_new == options.packets_per_flow) {
				*since_new = 0;
				if (table)
					forget(stand, *table, flow_of(oldest, options.seed));
				oldest++;
				flow = flow_of(oldest + mine - 1, options.seed);
			} else {
				flow = flow_of(oldest + chance.below(mine), options.seed);
			}
		}
		if (table) {
			missing = serve(stand, *table, flows);
			table->quiescent(number);
		} else {
			for (const Flow &flow : flows)
				asm volatile("" ::"r"(flow.addresses), "r"(flow.ports));
		}
		return missing;
	}

	static long lost_processor()
	{
		rusage usage{};

		getrusage(RUSAGE_THREAD, &usage);
		return usage.ru_nivcsw;
	}

	void loop(Stand &stand, uint32_t number, Thread &thread)
	{
		Chance chance(options.seed * 1000003 + number + stand.rates.size() * 7919);
		uint64_t since_new = chance.below(options.packets_per_flow);
		cpu_set_t set;
		double wall, cpu;
		long lost;

		CPU_ZERO(&set);
		CPU_SET(cores[number], &set);
		if (pthread_setaffinity_np(pthread_self(), sizeof(set), &set))
			die("a thread can't have a processor of its own");
		if (delay)
			thread.bursts.reserve(1 << 20);
		ready++;
		while (!go.load(std::memory_order_acquire))
			std::this_thread::yield();
		wall = seconds_by(CLOCK_MONOTONIC);
		cpu = seconds_by(CLOCK_THREAD_CPUTIME_ID);
		lost = lost_processor();
		while (!stop.load(std::memory_order_relaxed)) {
			Group group{};
			long lost_now;

			group.counts = counting.load(std::memory_order_relaxed);
			group.bursts = thread.bursts.size();
			group.begin = rte_rdtsc();
			do {
				uint64_t start = rte_rdtsc();

				group.missing += burst(stand, number, thread, chance, &since_new);
				group.end = rte_rdtsc();
				group.count++;
				if (delay)
					thread.bursts.push_back(static_cast<float>(
					    static_cast<double>(group.end - start) / cycles_per_ns()));
			} while (static_cast<double>(group.end - group.begin) < group_ns * cycles_per_ns());
			lost_now = lost_processor();
			group.interrupted = lost_now != lost;
			lost = lost_now;
			thread.groups.push_back(group);
		}
		thread.wall = seconds_by(CLOCK_MONOTONIC) - wall;
		thread.cpu = seconds_by(CLOCK_THREAD_CPUTIME_ID) - cpu;
	}

	// A preempted thread's neighbour waits for its lock, or has the lock alone: neither is what is measured.
	static bool is_undisturbed(const std::vector<Thread> &threads, const Group &group)
	{
		for (const Thread &thread : threads)
			for (const Group &other : thread.groups)
				if (other.interrupted && other.begin < group.end && group.begin < other.end)
					return false;
		return true;
	}

	// Adds a slice's rate to the row; false: no group of a thread was undisturbed. all: disturbed ones count, too.
	bool keep(Stand &stand, const std::vector<Thread> &threads, bool all)
	{
		double rate = 0, wall = 0, cpu = 0, packets = 0, missing = 0;
		std::vector<float> bursts;

		for (const Thread &thread : threads) {
			double mine = 0, ns = 0;

			for (const Group &group : thread.groups) {
				if (!group.counts || (!all && !is_undisturbed(threads, group))) {
					stand.dropped += group.counts;
					continue;
				}
				mine += group.count * burst_max;
				missing += group.missing;
				ns += static_cast<double>(group.end - group.begin) / cycles_per_ns();
				for (uint32_t i = 0; delay && i < group.count; i++)
					bursts.push_back(thread.bursts[group.bursts + i]);
			}
			if (mine <= 0)
				return false;
			packets += mine;
			rate += mine / ns * 1000;
			wall += thread.wall;
			cpu += thread.cpu;
		}
		stand.rates.push_back(rate);
		stand.share.push_back(cpu / wall);
		stand.known.push_back(1 - missing / packets);
		stand.bursts.insert(stand.bursts.end(), bursts.begin(), bursts.end());
		return true;
	}

	std::vector<Thread> run_threads(Stand &stand)
	{
		std::vector<Thread> threads(stand.threads);
		std::vector<std::thread> running;

		go = counting = stop = false;
		ready = 0;
		for (uint32_t i = 0; i < stand.threads; i++) {
			threads[i].work = works[i];
			running.emplace_back([this, &stand, &threads, i] { loop(stand, i, threads[i]); });
		}
		while (ready.load() < stand.threads)
			std::this_thread::yield();
		go.store(true, std::memory_order_release);
		std::this_thread::sleep_for(std::chrono::milliseconds(options.slice_ms) / 2); // caches fill
		counting = true;
		std::this_thread::sleep_for(std::chrono::milliseconds(options.slice_ms));
		stop = true;
		for (std::thread &thread : running)
			thread.join();
		return threads;
	}

	void slice(Stand &stand)
	{
		for (int attempt = 0; attempt < attempts_max; attempt++)
			if (keep(stand, run_threads(stand), false))
				return;
		stand.disturbed++;
		while (!keep(stand, run_threads(stand), true))
			;
	}

	// A worker that polls takes what waits, at most a burst, whose time is that of a measured one, drawn at random, in
	// proportion. Returns quantiles of packets' delays, ns.
	std::vector<double> queue(const std::vector<float> &bursts, double offered) const
	{
		Chance chance(options.seed + 17);
		std::vector<double> delays, waiting, result;
		double mean = 0, now = 0, next = 0;

		for (float ns : bursts)
			mean += ns;
		mean /= static_cast<double>(bursts.size()) * burst_max;
		delays.reserve(queue_packets + burst_max);
		while (delays.size() < queue_packets) {
			double took;

			now = std::max(now, next);
			waiting.clear();
			while (next <= now && waiting.size() < burst_max) {
				waiting.push_back(next);
				next -=
				    std::log((static_cast<double>(chance.next() >> 11) + 1) * 0x1p-53) * mean / offered;
			}
			took = bursts[chance.below(static_cast<uint32_t>(bursts.size()))] *
			       static_cast<double>(waiting.size()) / burst_max;
			now += took;
			for (double arrival : waiting)
				delays.push_back(now - arrival);
		}
		std::sort(delays.begin(), delays.end());
		for (uint32_t i = 0; i < quantiles; i++)
			result.push_back(delays[delays.size() * i / quantiles]);
		for (double q : {0.999, 0.9999})
			result.push_back(delays[static_cast<size_t>(static_cast<double>(delays.size()) * q)]);
		return result;
	}

	void print(Stand &stand, uint32_t load, const char *before) const
	{
		printf(
		    "%s  {\"table\": \"%s\", \"sharing\": \"%s\", \"threads\": %u, \"load\": %u, \"disturbed\": %u, ",
		    before, stand.kind ? stand.kind->name : "stateless", sharing_names[static_cast<int>(stand.sharing)],
		    stand.threads, load, stand.disturbed);
		print_list("mpps", stand.rates, ", ");
		print_list("share", stand.share, ", ");
		print_list("placed", stand.known, "");
		if (delay) {
			printf(",\n   \"bursts\": %zu, \"dropped\": %lu, ", stand.bursts.size(),
			       static_cast<unsigned long>(stand.dropped));
			print_list("offered_65", queue(stand.bursts, 0.65), ", ");
			print_list("offered_95", queue(stand.bursts, 0.95), "");
		}
		printf("}");
	}

	const Options &options;
	bool delay;
	std::vector<int> cores;
	std::vector<flow_work *> works;
	std::vector<std::unique_ptr<Stand>> stands;
	uint32_t size = 0; // flows of all threads
	std::atomic<bool> go{false}, counting{false}, stop{false};
	std::atomic<uint32_t> ready{0};
};

} // namespace

void measure_packets(const Options &options, bool delay)
{
	Packets(options, delay).run();
}
