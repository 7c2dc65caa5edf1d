// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.http;

import io.micrometer.core.instrument.MeterRegistry;
import io.vertx.core.Context;
import io.vertx.ext.web.RoutingContext;
import io.vertx.openapi.contract.OpenAPIContract;
import io.vertx.openapi.contract.Operation;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Checks that the caller's token has the role of the operation in the contract ({@code x-role}) or
 * a higher one, for the service that the path names or for all. An agent may have a certificate in
 * place of a token. Without a file of tokens every caller may do everything, and an operation
 * without a role is always open.
 */
final class Access {
  static final String ANONYMOUS = "nobody";

  private static final Logger LOG = LoggerFactory.getLogger(Access.class);
  private static final String CALLER = Access.class.getName();
  private static final String OPEN = CALLER + ".open";
  private static final String SERVICES = "/v1/services/";
  private static final int UNAUTHORIZED = 401;
  private static final String SCHEME = "Bearer ";

  private final Contract contract;
  private final OpenAPIContract api;
  private final Supplier<Callers> callers;
  private final MeterRegistry metrics;
  private final LogLimit limit;

  /**
   * @param callers the current ones
   */
  Access(
      Contract contract,
      OpenAPIContract api,
      Supplier<Callers> callers,
      MeterRegistry metrics,
      LogLimit limit) {
    this.contract = contract;
    this.api = api;
    this.callers = callers;
    this.metrics = metrics;
    this.limit = limit;
  }

  void handle(RoutingContext context) {
    Callers known = callers.get();
    Operation operation = api.findOperation(context.request().path(), context.request().method());
    Optional<Role> wanted = operation == null ? Optional.of(Role.VIEWER) : contract.role(operation);
    Optional<Caller> certified =
        token(context).isEmpty() && wanted.isPresent()
            ? ClientCertificate.caller(context.request())
            : Optional.empty();
    if (known.isOpen() || wanted.isEmpty()) {
      context.put(OPEN, known.isOpen());
      certified.ifPresent(server -> context.put(CALLER, server));
      context.next();
      return;
    }
    Optional<Caller> caller = certified.or(() -> token(context).flatMap(known::listed));
    Optional<Oidc> issuer = token(context).flatMap(known::issuer);
    if (caller.isPresent()) {
      decide(context, caller.get(), wanted.get());
    } else if (issuer.isPresent()) {
      verify(context, issuer.get(), wanted.get());
    } else {
      refuse(
          context,
          ANONYMOUS,
          Problem.of(
              Problem.Kind.UNAUTHORIZED,
              "Authorization",
              token(context).map(sent -> "an unknown token"),
              known.allowed()));
    }
  }

  private void decide(RoutingContext context, Caller caller, Role wanted) {
    if (caller.may(wanted, service(context))) {
      context.put(CALLER, caller);
      context.next();
    } else {
      refuse(
          context,
          caller.name(),
          Problem.of(
              Problem.Kind.FORBIDDEN,
              "role",
              Optional.of(caller.roles()),
              caller.wanting(wanted, service(context))));
    }
  }

  /** By a JWT; the request waits while its key is fetched. */
  private void verify(RoutingContext context, Oidc issuer, Role wanted) {
    String token = token(context).orElseThrow();
    Oidc.Verdict verdict = issuer.check(token);
    if (!(verdict instanceof Oidc.Unknown)) {
      settle(context, issuer, verdict, wanted);
      return;
    }
    context.request().pause();
    Context here = context.vertx().getOrCreateContext();
    issuer
        .refresh()
        .thenRun(
            () ->
                here.runOnContext(
                    nothing -> {
                      context.request().resume();
                      settle(context, issuer, issuer.check(token), wanted);
                    }));
  }

