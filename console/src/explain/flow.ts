// SPDX-License-Identifier: Apache-2.0
//
// A flow as people have it at hand: what fairleadctl takes, a line of tcpdump, of ss or of conntrack.

export interface Flow {
  protocol: "tcp" | "udp";
  source: string;
  sourcePort: number;
  destination: string;
  destinationPort: number;
}

/** Names that tcpdump prints for ports without -n. */
const PORTS: Record<string, number> = {
  ftp: 21,
  ssh: 22,
  smtp: 25,
  domain: 53,
  http: 80,
  https: 443,
  imaps: 993,
  "http-alt": 8080,
  postgresql: 5432,
  mysql: 3306,
  ntp: 123,
  sip: 5060,
  openvpn: 1194,
};

const ALLOWED =
  "tcp 10.2.1.2:40001 10.99.0.1:80, or a line of tcpdump such as IP 10.2.1.2.40001 > 10.99.0.1.80: Flags [S], ...";

const PORT = "[a-z0-9-]+";
const V4 = "\\d{1,3}(?:\\.\\d{1,3}){3}";
const V6 = "[0-9a-f]*:[0-9a-f:.]+";
/** 10.2.1.2:40001, 10.2.1.2.40001 or 10.2.1.2 40001; of IPv6 also [::1]:40001. */
const END = `(?:(?<v4_N>${V4})[.: ](?<p4_N>${PORT})|\\[(?<v6_N>${V6})\\]:(?<q6_N>${PORT})|(?<w6_N>${V6})\\.(?<p6_N>${PORT}))`;
const PAIR = new RegExp(
  `(?<![0-9a-f.:])${END.replaceAll("_N", "1")}(?:\\s*(?:->|>|→|,)\\s*|\\s+)${END.replaceAll("_N", "2")}(?![0-9a-f.])`,
  "i",
);
const CONNTRACK = /src=(\S+) dst=(\S+) sport=(\d+) dport=(\d+)/;

/** The flow, or a sentence that says what is wrong with the text. */
export function parseFlow(text: string): Flow | string {
  const line = text.trim().replace(/\s+/g, " ");
  if (!line) return `Enter a flow; allowed: ${ALLOWED}`;
  const protocol = protocolOf(line);
  const tracked = CONNTRACK.exec(line);
  const ends = tracked ? { from: [tracked[1]!, tracked[3]!], to: [tracked[2]!, tracked[4]!] } : pair(line);
  if (!ends) return `'${short(line)}' does not have two addresses with ports; allowed: ${ALLOWED}`;
  const [source, from] = ends.from as [string, string];
  const [destination, to] = ends.to as [string, string];
  const sourcePort = portOf(from);
  const destinationPort = portOf(to);
  if (sourcePort === undefined) return `port '${from}' is refused; allowed: 0..65535`;
  if (destinationPort === undefined || destinationPort === 0) return `port '${to}' is refused; allowed: 1..65535`;
  if (source.includes(":") !== destination.includes(":")) {
    return `'${source}' and '${destination}' have different address families; allowed: both IPv4, or both IPv6`;
  }
  return { protocol, source, sourcePort, destination, destinationPort };
}

function pair(line: string): { from: string[]; to: string[] } | undefined {
  const groups = PAIR.exec(line)?.groups;
  if (!groups) return undefined;
  const end = (n: number) => [
    (groups[`v4${n}`] ?? groups[`v6${n}`] ?? groups[`w6${n}`] ?? "").toLowerCase(),
    groups[`p4${n}`] ?? groups[`q6${n}`] ?? groups[`p6${n}`] ?? "",
  ];
  return { from: end(1), to: end(2) };
}

/** tcpdump says UDP, or what it decodes of a datagram; of TCP it prints flags. */
function protocolOf(line: string): "tcp" | "udp" {
  if (/\btcp\b|\bFlags \[/i.test(line)) return "tcp";
  return /\budp\b|\bquic\b|\bNTPv\d|\bSIP\b/i.test(line) ? "udp" : "tcp";
}

function portOf(text: string): number | undefined {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : PORTS[text.toLowerCase()];
  return port !== undefined && port <= 65535 ? port : undefined;
}

const short = (line: string) => (line.length > 80 ? `${line.slice(0, 77)}...` : line);

/** As fairleadctl takes it. */
export function showFlow(flow: Flow): string {
  const end = (address: string, port: number) =>
    address.includes(":") ? `[${address}]:${port}` : `${address}:${port}`;
  const to = end(flow.destination, flow.destinationPort);
  return `${flow.protocol} ${end(flow.source, flow.sourcePort)} ${to}`;
}

/** The query of the API's explain. */
export function flowQuery(flow: Flow): string {
  return new URLSearchParams(Object.entries(flow).map(([name, value]) => [name, String(value)])).toString();
}
