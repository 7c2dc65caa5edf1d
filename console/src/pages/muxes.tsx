// SPDX-License-Identifier: Apache-2.0
//
// Muxes: lag, announcements, BGP, clocks, versions, packets and drops over time. Servers: what their agents report.
import { useEffect, useMemo } from "preact/hooks";
import type { Agent, Mux, Service } from "../../generated/schema";
import { usePolled } from "../api/poll";
import { Lag } from "../muxes/lag";
import { byLabel } from "../muxes/metrics";
import { type Reading, summary, useReadings } from "../muxes/readings";
import { DROPPED, VERDICTS } from "../muxes/reasons";
import { Chart, largest, LINES_MOST, useSeries } from "../parts/chart";
import { figureColumn, serviceColumn } from "../parts/columns";
import { duration, percent, short, whole } from "../parts/figures";
import { Failure } from "../parts/notice";
import { type Column, Table } from "../parts/table";
import type { PageProps } from "../router";
import "../muxes/muxes.css";

const SECONDS = 3;
/** Of 1,000 services each mux is 60 kB, and all agents of 65,535 backends are 6 MB. */
const MUXES_PAGED = { limit: 10, most: Infinity };
const AGENTS_PAGED = { limit: 8192, most: Infinity };
const CLOCK_MOST = 2; // seconds, as controllers allow

interface MuxRow {
  mux: Mux;
  at: ReturnType<typeof summary>;
}

export function MuxesPage({ args }: PageProps) {
  const muxes = usePolled<Mux[]>("/v1/muxes", 5, ["mux"], MUXES_PAGED);
  const services = usePolled<Service[]>("/v1/services", 10, ["service"]);
  const agents = usePolled<Agent[]>("/v1/agents", 5, [], AGENTS_PAGED);
  const alive = useMemo(() => (muxes.data.value ?? []).filter((mux) => mux.alive), [muxes.data.value]);
  const readings = useReadings(
    alive.map((mux) => mux.id),
    SECONDS,
  );
  const reason = args[0] ?? "";
  return (
    <>
      {reason && <Reason name={reason} readings={readings.value} />}
      <section class="card">
        <h1>Muxes</h1>
        <Failure error={muxes.error.value} />
        <MuxTable muxes={muxes.data.value ?? []} readings={readings.value} />
      </section>
      <section class="card">
        <h2>Lag by generation</h2>
        <Lag muxes={alive} services={services.data.value ?? []} />
      </section>
      <Traffic readings={readings.value} />
      <section class="card">
        <h2>Servers and their agents</h2>
        <Failure error={agents.error.value} />
        <Agents agents={agents.data.value ?? []} />
      </section>
    </>
  );
}

function MuxTable({ muxes, readings }: { muxes: Mux[]; readings: Record<string, Reading> }) {
  const rows = useMemo(() => muxes.map((mux): MuxRow => ({ mux, at: summary(readings[mux.id]) })), [muxes, readings]);
  return (
    <Table
      label="Muxes"
      columns={MUX_COLUMNS}
      rows={rows}
      rowKey={(row) => row.mux.id}
      hasFilter={rows.length > 10}
      empty="No mux has been added."
    />
  );
}

const states = (mux: Mux) => Object.values(mux.services);
const neighbours = (mux: Mux) =>
  Object.entries(mux.needs ?? {})
    .filter(([, what]) => what === "bgp")
    .map(([address]) => address);

function announces(row: MuxRow): string {
  if (!row.mux.alive) return "–";
  const all = states(row.mux).length;
  const withdrawn = states(row.mux).filter((each) => each.withdrawn).length;
  const refused = states(row.mux).filter((each) => each.refused).length;
  const counts = [withdrawn && `${withdrawn} withdrawn`, refused && `${refused} refused`].filter(Boolean);
  return [`${row.at.announced ?? all - withdrawn - refused} of ${all}`, ...counts].join(", ");
}

const announcesAll = (mux: Mux) => mux.alive && !states(mux).some((each) => each.withdrawn || each.refused);

const version = ({ mux }: MuxRow) => (mux.alive ? `${mux.version} (${mux.kind})` : "absent");

const MUX_COLUMNS: Column<MuxRow>[] = [
  { key: "id", title: "Mux", value: (row) => row.mux.id },
  { key: "address", title: "Address", value: (row) => [row.mux.address, row.mux.address6].filter(Boolean).join(", ") },
  {
    key: "version",
    title: "Version",
    value: version,
    render: (row) => <span class={row.mux.alive ? "" : "warn"}>{version(row)}</span>,
  },
  {
    key: "announces",
    title: "Announces",
    value: announces,
    render: (row) => <span class={announcesAll(row.mux) ? "good" : "warn"}>{announces(row)}</span>,
  },
  {
    key: "bgp",
    title: "BGP neighbours",
    value: (row) => neighbours(row.mux).join(", "),
    render: (row) => neighbours(row.mux).join(", ") || (row.mux.alive ? <span class="warn">none</span> : "–"),
  },
  figureColumn("packets", "Packets/s", (row) => row.at.packets),
  figureColumn("drops", "Drops/s", (row) => row.at.drops),
  {
    key: "clock",
    title: "Clock",
    isNumber: true,
    value: (row) => row.at.clock ?? 0,
    render: (row) => <Clock seconds={row.at.clock} />,
  },
  {
    key: "zookeeper",
    title: "ZooKeeper",
    value: (row) => zookeeper(row),
    render: (row) => <span class={zookeeper(row) === "connected" ? "good" : "warn"}>{zookeeper(row)}</span>,
  },
  { key: "unreachable", title: "Unreachable backends", value: unreachable },
];

