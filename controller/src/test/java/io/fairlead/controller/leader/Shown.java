// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.leader;

import io.fairlead.controller.core.image.ServiceConfig;
import io.fairlead.controller.resources.backends.BackendView;
import io.fairlead.controller.resources.explain.Explanation;
import io.fairlead.controller.resources.explain.Flow;
import io.fairlead.controller.resources.explain.RingView;
import io.fairlead.controller.resources.services.ServiceView;
import io.fairlead.controller.resources.upkeep.UpkeepView;
import java.time.Instant;
import java.util.List;
import java.util.Optional;

/** What a controller shows through the resources of its API. */
public final class Shown {
  private Shown() {}

  public static List<ServiceView> services(FairleadController controller) {
    return controller.plane().services().stream().map(ServiceView::of).toList();
  }

  public static Optional<ServiceView> service(FairleadController controller, String name) {
    return services(controller).stream()
        .filter(view -> view.config().name().equals(name))
        .findFirst();
  }

  static ServiceConfig config(FairleadController controller, String name) {
    return service(controller, name).orElseThrow().config();
  }

  public static List<BackendView> backends(FairleadController controller, String service) {
    return controller.plane().read(service, stored -> BackendView.of(stored.image(), List.of()));
  }

  static UpkeepView upkeep(FairleadController controller, String service) {
    return controller.plane().read(service, stored -> UpkeepView.of(stored.image()));
  }

  static RingView ring(FairleadController controller, String service) {
    return controller.plane().read(service, stored -> RingView.of(stored.image()));
  }

  static Explanation explain(FairleadController controller, String service, Flow flow) {
    Instant now = controller.clock().instant();
    return controller
        .plane()
        .read(
            service,
            stored ->
                Explanation.of(
                    stored.image(),
                    Optional.empty(),
                    flow,
                    controller.softState().reports(),
                    controller.softState().settled().seen(stored.image()),
                    now));
  }
}
