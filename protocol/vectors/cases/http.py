# SPDX-License-Identifier: Apache-2.0
"""
http-malformed.json: requests that every HTTP server here refuses with 400, after which it closes the connection. They
are such that two readers of HTTP can find different requests in them, or such as no client sends.
"""

SECOND = "{second}"
GET = "GET {path} HTTP/1.1\r\n"
LET_IN = "Host: {host}\r\n{auth}"
POST = "POST {path} HTTP/1.1\r\n" + LET_IN + "Content-Type: application/json\r\n"
NO_CHUNK = "\r\n0\r\n\r\n" + SECOND


def got(header: str) -> str:
    """A GET that is well-formed up to `header`."""
    return GET + LET_IN + header + "\r\n\r\n" + SECOND


def line(text: str) -> str:
    """A GET that is well-formed after its first line."""
    return text + "\r\n" + LET_IN + "\r\n" + SECOND


def of_host(headers: str) -> str:
    """A GET whose headers say, or do not say, its host."""
    return GET + headers + "{auth}\r\n" + SECOND


def sized(header: str) -> str:
    """A POST of two bytes."""
    return POST + header + "\r\n\r\n{}" + SECOND


def coded(header: str) -> str:
    """A POST of no chunks."""
    return POST + header + "\r\n" + NO_CHUNK


def chunked(chunks: str) -> str:
    """A POST of these chunks."""
    return POST + "Transfer-Encoding: chunked\r\n\r\n" + chunks + SECOND


