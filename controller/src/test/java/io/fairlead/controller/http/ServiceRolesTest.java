// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.http;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.fairlead.controller.http.ApiClient.Reply;
import io.fairlead.controller.leader.MemoryController;
import io.fairlead.controller.secret.SecretFile;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Predicate;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Roles of some services: what they may change, and that they see the rest. */
class ServiceRolesTest {
  private static final String SERVICE =
      "{\"vips\":[\"::%d\"],\"ports\":[{\"protocol\":\"tcp\",\"port\":80}]}";
  private static final String SECRET = "-0123456789abcdef";

  /**
   * Every operation of the contract by what it takes: {@code any} who has a token, {@code server},
   * {@code open} to all, or operator or admin of {@code one} service or {@code all}. A new
   * operation must be written here by hand.
   */
  private static final Map<String, List<String>> TAKES =
      Map.of(
          "any",
          List.of(
              "listServices",
              "getService",
              "listBackends",
              "getBackend",
              "getRing",
              "getRingCells",
              "getHolds",
              "getGenerations",
              "getOthello",
              "getUpkeep",
              "explain",
              "getCluster",
              "listMuxes",
              "getMuxMetrics",
              "explainAtMux",
              "getOverview",
              "getStage",
              "listMetricsTargets",
              "listHealth",
              "listDrains",
              "listAgents",
              "streamEvents",
              "whoAmI",
              "getMetrics"),
          "operator of one",
          List.of(
              "putBackend",
              "changeBackend",
              "removeBackend",
              "changeBackends",
              "rebalance",
              "defragment",
              "stopUpkeep",
              "drainBackends",
              "undrainBackends",
              "samplePackets",
              "holdHealth",
              "releaseHealth",
              "advanceStage",
              "rollBackStage"),
          "admin of one",
          List.of("putService", "changeService", "deleteService", "undeleteService"),
          "admin of all",
          List.of("createService", "putCluster", "getBackup", "listAudit", "putMux", "deleteMux"),
          "server",
          List.of("getAgentServices", "postAgentReport"),
          "open",
          List.of("getHealth", "getContract"));

  /** Who calls, by the token's role, and what it may do with {@code web}. */
  private static final Map<String, Predicate<String>> MAY =
      Map.of(
          "viewer",
          "any"::equals,
          "operator",
          takes -> takes.equals("any") || takes.equals("operator of one"),
          "admin",
          takes -> !takes.equals("server"),
          "server=10.2.0.7",
          "server"::equals,
          "operator=web,shop",
          takes -> takes.equals("any") || takes.equals("operator of one"),
          "admin=web",
          takes -> takes.equals("any") || takes.endsWith(" of one"),
          "operator=we,webs,api",
          "any"::equals,
          "admin=shop",
          "any"::equals);

  @TempDir private Path directory;
  private ApiServer server;
  private ApiClient client;
  @AutoClose private final MemoryController controller = new MemoryController();

  @BeforeEach
  void open() throws IOException {
    StringBuilder lines = new StringBuilder();
    MAY.keySet().forEach(r -> lines.append("x %s plain:%s%n".formatted(r, token(r))));
    server =
        controller.serve(
            new Security(
                Optional.empty(), Optional.empty(), Optional.of(file(lines.toString())), true));
    client = new ApiClient(server.listen());
  }

  @AfterEach
  void close() {
    server.close();
  }

  private static String token(String role) {
    return role + SECRET;
  }

  private SecretFile file(String lines) throws IOException {
    Path path = Files.writeString(directory.resolve("tokens"), lines);
    Files.setPosixFilePermissions(path, PosixFilePermissions.fromString("rw-------"));
    return new SecretFile("--tokens", path);
  }

  private Reply send(String role, String method, String path, String body) {
    return client.send(
        method,
        path,
        body.isEmpty() ? "" : "application/json",
        body,
        "Authorization",
        "Bearer " + token(role));
  }

