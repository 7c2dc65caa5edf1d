// SPDX-License-Identifier: Apache-2.0

package ring

import (
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"net/netip"
	"os"
	"slices"
	"testing"
)

type imageVector struct {
	Service, Generation uint32
	Buckets             int
	Backends            []struct {
		ID      uint16
		Address string
		Removed bool
		Foreign bool
		Weight  uint16
	}
	Runs []struct {
		Start, Count int
		Current      uint16
		History      [][2]uint32
	}
	Sum string
}

func (v imageVector) image() *Image {
	image := &Image{v.Service, v.Generation, map[uint16]Backend{}, make([]Bucket, v.Buckets)}
	for _, each := range v.Backends {
		image.Backends[each.ID] = Backend{each.Removed, false, each.Foreign, each.Weight, netip.MustParseAddr(each.Address).As16()}
	}
	for _, run := range v.Runs {
		for i := run.Start; i < run.Start+run.Count; i++ {
			image.Buckets[i].Current = run.Current
			for j, entry := range run.History {
				image.Buckets[i].Former[j] = Entry{uint16(entry[0]), entry[1]}
			}
		}
	}
	return image
}

type vectors struct {
	Apply []struct {
		Name, Bytes   string
		Image, Result imageVector
	}
	Snapshots []struct {
		Name, Bytes string
		Image       imageVector
	}
	Chains []struct {
		Name, Snapshot string
		Deltas         []string
		Result         imageVector
	}
	MalformedFor struct {
		Service, DeltaGeneration, SnapshotGeneration uint32
		Buckets                                      int
		Image                                        imageVector
	}
	Malformed []struct{ Name, Kind, Bytes, Error string }
}

func read(t *testing.T) vectors {
	text, err := os.ReadFile("../../../protocol/vectors/delta.json")
	if err != nil {
		t.Fatal(err)
	}
	var all vectors
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	if len(all.Apply) == 0 || len(all.Snapshots) == 0 || len(all.Chains) == 0 || len(all.Malformed) == 0 {
		t.Fatal("protocol/vectors/delta.json has a list without rows")
	}
	return all
}

func unhex(text string) []byte {
	bytes, err := hex.DecodeString(text)
	if err != nil {
		panic(err)
	}
	return bytes
}

// same compares buckets and sums.
func same(t *testing.T, name string, got *Image, err error, wanted imageVector) {
	t.Helper()
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return
	}
	if got.Generation != wanted.Generation || got.Sum() != wanted.Sum || !slices.Equal(got.Buckets, wanted.image().Buckets) {
		t.Errorf("%s: generation %d sum %s, not %d %s", name, got.Generation, got.Sum(), wanted.Generation, wanted.Sum)
	}
}

func TestVectors(t *testing.T) {
	all := read(t)
	for _, row := range all.Apply {
		got, err := row.Image.image().Apply(unhex(row.Bytes))
		same(t, row.Name, got, err, row.Result)
	}
	for _, row := range all.Snapshots {
		got, err := Snapshot(unhex(row.Bytes), row.Image.Service, row.Image.Generation, row.Image.Buckets)
		same(t, row.Name, got, err, row.Image)
	}
	for _, row := range all.Chains {
		data := unhex(row.Snapshot)
		generation := binary.LittleEndian.Uint32(data[8:])
		got, err := Snapshot(data, row.Result.Service, generation, row.Result.Buckets)
		for _, delta := range row.Deltas {
			if err == nil {
				got, err = got.Apply(unhex(delta))
			}
		}
		same(t, row.Name, got, err, row.Result)
	}
}

// TestMalformed: everything that protocol/README.md refuses is refused here, with any message.
func TestMalformed(t *testing.T) {
	all := read(t)
	about := all.MalformedFor
	for _, row := range all.Malformed {
		var err error
		if row.Kind == "delta" {
			_, err = about.Image.image().Apply(unhex(row.Bytes))
		} else {
			_, err = Snapshot(unhex(row.Bytes), about.Service, about.SnapshotGeneration, about.Buckets)
		}
		if err == nil {
			t.Errorf("%s (%s) was read", row.Name, row.Error)
		}
	}
}

// TestSum: every part of a ring that the sum covers, and what it does not.
func TestSum(t *testing.T) {
	build := func() *Image {
		return &Image{7, 3, map[uint16]Backend{1: {Address: [16]byte{15: 1}}, 2: {Removed: true, Address: [16]byte{15: 2}}},
			[]Bucket{{Current: 1}, {1, History{{2, 5}, {3, 4}}}}}
	}
	wanted := build().Sum()
	for name, change := range map[string]func(*Image){
		"current":  func(i *Image) { i.Buckets[0].Current = 0 },
		"a former": func(i *Image) { i.Buckets[0].Former[0] = Entry{2, 5} },
		"since":    func(i *Image) { i.Buckets[1].Former[1].Since = 6 },
		"their order": func(i *Image) {
			i.Buckets[1].Former[0], i.Buckets[1].Former[1] = i.Buckets[1].Former[1], i.Buckets[1].Former[0]
		},
		"the bucket": func(i *Image) { i.Buckets[0], i.Buckets[1] = i.Buckets[1], i.Buckets[0] },
		"address":    func(i *Image) { i.Backends[1] = Backend{Address: [16]byte{15: 3}} },
		"foreign":    func(i *Image) { i.Backends[1] = Backend{Foreign: true, Address: [16]byte{15: 1}} },
		"removed":    func(i *Image) { i.Backends[1] = Backend{Removed: true, Address: [16]byte{15: 1}} },
	} {
		image := build()
		change(image)
		if image.Sum() == wanted {
			t.Errorf("the sum does not cover %s", name)
		}
	}
	image := build()
	delete(image.Backends, 2)
	image.Backends[1] = Backend{Weight: 50, Address: [16]byte{15: 1}}
	if image.Sum() != wanted {
		t.Error("the sum covers weights, or removed backends")
	}
}
