// SPDX-License-Identifier: Apache-2.0

// Package ring computes what was committed: images of services from the snapshots and deltas of protocol/README.md §5,
// and their sums. It is simple on purpose, shares no code with controller or mux, and enforces every rule for readers by
// which a wrong ring could be detected.
package ring

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"maps"
	"slices"

	"github.com/klauspost/compress/zstd"
)

// Backend is an entry of a delta or snapshot.
type Backend struct {
	Removed bool
	Weight  uint16
	Address [16]byte
}

// Bucket is a row of the ring.
type Bucket struct {
	Current, Previous uint16
	Since             uint32
}

// Image is a service at one generation. It is immutable: Apply returns a new one.
type Image struct {
	Service    uint32
	Generation uint32
	Backends   map[uint16]Backend
	Buckets    []Bucket
}

const (
	headerBytes = 32
	bodyMax     = 256 << 20
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// reader takes little-endian numbers from a body; once it runs out of bytes, the error stays.
type reader struct {
	left  []byte
	short bool
}

func (r *reader) take(n int) []byte {
	if n < 0 || n > len(r.left) {
		r.short = true
		return make([]byte, max(0, min(n, 16)))
	}
	taken := r.left[:n]
	r.left = r.left[n:]
	return taken
}

func (r *reader) u16() uint16 { return binary.LittleEndian.Uint16(r.take(2)) }
func (r *reader) u32() uint32 { return binary.LittleEndian.Uint32(r.take(4)) }

// count reads a number of entries that take `size` bytes each.
func (r *reader) count(size int) int {
	n := int(r.u32())
	if n*size > len(r.left) {
		r.short = true
		return 0
	}
	return n
}

// column reads n numbers of 16 or 32 bits.
func column[T uint16 | uint32](r *reader, n int, one func() T) []T {
	values := make([]T, n)
	for i := range values {
		values[i] = one()
	}
	return values
}

// open checks the header, decompresses the body and checks the sum of both.
func open(data []byte, magic string, service, generation, base uint32, buckets int) (*reader, error) {
	if len(data) < headerBytes {
		return nil, fmt.Errorf("%d bytes are no header", len(data))
	}
	word := func(at int) uint32 { return binary.LittleEndian.Uint32(data[at:]) }
	for _, field := range []struct {
		name        string
		got, wanted uint32
	}{
		{"service", word(4), service}, {"generation", word(8), generation}, {"base", word(12), base}, {"buckets", word(16), uint32(buckets)},
	} {
		if field.got != field.wanted {
			return nil, fmt.Errorf("%s is %d, not %d", field.name, field.got, field.wanted)
		}
	}
	if string(data[:4]) != magic {
		return nil, fmt.Errorf("magic is %q, not %q", data[:4], magic)
	}
	length := binary.LittleEndian.Uint64(data[20:])
	if length > bodyMax {
		return nil, fmt.Errorf("the body has %d bytes; allowed: %d", length, bodyMax)
	}
	unzip, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(bodyMax))
	if err != nil {
		return nil, err
	}
	defer unzip.Close()
	body, err := unzip.DecodeAll(data[headerBytes:], nil)
	if err != nil {
		return nil, fmt.Errorf("the body cannot be unpacked: %w", err)
	}
	if uint64(len(body)) != length {
		return nil, fmt.Errorf("the body has %d bytes, not %d", len(body), length)
	}
	if sum := crc32.Update(crc32.Checksum(data[:28], castagnoli), castagnoli, body); sum != word(28) {
		return nil, fmt.Errorf("checksum is %08x, not %08x", sum, word(28))
	}
	return &reader{left: body}, nil
}

// backends adds the entries of the list to a map.
func (r *reader) backends(into map[uint16]Backend) error {
	last := uint16(0)
	for range r.count(22) {
		id, flags, weight := r.u16(), r.u16(), r.u16()
		each := Backend{Removed: flags == 1, Weight: weight, Address: [16]byte(r.take(16))}
		if id <= last || flags > 1 || each.Address == [16]byte{} {
			return fmt.Errorf("backend %d after %d, flags %d, address %x is none", id, last, flags, each.Address)
		}
		last = id
		into[id] = each
	}
	return nil
}