  /** Each operation of the contract as each caller; without a body nothing is written. */
  @Test
  void eachOperationLetsThroughWhomItMust() {
    Map<String, String> takes = new TreeMap<>();
    TAKES.forEach((what, operations) -> operations.forEach(each -> takes.put(each, what)));
    TreeSet<String> met = new TreeSet<>();
    for (Map.Entry<String, Object> path : Contract.load().document().getJsonObject("paths")) {
      String uri = path.getKey().replace("{name}", "web").replace("{id}", "7");
      for (Map.Entry<String, Object> entry : (JsonObject) path.getValue()) {
        if (entry.getKey().equals("parameters")
            || !(entry.getValue() instanceof JsonObject operation)) {
          continue;
        }
        String id = operation.getString("operationId");
        assertThat(takes).as("a new operation is written into the table").containsKey(id);
        met.add(id);
        String what = takes.get(id);
        MAY.forEach(
            (role, may) -> {
              String method = entry.getKey().toUpperCase(Locale.ROOT);
              boolean isLetThrough = send(role, method, uri, "").status() != 403;
              assertThat(isLetThrough)
                  .as("%s %s as %s", method, uri, role)
                  .isEqualTo(what.equals("open") || may.test(what));
            });
      }
    }
    assertThat(met).isEqualTo(new TreeSet<>(takes.keySet()));
  }

