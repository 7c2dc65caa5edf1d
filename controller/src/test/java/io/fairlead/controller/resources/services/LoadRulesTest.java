// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.services;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.datatype.jdk8.Jdk8Module;
import io.fairlead.controller.core.image.ServiceConfig;
import io.fairlead.controller.resources.plane.Refusal;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Settings of hunt and maat. */
class LoadRulesTest {
  private static final ObjectMapper MAPPER =
      JsonMapper.builder().addModule(new Jdk8Module()).build();
  private static final String WEB =
      "{'name':'web','vips':['10.99.0.1'],'ports':[{'protocol':'tcp','port':80}],'buckets':1024";

  private static ServiceSpec spec(String json) {
    try {
      return MAPPER.readValue(json.replace('\'', '"'), ServiceSpec.class);
    } catch (JsonProcessingException e) {
      throw new AssertionError(json, e);
    }
  }

  private static ServiceSpec web(String fields) {
    return spec(WEB + "," + fields + "}");
  }

  private static ServiceConfig created(String fields) {
    return ServiceRules.created(web(fields), 1, new Random(1));
  }

  /** Its settings, or which field is refused. */
  private static String settings(ServiceConfig config) {
    return config
        .hunt()
        .map(
            hunt ->
                "%s %d %d %d"
                    .formatted(
                        hunt.policy(), hunt.threshold(), hunt.window(), hunt.epsilonThousandths()))
        .or(
            () ->
                config
                    .maat()
                    .map(
                        maat ->
                            "%s %d %d %d %d"
                                .formatted(
                                    maat.load(),
                                    maat.deltaThousandths(),
                                    maat.halfLifeMillis(),
                                    maat.filterBytes(),
                                    maat.filterHashes())))
        .orElse("none");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      value = {
        "ring | '' | none",
        "ring | 'hunt':{} | hunt",
        "ring | 'maat':{} | maat",
        "ring | 'hunt':{'threshold':4} | hunt",
        "hunt | '' | dynamic 1 50 100",
        "hunt | 'hunt':{} | dynamic 1 50 100",
        "hunt | 'hunt':{'policy':'static'} | static 4 50 100",
        "hunt | 'hunt':{'policy':'always'} | always 1 50 100",
        "hunt | 'hunt':{'policy':'static','threshold':65535} | static 65535 50 100",
        "hunt | 'hunt':{'threshold':8,'window':10,'epsilonThousandths':0} | dynamic 8 10 0",
        "hunt | 'hunt':{'window':1000,'epsilonThousandths':499} | dynamic 1 1000 499",
        "hunt | 'hunt':{'policy':'busy'} | hunt.policy",
        "hunt | 'hunt':{'policy':'DYNAMIC'} | hunt.policy",
        "hunt | 'hunt':{'threshold':0} | hunt.threshold",
        "hunt | 'hunt':{'threshold':65536} | hunt.threshold",
        "hunt | 'hunt':{'window':9} | hunt.window",
        "hunt | 'hunt':{'window':1001} | hunt.window",
        "hunt | 'hunt':{'epsilonThousandths':-1} | hunt.epsilonThousandths",
        "hunt | 'hunt':{'epsilonThousandths':500} | hunt.epsilonThousandths",
        "hunt | 'maat':{} | maat",
        "hunt | 'othello':{} | othello",
        "maat | '' | packets 10 1000 65536 3",
        "maat | 'maat':{} | packets 10 1000 65536 3",
        "maat | 'maat':{'preset':'paper'} | packets 100 60000 32768 3",
        "maat | 'maat':{'preset':'paper','load':'bytes','filterHashes':8} | bytes 100 60000 32768"
            + " 8",
        "maat | 'maat':{'load':'connections','deltaThousandths':0} | connections 0 1000 65536 3",
        "maat | 'maat':{'load':'agents','deltaThousandths':1000} | agents 1000 1000 65536 3",
        "maat | 'maat':{'halfLifeMillis':10,'filterBytes':1024} | packets 10 10 1024 3",
        "maat | 'maat':{'halfLifeMillis':60000,'filterBytes':16777216} | packets 10 60000 16777216"
            + " 3",
        "maat | 'maat':{'preset':'best'} | maat.preset",
        "maat | 'maat':{'load':'cpu'} | maat.load",
        "maat | 'maat':{'deltaThousandths':-1} | maat.deltaThousandths",
        "maat | 'maat':{'deltaThousandths':1001} | maat.deltaThousandths",
        "maat | 'maat':{'halfLifeMillis':9} | maat.halfLifeMillis",
        "maat | 'maat':{'halfLifeMillis':60001} | maat.halfLifeMillis",
        "maat | 'maat':{'filterBytes':512} | maat.filterBytes",
        "maat | 'maat':{'filterBytes':33554432} | maat.filterBytes",
        "maat | 'maat':{'filterBytes':65535} | maat.filterBytes",
        "maat | 'maat':{'filterBytes':-2147483648} | maat.filterBytes",
        "maat | 'maat':{'filterHashes':0} | maat.filterHashes",
        "maat | 'maat':{'filterHashes':9} | maat.filterHashes",
        "maat | 'hunt':{} | hunt",
        "maat | 'encap':'ipip' | encap",
        "hunt | 'hash':'crc32','buckets':131072 | buckets",
      })
  void newServicesHaveEachSettingOrARefusalByName(String method, String fields, String wanted) {
    String rest = fields.equals("''") ? "" : "," + fields;
    String got;
    try {
      got = settings(created("'steering':'%s'%s".formatted(method, rest)));
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
        "hunt | {'threshold':9,'window':99} | {'window':20} | dynamic 9 20 100",
        "hunt | {'threshold':9,'window':99} | {'policy':'dynamic'} | dynamic 9 99 100",
        "hunt | {'threshold':9,'window':99} | {'policy':'static'} | static 4 99 100",
        "hunt | {'policy':'static'} | {'policy':'static','threshold':7} | static 7 50 100",
        "hunt | {'policy':'static'} | {'policy':'always'} | always 1 50 100",
        "hunt | {} | {'threshold':0} | hunt.threshold",
        "maat | {'preset':'paper'} | {'load':'agents'} | agents 100 60000 32768 3",
        "maat | {'filterHashes':5} | {'filterBytes':2048} | packets 10 1000 2048 5",
        "maat | {} | {'preset':'paper'} | maat.preset",
        "maat | {} | {'filterBytes':2047} | maat.filterBytes",
      })
  void aChangeLeavesWhatItDoesNotName(String method, String before, String after, String wanted) {
    ServiceConfig config = created("'steering':'%1$s','%1$s':%2$s".formatted(method, before));
    String got;
    try {
      ServiceConfig changed =
          ServiceRules.changed(config, spec("{'%s':%s}".formatted(method, after)));
      got = settings(changed);
    } catch (Refusal e) {
      got = e.field();
    }
    assertThat(got).isEqualTo(wanted);
  }

  @ParameterizedTest
  @CsvSource({"ring,hunt", "hunt,ring", "hunt,maat", "maat,hunt", "maat,othello", "othello,maat"})
  void theMethodIsFixed(String from, String to) {
    ServiceConfig config = created("'steering':'%s'".formatted(from));
    Refusal refusal =
        catchThrowableOfType(
            Refusal.class,
            () -> ServiceRules.replaced(config, web("'steering':'%s'".formatted(to))));
    assertThat(refusal.field()).isEqualTo("steering");
    assertThat(refusal.allowed()).startsWith(from + ": it decides which bucket");
  }

  @Test
  void aWholeSpecificationGoesBackToDefaults() {
    ServiceConfig hunt = created("'steering':'hunt','hunt':{'policy':'static','window':20}");
    assertThat(settings(ServiceRules.replaced(hunt, web("'windowSeconds':240"))))
        .isEqualTo("dynamic 1 50 100");
    ServiceConfig maat = created("'steering':'maat','maat':{'filterHashes':8}");
    assertThat(settings(ServiceRules.replaced(maat, web("'maat':{'preset':'paper'}"))))
        .isEqualTo("packets 100 60000 32768 3");
  }
}