  private void settle(RoutingContext context, Oidc issuer, Oidc.Verdict verdict, Role wanted) {
    Oidc.Verdict last = verdict instanceof Oidc.Unknown unknown ? unknown.otherwise() : verdict;
    issuer.count(last);
    if (last instanceof Oidc.Accepted accepted) {
      decide(context, accepted.caller(), wanted);
    } else if (last instanceof Oidc.Refused refused) {
      refuse(context, ANONYMOUS, refused.problem());
    }
  }

  private static Optional<Caller> accepted(Callers known, String token) {
    return known
        .issuer(token)
        .map(issuer -> issuer.check(token))
        .filter(Oidc.Accepted.class::isInstance)
        .map(verdict -> ((Oidc.Accepted) verdict).caller());
  }

  /** Whether the request would still be accepted: a stream may outlive its token. */
  boolean isStillAllowed(RoutingContext context) {
    Operation operation = api.findOperation(context.request().path(), context.request().method());
    Callers known = callers.get();
    return known.isOpen()
        || ClientCertificate.caller(context.request())
            .filter(caller -> token(context).isEmpty())
            .or(() -> token(context).flatMap(known::listed))
            .or(() -> token(context).flatMap(token -> accepted(known, token)))
            .filter(
                caller ->
                    contract.role(operation).stream()
                        .allMatch(role -> caller.may(role, service(context))))
            .isPresent();
  }

  /** The name of the request's token. */
  static String caller(RoutingContext context) {
    return found(context).map(Caller::name).orElse(ANONYMOUS);
  }

  /** Who calls, and what it may do: without tokens everything. */
  static Identity identity(RoutingContext context) {
    List<Grant> grants =
        context.get(OPEN, false)
            ? List.of(Grant.of(Role.ADMIN))
            : found(context).map(Caller::grants).orElse(List.of());
    return Identity.of(caller(context), grants);
  }

  /** Who speaks for a server; one that is not known may speak for all. */
  static Sender sender(RoutingContext context) {
    return new Sender(caller(context), found(context).map(Caller::addresses));
  }

  /** Whether it was a certificate that told who calls. */
  static boolean isByCertificate(RoutingContext context) {
    return found(context).isPresent() && token(context).isEmpty();
  }

  /** Whether the caller is an admin of some services only, who may not change the cluster. */
  static boolean isRestricted(RoutingContext context) {
    return found(context).filter(caller -> !caller.may(Role.ADMIN, Optional.empty())).isPresent();
  }

  /** Of a path that is spelled in another way it is no service's; {@link Guard} refuses those. */
  private static Optional<String> service(RoutingContext context) {
    String path = context.request().path();
    return path.startsWith(SERVICES)
        ? Optional.of(path.substring(SERVICES.length()).split("/", 2)[0])
        : Optional.empty();
  }

  private static Optional<Caller> found(RoutingContext context) {
    return Optional.ofNullable(context.get(CALLER));
  }

  private void refuse(RoutingContext context, String who, Problem problem) {
    if (problem.status() == UNAUTHORIZED) {
      context.response().putHeader("WWW-Authenticate", "Bearer realm=\"fairlead\"");
    }
    OptionalLong suppressed = limit.take();
    if (suppressed.isEmpty()) {
      metrics.counter("fairlead.controller.access.refused.unlogged").increment();
    } else {
      LOG.warn(
          "{} {} by {} from {} is refused with {}; refused without a line here since the last one:"
              + " {}",
          context.request().method(),
          context.request().path(),
          who,
          context.request().remoteAddress(),
          problem.status(),
          suppressed.getAsLong());
    }
    metrics
        .counter("fairlead.controller.access.refused", "status", Integer.toString(problem.status()))
        .increment();
    Failures.send(context, problem);
  }

  private static Optional<String> token(RoutingContext context) {
    return Optional.ofNullable(context.request().getHeader("Authorization"))
        .filter(value -> value.regionMatches(true, 0, SCHEME, 0, SCHEME.length()))
        .map(value -> value.substring(SCHEME.length()).strip());
  }
}
