// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.http;

import io.fairlead.controller.core.ring.Address;
import io.vertx.core.http.HttpServerRequest;
import java.security.cert.CertificateException;
import java.security.cert.X509Certificate;
import java.util.Collection;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import javax.net.ssl.SSLPeerUnverifiedException;
import javax.net.ssl.SSLSession;

/**
 * The certificate of an agent: its IP subject alternative names are the server's addresses. TLS has
 * verified who signed it.
 */
final class ClientCertificate {
  /** The type of an IP address among alternative names (RFC 5280, iPAddress). */
  private static final int IP = 7;

  private ClientCertificate() {}

  /** The agent that the client's certificate is of; empty if it sent none, or one of no server. */
  static Optional<Caller> caller(HttpServerRequest request) {
    SSLSession session = request.connection().sslSession();
    if (session == null) {
      return Optional.empty();
    }
    try {
      if (!(session.getPeerCertificates()[0] instanceof X509Certificate certificate)) {
        return Optional.empty();
      }
      certificate.checkValidity(); // the connection may be older than its end
      Set<Address> addresses = addresses(certificate);
      return addresses.isEmpty() || addresses.size() > Tokens.ADDRESSES_MAX
          ? Optional.empty()
          : Optional.of(Caller.server(certificate.getSubjectX500Principal().getName(), addresses));
    } catch (SSLPeerUnverifiedException | CertificateException e) {
      return Optional.empty();
    }
  }

  private static Set<Address> addresses(X509Certificate certificate) throws CertificateException {
    Set<Address> addresses = new LinkedHashSet<>();
    Collection<List<?>> names = certificate.getSubjectAlternativeNames();
    if (names != null) {
      for (List<?> name : names) {
        if (name.get(0).equals(IP)) {
          Address.parse((String) name.get(1)).filter(Address::isUnicast).ifPresent(addresses::add);
        }
      }
    }
    return addresses;
  }
}
