// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.http;

import static org.assertj.core.api.Assertions.assertThat;

import io.fairlead.controller.http.ApiClient.Reply;
import io.fairlead.controller.leader.MemoryController;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Every REST error, one row each: request in, status and the problem's field, value, allowed out.
 */
class ApiErrorsTest {
  private static final String JSON = "application/json";
  private static final String WEB = "/v1/services/web";
  private static final String EXPLAIN = WEB + "/explain?protocol=tcp&source=10.2.1.2";

  @AutoClose private static final MemoryController CONTROLLER = new MemoryController();
  private static final Contract CONTRACT = Contract.load();
  private static ApiServer server;
  private static ApiClient client;

  @BeforeAll
  static void open() throws IOException {
    server = CONTROLLER.serve(Security.NONE);
    client = new ApiClient(server.listen());
    create("web", "10.99.0.1");
    client.send("PUT", WEB + "/backends/7", "{\"address\":\"10.1.0.27\"}");
    client.send("PUT", WEB + "/backends/9", "{\"address\":\"fd00::9\"}");
  }

  @AfterAll
  static void close() {
    server.close();
  }

  private static void create(String name, String vip) {
    Reply reply =
        client.send(
            "POST",
            "/v1/services",
            "{\"name\":\"%s\",\"vips\":[\"%s\"],\"ports\":[{\"protocol\":\"tcp\",\"port\":80}]}"
                .formatted(name, vip));
    assertThat(reply.status()).isEqualTo(201);
  }

  /** {@code value} null: the problem has no value, since nothing was sent. */
  record Row(
      String name,
      String method,
      String path,
      String contentType,
      String body,
      int status,
      String field,
      String value,
      String allowed) {
    @Override
    public String toString() {
      return "%s: %s %s -> %d".formatted(name, method, path, status);
    }
  }

  private static Row row(
      String name,
      String method,
      String path,
      String body,
      int status,
      String field,
      String value,
      String allowed) {
    return new Row(
        name, method, path, body.isEmpty() ? "" : JSON, body, status, field, value, allowed);
  }

  private static Row spec(
      String name, String key, String json, String field, String value, String allowed) {
    JsonObject spec =
        new JsonObject(
            "{\"name\":\"new\",\"vips\":[\"10.99.0.9\"],\"ports\":[{\"protocol\":\"tcp\",\"port\":80}]}");
    spec.remove(key);
    String body = spec.encode();
    if (!json.isEmpty()) {
      body = body.substring(0, body.length() - 1) + ",\"" + key + "\":" + json + "}";
    }
    return row(name, "POST", "/v1/services", body, 400, field, value, allowed);
  }

  /** A PUT of the whole service. */
  private static Row state(String name, String json, String field, String value, String allowed) {
    String body =
        "{\"vips\":[\"10.99.0.1\"],\"ports\":[{\"protocol\":\"tcp\",\"port\":80}]," + json + "}";
    return row(name, "PUT", WEB, body, 400, field, value, allowed);
  }

  private static Row change(String name, String json, String field, String value, String allowed) {
    String body = "{\"changes\":[{\"op\":\"remove\",\"id\":9}," + json + "]}";
    return row(name, "POST", WEB + "/changes", body, 400, field, value, allowed);
  }

  private static Row query(String name, String path, String field, String value, String allowed) {
    return row(name, "GET", path, "", 400, field, value, allowed);
  }

