// SPDX-License-Identifier: Apache-2.0
// The tables of C++ libraries (flow_tables_of_maps.cpp), which table_kinds() joins to DPDK's and the mux's.
#ifndef FAIRLEAD_BENCH_FLOW_TABLES_OF_HPP
#define FAIRLEAD_BENCH_FLOW_TABLES_OF_HPP

#include "flow_table.hpp"

const std::vector<TableKind> &map_kinds();

#endif
