// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.store;

import com.fasterxml.jackson.annotation.JsonInclude;
import java.util.Optional;

/**
 * The leader and its address: written by a leader in the step that raises the epoch, ephemeral.
 *
 * @param url of its API, such as "https://10.1.0.5:8080"; absent if it has none
 */
@JsonInclude(JsonInclude.Include.NON_ABSENT)
public record Leader(int format, String id, long epoch, Optional<String> url) {
  public static final int FORMAT = 1;
}
