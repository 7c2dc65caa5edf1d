// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.secret;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;

/** Trusts only the certificates in a file. */
public final class Authority {
  private Authority() {}

  /**
   * @param option what names the file
   * @throws IllegalArgumentException naming option and file, and what is allowed
   */
  public static SSLContext trust(String option, Path pem) {
    try (InputStream in = Files.newInputStream(pem)) {
      KeyStore trusted = KeyStore.getInstance(KeyStore.getDefaultType());
      trusted.load(null, null);
      int number = 0;
      for (Certificate each : CertificateFactory.getInstance("X.509").generateCertificates(in)) {
        trusted.setCertificateEntry(Integer.toString(number++), each);
      }
      if (number == 0) {
        throw new IOException("it has no certificate");
      }
      TrustManagerFactory factory =
          TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
      factory.init(trusted);
      SSLContext context = SSLContext.getInstance("TLS");
      context.init(null, factory.getTrustManagers(), null);
      return context;
    } catch (IOException | GeneralSecurityException e) {
      throw new IllegalArgumentException(
          "%s '%s' is refused: %s; allowed: a file of certificates, PEM"
              .formatted(option, pem, e.getMessage()),
          e);
    }
  }
}
