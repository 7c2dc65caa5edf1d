// SPDX-License-Identifier: Apache-2.0
import { useEffect, useMemo } from "preact/hooks";
import type { Alert, Overview, OverviewMux, OverviewServer, OverviewService } from "../../generated/schema";
import { ChangeLink } from "../access";
import { usePolled } from "../api/poll";
import { Topology } from "../overview/topology";
import { draw, folded, type Part } from "../overview/topology_layout";
import { type Rates, total, useTraffic } from "../overview/traffic";
import { Chart, largest, useSeries } from "../parts/chart";
import { figureColumn } from "../parts/columns";
import { percent, short } from "../parts/figures";
import { Outdated, Unread } from "../parts/notice";
import { type Column, Table } from "../parts/table";
import { Tile } from "../parts/tile";
import { href, type PageProps } from "../router";

const SECONDS = 3;

export function OverviewPage(_: PageProps) {
  const { data, error } = usePolled<Overview>("/v1/overview", SECONDS, ["service", "mux", "drain"]);
  const overview = data.value;
  const ids = (overview?.muxes ?? []).map((mux) => mux.id);
  const traffic = useTraffic(ids, SECONDS);
  const packets = useSeries();
  const connections = useSeries();

  useEffect(() => {
    if (!traffic.value.size) return;
    packets.add(largest([...traffic.value].map(([id, rate]) => [id, rate.steered])));
  }, [traffic.value]);
  useEffect(() => {
    const sum = overview && add(overview.services, (service) => service.connections);
    if (sum === undefined) return;
    connections.add({ connections: sum });
  }, [overview]);

  if (!overview) {
    return <Unread title="Overview" error={error.value} />;
  }
  const all = total(traffic.value.values());
  return (
    <>
      <h1 class="sr">Overview</h1>
      <Outdated error={error.value} />
      <Tiles overview={overview} all={all} />
      <Alerts alerts={overview.alerts} />
      <section class="card" aria-labelledby="topology">
        <h2 id="topology">Router, muxes, servers</h2>
        <Drawn overview={overview} traffic={traffic.value} all={all} />
        <p class="hint">
          The thicker a line, the more packets (to muxes) or connections (to servers). Moved: the share of packets whose
          bucket moved within the window. If such a packet belongs to an older connection, its server sends it on to a
          former owner.
        </p>
      </section>
      <section class="card" aria-labelledby="services">
        <h2 id="services">Services</h2>
        <Services services={overview.services} all={all} />
      </section>
      <div class="columns">
        <section class="card">
          <Chart label="Packets per second, by mux" series={packets.series} unit="/s" />
        </section>
        <section class="card">
          <Chart label="Connections, reported by agents" series={connections.series} />
        </section>
      </div>
    </>
  );
}

/** The sum of what is known; undefined if nothing is. */
function add<T>(items: T[], value: (item: T) => number | undefined): number | undefined {
  const known = items.map(value).filter((each) => each !== undefined);
  return known.length ? known.reduce((sum, each) => sum + each, 0) : undefined;
}

const or = (value: number | undefined) => (value === undefined ? "–" : short(value));

function Tiles({ overview, all }: { overview: Overview; all: Rates | undefined }) {
  const { services, muxes, alerts } = overview;
  const sum = (value: (service: OverviewService) => number) => services.reduce((total, each) => total + value(each), 0);
  const active = sum((service) => service.active);
  const draining = sum((service) => service.draining);
  const unhealthy = sum((service) => service.unhealthy);
  const behind = muxes.filter((mux) => mux.behind > 0).length;
  const critical = alerts.filter((alert) => alert.severity === "critical").length;
  return (
    <div class="tiles">
      <Tile name="Services" value={short(services.length)} />
      <Tile
        name="Backends active"
        value={short(active)}
        note={`${short(draining)} draining, ${short(unhealthy)} unhealthy`}
        state={unhealthy ? "warn" : undefined}
      />
      <Tile
        name="Connections"
        value={or(add(services, (service) => service.connections))}
        note={`${or(add(services, (service) => service.openedPerSecond))} new per second`}
      />
      <Tile
        name="Packets per second"
        value={or(all?.steered)}
        note={
          all
            ? `${percent(all.steered ? all.moved / all.steered : 0)} moved, ${short(all.dropped)} dropped/s`
            : "metrics of muxes cannot be read"
        }
      />
      <Tile
        name="Muxes serving"
        value={short(muxes.filter((mux) => mux.services > 0).length)}
        note={`${short(behind)} behind`}
        state={behind ? "warn" : undefined}
      />
      <Tile
        name="Alerts"
        value={short(alerts.length)}
        note={`${short(critical)} critical`}
        state={critical ? "bad" : alerts.length ? "warn" : "good"}
      />
    </div>
  );
}