  static Stream<Row> rows() {
    String portRange = "an integer in 1..65535";
    String weightRange = "an integer in 0..65535";
    String addresses = "an IPv4 or IPv6 address";
    return Stream.of(
        // A service's fields.
        spec("name missing", "name", "", "name", null, "1..63 lower-case letters"),
        spec("name empty", "name", "\"\"", "name", "", "1..63 lower-case letters"),
        spec("name in capitals", "name", "\"Web\"", "name", "Web", "1..63 lower-case letters"),
        spec("name too long", "name", '"' + "a".repeat(64) + '"', "name", "a".repeat(64), "1..63"),
        spec("name with a slash", "name", "\"a/b\"", "name", "a/b", "hyphens"),
        spec("name a number", "name", "7", "name", "7", "1..63 lower-case letters"),
        spec("vips missing", "vips", "", "vips", null, "a list of 1..64 entries"),
        spec("vips null", "vips", "null", "vips", "null", "a list of 1..64 entries"),
        spec("vips empty", "vips", "[]", "vips", "0 entries", "a list of 1..64 entries"),
        spec("vips no list", "vips", "\"10.99.0.1\"", "vips", "10.99.0.1", "a list of"),
        spec("vip a name", "vips", "[\"web.example\"]", "vips[0]", "web.example", addresses),
        spec("vip twice", "vips", "[\"::1\",\"::1\"]", "vips[1]", "::1", "differ"),
        spec("ports empty", "ports", "[]", "ports", "0 entries", "a list of 1..64 entries"),
        spec("port a number", "ports", "[80]", "ports[0]", "80", "the fields protocol, port"),
        spec(
            "port without protocol",
            "ports",
            "[{\"port\":80}]",
            "ports[0].protocol",
            null,
            "one of tcp, udp"),
        spec(
            "protocol unknown",
            "ports",
            "[{\"protocol\":\"sctp\",\"port\":80}]",
            "ports[0].protocol",
            "sctp",
            "one of tcp, udp"),
        spec(
            "port 0",
            "ports",
            "[{\"protocol\":\"tcp\",\"port\":0}]",
            "ports[0].port",
            "0",
            portRange),
        spec(
            "port too high",
            "ports",
            "[{\"protocol\":\"tcp\",\"port\":65536}]",
            "ports[0].port",
            "65536",
            portRange),
        spec(
            "port as text",
            "ports",
            "[{\"protocol\":\"tcp\",\"port\":\"80\"}]",
            "ports[0].port",
            "80",
            portRange),
        spec(
            "port with a fraction",
            "ports",
            "[{\"protocol\":\"tcp\",\"port\":80.5}]",
            "ports[0].port",
            "80.5",
            portRange),
        spec(
            "port unknown field",
            "ports",
            "[{\"protocol\":\"tcp\",\"port\":80,\"tls\":true}]",
            "ports[0].tls",
            "true",
            "the fields protocol, port"),
        spec("buckets no power", "buckets", "1000", "buckets", "1000", "a power of two in 256"),
        spec("buckets too few", "buckets", "128", "buckets", "128", "a power of two in 256"),
        spec("buckets too many", "buckets", "16777216", "buckets", "16777216", "..8388608"),
        spec("maxBackends 0", "maxBackends", "0", "maxBackends", "0", portRange),
        spec(
            "maxBackends huge",
            "maxBackends",
            "18446744073709551617",
            "maxBackends",
            "18446744073709551617",
            portRange),
        spec(
            "maxBackends and buckets",
            "maxBackends",
            "10,\"buckets\":1024",
            "buckets",
            "1024",
            "either maxBackends or buckets"),
        spec("hash unknown", "hash", "\"md5\"", "hash", "md5", "one of siphash, crc32"),
        spec("hashKey short", "hashKey", "\"00ff\"", "hashKey", "00ff", "32 hex digits"),
        spec(
            "affinity unknown",
            "affinity",
            "\"cookie\"",
            "affinity",
            "cookie",
            "connection, client"),
        spec("window 0", "windowSeconds", "0", "windowSeconds", "0", "an integer in 1..86400"),
        spec("window long", "windowSeconds", "86401", "windowSeconds", "86401", "in 1..86400"),
        spec("unknown field", "weigth", "100", "weigth", "100", "the fields name, vips, ports"),
        row(
            "name taken",
            "POST",
            "/v1/services",
            "{\"name\":\"web\",\"vips\":[\"10.99.0.9\"],\"ports\":[{\"protocol\":\"tcp\",\"port\":80}]}",
            409,
            "name",
            "web",
            "a name that no service has"),
        // A change of a service.
        row(
            "change of nothing",
            "PATCH",
            WEB,
            "{}",
            400,
            "body",
            "{}",
            "at least one of the fields vips, ports, windowSeconds"),
        row(
            "change of buckets",
            "PATCH",
            WEB,
            "{\"buckets\":512}",
            400,
            "buckets",
            "512",
            "the fields vips, ports, windowSeconds"),
        row("change of null", "PATCH", WEB, "{\"vips\":null}", 400, "vips", "null", "a list of"),
        row(
            "change of no service",
            "PATCH",
            "/v1/services/wbe",
            "{\"windowSeconds\":10}",
            404,
            "service",
            "wbe",
            "an existing service"),
        row(
            "service unknown",
            "GET",
            "/v1/services/wbe",
            "",
            404,
            "service",
            "wbe",
            "an existing service"),
        row(
            "service name malformed",
            "GET",
            "/v1/services/WEB",
            "",
            400,
            "name",
            "WEB",
            "lower-case letters"),
        row(
            "delete of no service",
            "DELETE",
            "/v1/services/wbe",
            "",
            404,
            "service",
            "wbe",
            "an existing service"),
        // Backends.
        row("backend unknown", "GET", WEB + "/backends/8", "", 404, "id", "8", "7, 9"),
        row(
            "backends of no service",
            "GET",
            "/v1/services/x/backends",
            "",
            404,
            "service",
            "x",
            "an existing service"),
        row("id 0", "GET", WEB + "/backends/0", "", 400, "id", "0", portRange),
        row("id too high", "DELETE", WEB + "/backends/65536", "", 400, "id", "65536", portRange),
        row("id no number", "GET", WEB + "/backends/seven", "", 400, "id", "seven", portRange),
        row(
            "another address",
            "PUT",
            WEB + "/backends/7",
            "{\"address\":\"10.1.0.28\"}",
            409,
            "address",
            "10.1.0.28",
            "10.1.0.27, the address of the live backend 7"),
        row(
            "address missing",
            "PUT",
            WEB + "/backends/8",
            "{\"weight\":1}",
            400,
            "address",
            null,
            addresses),
        row(
            "address a name",
            "PUT",
            WEB + "/backends/8",
            "{\"address\":\"host\"}",
            400,
            "address",
            "host",
            addresses),
        row(
            "weight negative",
            "PUT",
            WEB + "/backends/8",
            "{\"address\":\"10.1.0.28\",\"weight\":-1}",
            400,
            "weight",
            "-1",
            weightRange),
        row("weight missing", "PATCH", WEB + "/backends/7", "{}", 400, "weight", null, weightRange),
        row(
            "weight too high",
            "PATCH",
            WEB + "/backends/7",
            "{\"weight\":65536}",
            400,
            "weight",
            "65536",
            weightRange),
        row(
            "address in a patch",
            "PATCH",
            WEB + "/backends/7",
            "{\"weight\":1,\"address\":\"10.1.0.27\"}",
            400,
            "address",
            "10.1.0.27",
            "the fields weight"),
        row(
            "patch of no backend",
            "PATCH",
            WEB + "/backends/8",
            "{\"weight\":1}",
            404,
            "id",
            "8",
            "a backend of service 'web'"),
        row(
            "removal of no backend",
            "DELETE",
            WEB + "/backends/8",
            "",
            404,
            "id",
            "8",
            "a backend of service 'web'"),
        // Lists of changes: the second entry is wrong, and the first is not applied either.
        change(
            "op unknown",
            "{\"op\":\"move\",\"id\":7}",
            "changes[1].op",
            "move",
            "add, weight, remove"),
        change("op missing", "{\"id\":7}", "changes[1].op", null, "add, weight, remove"),
        change("op no text", "{\"op\":1,\"id\":7}", "changes[1].op", "1", "add, weight, remove"),
        change("change no object", "7", "changes[1]", "7", "an object"),
        change("id missing", "{\"op\":\"remove\"}", "changes[1].id", null, portRange),
        change(
            "weight of a removal",
            "{\"op\":\"remove\",\"id\":7,\"weight\":0}",
            "changes[1].weight",
            "0",
            "the fields op, id"),
        change(
            "no address to add",
            "{\"op\":\"add\",\"id\":8}",
            "changes[1].address",
            null,
            addresses),
        change(
            "weight out of range",
            "{\"op\":\"weight\",\"id\":7,\"weight\":70000}",
            "changes[1].weight",
            "70000",
            weightRange),
        row(
            "no changes",
            "POST",
            WEB + "/changes",
            "{\"changes\":[]}",
            400,
            "changes",
            "0 entries",
            "1..65535"),
        row(
            "id taken",
            "POST",
            WEB + "/changes",
            "{\"changes\":[{\"op\":\"add\",\"id\":7,\"address\":\"10.1.0.28\"}]}",
            409,
            "id",
            "7",
            "an id that no backend of the service has"),
        // Query parameters.
        query("explain without source", WEB + "/explain?protocol=tcp", "source", null, addresses),
        query(
            "explain a source that is no address",
            EXPLAIN.replace("10.2.1.2", "host"),
            "source",
            "host",
            addresses),
        query("explain without port", EXPLAIN, "sourcePort", null, weightRange),
        query(
            "explain a port too high",
            EXPLAIN + "&sourcePort=65536",
            "sourcePort",
            "65536",
            weightRange),
        query(
            "explain icmp", WEB + "/explain?protocol=icmp", "protocol", "icmp", "one of tcp, udp"),
        query(
            "explain another VIP",
            EXPLAIN + "&sourcePort=1&destination=10.9.9.9&destinationPort=80",
            "destination",
            "10.9.9.9",
            "10.99.0.1"),
        query("unknown parameter", WEB + "?limit=3", "limit", "3", "no query parameters"),
        query("limit 0", "/v1/services?limit=0", "limit", "0", portRange),
        query("limit a word", WEB + "/backends?limit=all", "limit", "all", portRange),
        query("cursor empty", "/v1/services?limit=1&cursor=", "cursor", "", "the cursor of a"),
        query("cursor no id", WEB + "/backends?limit=1&cursor=x", "cursor", "x", "an id"),
        row("mistyped dryRun", "DELETE", WEB + "?dryrun=true", "", 400, "dryrun", "true", "dryRun"),
        row(
            "dryRun maybe",
            "DELETE",
            WEB + "?dryRun=maybe",
            "",
            400,
            "dryRun",
            "maybe",
            "true or false"),
        row(
            "force and whenSafe",
            "DELETE",
            WEB + "/backends/1?force=true&whenSafe=true",
            "",
            400,
            "whenSafe",
            "true",
            "one of force and whenSafe, not both"),
        row(
            "dead on a change of weight",
            "PATCH",
            WEB + "/backends/1?dead=true",
            "{\"weight\":1}",
            400,
            "dead",
            "true",
            "dryRun"),
        row(
            "dead maybe",
            "DELETE",
            WEB + "/backends/1?dead=2",
            "",
            400,
            "dead",
            "2",
            "true or false"),
        row("dryRun empty", "DELETE", WEB + "?dryRun", "", 400, "dryRun", "", "true or false"),
        row(
            "dryRun twice",
            "DELETE",
            WEB + "?dryRun=true&dryRun=false",
            "",
            400,
            "dryRun",
            "true, false",
            "this parameter once"),
        // HTTP itself.
        row("unknown path", "GET", "/v2/services", "", 404, "path", "/v2/services", "/v1/services"),
        row("root", "POST", "/", "{}", 404, "path", "/", "/openapi.json"),
        row("wrong method", "POST", WEB, "{}", 405, "method", "POST", "DELETE, GET, PATCH, PUT"),
        state("unknown field", "\"name\":\"web\"", "name", "web", "the fields vips, ports"),
        state("pool no list", "\"pool\":{}", "pool", "{}", "a list of 0..65535 entries"),
        state("no id in a pool", "\"pool\":[{\"id\":0}]", "pool[0].id", "0", portRange),
        state("no address in a pool", "\"pool\":[{\"id\":1}]", "pool[0].address", null, addresses),
        row(
            "wrong method on a list",
            "DELETE",
            "/v1/services",
            "",
            405,
            "method",
            "DELETE",
            "GET, POST"),
        row("body missing", "PATCH", WEB + "/backends/7", "", 400, "body", null, "fields weight"),
        new Row("body empty", "PATCH", WEB, JSON, "", 400, "body", null, "the fields vips, ports"),
        new Row(
            "wrong type",
            "PATCH",
            WEB,
            "text/plain",
            "{}",
            415,
            "Content-Type",
            "text/plain",
            JSON),
        new Row(
            "a form",
            "PATCH",
            WEB + "/backends/7",
            "application/x-www-form-urlencoded",
            "weight=1&dryRun=true",
            415,
            "Content-Type",
            "application/x-www-form-urlencoded",
            JSON),
        row("no object", "PATCH", WEB, "[]", 400, "body", "[]", "the fields vips, ports"),
        row(
            "malformed JSON",
            "PATCH",
            WEB,
            "{\"vips\": [",
            400,
            "body",
            "{\"vips\": [",
            "one JSON"),
        row("two documents", "PATCH", WEB, "{} {}", 400, "body", "{} {}", "one JSON document"));
  }

  @ParameterizedTest
  @MethodSource("rows")
  void isAProblemThatNamesFieldValueAndWhatIsAllowed(Row row) {
    var before = CONTROLLER.state();
    Reply reply = client.send(row.method(), row.path(), row.contentType(), row.body());
    assertThat(reply.status()).as(reply.body()).isEqualTo(row.status());
    assertThat(reply.header("Content-Type")).isEqualTo("application/problem+json");
    JsonObject problem = reply.json();
    assertThat(problem.getInteger("status")).isEqualTo(row.status());
    assertThat(problem.getString("field")).isEqualTo(row.field());
    assertThat(problem.getString("value")).isEqualTo(row.value());
    assertThat(problem.getString("allowed")).contains(row.allowed());
    assertThat(problem.getString("detail")).isNotBlank().doesNotContain("Exception");
    Schemas.assertConforms(CONTRACT, "Problem", problem);
    if (row.status() == 405) {
      assertThat(reply.header("Allow")).isEqualTo(row.allowed());
    }
    assertThat(CONTROLLER.state()).as("nothing of a refused request is applied").isEqualTo(before);
  }
}