  /** Names that are near to that of the service; paths in another spelling are no service's. */
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "operator=web,shop | /v1/services/shop/backends/1 | 404",
        "operator=web,shop | /v1/services/webs/backends/1 | 403",
        "operator=web,shop | /v1/services/we/backends/1 | 403",
        "operator=web,shop | /v1/services/%77eb/backends/1 | 403",
        "operator=web,shop | /v1/services/WEB/backends/1 | 403",
        "operator=web,shop | /v1/services/web/../api/backends/1 | 404",
        "operator=web,shop | /v1/services/web/%2e%2e/api/backends/1 | 404",
        "operator=web,shop | /v1/services//web/backends/1 | 404",
        "operator=web,shop | //v1/services/web/backends/1 | 404",
        "admin=web | /v1/services/web | 404",
        "admin=web | /v1/services/we | 403",
        "admin=web | /v1/services/web%2e | 403",
        "admin=web | /v1/services/web%2fbackends%2f1 | 403",
      })
  void onlyTheWholeNameCounts(String role, String path, int status) {
    assertThat(send("admin", "PUT", "/v1/services/api", SERVICE.formatted(9)).status())
        .isEqualTo(201);
    var state = controller.state();
    assertThat(send(role, "DELETE", path, "").status()).isEqualTo(status);
    assertThat(controller.state()).isEqualTo(state);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "operator=web,shop | DELETE | /v1/services/api/backends/1 | operator=shop,web |"
            + " operator, admin for the service 'api'",
        "operator=web,shop | DELETE | /v1/services/web | operator=shop,web | admin",
        "admin=web | POST | /v1/services | admin=web | admin for all services",
        "admin=web | GET | /v1/audit | admin=web | admin for all services",
        "viewer | DELETE | /v1/services/web | viewer | admin",
        "admin | GET | /v1/agent/services | admin | server",
      })
  void refusalsNameTheRoleTheServiceAndWhatIsAllowed(
      String token, String method, String path, String role, String allowed) {
    JsonObject problem = send(token, method, path, "").json();
    assertThat(problem.getString("detail"))
        .isEqualTo("role '%s' is refused; allowed: %s".formatted(role, allowed));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "viewer | viewer |",
        "operator=web,shop | operator | shop,web",
        "admin=web | admin | web",
        "admin | admin |",
      })
  void eachCallerIsToldWhatItMayDo(String token, String role, String services) {
    JsonObject told = send(token, "GET", "/v1/whoami", "").json();
    assertThat(told.getString("name")).isEqualTo("x");
    assertThat(told.getJsonArray("roles")).hasSize(1);
    JsonObject holding = told.getJsonArray("roles").getJsonObject(0);
    assertThat(holding.getString("role")).isEqualTo(role);
    assertThat(
            String.join(
                ",", holding.getJsonArray("services").stream().map(String::valueOf).toList()))
        .isEqualTo(services == null ? "" : services);
  }

  @Test
  void anAdminOfAServiceMakesItButNotTheClustersRanges() {
    String spec = SERVICE.formatted(8);
    String ranges = spec.replace("}]}", "}],\"vipRanges\":[\"10.0.0.0/8\"]}");
    assertThat(send("admin=web", "PUT", "/v1/services/web", ranges).json().getString("detail"))
        .isEqualTo(
            "vipRanges '10.0.0.0/8' is refused; allowed: vipRanges only from an admin for all"
                + " services, since they are of the whole cluster");
    assertThat(send("admin=web", "PUT", "/v1/services/web", spec).status()).isEqualTo(201);
    String shop = "/v1/services/shop";
    assertThat(send("admin=web", "PUT", shop, SERVICE.formatted(7)).status()).isEqualTo(403);
    assertThat(send("admin", "PUT", shop, SERVICE.formatted(7)).status()).isEqualTo(201);
    Reply backend =
        send("operator=web,shop", "PUT", shop + "/backends/1", "{\"address\":\"10.1.0.21\"}");
    assertThat(backend.status()).isEqualTo(201);
  }

  /** By changing it, again and again, its admin could read pages that only probes reach. */
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "http | \"path\":\"/ready\" | tcp | body | ready | secret",
        "https | \"path\":\"/ready\" | tcp | body | ready | secret",
        "udp | \"send\":\"01\" | udp | hex | 6f6b | 73",
      })
  void anAdminOfAServiceDoesNotAskForContent(
      String kind, String setting, String protocol, String field, String known, String other) {
    String path = "/v1/services/web";
    String expect = "{\"healthCheck\":{\"kind\":\"%s\",%s,\"expect\":{\"%s\":\"%s\"}}}";
    String asks = expect.formatted(kind, setting, field, other);
    String keeps = expect.formatted(kind, setting, field, known);
    String whole = SERVICE.replace("tcp", protocol).formatted(8).replaceFirst("}$", ",");
    String wholeAsks = whole + asks.substring(1);
    String wholeKeeps = whole + keeps.substring(1);
    String refusal =
        "healthCheck.expect.%s '%s' is refused; allowed: %%s, as it is".formatted(field, other);

    Reply created = send("admin=web", "PUT", path, wholeAsks);
    assertThat(created.status()).isEqualTo(403);
    assertThat(created.json().getString("detail")).startsWith(refusal.formatted("none"));
    assertThat(send("admin", "PUT", path, wholeKeeps).status()).isEqualTo(201);
    var state = controller.state();
    for (String query : List.of("", "?dryRun=true")) {
      Reply changed = send("admin=web", "PATCH", path + query, asks);
      assertThat(changed.status()).isEqualTo(403);
      assertThat(changed.json().getString("detail")).startsWith(refusal.formatted(known));
      assertThat(send("admin=web", "PUT", path + query, wholeAsks).status()).isEqualTo(403);
    }
    assertThat(controller.state()).isEqualTo(state);

    assertThat(send("admin=web", "PATCH", path, keeps).status()).isEqualTo(200);
    assertThat(send("admin=web", "PUT", path, wholeKeeps).status()).isEqualTo(200);
    String slower = "{\"healthCheck\":{\"intervalMillis\":9000}}";
    assertThat(send("admin=web", "PATCH", path, slower).status()).isEqualTo(200);
    String clears = expect.formatted(kind, setting, field, "");
    assertThat(send("admin=web", "PATCH", path, clears).status()).isEqualTo(200);
    assertThat(send("admin=web", "PATCH", path, keeps).status()).as("it is gone").isEqualTo(403);
    assertThat(send("admin", "PATCH", path, asks).status()).isEqualTo(200);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "operator=",
        "operator=web,",
        "operator=Web",
        "operator=web,web",
        "operator=-web",
        "operator=*",
        "viewer=web",
        "admin=web=api",
        "=web",
        "chief=web",
        "admin,web",
        "server",
      })
  void aMalformedRoleIsRefused(String role) throws IOException {
    SecretFile tokens = file("ann " + role + " plain:ann" + SECRET);
    assertThatThrownBy(() -> Tokens.read(tokens))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("line 1 is malformed; allowed: ")
        .hasMessageContaining("operator=SERVICE[,SERVICE]")
        .hasMessageNotContaining(SECRET);
  }

  /** One with several roles may do what one of them allows. */
  @Test
  void rolesAddUp() {
    Caller caller =
        new Caller(
            "ann",
            List.of(Grant.parse("admin=web").orElseThrow(), Grant.parse("operator").orElseThrow()),
            Set.of());
    assertThat(caller.may(Role.ADMIN, Optional.of("web"))).isTrue();
    assertThat(caller.may(Role.ADMIN, Optional.of("api"))).isFalse();
    assertThat(caller.may(Role.OPERATOR, Optional.of("api"))).isTrue();
    assertThat(caller.may(Role.SERVER, Optional.of("web"))).isFalse();
    assertThat(caller.roles()).isEqualTo("admin=web operator");
  }
}
