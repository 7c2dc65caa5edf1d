// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.http;

import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What protects the controller from others in its network (docs/security.md): the log of its start
 * and a metric name what is missing.
 */
enum Protection {
  API("--tokens or --oidc") {
    @Override
    boolean isMissing(Endpoint listen, Security security) {
      return security.isOpen();
    }
  },
  API_TRANSPORT("--tls-cert and --tls-key, or --listen with a loopback address") {
    @Override
    boolean isMissing(Endpoint listen, Security security) {
      return security.tls().isEmpty() && !listen.isLoopback();
    }
  },
  ZOOKEEPER_LOGIN("--zookeeper-auth") {
    @Override
    boolean isMissing(Endpoint listen, Security security) {
      return !security.isTreeProtected();
    }
  },
  ZOOKEEPER_TRANSPORT("--zookeeper-tls-ca, or ZooKeeper at a loopback address") {
    @Override
    boolean isMissing(Endpoint listen, Security security) {
      return !security.isTreePrivate();
    }
  };

  private static final Logger LOG = LoggerFactory.getLogger(Protection.class);

  private final String remedy;

  Protection(String remedy) {
    this.remedy = remedy;
  }

  abstract boolean isMissing(Endpoint listen, Security security);

  /** Of the metric. */
  String label() {
    return name().toLowerCase(Locale.ROOT);
  }

  /** Logs what is missing, and registers a gauge for each. */
  static void show(Endpoint listen, Security security, MeterRegistry metrics) {
    List<Protection> missing =
        Arrays.stream(values()).filter(each -> each.isMissing(listen, security)).toList();
    for (Protection each : values()) {
      Gauge.builder("fairlead.controller.unprotected", () -> missing.contains(each) ? 1 : 0)
          .description(
              "1 for each protection against others in the network that this controller lacks")
          .tag("what", each.label())
          .register(metrics);
    }
    if (!missing.isEmpty()) {
      LOG.warn(
          "protection is missing: {}; see docs/security.md",
          missing.stream()
              .map(each -> "%s (%s)".formatted(each.label(), each.remedy))
              .collect(Collectors.joining(", ")));
    }
  }
}
