// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.plane;

import java.net.URI;
import java.util.Optional;

/**
 * @param epoch that this controller last led in, 0 for none
 * @param leaderUrl of the API of the controller that leads, if one does and says so
 */
public record Health(
    boolean leader, long epoch, String zookeeper, int services, Optional<URI> leaderUrl) {}
