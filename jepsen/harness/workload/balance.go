// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"cmp"
	"fmt"
	"time"

	"fairlead.dev/jepsen/check"
	"fairlead.dev/jepsen/history"
	"fairlead.dev/jepsen/scenario"
)

// Balance reads after healing which buckets and connections each backend has.
type Balance struct {
	API         *API
	Numbers     scenario.Balance
	Connections *Connections
	Recorder    *history.Recorder
	Seed        uint64
}

// probes is the number of connections that are opened to count them, unless the scenario has another one.
const probes = 2000

// weights are set before counting: uneven, and one backend has none.
var balanceWeights = []int64{100, 50, 150, 0, 100}

// Set gives the backends uneven weights; muxes must apply them before anything is counted.
func (b *Balance) Set() error {
	service := b.Connections.Listing.Service
	err := SetWeights(b.API, service, fmt.Sprintf("balance-%d", b.Seed), func(at int, _ Backend) int64 { return balanceWeights[at%len(balanceWeights)] })
	if err != nil {
		return fmt.Errorf("weights of %s cannot be set: %w", service, err)
	}
	return nil
}

// Count opens connections and records the shares.
func (b *Balance) Count() error {
	listing := b.Connections.Listing
	shares := check.Shares{Service: listing.Service, Weights: map[int64]int64{}, Buckets: map[int64]int64{}, Connections: map[int64]int64{}}
	op := history.Op{Process: int64(0), Type: history.Invoke, F: "shares", Value: history.Value(map[string]string{"service": listing.Service})}
	b.Recorder.Add("balance", op)
	answer, err := b.API.Await("/v1/services/"+listing.Service+"/backends", 30*time.Second)
	if err != nil {
		return err
	}
	backends, err := answer.Backends()
	if err != nil {
		return err
	}
	servers, err := b.Connections.Probe(cmp.Or(b.Numbers.Connections, probes))
	if err != nil {
		return err
	}
	ids := map[string]int64{}
	for _, each := range backends {
		shares.Weights[each.ID], shares.Buckets[each.ID] = each.Weight, each.Buckets
		for _, node := range listing.Nodes {
			if node.Address == each.Address {
				ids[node.Node] = each.ID
			}
		}
	}
	for server, count := range servers {
		id, known := ids[server]
		if !known {
			return fmt.Errorf("'%s' answered, but no backend of %s has its address", server, listing.Service)
		}
		shares.Connections[id] = count
	}
	op.Type, op.Value = history.OK, history.Value(shares)
	b.Recorder.Add("balance", op)
	return nil
}
