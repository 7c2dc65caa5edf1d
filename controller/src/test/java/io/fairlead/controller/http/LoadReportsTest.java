// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.http;

import static io.fairlead.controller.resources.agents.AgentRequests.report;
import static io.fairlead.controller.resources.agents.AgentRequests.service;
import static org.assertj.core.api.Assertions.assertThat;

import io.fairlead.controller.CtlRun;
import io.fairlead.controller.http.ApiClient.Reply;
import io.vertx.core.json.JsonObject;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What agents are told of steering by load, and what they report of it. */
class LoadReportsTest extends ServedApi {
  private static final JsonObject LOAD =
      new JsonObject().put("busy", 3).put("offered", 9).put("taken", 6).put("passed", 3);

  private void create(String steering) {
    CtlRun.done(
        url(), "service create app --vip 10.99.0.1 --port tcp:80 --buckets 256 " + steering);
    CtlRun.done(url(), "backend add app 7 10.2.0.7");
  }

  private JsonObject served() {
    return client.get("/v1/agent/services").json();
  }

  private Reply post(long sequence, String version, JsonObject load) {
    JsonObject report =
        report(sequence, version, "10.2.0.7", service("app", 1).put("load", load.copy()));
    return client.send("POST", "/v1/agent/reports", report.encode());
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      nullValues = "none",
      value = {
        "--steering ring | none | none",
        "--steering othello | none | none",
        "--steering maat | true | none",
        "--steering hunt | true |"
            + " {\"policy\":\"dynamic\",\"threshold\":1,\"window\":50,\"epsilonThousandths\":100}",
        "--steering hunt --hunt-policy static | true |"
            + " {\"policy\":\"static\",\"threshold\":4,\"window\":50,\"epsilonThousandths\":100}",
      })
  void agentsAreToldWhatTheyNeed(String steering, Boolean twoBuckets, String hunt) {
    create(steering);
    JsonObject app = served().getJsonArray("services").getJsonObject(0);
    assertThat(app.getBoolean("twoBuckets")).isEqualTo(twoBuckets);
    assertThat(app.containsKey("twoBuckets")).isEqualTo(twoBuckets != null);
    assertThat(app.getJsonObject("hunt")).isEqualTo(hunt == null ? null : new JsonObject(hunt));
  }

  @Test
  void anotherPolicyIsAnotherVersion() {
    create("--steering hunt");
    String before = served().getString("version");
    CtlRun.done(url(), "service change app --hunt-threshold 2");
    assertThat(served().getString("version")).isNotEqualTo(before);
  }

  @ParameterizedTest
  @CsvSource({
    "--steering ring, 400",
    "--steering othello, 400",
    "--steering maat, 200",
    "--steering hunt, 200"
  })
  void onlyTwoBucketsHaveALoad(String steering, int status) {
    create(steering);
    Reply reply = post(1, served().getString("version"), LOAD);
    assertThat(reply.status()).isEqualTo(status);
    if (status == 400) {
      assertThat(reply.json().getString("field")).isEqualTo("services[0].load");
      assertThat(reply.json().getString("allowed"))
          .isEqualTo("services with steering hunt or maat");
    }
  }

  /** An agent may not have heard yet that the service was created again. */
  @Test
  void aLoadForAnotherStateOfTheServicesIsNotUsed() {
    create("--steering ring");
    Reply reply = post(1, "another", LOAD);
    assertThat(reply.status()).isEqualTo(200);
    assertThat(client.get("/v1/agents").array().getJsonObject(0).containsKey("load")).isFalse();
  }

  @Test
  void agentsShowWhatWasOffered() {
    create("--steering hunt");
    String version = served().getString("version");
    post(1, version, LOAD);
    post(1, version, LOAD);
    post(2, version, new JsonObject().put("offered", 1).put("taken", 1).put("passed", 0));
    JsonObject load = client.get("/v1/agents").array().getJsonObject(0).getJsonObject("load");
    assertThat(load.containsKey("busy")).isFalse();
    assertThat(load.getInteger("offered")).isEqualTo(10);
    assertThat(load.getInteger("taken")).isEqualTo(7);
    assertThat(load.getInteger("passed")).isEqualTo(3);
    assertThat(load.getDouble("passedShare")).isZero();
    post(3, version, LOAD);
    assertThat(CtlRun.done(url(), "agents"))
        .containsPattern(
            "LOST +BUSY +OFFERED/S +PASSED +REFUSED/S +RESETS/S +RETRANSMITTED +RTT ms\n")
        .containsPattern(" 3 +[0-9.]+ +33.3 % +- +- +- +-\n");
  }
}
