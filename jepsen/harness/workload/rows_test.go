// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"
	"time"

	"fairlead.dev/jepsen/cluster"
	"fairlead.dev/jepsen/history"
	"fairlead.dev/jepsen/ring"
	"fairlead.dev/jepsen/trace"
)

// TestRows: a bucket's rows of the connections' service and no other, by the names of nodes, each with the time at which a
// mux first had it or a later one.
func TestRows(t *testing.T) {
	recorder := history.NewRecorder(nil)
	g := &Generations{Recorder: recorder, Listing: cluster.Listing{Service: "web", Nodes: []cluster.Node{{Node: "server1", Address: "10.1.0.21"}}},
		committed: map[string]*committed{}, rows: map[int][]change{}}
	address := func(last byte) (all [16]byte) { return [16]byte{10: 255, 11: 255, 12: 10, 13: 1, 15: last} }
	image := func(generation uint32, buckets ...ring.Bucket) *ring.Image {
		return &ring.Image{Generation: generation, Backends: map[uint16]ring.Backend{1: {Address: address(21)}, 2: {Address: address(22)}}, Buckets: buckets}
	}
	for _, service := range []string{"web", "other"} {
		g.committed[service] = &committed{sums: map[int64]string{}}
	}
	g.commit("web", image(4, ring.Bucket{Current: 1}, ring.Bucket{Current: 1}))
	g.commit("web", image(5, ring.Bucket{Current: 1}, ring.Bucket{Current: 2, Former: ring.History{{Owner: 1, Since: 9}}}))
	g.commit("other", image(6, ring.Bucket{Current: 1}, ring.Bucket{Current: 1}))
	g.commit("web", image(5, ring.Bucket{Current: 1}, ring.Bucket{Current: 2, Former: ring.History{{Owner: 1, Since: 9}}})) // of another reader
	g.commit("web", image(6, ring.Bucket{Current: 2, Former: ring.History{{Owner: 1, Since: 10}}}, ring.Bucket{Current: 2, Former: ring.History{{Owner: 1, Since: 9}}}))
	at := time.Now().UnixMilli()
	for mux, text := range map[string]string{
		"mux1": `{"applied": [{"service": "web", "generation": 4, "at": %d}, {"service": "other", "generation": 9, "at": 1}, {"service": "web", "generation": 6, "at": %d}]}`,
		"mux2": `{"applied": [{"service": "web", "generation": 5, "at": %d}, {"service": "web", "generation": 6, "at": %d}]}`,
	} {
		var said rings
		if err := json.Unmarshal(fmt.Appendf(nil, text, at+1000, at+2000), &said); err != nil {
			t.Fatal(err)
		}
		g.apply(mux, said)
	}
	first, second := recorder.Since(time.UnixMilli(at+1000)), recorder.Since(time.UnixMilli(at+2000))
	for bucket, want := range [][]trace.Row{
		{{Generation: 4, Owner: "server1", Applied: map[string]int64{"mux1": first, "mux2": first}},
			{Generation: 6, Owner: "10.1.0.22", Former: []string{"server1"}, Applied: map[string]int64{"mux1": second, "mux2": second}}},
		{{Generation: 4, Owner: "server1", Applied: map[string]int64{"mux1": first, "mux2": first}},
			{Generation: 5, Owner: "10.1.0.22", Former: []string{"server1"}, Applied: map[string]int64{"mux1": second, "mux2": first}}},
	} {
		if got := g.Rows(bucket); !reflect.DeepEqual(got, want) {
			t.Errorf("bucket %d: %+v, want %+v", bucket, got, want)
		}
	}
	if got := g.Had(5); !reflect.DeepEqual(got, map[string]int64{"mux1": second, "mux2": first}) {
		t.Errorf("generation 5: %v", got)
	}
}
