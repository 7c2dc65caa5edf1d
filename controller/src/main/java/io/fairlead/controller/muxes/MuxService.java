// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.muxes;

import java.util.Optional;

/**
 * {@code state} is "loading", "serving" or "stale". {@code withdrawn} says why the mux does not
 * announce the service although its ring could serve.
 */
public record MuxService(long generation, String state, Optional<String> withdrawn) {}
