// SPDX-License-Identifier: Apache-2.0
import type { VNode } from "preact";
import { type Drawing, path, WIDTH } from "./topology_layout";

/** Router, muxes and servers; lines are as thick as they are busy. */
export function Topology({ drawing, label }: { drawing: Drawing; label: string }): VNode {
  return (
    <div class="topology">
      <svg viewBox={`0 0 ${WIDTH} ${drawing.height}`} role="group" aria-label={label}>
        {drawing.lines.map((line, index) => (
          <path
            key={index}
            d={path(line)}
            class={line.load === undefined ? "line unknown" : line.load > 0 ? "line busy" : "line"}
            stroke-width={line.load === undefined ? 1 : 1 + 5 * line.load}
          />
        ))}
        {drawing.nodes.map((node) => (
          <a key={node.id} href={node.href} aria-label={`${node.title}: ${node.note || "no numbers"}, ${node.state}`}>
            <g transform={`translate(${node.x} ${node.y})`} class={`node ${node.state}`}>
              <rect x={-94} y={-19} width={188} height={38} rx={8} />
              <text y={node.note ? -3 : 5} class="title">
                {node.title}
              </text>
              {node.note && (
                <text y={12} class="note">
                  {node.note}
                </text>
              )}
            </g>
          </a>
        ))}
      </svg>
    </div>
  );
}
