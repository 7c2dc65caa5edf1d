// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.othello;

import io.fairlead.controller.resources.muxes.MuxView;
import io.fairlead.controller.resources.muxes.SettledServices;
import io.fairlead.controller.store.ServiceStore;
import java.util.List;
import java.util.OptionalLong;
import java.util.function.LongSupplier;
import java.util.function.Supplier;

/**
 * What all keepers read.
 *
 * @param muxes as they describe themselves
 * @param settled when no mux opens connections by older arrays any more
 * @param nanos a monotonic clock
 * @param seconds the clock of commits, Unix seconds; empty while it would not date any
 * @param arraysWait for agents and muxes; false only to show what breaks then
 */
public record Surroundings(
    ServiceStore store,
    Supplier<List<MuxView>> muxes,
    SettledServices settled,
    LongSupplier nanos,
    Supplier<OptionalLong> seconds,
    LongSupplier random,
    boolean arraysWait) {}
