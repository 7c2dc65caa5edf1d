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

// sigmas bounds how far a count of connections may be from its mean: one count in 1.7 million is beyond 5.
const sigmas = 5

var (
	buckets       = newRule("balanced", "buckets", False)
	weightless    = newRule("balanced", "weightless", False)
	opened        = newRule("balanced", "connections", False)
	noShares      = newRule("balanced", "no-shares", Unknown)
	nothingShared = newRule("balanced", "nothing-shared", Unknown)
)

// Balanced checks that buckets and new connections are distributed by weight.
//
// Assumes: the connections were opened after healing, each from its own port, so that each has its own hash.
// Steps: each backend's share of the buckets is its share of the weights, within the tolerance; its connections are
// within 5 standard deviations of what that share would give it; a backend without weight has neither. What can
// mislead: with few connections the deviation is wide, and little is seen.
func Balanced(ops []history.Op, settings Settings) (Verdict, error) {
	tolerance := settings.Tolerance
	if tolerance == 0 {
		tolerance = 0.01
	}
	var against violations
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
		weights, ring, connections := sum(shares.Weights), sum(shares.Buckets), sum(shares.Connections)
		if weights == 0 || ring == 0 || connections == 0 {
			return unknown(nothingShared, "%s: weights of %g, %g buckets, %g connections in all", shares.Service, weights, ring, connections), nil
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
			has := float64(shares.Buckets[id]) / ring
			if wanted == 0 && has > 0 {
				against.add(weightless, "%s: backend %d has %.4f of the buckets and no weight", shares.Service, id, has)
			} else if math.Abs(has-wanted) > tolerance {
				against.add(buckets, "%s: backend %d has %.4f of the buckets, its weight asks for %.4f", shares.Service, id, has, wanted)
			}
			mean := connections * wanted
			if got := float64(shares.Connections[id]); math.Abs(got-mean) > sigmas*math.Sqrt(mean*(1-wanted)) {
				against.add(opened, "%s: backend %d got %g of %g connections, its weight asks for %.1f", shares.Service, id, got, connections, mean)
			}
		}
	}
	if services == 0 {
		return unknown(noShares, "no shares were read"), nil
	}
	return judged(against, fmt.Sprintf("%d backends of %d services have what their weights ask for", backends, services)), nil
}

func sum(counts map[int64]int64) (total float64) {
	for _, count := range counts {
		total += float64(count)
	}
	return total
}
