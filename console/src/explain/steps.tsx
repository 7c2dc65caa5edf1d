// SPDX-License-Identifier: Apache-2.0
//
// What router, mux and servers do with packets of a flow, in order: ARCHITECTURE.md, "The life of a packet".
import type { VNode } from "preact";
import type { Explanation, Service } from "../../generated/schema";
import type { AtMux } from "../pages/explain";
import type { Flow } from "./flow";

interface StepsProps {
  flow: Flow;
  service: Service;
  committed: Explanation;
  muxes: AtMux[];
}

const backend = (one?: { id?: number; address?: string }) => `backend ${one?.id} (${one?.address})`;

/** One line for each part that a packet meets. */
export function steps({ flow, service, committed, muxes }: StepsProps): { who: string; does: string }[] {
  const serving = muxes.filter((mux) => mux.said).map((mux) => mux.id);
  const { current, former, second } = committed;
  const found = [
    {
      who: "Router",
      does: `sends it to one of ${serving.length} muxes that announce ${flow.destination}: ${some(serving)}.`,
    },
  ];
  if (!current) {
    const why =
      committed.bucket === undefined ? "no backend has the id that the port names: no_backend_id" : "no_backend";
    return [...found, { who: "Mux", does: `finds no owner and drops the packet: ${why}.` }];
  }
  const chained = former.length ? `, and names ${some(former.map(backend))} as former owners, newest first` : "";
  const named = second?.current ? `, and ${backend(second.current)} of the second bucket ${second.bucket}` : "";
  const bucket = committed.bucket === undefined ? "the backend that its port names" : `bucket ${committed.bucket}`;
  found.push({
    who: "Mux",
    does: `finds ${bucket}, and sends it in ${service.encap ?? "gue"} encapsulation to ${backend(current)}${chained}${named}.`,
  });
  const isUdp = flow.protocol === "udp";
  const own = isUdp ? "it has a socket for the packet" : "it has the connection, or if the packet opens one (SYN)";
  if (former.length) {
    found.push({
      who: `Server of backend ${current.id}`,
      does: `delivers it if ${own}. Otherwise it sends it on to the next server that the packet names.`,
    });
    found.push({
      who: `Server of backend ${former[former.length - 1]!.id}`,
      does: "is the last. It delivers the packet if it has the connection. Otherwise it drops it if the mux is behind (stale); if not, its kernel answers.",
    });
  } else if (second?.current && service.steering !== "ring") {
    found.push({
      who: `Server of backend ${current.id}`,
      does: `delivers it if ${own}. Otherwise it forwards it to ${backend(second.current)}.`,
    });
  } else {
    found.push({
      who: `Server of backend ${current.id}`,
      does: isUdp ? "delivers it." : "delivers it. Its kernel resets (RST) packets that belong to no connection.",
    });
  }
  found.push({
    who: "Client",
    does: `gets the answer directly from the server, not through a mux. Its source is ${flow.destination}.`,
  });
  return found;
}

function some(names: string[]): string {
  return names.length > 4 ? `${names.slice(0, 4).join(", ")}, ...` : names.join(", ") || "none";
}

export function Steps(props: StepsProps): VNode {
  return (
    <ol class="steps">
      {steps(props).map((step, index) => (
        <li key={index}>
          <strong>{step.who}</strong> {step.does}
        </li>
      ))}
    </ol>
  );
}
