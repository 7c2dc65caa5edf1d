// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.services;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.datatype.jdk8.Jdk8Module;
import io.fairlead.controller.core.image.ServiceConfig;
import io.fairlead.controller.resources.plane.Refusal;
import java.util.Random;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Health checks of services: settings of each kind, defaults, changes, refusals by name. */
class HealthRulesTest {
  private static final ObjectMapper MAPPER =
      JsonMapper.builder().addModule(new Jdk8Module()).build();
  private static final String TIMES = "5000/2000 2 3 10";

  private static ServiceSpec spec(String json) {
    try {
      return MAPPER.readValue(json.replace('\'', '"'), ServiceSpec.class);
    } catch (JsonProcessingException e) {
      throw new AssertionError(json, e);
    }
  }

  private static ServiceSpec web(String ports, String fields) {
    return spec(
        "{'name':'web','vips':['10.99.0.1'],'ports':[%s],'buckets':1024%s}"
            .formatted(ports, fields));
  }

  private static String port(String protocol, int port) {
    return "{'protocol':'%s','port':%d}".formatted(protocol, port);
  }

  private static ServiceConfig created(String check) {
    String ports = port("tcp", 80) + "," + port("udp", 53);
    return ServiceRules.created(web(ports, ",'healthCheck':" + check), 1, new Random(1));
  }

  /** The check's settings in one line. */
  private static String shown(ServiceConfig config) {
    return config
        .healthCheck()
        .map(
            check ->
                "%s %s/%s/%s/%s/%s/%s/%s %d/%d %d %d %d"
                    .formatted(
                        check.kind(),
                        check.port().map(Object::toString).orElse(""),
                        check.path().map(path -> path.substring(1)).orElse("-"),
                        check.host().orElse(""),
                        check.verify().map(Object::toString).orElse(""),
                        check.send().orElse(""),
                        check.command().orElse(""),
                        check
                            .expect()
                            .map(
                                expect ->
                                    expect.status().orElse("")
                                        + ";"
                                        + expect.body().orElse("")
                                        + ";"
                                        + expect.hex().orElse(""))
                            .orElse("-"),
                        check.intervalMillis(),
                        check.timeoutMillis(),
                        check.rise(),
                        check.fall(),
                        check.jitterPercent()))
        .orElse("none");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      value = {
        "{'kind':'tcp'} | tcp /-/////- " + TIMES,
        "{'kind':'tcp','port':9000} | tcp 9000/-/////- " + TIMES,
        "{'kind':'http'} | http //////200-399;; " + TIMES,
        "{'kind':'http','path':'/a?b','host':'www.example.org','expect':{'status':'200,300-301',"
            + "'body':'fine'}} | http /a?b/www.example.org////200,300-301;fine; "
            + TIMES,
        "{'kind':'https'} | https ///false///200-399;; " + TIMES,
        "{'kind':'https','verify':true} | https ///true///200-399;; " + TIMES,
        "{'kind':'udp','send':'00ff'} | udp /-///00ff//- " + TIMES,
        "{'kind':'udp','send':'00','expect':{'hex':'0a'}} | udp /-///00//;;0a " + TIMES,
        "{'kind':'command','command':'check-app'} | command /-////check-app/- " + TIMES,
        "{'kind':'tcp','intervalMillis':500,'rise':1,'fall':20,'jitterPercent':0} | tcp"
            + " /-/////- 500/500 1 20 0",
        "{'kind':'tcp','intervalMillis':3600000,'timeoutMillis':60000} | tcp /-/////- 3600000/60000"
            + " 2 3 10",
        "{'kind':'none'} | none",
        "{'kind':'icmp'} | healthCheck.kind",
        "{} | healthCheck.kind",
        "{'kind':'tcp','port':65536} | healthCheck.port",
        "{'kind':'tcp','path':'/'} | healthCheck.path",
        "{'kind':'tcp','host':'a'} | healthCheck.host",
        "{'kind':'tcp','send':'00'} | healthCheck.send",
        "{'kind':'tcp','expect':{'status':'200'}} | healthCheck.expect.status",
        "{'kind':'tcp','expect':{'hex':'00'}} | healthCheck.expect.hex",
        "{'kind':'http','verify':true} | healthCheck.verify",
        "{'kind':'http','command':'a'} | healthCheck.command",
        "{'kind':'http','expect':{'hex':'00'}} | healthCheck.expect.hex",
        "{'kind':'http','path':'a'} | healthCheck.path",
        "{'kind':'http','path':'/a b'} | healthCheck.path",
        "{'kind':'http','path':'/#a'} | healthCheck.path",
        "{'kind':'http','host':'a/b'} | healthCheck.host",
        "{'kind':'http','host':'-a'} | healthCheck.host",
        "{'kind':'http','expect':{'status':'99'}} | healthCheck.expect.status",
        "{'kind':'http','expect':{'status':'600'}} | healthCheck.expect.status",
        "{'kind':'http','expect':{'status':'300-200'}} | healthCheck.expect.status",
        "{'kind':'http','expect':{'status':'200,'}} | healthCheck.expect.status",
        "{'kind':'http','expect':{'status':'1,2'}} | healthCheck.expect.status",
        "{'kind':'http','expect':{'body':'a\\nb'}} | healthCheck.expect.body",
        "{'kind':'udp'} | healthCheck.send",
        "{'kind':'udp','send':'0'} | healthCheck.send",
        "{'kind':'udp','send':'AA'} | healthCheck.send",
        "{'kind':'udp','send':'00','expect':{'body':'a'}} | healthCheck.expect.body",
        "{'kind':'command'} | healthCheck.command",
        "{'kind':'command','command':'../sh'} | healthCheck.command",
        "{'kind':'command','command':'a/b'} | healthCheck.command",
        "{'kind':'tcp','intervalMillis':499} | healthCheck.intervalMillis",
        "{'kind':'tcp','intervalMillis':3600001} | healthCheck.intervalMillis",
        "{'kind':'tcp','timeoutMillis':49} | healthCheck.timeoutMillis",
        "{'kind':'tcp','timeoutMillis':5001} | healthCheck.timeoutMillis",
        "{'kind':'tcp','intervalMillis':90000,'timeoutMillis':60001} | healthCheck.timeoutMillis",
        "{'kind':'tcp','rise':0} | healthCheck.rise",
        "{'kind':'tcp','fall':21} | healthCheck.fall",
        "{'kind':'tcp','jitterPercent':51} | healthCheck.jitterPercent",
      })
  void newChecksHaveEachSettingOrARefusalByName(String check, String wanted) {
    String got;
    try {
      got = shown(created(check));
    } catch (Refusal e) {
      got = e.field();
    }
    assertThat(got).isEqualTo(wanted);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      value = {
        "{'kind':'http','path':'/a'} | {'rise':5} | http /a/////200-399;; 5000/2000 5 3 10",
        "{'kind':'http','path':'/a'} | {'kind':'http','host':'h'} | http /a/h////200-399;; "
            + TIMES,
        "{'kind':'http','path':'/a','rise':5} | {'kind':'tcp'} | tcp /-/////- " + TIMES,
        "{'kind':'http','port':81,'host':'h','expect':{'body':'b','status':'204'}} |"
            + " {'port':0,'host':'','expect':{'body':''}} | http //////204;; "
            + TIMES,
        "{'kind':'udp','send':'00','expect':{'hex':'0a'}} | {'expect':{'hex':''}} | udp"
            + " /-///00//- "
            + TIMES,
        "{'kind':'tcp'} | {'kind':'none'} | none",
        "{'kind':'tcp'} | {'path':'/'} | healthCheck.path",
        "{'kind':'tcp','intervalMillis':500} | {'timeoutMillis':501} | healthCheck.timeoutMillis",
        "{'kind':'tcp'} | {'intervalMillis':1000} | healthCheck.timeoutMillis",
      })
  void aChangeLeavesWhatItDoesNotName(String before, String after, String wanted) {
    String got;
    try {
      got =
          shown(ServiceRules.changed(created(before), spec("{'healthCheck':%s}".formatted(after))));
    } catch (Refusal e) {
      got = e.field();
    }
    assertThat(got).isEqualTo(wanted);
  }

