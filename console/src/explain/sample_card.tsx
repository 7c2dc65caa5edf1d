// SPDX-License-Identifier: Apache-2.0
//
// Packets of a service at a mux, with what the mux did with each.
import { useSignal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import type { Mux, Service } from "../../generated/schema";
import { locked, Why, whyNot } from "../access";
import { DROPPED, VERDICTS } from "../muxes/reasons";
import { Failure } from "../parts/notice";
import { type Column, Table } from "../parts/table";
import { route } from "../router";
import type { Flow } from "./flow";
import { showHeader } from "./frame";
import { download, isSampling, packets, sampleError, type SampledPacket, stopSample, takeSample } from "./sample";

interface SampleCardProps {
  services: Service[];
  muxes: Mux[];
  /** A service, or nothing. */
  preferred: string;
  /** The flow that was explained, if one was. */
  flow?: { flow: Flow; service: Service };
}

export function SampleCard({ services, muxes, preferred, flow }: SampleCardProps) {
  const service = useSignal(preferred);
  const mux = useSignal("");
  const seconds = useSignal(5);
  const rate = useSignal(100);
  const verdict = useSignal(route.value.query.verdict ?? "");
  const source = useSignal("");
  useEffect(() => {
    if (flow) {
      service.value = flow.service.name;
      source.value = flow.flow.source;
    }
  }, [flow]);
  useEffect(() => stopSample, []);
  const chosen = service.value || services[0]?.name || "";
  const at = mux.value || muxes[0]?.id || "";
  const reason = chosen ? whyNot("operator", chosen) : "";
  const start = (event: Event) => {
    event.preventDefault();
    void takeSample({
      service: chosen,
      mux: at,
      seconds: seconds.value,
      rate: rate.value,
      verdict: verdict.value,
      source: source.value.trim(),
    });
  };
  return (
    <section class="card">
      <h2>Live packets</h2>
      <form class="sample-form" onSubmit={start}>
        <label>
          Service
          <select name="service" value={chosen} onChange={(event) => (service.value = event.currentTarget.value)}>
            {services.map((each) => (
              <option key={each.name}>{each.name}</option>
            ))}
          </select>
        </label>
        <label>
          At mux
          <select name="mux" value={at} onChange={(event) => (mux.value = event.currentTarget.value)}>
            {muxes.map((each) => (
              <option key={each.id}>{each.id}</option>
            ))}
          </select>
        </label>
        <label>
          Seconds
          <input
            type="number"
            name="seconds"
            min="1"
            max="300"
            required
            value={seconds.value}
            onInput={(event) => (seconds.value = event.currentTarget.valueAsNumber)}
          />
        </label>
        <label>
          Packets/s
          <input
            type="number"
            name="rate"
            min="1"
            max="1000"
            required
            value={rate.value}
            onInput={(event) => (rate.value = event.currentTarget.valueAsNumber)}
          />
        </label>
        <label>
          Verdict
          <select
            name="verdict"
            value={verdict.value}
            onChange={(event) => (verdict.value = event.currentTarget.value)}
          >
            <option value="">all</option>
            <option value="service">service</option>
            <option value="drops">all drops</option>
            {Object.keys(DROPPED)
              .filter(isSampled)
              .map((name) => (
                <option key={name}>{name}</option>
              ))}
          </select>
        </label>
        <label>
          From client
          <input
            name="source"
            placeholder="any"
            value={source.value}
            autocomplete="off"
            onInput={(event) => (source.value = event.currentTarget.value)}
          />
        </label>
        <div class="actions">
          <button
            type="submit"
            class="primary"
            disabled={!chosen || !at || isSampling.value}
            {...locked(reason, "why-no-sample")}
          >
            Start
          </button>
          <button type="button" disabled={!isSampling.value} onClick={stopSample}>
            Stop
          </button>
          <button type="button" disabled={!packets.value.length} onClick={() => download(`${chosen}-${at}.pcapng`)}>
            Download pcapng
          </button>
        </div>
      </form>
      <Why reason={reason} id="why-no-sample" />
      <Failure error={sampleError.value} />
      <Packets isRunning={isSampling.value} rows={packets.value} />
      <p class="hint">
        Operators of the service may see packets, at muxes with --http-samples on (docs/mux.md, Looking at packets).
      </p>
    </section>
  );
}

/** Those that are decided later can't be sampled: docs/mux.md. */
const isSampled = (name: string) => !["port_full", "exception_full", "echo_limit"].includes(name);

function Packets({ rows, isRunning }: { rows: SampledPacket[]; isRunning: boolean }) {
  const first = rows[0]?.packet.at ?? 0;
  const columns = useMemo(
    (): Column<SampledPacket>[] => [
      { key: "number", title: "#", isNumber: true, value: (row) => row.number },
      {
        key: "at",
        title: "Seconds",
        isNumber: true,
        value: (row) => row.packet.at - first,
        render: (row) => (row.packet.at - first).toFixed(6),
      },
      {
        key: "verdict",
        title: "Verdict",
        value: (row) => row.packet.comment.verdict ?? "",
        render: (row) => <Verdict name={row.packet.comment.verdict ?? ""} />,
      },
      {
        key: "flow",
        title: "Packet",
        value: (row) => (row.frame.inner ? showHeader(row.frame.inner) : "not decoded"),
        render: (row) => (
          <span class="mono">
            {row.frame.inner ? `${row.frame.inner.protocol} ${showHeader(row.frame.inner)}` : "–"}
          </span>
        ),
      },
      { key: "flags", title: "Flags", value: (row) => row.frame.inner?.flags ?? "" },
      { key: "bucket", title: "Bucket", isNumber: true, value: (row) => number(row.packet.comment.bucket) },
      { key: "backend", title: "Backend", isNumber: true, value: (row) => number(row.packet.comment.backend) },
      { key: "former", title: "Former owners", isNumber: true, value: (row) => number(row.packet.comment.former) },
      { key: "generation", title: "Generation", isNumber: true, value: (row) => number(row.packet.comment.generation) },
      {
        key: "outer",
        title: "Sent to",
        value: (row) => row.frame.outer?.destination ?? "",
        render: (row) => (row.frame.outer ? `${row.frame.encap} to ${row.frame.outer.destination}` : ""),
      },
      { key: "length", title: "Bytes", isNumber: true, value: (row) => row.packet.length },
    ],
    [first],
  );
  return (
    <Table
      label="Packets"
      columns={columns}
      rows={rows}
      rowKey={(row) => row.number}
      empty={isRunning ? "No packet yet." : "Start a sample to see packets."}
    />
  );
}

const number = (text?: string) => (text === undefined ? "" : Number(text));

function Verdict({ name }: { name: string }) {
  const isDrop = name in DROPPED;
  return (
    <a class={isDrop ? "bad" : "good"} href={`#/muxes/${name}`} title={VERDICTS[name]?.what}>
      {name}
    </a>
  );
}
