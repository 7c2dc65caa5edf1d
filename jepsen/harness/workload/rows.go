// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"net/netip"
	"time"

	"fairlead.dev/jepsen/ring"
	"fairlead.dev/jepsen/trace"
)

// change is a bucket's row of the ring from a generation on.
type change struct {
	generation uint32
	ring.Bucket
}

// application is a mux's of a generation, by the recorder's clock.
type application struct {
	mux        string
	generation int64
	at         int64
}

// change keeps the rows that differ from the image before, of which there may be none. The caller holds the lock.
func (g *Generations) change(before, image *ring.Image) {
	for bucket, row := range image.Buckets {
		if before == nil || before.Buckets[bucket] != row {
			g.rows[bucket] = append(g.rows[bucket], change{image.Generation, row})
		}
	}
}

// apply keeps when a mux applied generations of the connections' service.
func (g *Generations) apply(mux string, said rings) {
	g.lock.Lock()
	defer g.lock.Unlock()
	for _, each := range said.Applied {
		if each.Service == g.Listing.Service {
			g.applied = append(g.applied, application{mux, each.Generation, g.Recorder.Since(time.UnixMilli(each.At))})
		}
	}
}

// Rows returns a bucket's rows of the connections' service, by the names of nodes.
func (g *Generations) Rows(bucket int) []trace.Row {
	g.lock.Lock()
	defer g.lock.Unlock()
	known := g.committed[g.Listing.Service]
	if known == nil || known.image == nil {
		return nil
	}
	name := func(id uint16) string {
		backend, known := known.image.Backends[id]
		if !known {
			return ""
		}
		address := netip.AddrFrom16(backend.Address).Unmap().String()
		for _, node := range g.Listing.Nodes {
			if node.Address == address {
				return node.Node
			}
		}
		return address
	}
	var rows []trace.Row
	for _, each := range g.rows[bucket] {
		generation := int64(each.generation)
		row := trace.Row{Generation: generation, Owner: name(each.Current), Applied: g.had(generation)}
		for _, former := range each.Former {
			if former.Owner != 0 {
				row.Former = append(row.Former, name(former.Owner))
			}
		}
		rows = append(rows, row)
	}
	return rows
}

// Had returns when each mux first had a generation of the connections' service, or a later one.
func (g *Generations) Had(generation int64) map[string]int64 {
	g.lock.Lock()
	defer g.lock.Unlock()
	return g.had(generation)
}

// had does that for who holds the lock.
func (g *Generations) had(generation int64) map[string]int64 {
	times := map[string]int64{}
	for _, application := range g.applied {
		if at, said := times[application.mux]; application.generation >= generation && (!said || application.at < at) {
			times[application.mux] = application.at
		}
	}
	return times
}