function Alerts({ alerts }: { alerts: Alert[] }) {
  if (!alerts.length) return null;
  return (
    <section class="card" aria-labelledby="alerts">
      <h2 id="alerts">Alerts</h2>
      <ul class="alerts">
        {alerts.map((alert) => (
          <li key={`${alert.name} ${alert.service} ${alert.mux}`}>
            <span class={`tag ${alert.severity === "critical" ? "bad" : "warn"}`}>{alert.severity}</span>{" "}
            {alert.service ? <a href={href("service", [alert.service])}>{alert.text}</a> : alert.text}{" "}
            <span class="hint mono">{alert.name}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}

function muxPart(mux: OverviewMux, rate: Rates | undefined): Part {
  const share = rate?.steered ? ` · ${percent(rate.moved / rate.steered)} moved` : "";
  return {
    id: mux.id,
    title: mux.id,
    note: rate ? `${short(rate.steered)}/s${share}` : `${mux.services} services`,
    state: mux.services === 0 ? "bad" : mux.behind + mux.refused + mux.unreachable > 0 ? "warn" : "good",
    href: href("muxes"),
    rate: rate?.steered,
  };
}

function serverPart(server: OverviewServer): Part {
  const opened = server.openedPerSecond === undefined ? "" : ` · ${short(server.openedPerSecond)} new/s`;
  return {
    id: server.address,
    title: server.address,
    note: server.connections === undefined ? server.state : `${short(server.connections)} connections${opened}`,
    state: server.state === "active" ? "good" : server.state === "draining" ? "warn" : "bad",
    href: href("service", server.services.slice(0, 1), { filter: server.address }),
    rate: server.connections,
  };
}

function Drawn({
  overview,
  traffic,
  all,
}: {
  overview: Overview;
  traffic: Map<string, Rates>;
  all: Rates | undefined;
}) {
  const drawing = useMemo(() => {
    const muxes = overview.muxes.map((mux) => muxPart(mux, traffic.get(mux.id)));
    const servers = overview.servers.map(serverPart);
    const router: Part = {
      id: "router",
      title: "router",
      note: all ? `${short(all.steered)}/s` : "ECMP",
      state: "good",
      href: href("overview"),
      rate: undefined,
    };
    return draw(
      router,
      folded(muxes, muxes.length, "muxes", href("muxes")),
      folded(servers, overview.serverCount, "servers", href("muxes")),
    );
  }, [overview, traffic]);
  const label = `A router, ${overview.muxes.length} muxes and ${overview.serverCount} servers`;
  return <Topology drawing={drawing} label={label} />;
}

function Services({ services, all }: { services: OverviewService[]; all: Rates | undefined }) {
  const columns = useMemo<Column<OverviewService>[]>(
    () => [
      {
        key: "name",
        title: "Service",
        value: (row) => row.name,
        render: (row) => <a href={href("service", [row.name])}>{row.name}</a>,
      },
      { key: "generation", title: "Generation", value: (row) => row.generation, isNumber: true },
      { key: "steering", title: "Steering", value: (row) => row.steering },
      { key: "buckets", title: "Buckets", value: (row) => row.buckets, isNumber: true },
      { key: "active", title: "Active", value: (row) => row.active, isNumber: true },
      { key: "draining", title: "Draining", value: (row) => row.draining, isNumber: true },
      {
        key: "unhealthy",
        title: "Unhealthy",
        value: (row) => row.unhealthy,
        isNumber: true,
        render: (row) => <span class={row.unhealthy ? "bad" : ""}>{row.unhealthy}</span>,
      },
      figureColumn("connections", "Connections", (row) => row.connections),
      figureColumn("packets", "Packets/s", (row) => all?.services.get(row.name)),
      {
        key: "muxes",
        title: "Muxes",
        value: (row) => row.muxesServing,
        isNumber: true,
        render: (row) => (
          <span class={row.muxesBehind ? "warn" : row.muxesServing ? "" : "bad"}>
            {row.muxesServing} serving{row.muxesBehind > 0 && `, ${row.muxesBehind} behind`}
          </span>
        ),
      },
      {
        key: "change",
        title: "Edit",
        value: () => "",
        render: (row) => (
          <ChangeLink service={row.name} label={`Change ${row.name}`}>
            change
          </ChangeLink>
        ),
      },
    ],
    [all],
  );
  return (
    <Table label="Services" columns={columns} rows={services} rowKey={(row) => row.name} empty="No services yet." />
  );
}
