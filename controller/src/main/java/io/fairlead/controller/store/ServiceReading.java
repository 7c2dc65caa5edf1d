// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.store;

import java.util.List;
import java.util.Optional;

/**
 * A service as read: its state, and the bytes that lead to its latest generation.
 *
 * @param snapshot to start from; empty if the reader starts from what it knew
 * @param deltas of every generation after that, up to the latest
 */
public record ServiceReading(ServiceState state, Optional<byte[]> snapshot, List<byte[]> deltas) {}