function zookeeper(row: MuxRow): string {
  if (row.at.error) return row.at.error;
  if (row.at.packets === undefined && row.at.announced === undefined) return "–";
  return row.at.isConnected ? "connected" : "not connected";
}

function unreachable(row: MuxRow): string {
  const listed = Object.entries(row.mux.unreachable ?? {}).map(([address, why]) => `${address} (${why})`);
  const more = row.mux.unreachableMore ?? 0;
  return [...listed.slice(0, 3), listed.length + more > 3 ? `${listed.length + more - 3} more` : ""]
    .filter(Boolean)
    .join(", ");
}

function Clock({ seconds }: { seconds?: number }) {
  if (seconds === undefined) return <>–</>;
  const isFar = Math.abs(seconds) > CLOCK_MOST;
  return (
    <span class={isFar ? "bad" : "good"}>{seconds === 0 ? "in sync" : `${seconds > 0 ? "+" : ""}${seconds} s`}</span>
  );
}

/** Packets by mux and drops by reason, since the page was opened. */
function Traffic({ readings }: { readings: Record<string, Reading> }) {
  const packets = useSeries();
  const drops = useSeries();
  const entries = Object.entries(readings);
  const sums: Record<string, number> = {};
  const totals: Record<string, number> = {};
  for (const [, reading] of entries) {
    for (const [name, value] of Object.entries(reading.drops)) sums[name] = (sums[name] ?? 0) + value;
    for (const [name, value] of Object.entries(byLabel(reading.samples, "fairlead_mux_drops_total", "reason"))) {
      totals[name] = (totals[name] ?? 0) + value;
    }
  }
  useEffect(() => {
    const known = entries.filter(([, reading]) => Object.keys(reading.packets).length);
    if (!known.length) return;
    const steered = known.map(([id, reading]): [string, number] => [id, reading.packets.service ?? 0]);
    packets.add(steered.length > LINES_MOST ? largest(steered) : Object.fromEntries(steered));
    const dropping = Object.entries(sums).filter(([name, value]) => value > 0 || drops.series.names.includes(name));
    drops.add(dropping.length ? Object.fromEntries(dropping) : { "no drop": 0 });
  }, [readings]);
  const rows = Object.keys(DROPPED)
    .map((name) => ({ name, rate: sums[name] ?? 0, total: totals[name] ?? 0 }))
    .filter((row) => row.total > 0);
  return (
    <section class="card">
      <h2>Packets and drops</h2>
      <div class="columns">
        <Chart label="Steered packets per second, by mux" series={packets.series} />
        <Chart label="Dropped packets per second, by reason" series={drops.series} />
      </div>
      <h3>Drop reasons</h3>
      <Table
        label="Drop reasons"
        columns={REASON_COLUMNS}
        rows={rows}
        rowKey={(row) => row.name}
        hasFilter={false}
        order={{ by: "rate", isDescending: true }}
        empty="No packets dropped since the muxes started."
      />
      <details>
        <summary>All verdicts</summary>
        <dl class="verdicts">
          {Object.entries(VERDICTS).map(([name, verdict]) => (
            <div key={name}>
              <dt>
                <a href={`#/muxes/${name}`}>{name}</a>
              </dt>
              <dd>{verdict.what}</dd>
            </div>
          ))}
        </dl>
      </details>
    </section>
  );
}

interface ReasonRow {
  name: string;
  rate: number;
  total: number;
}

const REASON_COLUMNS: Column<ReasonRow>[] = [
  {
    key: "name",
    title: "Reason",
    value: (row) => row.name,
    render: (row) => <a href={`#/muxes/${row.name}`}>{row.name}</a>,
  },
  { key: "rate", title: "Per second", isNumber: true, value: (row) => row.rate, render: (row) => short(row.rate) },
  { key: "total", title: "Total", isNumber: true, value: (row) => row.total },
  { key: "what", title: "Meaning", value: (row) => DROPPED[row.name]?.what ?? "" },
];