// Snapshot reads a whole image.
func Snapshot(data []byte, service, generation uint32, buckets int) (*Image, error) {
	r, err := open(data, "FLS2", service, generation, 0, buckets)
	if err != nil {
		return nil, fmt.Errorf("snapshot %d: %w", generation, err)
	}
	image := &Image{service, generation, map[uint16]Backend{}, make([]Bucket, buckets)}
	r.u32() // committed
	if err := r.backends(image.Backends); err != nil {
		return nil, fmt.Errorf("snapshot %d: %w", generation, err)
	}
	if len(r.left) != 8*buckets {
		return nil, fmt.Errorf("snapshot %d: %d bytes for %d buckets", generation, len(r.left), buckets)
	}
	current, previous, since := column(r, buckets, r.u16), column(r, buckets, r.u16), column(r, buckets, r.u32)
	for i := range image.Buckets {
		image.Buckets[i] = Bucket{current[i], previous[i], since[i]}
	}
	return image, image.check(0, len(image.Buckets))
}

// Apply returns the image after a delta.
func (image *Image) Apply(data []byte) (*Image, error) {
	generation := image.Generation + 1
	r, err := open(data, "FLD2", image.Service, generation, image.Generation, len(image.Buckets))
	if err != nil {
		return nil, fmt.Errorf("delta %d: %w", generation, err)
	}
	next := &Image{image.Service, generation, maps.Clone(image.Backends), slices.Clone(image.Buckets)}
	committed := r.u32()
	if err := r.backends(next.Backends); err != nil {
		return nil, fmt.Errorf("delta %d: %w", generation, err)
	}
	n := r.count(12)
	order := r.u32()
	skip, count := column(r, n, r.u32), column(r, n, r.u32)
	current, previous := column(r, n, r.u16), column(r, n, r.u16)
	owner := make([]uint16, n)
	if order == 1 {
		owner = column(r, n, r.u16)
	}
	if r.short || len(r.left) > 0 || order > 1 {
		return nil, fmt.Errorf("delta %d: %d runs of order %d do not fill the body", generation, n, order)
	}
	for i, at := 0, 0; i < n; i++ {
		if i == 0 || order == 1 && owner[i] != owner[i-1] {
			at = 0
		}
		if count[i] == 0 || i > 0 && owner[i] < owner[i-1] {
			return nil, fmt.Errorf("delta %d: run %d takes %d buckets of %d", generation, i, count[i], owner[i])
		}
		// The run's buckets, one by one, among those that it counts.
		for skipped, taken := uint32(0), uint32(0); taken < count[i]; at++ {
			if at >= len(image.Buckets) {
				return nil, fmt.Errorf("delta %d: run %d goes beyond the ring", generation, i)
			}
			if order == 1 && image.Buckets[at].Current != owner[i] {
				continue
			}
			if skipped < skip[i] {
				skipped++
				continue
			}
			next.Buckets[at] = Bucket{current[i], previous[i], committed}
			if err := next.check(at, at+1); err != nil {
				return nil, fmt.Errorf("delta %d, run %d: %w", generation, i, err)
			}
			taken++
		}
	}
	return next, nil
}

// check refuses buckets whose owners are unknown or removed.
func (image *Image) check(from, to int) error {
	for i, bucket := range image.Buckets[from:to] {
		owner, known := image.Backends[bucket.Current]
		if bucket.Current != 0 && (!known || owner.Removed) {
			return fmt.Errorf("bucket %d belongs to %d, which is not in the pool", from+i, bucket.Current)
		}
		if _, known := image.Backends[bucket.Previous]; bucket.Previous != 0 && !known {
			return fmt.Errorf("bucket %d belonged to unknown backend %d", from+i, bucket.Previous)
		}
	}
	return nil
}

// Sum returns the sum that a mux reports of the same ring (jepsen/README.md): CRC-32C, 8 hex digits, of the buckets and
// of the backends that a snapshot lists, without their weights.
func (image *Image) Sum() string {
	var bytes []byte
	little := binary.LittleEndian
	named := map[uint16]bool{}
	for _, bucket := range image.Buckets {
		bytes = little.AppendUint16(bytes, bucket.Current)
		bytes = little.AppendUint16(bytes, bucket.Previous)
		bytes = little.AppendUint32(bytes, bucket.Since)
		named[bucket.Previous] = true
	}
	for _, id := range slices.Sorted(maps.Keys(image.Backends)) {
		backend := image.Backends[id]
		flags := uint16(0)
		if backend.Removed {
			if !named[id] {
				continue
			}
			flags = 1
		}
		bytes = little.AppendUint16(bytes, id)
		bytes = little.AppendUint16(bytes, flags)
		bytes = append(bytes, backend.Address[:]...)
	}
	return fmt.Sprintf("%08x", crc32.Checksum(bytes, castagnoli))
}
