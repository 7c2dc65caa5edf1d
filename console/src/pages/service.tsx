// SPDX-License-Identifier: Apache-2.0
import { useEffect, useMemo } from "preact/hooks";
import type { Agent, Backend, Mux, Service } from "../../generated/schema";
import { ChangeLink } from "../access";
import { servicePath } from "../api/client";
import { usePolled } from "../api/poll";
import { useTraffic } from "../overview/traffic";
import { Chart, largest, LINES_MOST, useSeries } from "../parts/chart";
import { addressColumn, figureColumn } from "../parts/columns";
import { percent, short, whole } from "../parts/figures";
import { Outdated, Unread } from "../parts/notice";
import { ownerColour } from "../parts/palette";
import { type Column, Table } from "../parts/table";
import { Tile } from "../parts/tile";
import { href, type PageProps } from "../router";
import { Drains } from "../service/drains";
import { largestShares, rows, type Row } from "../service/shares";
import { Staged } from "../service/staged";
import { Strip } from "../service/strip";
import { Timeline } from "../service/timeline";

const SECONDS = 3;
/** Of large pools the lists are megabytes. */
const LARGE = 4000;
const LARGE_SECONDS = 30;
const LEGEND = 16;
const NO_AGENTS: Agent[] = [];
const AGENTS_AT_ONCE = 8192;
const BACKENDS_MAX = 65_535;

export function ServicePage({ args, query }: PageProps) {
  const name = args[0] ?? "";
  const path = servicePath(name);
  const service = usePolled<Service>(name && path, SECONDS, ["service"]);
  const size = service.data.value?.backends ?? 0;
  const seconds = size > LARGE ? LARGE_SECONDS : SECONDS;
  const backends = usePolled<Backend[]>(name && `${path}/backends`, seconds, ["service"]);
  const agents = useAgents(name, backends.data.value?.length ?? 0, seconds);
  const muxes = usePolled<Mux[]>(name && `/v1/muxes?service=${encodeURIComponent(name)}`, 10, ["mux"]);
  const buckets = service.data.value?.buckets ?? 1;
  const list = useMemo(() => rows(backends.data.value ?? [], agents, buckets), [backends.data.value, agents, buckets]);
  const place = useMemo(() => new Map(list.map((row, index) => [row.id, index])), [list]);

  const found = service.data.value;
  if (!found) {
    return <Unread title={`Service ${name}`} error={service.error.value} />;
  }
  const bucket = query.bucket === undefined ? undefined : Number(query.bucket);
  return (
    <>
      <header class="title">
        <h1>{name}</h1>
        <span class="hint">
          {found.vips.join(", ")} · {found.ports.map((port) => `${port.protocol}:${port.port}`).join(", ")} ·{" "}
          {found.steering} · {found.assignment} · {found.encap} · window {found.windowSeconds} s
          {found.holdSeconds ? ` · hold ${found.holdSeconds} s${found.holdByDefault ? ", by default" : ""}` : ""}
        </span>
        <ChangeLink class="button" service={name}>
          Change
        </ChangeLink>
        <a class="button" href={href("explain", [name])}>
          Explain
        </a>
      </header>
      <Outdated error={service.error.value} />
      <Numbers service={found} list={list} muxes={muxes.data.value ?? []} />
      <Staged service={name} />
      <section class="card" aria-labelledby="ring">
        <h2 id="ring">Ring</h2>
        <Strip
          service={name}
          buckets={buckets}
          place={place}
          bucket={bucket !== undefined && bucket >= 0 && bucket < buckets ? bucket : undefined}
        />
        <Legend list={list} />
      </section>
      <section class="card" aria-labelledby="backends">
        <h2 id="backends">Backends</h2>
        <Backends list={list} place={place} filter={query.filter ?? ""} error={backends.error.value} />
      </section>
      <section class="card" aria-labelledby="drains">
        <h2 id="drains">Drains</h2>
        <Drains service={name} />
      </section>
      <Live name={name} list={list} muxes={muxes.data.value ?? []} />
      <section class="card" aria-labelledby="generations">
        <h2 id="generations">Generations</h2>
        <Timeline service={name} />
      </section>
    </>
  );
}

/** Those of the service that report; the same empty list as long as there is none. Asked for once its size is known. */
function useAgents(service: string, size: number, seconds: number): Agent[] {
  // They are listed by service and backend, all of them: after "web.0" come those of web. The number is rounded up, or
  // each backend that is added would begin another list.
  const most = size && Math.min(BACKENDS_MAX, Math.max(64, 2 ** Math.ceil(Math.log2(size))));
  const { data } = usePolled<Agent[]>(
    size ? `/v1/agents?cursor=${encodeURIComponent(service)}.0` : "",
    seconds,
    ["drain"],
    { limit: Math.min(most, AGENTS_AT_ONCE), most },
  );
  return useMemo(() => {
    const found = (data.value ?? []).filter((agent) => agent.service === service && agent.state === "reporting");
    return found.length ? found : NO_AGENTS;
  }, [data.value]);
}

