// SPDX-License-Identifier: Apache-2.0
//
// What a change would do: how many buckets move between which backends, with the connections that live in them.
import type { Leaving, Result } from "../../generated/schema";
import { clock, short, whole } from "../parts/figures";
import { ownerColour } from "../parts/palette";
import { type Column, Table } from "../parts/table";
import { Tile } from "../parts/tile";
import { shares } from "../service/staging";
import { type Flow, flows } from "./edits";
import { COLUMN, type End, outline, picture, WIDTH } from "./flows_layout";
import { connections, fate, known, unknown } from "./leaving";

interface PlanProps {
  result: Result;
  place: Map<number, number>;
}

export function Plan({ result, place }: PlanProps) {
  const leaving = result.leaving ?? [];
  const moves = flows(result.moves, leaving);
  const chained = leaving.filter((each) => each.fate === "chained");
  const ends = Math.max(0, ...chained.map((each) => each.until));
  return (
    <>
      <div class="tiles">
        <Tile name="Generation" value={whole(result.generation)} />
        <Tile name="Buckets that move" value={whole(result.movedBuckets)} />
        <Tile name="Connections in these buckets" value={known(leaving) ?? "–"} note={unknown(leaving)} />
        <Tile name="Have former owners" value={whole(result.stillChained)} note="packets name one more" />
        <Tile
          name="Full buckets"
          value={whole(result.lostBuckets)}
          note={result.lostBuckets ? "the oldest owner's connections break" : "no connection breaks"}
          state={result.lostBuckets ? "bad" : "good"}
        />
        {ends > 0 && (
          <Tile
            name="Window ends"
            value={clock(ends)}
            note={`ends what is still open of ${windowEnds(result)} connections`}
          />
        )}
        {result.waitingBuckets > 0 && (
          <Tile name="Buckets that wait" value={whole(result.waitingBuckets)} note="move once they have room" />
        )}
      </div>
      {result.staging && (
        <p>
          These are the buckets of the first of the steps {shares(result.staging)}, {result.staging.bakeSeconds} s each.
        </p>
      )}
      {(result.warnings ?? []).map((warning) => (
        <p key={warning} class="warn">
          {warning}
        </p>
      ))}
      {moves.length > 0 ? <Flows flows={moves} place={place} /> : <p>No bucket moves.</p>}
      {leaving.length > 0 && (
        <Table
          label="Connections in these buckets"
          columns={LEAVING}
          rows={leaving}
          rowKey={(row) => row.backend}
          hasFilter={leaving.length > 10}
        />
      )}
    </>
  );
}

const LEAVING: Column<Leaving>[] = [
  { key: "backend", title: "Backend", value: (row) => row.backend, isNumber: true },
  { key: "buckets", title: "Gives buckets", value: (row) => row.buckets, isNumber: true },
  {
    key: "connections",
    title: "Connections in them",
    value: (row) => row.connections ?? -1,
    text: connections,
    render: connections,
  },
  { key: "fate", title: "What becomes of them", value: fate },
];

function windowEnds(result: Result): string {
  const ends = result.windowEnds;
  const counted = short(ends?.connections ?? 0);
  return ends?.uncountedBackends ? `${counted} and unknown` : counted;
}

function name(id: number): string {
  return id ? `backend ${id}` : "no backend";
}

function Flows({ flows, place }: { flows: Flow[]; place: Map<number, number> }) {
  const drawn = picture(flows);
  const words = flows
    .slice(0, 8)
    .map((flow) => `${flow.buckets} buckets from ${name(flow.from)} to ${name(flow.to)}`)
    .join("; ");
  const color = (id: number) => (id ? ownerColour(place.get(id) ?? place.size + 1) : "gray");
  return (
    <div class="flows-box">
      <svg viewBox={`0 0 ${WIDTH} ${drawn.height}`} role="img" aria-label={`Moves: ${words}`} class="flows">
        {drawn.ribbons.map((ribbon) => (
          <path
            key={`${ribbon.flow.from} ${ribbon.flow.to}`}
            d={outline(ribbon)}
            fill={color(ribbon.flow.to)}
            class="ribbon"
          >
            <title>
              {`${name(ribbon.flow.from)} to ${name(ribbon.flow.to)}: ${whole(ribbon.flow.buckets)} buckets` +
                (ribbon.flow.connections === undefined ? "" : `, about ${short(ribbon.flow.connections)} connections`)}
            </title>
          </path>
        ))}
        {drawn.from.map((end) => (
          <Label key={end.id} end={end} x={COLUMN.left - 12} side="end" color={color(end.id)} sign="−" />
        ))}
        {drawn.to.map((end) => (
          <Label key={end.id} end={end} x={COLUMN.right + 12} side="start" color={color(end.id)} sign="+" />
        ))}
      </svg>
      {drawn.more > 0 && (
        <p class="hint">
          {whole(drawn.more)} smaller flows with {whole(drawn.moreBuckets)} buckets are not drawn.
        </p>
      )}
    </div>
  );
}

interface LabelProps {
  end: End;
  x: number;
  side: "start" | "end";
  color: string;
  sign: string;
}

function Label({ end, x, side, color, sign }: LabelProps) {
  const bar = side === "end" ? x + 4 : x - 12;
  const connections = end.connections === undefined ? "" : ` · ≈ ${short(end.connections)} connections`;
  return (
    <g>
      <rect x={bar} y={end.y - end.thick / 2} width={8} height={end.thick} fill={color} class="end" />
      <text x={x} y={end.y - 2} text-anchor={side} class="end-title">
        {name(end.id)}
      </text>
      <text x={x} y={end.y + 12} text-anchor={side} class="end-note">
        {sign}
        {short(end.buckets)} buckets{connections}
      </text>
    </g>
  );
}