/** The page of one verdict. */
function Reason({ name, readings }: { name: string; readings: Record<string, Reading> }) {
  const verdict = VERDICTS[name];
  const isDrop = name in DROPPED;
  const metric = isDrop ? ["fairlead_mux_drops_total", "reason"] : ["fairlead_mux_packets_total", "verdict"];
  const rows = Object.entries(readings).map(([id, reading]) => ({
    id,
    rate: (isDrop ? reading.drops : reading.packets)[name] ?? 0,
    total: byLabel(reading.samples, metric[0]!, metric[1]!)[name] ?? 0,
  }));
  return (
    <section class="card" aria-labelledby="reason">
      <h2 id="reason">
        {isDrop ? "Drop reason" : "Verdict"} <code>{name}</code>
      </h2>
      {verdict ? (
        <>
          <p>{verdict.what}</p>
          {verdict.remedy && (
            <p>
              <strong>Cause or fix:</strong> {verdict.remedy}
            </p>
          )}
          <p class="hint">
            Metric <code>{`${metric[0]}{${metric[1]}="${name}"}`}</code>; more in {verdict.page}.{" "}
            <a href={`#/explain?verdict=${name}`}>Sample such packets</a> · <a href="#/muxes">All muxes</a>
          </p>
          <Table
            label={`${name} by mux`}
            columns={BY_MUX}
            rows={rows}
            rowKey={(row) => row.id}
            hasFilter={rows.length > 10}
            empty="No mux is alive."
          />
        </>
      ) : (
        <p class="bad">
          There is no verdict '{name}'. <a href="#/muxes">All muxes</a>
        </p>
      )}
    </section>
  );
}

const BY_MUX: Column<{ id: string; rate: number; total: number }>[] = [
  { key: "id", title: "Mux", value: (row) => row.id },
  { key: "rate", title: "Per second", isNumber: true, value: (row) => row.rate, render: (row) => short(row.rate) },
  { key: "total", title: "Total", isNumber: true, value: (row) => row.total },
];

const AGENT_CLASS: Record<string, string> = { reporting: "good", counting: "good", silent: "bad", never_heard: "warn" };

const AGENT_COLUMNS: Column<Agent>[] = [
  serviceColumn((row) => row.service),
  { key: "backend", title: "Backend", isNumber: true, value: (row) => row.backend },
  { key: "address", title: "Address", value: (row) => row.address },
  {
    key: "state",
    title: "Agent",
    value: (row) => row.state,
    render: (row) => <span class={AGENT_CLASS[row.state]}>{row.state.replace("_", " ")}</span>,
  },
  {
    key: "form",
    title: "Server side",
    value: (row) => (row.form ? `${row.form.attached}` : ""),
    render: (row) => {
      if (!row.form) return "–";
      const place = row.form.interface ?? row.form.kind;
      return row.form.attached ? place : <span class="bad">detached: {place}</span>;
    },
  },
  figureColumn(
    "age",
    "Last report",
    (row) => row.ageSeconds,
    (seconds) => `${duration(seconds)} ago`,
  ),
  { key: "version", title: "Version", value: (row) => row.version ?? "" },
  { key: "mode", title: "Mode", value: (row) => row.mode ?? "" },
  { key: "established", title: "Connections", isNumber: true, value: (row) => row.established ?? "" },
  { key: "opened", title: "Opened/s", isNumber: true, value: (row) => row.openedPerSecond ?? "" },
  { key: "closed", title: "Closed/s", isNumber: true, value: (row) => row.closedPerSecond ?? "" },
  {
    key: "queue",
    title: "Accept queue",
    isNumber: true,
    value: (row) => row.acceptQueue?.length ?? "",
    render: (row) => (row.acceptQueue ? `${row.acceptQueue.length} of ${row.acceptQueue.limit}` : ""),
  },
  { key: "refused", title: "Refused/s", isNumber: true, value: (row) => row.signals?.refusedPerSecond ?? "" },
  { key: "resets", title: "Resets/s", isNumber: true, value: (row) => row.signals?.resetsPerSecond ?? "" },
  figureColumn("retransmitted", "Retransmitted", (row) => row.signals?.retransmittedShare, percent),
  figureColumn(
    "rtt",
    "Round trip",
    (row) => row.signals?.rttMilliseconds,
    (ms) => `${ms.toFixed(1)} ms`,
  ),
  { key: "lost", title: "Lost events", isNumber: true, value: (row) => row.lostEvents ?? "" },
];

function Agents({ agents }: { agents: Agent[] }) {
  const versions = count(
    agents.map((agent) => agent.version ?? "unknown"),
    "of ",
  );
  const heard = count(agents.map((agent) => agent.state.replace("_", " ")));
  return (
    <>
      {agents.length > 0 && (
        <p class="hint">
          Agents: {heard}. Versions: {versions}.
        </p>
      )}
      <Table
        label="Agents"
        columns={AGENT_COLUMNS}
        rows={agents}
        rowKey={(row) => `${row.service}/${row.backend}`}
        hasFilter={agents.length > 10}
        empty="No service has a backend."
      />
    </>
  );
}

/** 3 reporting, 1 silent; of versions 3 of 0.2.0, 1 of 0.1.0 */
function count(words: string[], of = ""): string {
  const counts = new Map<string, number>();
  for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
  return [...counts].map(([word, number]) => `${whole(number)} ${of}${word}`).join(", ");
}
