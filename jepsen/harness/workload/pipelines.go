// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"fairlead.dev/jepsen/cluster"
)

// pipelinePackets counts the packets that a mux of kind p4 has steered by its pipeline, since its process began.
const pipelinePackets = "fairlead_mux_pipeline_packets_total"

// P4Muxes returns the muxes of kind p4, once as many as wanted have registered.
func P4Muxes(api *API, listing cluster.Listing, wanted int, within time.Duration) ([]cluster.Node, error) {
	deadline := time.Now().Add(within)
	for {
		answer, err := api.Await("/v1/muxes?limit=1000", within)
		if err != nil {
			return nil, err
		}
		var muxes []struct{ ID, Kind, Address string }
		if err := json.Unmarshal(answer.Body, &muxes); err != nil {
			return nil, fmt.Errorf("GET /v1/muxes: %w: %.200s", err, answer.Body)
		}
		var found []cluster.Node
		for _, mux := range muxes {
			for _, node := range listing.With("mux") {
				if mux.Kind == "p4" && mux.Address == node.Address {
					found = append(found, node)
				}
			}
		}
		if len(found) == wanted {
			return found, nil
		}
		if time.Now().After(deadline) {
			return nil, fmt.Errorf("%d muxes of kind p4; allowed: %d, as :cluster or the schedule says (nodes up --schedule)", len(found), wanted)
		}
		time.Sleep(200 * time.Millisecond)
	}
}

// Piped returns how many packets the mux's pipeline has steered.
func Piped(mux cluster.Node) (int64, error) {
	answer, err := NewAPI(nil).send(mux.HTTP, Request{Method: "GET", Path: "/metrics"})
	if err == nil && answer.Status != 200 {
		err = answer.problem()
	}
	if err != nil {
		return 0, fmt.Errorf("%s/metrics: %w", mux.HTTP, err)
	}
	for _, line := range strings.Split(string(answer.Body), "\n") {
		if words := strings.Fields(line); len(words) == 2 && words[0] == pipelinePackets {
			return strconv.ParseInt(words[1], 10, 64)
		}
	}
	return 0, fmt.Errorf("%s/metrics has no %s", mux.HTTP, pipelinePackets)
}
