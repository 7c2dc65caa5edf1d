// SPDX-License-Identifier: Apache-2.0
//
// Where one flow goes: as committed, at each mux, and what each part does with its packets; and packets as they come.
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { Explanation, Mux, MuxExplanation, Service } from "../../generated/schema";
import { get, servicePath, text } from "../api/client";
import { usePolled } from "../api/poll";
import { type Flow, flowQuery, parseFlow, showFlow } from "../explain/flow";
import { SampleCard } from "../explain/sample_card";
import { Steps } from "../explain/steps";
import { clock, whole } from "../parts/figures";
import { href, type PageProps, setQuery } from "../router";
import "../explain/explain.css";
import { Failure } from "../parts/notice";
import { type Column, Table } from "../parts/table";
import { Tile } from "../parts/tile";

export interface AtMux {
  id: string;
  said?: MuxExplanation;
  error?: string;
}

interface Answer {
  flow: Flow;
  service: Service;
  committed: Explanation;
  muxes: AtMux[];
}

export function ExplainPage({ args, query }: PageProps) {
  const services = usePolled<Service[]>("/v1/services", 30, ["service"]);
  // Which muxes there are: what they say of one service is little.
  const some = services.data.value?.[0]?.name;
  const muxes = usePolled<Mux[]>(services.data.value ? `/v1/muxes${some ? `?service=${some}` : ""}` : "", 10, ["mux"]);
  const typed = useSignal(query.flow ?? "");
  const error = useSignal("");
  const isBusy = useSignal(false);
  const answer = useSignal<Answer | undefined>(undefined);
  const isReady = services.data.value !== undefined && muxes.data.value !== undefined;

  const ask = async () => {
    const flow = parseFlow(typed.value);
    answer.value = undefined;
    error.value = typeof flow === "string" ? flow : "";
    if (typeof flow === "string") return;
    const found = serviceOf(services.data.value ?? [], flow);
    if (typeof found === "string") {
      error.value = found;
      return;
    }
    isBusy.value = true;
    setQuery({ flow: showFlow(flow) });
    try {
      answer.value = await explain(found, flow, alive(muxes.data.value));
    } catch (failure) {
      error.value = text(failure);
    } finally {
      isBusy.value = false;
    }
  };
  useEffect(() => {
    if (isReady && typed.value) void ask();
  }, [isReady]);

  return (
    <>
      <section class="card">
        <h1>Explain a flow</h1>
        <form
          class="flow-form"
          onSubmit={(event) => {
            event.preventDefault();
            void ask();
          }}
        >
          <label>
            A flow, or a line of output of tcpdump, ss or conntrack
            <input
              class="mono"
              name="flow"
              value={typed.value}
              placeholder="tcp 10.2.1.2:40001 10.99.0.1:80"
              autocomplete="off"
              spellcheck={false}
              onInput={(event) => (typed.value = event.currentTarget.value)}
            />
          </label>
          <button type="submit" class="primary" disabled={!isReady || isBusy.value}>
            Explain
          </button>
        </form>
        <Failure error={error.value} />
        <Failure error={services.error.value} />
      </section>
      {answer.value && <Result answer={answer.value} />}
      <SampleCard
        services={services.data.value ?? []}
        muxes={alive(muxes.data.value)}
        flow={answer.value}
        preferred={args[0] ?? ""}
      />
    </>
  );
}

/** The service that has the flow's destination; a sentence if there is none. */
function serviceOf(services: Service[], flow: Flow): Service | string {
  const atVip = services.filter((service) => service.vips.includes(flow.destination));
  const found = atVip.find(
    (service) =>
      service.ports.some((port) => port.protocol === flow.protocol && port.port === flow.destinationPort) ||
      (service.mptcpPorts !== undefined &&
        flow.destinationPort >= service.mptcpPorts.first &&
        flow.destinationPort <= service.mptcpPorts.last),
  );
  if (found) return found;
  if (!atVip.length) {
    const vips = services.flatMap((service) => service.vips);
    const some = vips.slice(0, 5).join(", ") + (vips.length > 5 ? ", ..." : "");
    return `destination '${flow.destination}' is not a VIP; allowed: ${some || "a service's VIP, but there is no service"}`;
  }
  const ports = atVip.flatMap((service) => service.ports.map((port) => `${port.protocol} ${port.port}`)).join(", ");
  return `port '${flow.protocol} ${flow.destinationPort}' is not served at ${flow.destination}; allowed: ${ports}`;
}

