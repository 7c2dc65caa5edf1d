// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.services;

import com.fasterxml.jackson.annotation.JsonIgnoreProperties;
import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.annotation.JsonUnwrapped;
import io.fairlead.controller.core.image.ServiceConfig;
import io.fairlead.controller.resources.plane.Staging;
import io.fairlead.controller.store.repository.StoredService;
import java.util.Optional;

/**
 * A service as the API shows it: its configuration without the hash key, which is a secret.
 *
 * @param staging the latest change of weights in steps
 * @param version differs after every commit to the service, of its ring or its settings
 * @param backends how many, draining ones included
 */
public record ServiceView(
    @JsonUnwrapped @JsonIgnoreProperties({"format", "hashKey"}) ServiceConfig config,
    String version,
    long generation,
    int backends,
    @JsonInclude(JsonInclude.Include.NON_ABSENT) Optional<Staging> staging) {
  public static ServiceView of(StoredService stored) {
    return new ServiceView(
        stored.image().config(),
        stored.version(),
        stored.image().ring().generation(),
        stored.image().pool().size(),
        stored.image().transitions().stage().map(Staging::of));
  }
}