  @Test
  void aWholeSpecificationTakesTheCheckAway() {
    ServiceConfig before = created("{'kind':'tcp'}");
    assertThat(shown(ServiceRules.replaced(before, web(port("tcp", 80), "")))).isEqualTo("none");
    assertThat(shown(ServiceRules.changed(before, spec("{'windowSeconds':60}"))))
        .startsWith("tcp ");
  }

  @Test
  void theServiceHasAPortForTheKind() {
    assertThat(refused(() -> created("{'kind':'udp','send':'00'}"))).isEqualTo("none");
    assertThat(
            refused(
                () ->
                    ServiceRules.changed(
                        created("{'kind':'udp','send':'00'}"),
                        spec("{'ports':[%s]}".formatted(port("tcp", 80))))))
        .isEqualTo("healthCheck.kind");
    assertThat(
            refused(
                () ->
                    ServiceRules.changed(
                        created("{'kind':'udp','send':'00','port':53}"),
                        spec("{'ports':[%s]}".formatted(port("tcp", 80))))))
        .isEqualTo("none");
  }

  @Test
  void thereAreNotTooManyEndpoints() {
    String vips =
        IntStream.rangeClosed(1, 64)
            .mapToObj("'10.99.0.%d'"::formatted)
            .collect(Collectors.joining(","));
    String ports =
        IntStream.rangeClosed(1, 5)
            .mapToObj(number -> port("tcp", number))
            .collect(Collectors.joining(","));
    String change = "{'vips':[%s],'ports':[%s]}".formatted(vips, ports);
    ServiceConfig all = created("{'kind':'tcp'}");
    assertThat(refused(() -> ServiceRules.changed(all, spec(change))))
        .isEqualTo("healthCheck.port");
    ServiceConfig one = created("{'kind':'tcp','port':1}");
    assertThat(refused(() -> ServiceRules.changed(one, spec(change)))).isEqualTo("none");
  }

  private static String refused(Runnable rule) {
    try {
      rule.run();
      return "none";
    } catch (Refusal e) {
      return e.field();
    }
  }
}