/** The others can be asked nothing. */
const alive = (muxes: Mux[] = []) => muxes.filter((mux) => mux.alive);

async function explain(service: Service, flow: Flow, muxes: Mux[]): Promise<Answer> {
  const query = flowQuery(flow);
  const committed = await get<Explanation>(`${servicePath(service.name)}/explain?${query}`);
  const asked = muxes.map(async (mux): Promise<AtMux> => {
    try {
      const path = `${servicePath(service.name)}/muxes/${encodeURIComponent(mux.id)}/explain?${query}`;
      return { id: mux.id, said: await get<MuxExplanation>(path) };
    } catch (failure) {
      return { id: mux.id, error: text(failure) };
    }
  });
  return { flow, service, committed, muxes: await Promise.all(asked) };
}

const owner = (one?: { id?: number; address?: string }) => (one ? `${one.id} at ${one.address}` : "none");

function Result({ answer }: { answer: Answer }) {
  const { committed, muxes, service, flow } = answer;
  const columns: Column<AtMux>[] = [
    { key: "id", title: "Mux", value: (row) => row.id },
    { key: "generation", title: "Generation", isNumber: true, value: (row) => row.said?.generation ?? 0 },
    { key: "bucket", title: "Bucket", isNumber: true, value: (row) => row.said?.bucket ?? "–" },
    { key: "current", title: "Sends to backend", value: (row) => owner(row.said?.current) },
    { key: "former", title: "Former owners", value: (row) => (row.said?.former ?? []).map(owner).join(", ") },
    {
      key: "same",
      title: "Same as committed",
      value: (row) => verdict(row, committed),
      render: (row) => <span class={isSame(row, committed) ? "good" : "warn"}>{verdict(row, committed)}</span>,
    },
  ];
  return (
    <>
      <section class="card" aria-label="Answer">
        <h2>
          <span class="mono">{showFlow(flow)}</span> in <a href={href("service", [service.name])}>{service.name}</a>
        </h2>
        <div class="tiles">
          <Tile name="Bucket" value={committed.bucket === undefined ? "named by port" : whole(committed.bucket)} />
          <Tile
            name="Backend"
            value={committed.current ? String(committed.current.id) : "none"}
            note={committed.current?.address}
          />
          <Tile
            name="Former owners"
            value={committed.former.map((one) => one.id).join(", ") || "none"}
            note={since(committed)}
          />
          <Tile name="Generation" value={whole(committed.generation)} note={`hash ${hex(committed.hash)}`} />
        </div>
        {committed.second && (
          <p>
            Second bucket {committed.second.bucket}: backend {owner(committed.second.current)}.
          </p>
        )}
      </section>
      <section class="card">
        <h2>Steps</h2>
        <Steps flow={flow} service={service} committed={committed} muxes={muxes} />
      </section>
      <section class="card">
        <h2>Answers of muxes</h2>
        <Table
          label="Muxes"
          columns={columns}
          rows={muxes}
          rowKey={(row) => row.id}
          hasFilter={muxes.length > 10}
          empty="No mux is alive."
        />
      </section>
    </>
  );
}

const hex = (hash: number) => hash.toString(16).padStart(8, "0");

function since(committed: Explanation): string {
  const newest = committed.former[0];
  return newest ? `moved at ${clock(newest.since)}` : "not moved lately";
}

const isSame = (row: AtMux, committed: Explanation) =>
  row.said !== undefined &&
  row.said.generation === committed.generation &&
  row.said.current?.id === committed.current?.id;

function verdict(row: AtMux, committed: Explanation): string {
  if (!row.said) return row.error ?? "";
  if (row.said.generation < committed.generation) {
    const same = row.said.current?.id === committed.current?.id;
    return `${committed.generation - row.said.generation} behind, ${same ? "same backend" : "another backend"}`;
  }
  return isSame(row, committed) ? "yes" : "no";
}
