// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"fairlead.dev/jepsen/history"
)

// Shares is what each backend of a service has after healing, by id.
type Shares struct {
	Service     string          `edn:"service"`
	Weights     map[int64]int64 `edn:"weights"`
	Buckets     map[int64]int64 `edn:"buckets"`
	Connections map[int64]int64 `edn:"connections"` // opened after healing
}

// sigmas bound how far a count of connections may stray from its mean: beyond 5 lies one in 1.7 million.
const sigmas = 5

// Balanced asks whether buckets and new connections are shared out by weight.
//
// Assumes: the connections were opened after healing, each from a port of its own, so that each hashes anew. Steps: each
// backend's share of the buckets is its share of the weights, within :tolerance (0.01 if not given); its connections lie
// within 5 standard deviations of what the buckets' hash would give it; a backend without weight has neither. What can
// mislead: few connections tell little, since the deviation is then wide.
func Balanced(ops []history.Op, settings Settings) (Verdict, error) {
	tolerance := settings.Tolerance
	if tolerance == 0 {
		tolerance = 0.01
	}
	var against []string
	services, backends := 0, 0
	for _, op := range ops {
		if op.IsNemesis() || op.Type != history.OK {
			continue
		}
		if op.F != "shares" {
			return Verdict{}, fmt.Errorf("operation %d: :f :%s; allowed: :shares", op.Index, string(op.F))
		}
		var shares Shares
		if err := op.Into(&shares); err != nil {
			return Verdict{}, err
		}
		weights, buckets, opened := sum(shares.Weights), sum(shares.Buckets), sum(shares.Connections)
		if weights == 0 || buckets == 0 || opened == 0 {
			return unknown("%s: weights of %g, %g buckets, %g connections in all", shares.Service, weights, buckets, opened), nil
		}
		services++
		ids := map[int64]bool{}
		for _, each := range []map[int64]int64{shares.Weights, shares.Buckets, shares.Connections} {
			for id := range each {
				ids[id] = true
			}
		}
		backends += len(ids)
		for _, id := range slices.Sorted(maps.Keys(ids)) {
			wanted := float64(shares.Weights[id]) / weights
			has := float64(shares.Buckets[id]) / buckets
			if math.Abs(has-wanted) > tolerance || wanted == 0 && has > 0 {
				against = append(against, fmt.Sprintf("%s: backend %d has %.4f of the buckets, its weight asks for %.4f", shares.Service, id, has, wanted))
			}
			mean := opened * wanted
			if got := float64(shares.Connections[id]); math.Abs(got-mean) > sigmas*math.Sqrt(mean*(1-wanted)) {
				against = append(against, fmt.Sprintf("%s: backend %d got %g of %g connections, its weight asks for %.1f", shares.Service, id, got, opened, mean))
			}
		}
	}
	if services == 0 {
		return unknown("no shares were read"), nil
	}
	return judged(against, fmt.Sprintf("%d backends of %d services have what their weights ask for", backends, services)), nil
}

func sum(counts map[int64]int64) (total float64) {
	for _, count := range counts {
		total += float64(count)
	}
	return total
}