ROWS = [
    (
        "http10-cl-te",
        "HTTP/1.0 with both: one takes the length, the other the chunks (CVE-2026-42581)",
        POST.replace("1.1", "1.0") + "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{chunk2}0\r\n\r\n",
    ),
    ("http10", "HTTP/1.0 has no chunks and closes by default", line("GET {path} HTTP/1.0")),
    (
        "http10-keep-alive",
        "as above, kept open",
        "GET {path} HTTP/1.0\r\nHost: {host}\r\n{auth}Connection: keep-alive\r\n\r\n{second}",
    ),
    ("cl-te", "length and chunks: which ends the body?", coded("Content-Length: 2\r\nTransfer-Encoding: chunked")),
    ("te-cl", "the same, in the other order", coded("Transfer-Encoding: chunked\r\nContent-Length: 2")),
    ("cl-te-case", "the same, names in other case", coded("cONTENT-lENGTH: 2\r\ntRANSFER-eNCODING: chunked")),
    ("cl-twice", "two lengths", sized("Content-Length: 2\r\nContent-Length: 40")),
    ("cl-twice-equal", "two lengths, although equal", sized("Content-Length: 2\r\nContent-Length: 2")),
    ("cl-list", "a list of lengths", sized("Content-Length: 2, 2")),
    ("cl-plus", "a sign", sized("Content-Length: +2")),
    ("cl-minus", "a negative length", sized("Content-Length: -2")),
    ("cl-hex", "not decimal", sized("Content-Length: 0x2")),
    ("cl-empty", "no digits", sized("Content-Length:")),
    ("cl-space", "a space within", sized("Content-Length: 2 0")),
    ("cl-octal", "leading zeros: octal to some", sized("Content-Length: 02")),
    ("cl-overflow", "more than 64 bits: 2 modulo 2^64", sized("Content-Length: 18446744073709551618")),
    ("cl-fraction", "not an integer", sized("Content-Length: 2.0")),
    ("te-unknown", "a coding that is not chunked", coded("Transfer-Encoding: gzip")),
    (
        "te-identity",
        "a coding of the past",
        POST + "Transfer-Encoding: identity\r\n\r\n" + SECOND,
    ),
    ("te-list", "chunked is not all", coded("Transfer-Encoding: gzip, chunked")),
    ("te-not-last", "chunked is not last", coded("Transfer-Encoding: chunked, gzip")),
    ("te-twice", "two codings", coded("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked")),
    ("te-twice-hidden", "the second one is not chunked", coded("Transfer-Encoding: chunked\r\nTransfer-Encoding: x")),
    ("te-prefix", "not the word chunked", coded("Transfer-Encoding: xchunked")),
    ("te-quoted", "not the word chunked", coded('Transfer-Encoding: "chunked"')),
    ("te-vertical-tab", "a control character before the word", coded("Transfer-Encoding: \u000bchunked")),
    ("te-no-break-space", "a byte that some trim", coded("Transfer-Encoding: \u00a0chunked")),
    ("te-parameter", "chunked has no parameters", coded("Transfer-Encoding: chunked;q=1")),
    ("te-empty", "no coding", coded("Transfer-Encoding:")),
    ("te-space-before-colon", "some ignore the header, some do not", coded("Transfer-Encoding : chunked")),
    ("cl-space-before-colon", "some ignore the header, some do not", sized("Content-Length : 2")),
    ("cl-tab-before-colon", "some ignore the header, some do not", sized("Content-Length\t: 2")),
    ("obs-fold", "a folded header", sized("Content-Length: 2\r\nX-Folded: a\r\n b")),
    ("obs-fold-te", "the coding on a folded line", coded("Transfer-Encoding:\r\n chunked")),
    ("obs-fold-tab", "folded by a tab", sized("Content-Length: 2\r\nX-Folded: a\r\n\tTransfer-Encoding: chunked")),
    ("obs-fold-get", "a folded header where no body comes", got("X-Folded: a\r\n b")),
    ("obs-fold-empty", "a folded line of white space alone", got("X-Folded: a\r\n \t")),
    ("obs-fold-host", "the host on a folded line", of_host("Host:\r\n {host}\r\n")),
    ("first-header-folded", "white space before the first header", of_host(" Host: {host}\r\nHost: {host}\r\n")),
    ("lf-request-line", "LF without CR", "GET {path} HTTP/1.1\nHost: {host}\r\n{auth}\r\n{second}"),
    ("lf-header", "LF without CR", of_host("Host: {host}\n")),
    ("lf-end-of-head", "LF without CR", "GET {path} HTTP/1.1\r\nHost: {host}\r\n{auth}\n{second}"),
    ("lf-alone", "LF alone everywhere", "GET {path} HTTP/1.1\nHost: {host}\n\n{second}"),
    ("lf-in-value", "a header within a value by LF", got("X-A: b\nTransfer-Encoding: chunked")),
    ("cr-in-value", "CR without LF", got("X-A: b\rTransfer-Encoding: chunked")),
    ("cr-cr-lf", "CR before CR LF", of_host("Host: {host}\r\r\n")),
    ("cr-request-line", "CR without LF", "GET {path} HTTP/1.1\rHost: {host}\r\n{auth}\r\n{second}"),
    ("cr-end-of-head", "CR without LF", "GET {path} HTTP/1.1\r\nHost: {host}\r\n{auth}\r{second}"),
    ("lf-cr", "LF before CR", of_host("Host: {host}\n\r")),
    ("nul-in-value", "NUL in a value", got("X-A: b\u0000c")),
    ("control-in-value", "a control character in a value", got("X-A: b\u0001c")),
    ("delete-in-value", "DEL in a value", got("X-A: b\u007fc")),
    ("nul-in-name", "NUL in a name", got("X-\u0000A: b")),
    ("space-in-name", "a space in a name", got("X A: b")),
    ("separator-in-name", "a separator in a name", got("X(A): b")),
    ("non-ascii-in-name", "not ASCII in a name", got("X-\u00e4: b")),
    ("no-name", "no name before the colon", got(": b")),
    ("no-colon", "a line without a colon", got("Transfer-Encoding chunked")),
    ("host-none", "no Host", of_host("")),
    ("host-twice", "two Hosts", of_host("Host: {host}\r\nHost: other.example\r\n")),
    ("host-twice-equal", "two Hosts, although equal", of_host("Host: {host}\r\nHost: {host}\r\n")),
    ("host-empty", "an empty Host", of_host("Host:\r\n")),
    ("host-list", "a list of Hosts", of_host("Host: {host}, other.example\r\n")),
    ("host-path", "a path in Host", of_host("Host: {host}/x\r\n")),
    ("host-user", "a user in Host", of_host("Host: user@{host}\r\n")),
    ("absolute-form-other", "the target names another host", line("GET http://other.example{path} HTTP/1.1")),
    ("absolute-form", "a target for proxies", line("GET http://{host}{path} HTTP/1.1")),
    ("authority-form", "a tunnel", line("CONNECT {host} HTTP/1.1")),
    ("asterisk-form", "no path", line("OPTIONS * HTTP/1.1")),
    ("target-no-slash", "no path", line("GET x HTTP/1.1")),
    ("target-fragment", "a fragment", line("GET {path}#x HTTP/1.1")),
    ("target-space", "a space in the target", line("GET {path} x HTTP/1.1")),
    ("target-non-ascii", "not ASCII in the target", line("GET {path}\u00e4 HTTP/1.1")),
    ("target-nul", "NUL in the target", line("GET {path}\u0000 HTTP/1.1")),
    ("target-escape-short", "an escape of one digit", line("GET {path}?a=%4 HTTP/1.1")),
    ("target-escape-no-hex", "an escape that is not hex", line("GET {path}?a=%zz HTTP/1.1")),
    ("target-escape-nul", "an escaped NUL", line("GET {path}?a=%00 HTTP/1.1")),
    ("line-tab", "a tab between the words", line("GET\t{path} HTTP/1.1")),
    ("line-vertical-tab", "a vertical tab between the words", line("GET\u000b{path} HTTP/1.1")),
    ("line-two-spaces-last", "two spaces before the version", line("GET {path}  HTTP/1.1")),
    ("line-two-spaces", "two spaces between the words", line("GET  {path} HTTP/1.1")),
    ("line-space-first", "a space before the method", line(" GET {path} HTTP/1.1")),
    ("line-space-last", "a space after the version", line("GET {path} HTTP/1.1 ")),
    ("line-empty-first", "an empty line before the request", line("\r\nGET {path} HTTP/1.1")),
    ("line-control-first", "a control character before the method", line("\u0001GET {path} HTTP/1.1")),
    ("line-lf-first", "a bare LF before the request", line("\nGET {path} HTTP/1.1")),
    ("line-no-version", "HTTP/0.9", line("GET {path}")),
    ("method-separator", "no token as method", line("GE(T {path} HTTP/1.1")),
    ("version-unknown", "no such version", line("GET {path} HTTP/1.2")),
    ("version-case", "in lower case", line("GET {path} http/1.1")),
    ("version-long", "more digits", line("GET {path} HTTP/1.10")),
    ("version-signed", "a sign", line("GET {path} HTTP/+1.1")),
    ("http2-preface", "HTTP/2 in clear text", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
    ("authorization-twice", "two callers", got("Authorization: Bearer a\r\nAuthorization: Bearer b")),
    ("content-type-twice", "two types", sized("Content-Type: text/plain\r\nContent-Length: 2")),
    ("chunk-extension", "an extension, which some end at LF", chunked("2;a=b\r\n{}\r\n0\r\n\r\n")),
    ("chunk-extension-lf", "an extension that ends at LF", chunked("2;a\n{}\r\n0\r\n\r\n")),
    ("chunk-size-space", "a space after the size", chunked("2 \r\n{}\r\n0\r\n\r\n")),
    ("chunk-size-space-first", "a space before the size", chunked(" 2\r\n{}\r\n0\r\n\r\n")),
    ("chunk-size-0x", "a prefix", chunked("0x2\r\n{}\r\n0\r\n\r\n")),
    ("chunk-size-plus", "a sign", chunked("+2\r\n{}\r\n0\r\n\r\n")),
    ("chunk-size-minus", "a negative size", chunked("-2\r\n{}\r\n0\r\n\r\n")),
    ("chunk-size-empty", "no size", chunked("\r\n{}\r\n0\r\n\r\n")),
    ("chunk-size-letter", "no hex digit", chunked("g\r\n{}\r\n0\r\n\r\n")),
    ("chunk-size-overflow", "more than 64 bits", chunked("10000000000000002\r\n{}\r\n0\r\n\r\n")),
    ("chunk-size-32-bits", "more than 32 bits", chunked("100000002\r\n{}\r\n0\r\n\r\n")),
    ("chunk-size-long", "many zeros", chunked("0000000000000000000000000000000002\r\n{}\r\n0\r\n\r\n")),
    ("chunk-lf", "LF without CR after the size", chunked("2\n{}\r\n0\r\n\r\n")),
    ("chunk-cr", "CR without LF after the size", chunked("2\r{}\r\n0\r\n\r\n")),
    ("chunk-longer", "no CR LF where the chunk ends", chunked("2\r\n{}X\r\n0\r\n\r\n")),
    ("chunk-end-lf", "LF without CR after the chunk", chunked("2\r\n{}\n0\r\n\r\n")),
    ("chunk-end-other", "two other bytes after the chunk", chunked("2\r\n{}XX0\r\n\r\n")),
    ("chunk-last-lf", "LF without CR after the last chunk", chunked("2\r\n{}\r\n0\n\r\n")),
    ("trailer", "a header after the body", chunked("2\r\n{}\r\n0\r\nX-A: b\r\n\r\n")),
    ("trailer-framing", "framing after the body", chunked("2\r\n{}\r\n0\r\nContent-Length: 9\r\n\r\n")),
    ("trailer-lf", "LF without CR after the last chunk", chunked("2\r\n{}\r\n0\r\n\n")),
]


def http_vectors() -> dict:
    return {"refused": [{"name": name, "why": why, "raw": raw} for name, why, raw in ROWS]}
