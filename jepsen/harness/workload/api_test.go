// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"
)

// controller answers each request with the next of its statuses; 0 hangs up without an answer.
func controller(t *testing.T, statuses ...int) (string, *atomic.Int64) {
	var asked atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		status := statuses[min(int(asked.Add(1)), len(statuses))-1]
		if status == 0 {
			panic(http.ErrAbortHandler)
		}
		if r.Method == "PUT" && r.Header.Get("Idempotency-Key") != "key" {
			t.Errorf("a write with the key %q arrived", r.Header.Get("Idempotency-Key"))
		}
		w.WriteHeader(status)
		fmt.Fprint(w, `{"generation": 7, "detail": "because"}`)
	}))
	t.Cleanup(server.Close)
	return server.URL, &asked
}

// TestWrite: only definite outcomes are reported as such. A refusal after an attempt without an answer is not definite.
func TestWrite(t *testing.T) {
	for _, row := range []struct {
		name          string
		first, second []int
		wanted        error
	}{
		{"committed", []int{200}, []int{500}, nil},
		{"committed at the second", []int{503}, []int{200}, nil},
		{"committed after a broken connection", []int{0}, []int{200}, nil},
		{"refused", []int{412}, []int{200}, ErrRefused},
		{"refused after a broken connection", []int{0}, []int{412}, ErrUnknown},
		{"refused after a 503", []int{503}, []int{409}, ErrUnknown},
		{"never answered", []int{0}, []int{0}, ErrUnknown},
		{"never available", []int{503}, []int{503}, ErrUnknown},
	} {
		t.Run(row.name, func(t *testing.T) {
			first, _ := controller(t, row.first...)
			second, _ := controller(t, row.second...)
			answer, err := NewAPI([]string{first, second}).Write(Request{Method: "PUT", Path: "/", Body: 1}, "key", 0, time.Second/2)
			if !errors.Is(err, row.wanted) || errors.Is(err, ErrRefused) && errors.Is(err, ErrUnknown) {
				t.Errorf("%v, not %v", err, row.wanted)
			}
			if err == nil {
				if generation, err := answer.Generation(); generation != 7 || err != nil {
					t.Error(generation, err)
				}
			}
		})
	}
	t.Run("refused where nothing was sent before", func(t *testing.T) {
		gone := httptest.NewServer(nil)
		gone.Close()
		there, _ := controller(t, 404)
		_, err := NewAPI([]string{gone.URL, there}).Write(Request{Method: "PUT", Path: "/", Body: 1}, "key", 0, time.Minute)
		if !errors.Is(err, ErrRefused) {
			t.Error(err)
		}
	})
}
