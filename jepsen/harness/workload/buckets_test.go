// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"net/http"
	"net/http/httptest"
	"reflect"
	"sync/atomic"
	"testing"

	"fairlead.dev/jepsen/check"
	"fairlead.dev/jepsen/cluster"
	"fairlead.dev/jepsen/trace"
)

// TestBuckets: one bucket, or that of the newest arrays and that of those before, which is the same one if no second is named.
// What is asked for when a connection breaks stays, whatever controllers say later.
func TestBuckets(t *testing.T) {
	var answer atomic.Value
	controller := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte(answer.Load().(string)))
	}))
	defer controller.Close()
	b := &Buckets{API: NewAPI([]string{controller.URL}), Listing: cluster.Listing{Service: "web", VIP: "10.99.0.1", Port: 80}}
	for number, row := range []struct {
		local, answer string
		want          []trace.Bucket
		fails         bool
	}{
		{local: "10.2.1.2:4001", answer: `{"bucket": 5}`, want: []trace.Bucket{{Number: 5}}},
		{local: "10.2.1.2:4001", answer: `{"bucket": 5, "second": {"bucket": 8}}`, want: []trace.Bucket{{Number: 5}, {Number: 8, Second: true}}}, // of hunt
		{local: "10.2.1.2:4001", answer: `{"bucket": 5, "arrays": {"generation": 4}}`, want: []trace.Bucket{{Number: 5, Arrays: 4}}},
		{local: "10.2.1.2:4001", answer: `{"bucket": 5, "arrays": {"generation": 4, "previous": 0}, "second": {"bucket": 8}}`,
			want: []trace.Bucket{{Number: 5, Arrays: 4}, {Number: 8}}},
		{local: "10.2.1.2:4001", answer: `{"bucket": 5, "arrays": {"generation": 20, "previous": 4}}`,
			want: []trace.Bucket{{Number: 5, Arrays: 20}, {Number: 5, Arrays: 4}}},
		{local: "10.2.1.2:4001", answer: `{}`}, // the port names the server
		{local: "", answer: `{"bucket": 5}`},
		{local: "10.2.1.2:4001", answer: `{"bucket": "5"}`, fails: true},
	} {
		each := check.Connection{ID: int64(number), Local: row.local}
		answer.Store(row.answer)
		got, err := b.Of(each)
		if !reflect.DeepEqual(got, row.want) || (err != nil) != row.fails {
			t.Errorf("%s: %+v, %v; want %+v", row.answer, got, err, row.want)
		}
		answer.Store(`{"bucket": 99}`)
		if again, _ := b.Of(each); !reflect.DeepEqual(got, again) {
			t.Errorf("%s: %+v, then %+v", row.answer, got, again)
		}
	}
}