function Numbers({ service, list, muxes }: { service: Service; list: Row[]; muxes: Mux[] }) {
  const count = (state: Backend["state"]) => list.filter((row) => row.state === state).length;
  const known = list.filter((row) => row.connections !== undefined);
  const applied = muxes.map((mux) => mux.services[service.name]).filter((each) => each !== undefined);
  const behind = applied.filter((each) => each.generation < service.generation).length;
  const worst = list.reduce((most, row) => (row.wanted ? Math.max(most, row.real / row.wanted) : most), 0);
  return (
    <div class="tiles">
      <Tile name="Generation" value={whole(service.generation)} />
      <Tile name="Buckets" value={whole(service.buckets)} />
      <Tile
        name="Backends active"
        value={short(count("active"))}
        note={`${count("draining")} draining, ${count("unhealthy")} unhealthy`}
        state={count("unhealthy") ? "warn" : undefined}
      />
      <Tile
        name="Connections"
        value={known.length ? short(known.reduce((sum, row) => sum + (row.connections ?? 0), 0)) : "–"}
        note={`${known.length} of ${list.length} agents report`}
      />
      <Tile
        name="Muxes"
        value={short(applied.length)}
        note={`${behind} behind`}
        state={behind ? "warn" : applied.length ? undefined : "bad"}
      />
      <Tile name="Highest share / target" value={worst ? worst.toFixed(3) : "–"} />
    </div>
  );
}

function Legend({ list }: { list: Row[] }) {
  const shown = useMemo(() => largestShares(list, LEGEND).map((index) => ({ row: list[index]!, index })), [list]);
  return (
    <ul class="legend">
      {shown.map(({ row, index }) => (
        <li key={row.id}>
          <Swatch index={index} /> {row.id} <span class="hint">{percent(row.real)}</span>
        </li>
      ))}
      {list.length > LEGEND && <li class="hint">and {whole(list.length - LEGEND)} more</li>}
      <li class="hint">
        Each cell is a range of buckets, in the colour of the backend that owns most. Solid bar at its top: buckets that
        moved within the window. Dotted bar at its bottom: held buckets.
      </li>
    </ul>
  );
}

const Swatch = ({ index }: { index: number }) => (
  <span class="swatch" aria-hidden="true" style={{ background: ownerColour(index) }} />
);

interface BackendsProps {
  list: Row[];
  place: Map<number, number>;
  filter: string;
  error: string;
}

function Backends({ list, place, filter, error }: BackendsProps) {
  const most = list.reduce((largest, row) => Math.max(largest, row.real, row.wanted), 1e-9);
  const columns = useMemo(
    (): Column<Row>[] => [
      {
        key: "id",
        title: "Id",
        value: (row) => row.id,
        isNumber: true,
        render: (row) => (
          <>
            <Swatch index={place.get(row.id) ?? 0} /> {row.id}
          </>
        ),
      },
      addressColumn(),
      {
        key: "state",
        title: "State",
        value: (row) => row.state,
        render: (row) => (
          <span class={row.state === "active" ? "good" : row.state === "draining" ? "warn" : "bad"}>
            {row.state}
            {row.slowStart && `, slow start: ${percent(row.slowStart.share)}`}
          </span>
        ),
      },
      { key: "weight", title: "Weight", value: (row) => row.weight, isNumber: true },
      { key: "buckets", title: "Buckets", value: (row) => row.buckets, isNumber: true },
      {
        key: "wanted",
        title: "Target share",
        value: (row) => row.wanted,
        text: () => "",
        isNumber: true,
        render: (row) => percent(row.wanted),
      },
      {
        key: "real",
        title: "Actual share",
        value: (row) => row.real,
        text: () => "",
        render: (row) => <Share row={row} most={most} color={ownerColour(place.get(row.id) ?? 0)} />,
      },
      { ...figureColumn("connections", "Connections", (row) => row.connections, whole), text: () => "" },
      { ...figureColumn("opened", "New/s", (row) => row.opened), text: () => "" },
      {
        key: "unreachable",
        title: "Unreachable from",
        value: (row) => row.unreachableBy.length,
        text: (row) => row.unreachableBy.join(" "),
        render: (row) => <span class="bad">{row.unreachableBy.join(", ")}</span>,
      },
    ],
    [place, most],
  );
  return (
    <>
      {error && <p class="hint">Cannot read backends: {error}</p>}
      <Table
        label="Backends"
        columns={columns}
        rows={list}
        rowKey={(row) => row.id}
        filter={filter}
        empty="No backends yet."
      />
    </>
  );
}

/** A bar of the share that it has, with a mark at the one that it should have. */
function Share({ row, most, color }: { row: Row; most: number; color: string }) {
  return (
    <span class="share">
      <span class="bar-box" aria-hidden="true">
        <span class="bar-fill" style={{ width: `${(100 * row.real) / most}%`, background: color }} />
        <span class="bar-mark" style={{ left: `${(100 * row.wanted) / most}%` }} />
      </span>
      {percent(row.real)}
    </span>
  );
}

function Live({ name, list, muxes }: { name: string; list: Row[]; muxes: Mux[] }) {
  const traffic = useTraffic(
    muxes.filter((mux) => mux.services[name]).map((mux) => mux.id),
    SECONDS,
  );
  const packets = useSeries();
  const connections = useSeries();
  useEffect(() => {
    if (!traffic.value.size) return;
    packets.add(largest([...traffic.value].map(([id, rates]) => [id, rates.services.get(name) ?? 0])));
  }, [traffic.value]);
  useEffect(() => {
    const known = list.filter((row) => row.connections !== undefined);
    if (!known.length) return;
    const points = known.map((row): [string, number] => [`backend ${row.id}`, row.connections!]);
    const lines = new Set([...connections.series.names, ...Object.keys(largest(points))].slice(0, LINES_MOST));
    connections.add(Object.fromEntries(points.filter(([line]) => lines.has(line))));
  }, [list]);
  return (
    <div class="columns">
      <section class="card">
        <Chart label={`Packets per second of ${name}, by mux`} series={packets.series} unit="/s" />
      </section>
      <section class="card">
        <Chart label="Connections, by backend" series={connections.series} />
      </section>
    </div>
  );
}
