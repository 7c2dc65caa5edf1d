// SPDX-License-Identifier: Apache-2.0

/** A number with a name. */
export function Tile({ name, value, note, state }: TileProps) {
  return (
    <div class="tile">
      <div class="name">{name}</div>
      <div class={`value ${state ?? ""}`}>{value}</div>
      <div class="note">{note ?? ""}</div>
    </div>
  );
}

interface TileProps {
  name: string;
  value: string;
  note?: string;
  state?: "good" | "warn" | "bad" | undefined;
}
