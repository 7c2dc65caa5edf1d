// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"net/url"
	"sync"
	"time"

	"fairlead.dev/jepsen/check"
	"fairlead.dev/jepsen/cluster"
	"fairlead.dev/jepsen/trace"
)

// askedMost is how many connections' buckets are asked for at a time.
const askedMost = 4

// Buckets asks the controllers by which buckets connections that broke were steered. Newer arrays give them others, so with
// steering othello it is asked when one breaks.
type Buckets struct {
	API     *API
	Listing cluster.Listing
	lock    sync.Mutex
	asked   map[int64]*asked // by the connection's number
	places  chan struct{}
}

type asked struct {
	done    chan struct{}
	buckets []trace.Bucket
	err     error
}

// Ask asks for those of a connection, and does not wait for the answer.
func (b *Buckets) Ask(each check.Connection) {
	b.lock.Lock()
	defer b.lock.Unlock()
	if b.asked == nil {
		b.asked, b.places = map[int64]*asked{}, make(chan struct{}, askedMost)
	}
	if b.asked[each.ID] != nil {
		return
	}
	ask := &asked{done: make(chan struct{})}
	b.asked[each.ID] = ask
	go func() {
		defer close(ask.done)
		b.places <- struct{}{}
		defer func() { <-b.places }()
		ask.buckets, ask.err = b.ask(each.Local)
	}()
}

// Of returns those of a connection without their rows, as they were when it was asked for them: now, if it was not before.
func (b *Buckets) Of(each check.Connection) ([]trace.Bucket, error) {
	b.Ask(each)
	b.lock.Lock()
	ask := b.asked[each.ID]
	b.lock.Unlock()
	<-ask.done
	return ask.buckets, ask.err
}

// ask returns none for a connection that never had an address, or that no bucket steers.
func (b *Buckets) ask(local string) ([]trace.Bucket, error) {
	source, err := netip.ParseAddrPort(local)
	if err != nil {
		return nil, nil
	}
	query := url.Values{"protocol": {"tcp"}, "source": {source.Addr().String()}, "sourcePort": {fmt.Sprint(source.Port())},
		"destination": {b.Listing.VIP}, "destinationPort": {fmt.Sprint(b.Listing.Port)}}
	answer, err := b.API.Await("/v1/services/"+b.Listing.Service+"/explain?"+query.Encode(), time.Minute)
	if err != nil {
		return nil, err
	}
	var explained struct {
		Bucket *int64 `json:"bucket"`
		Second struct {
			Bucket *int64 `json:"bucket"` // none if it is the first
		} `json:"second"`
		Arrays struct {
			Generation int64  `json:"generation"`
			Previous   *int64 `json:"previous"`
		} `json:"arrays"`
	}
	if err := json.Unmarshal(answer.Body, &explained); err != nil {
		return nil, fmt.Errorf("explain %s: %w: %.200s", local, err, answer.Body)
	}
	if explained.Bucket == nil {
		return nil, nil
	}
	buckets := []trace.Bucket{{Number: *explained.Bucket, Arrays: explained.Arrays.Generation}}
	if before := explained.Arrays.Previous; before != nil {
		second := *explained.Bucket
		if explained.Second.Bucket != nil {
			second = *explained.Second.Bucket
		}
		buckets = append(buckets, trace.Bucket{Number: second, Arrays: *before})
	} else if second := explained.Second.Bucket; second != nil {
		buckets = append(buckets, trace.Bucket{Number: *second, Second: true})
	}
	return buckets, nil
}
