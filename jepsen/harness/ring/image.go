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
	Removed, Dead, Foreign bool
	Weight                 uint16
	Address                [16]byte
}

// Entry is a former owner of a bucket, and when it lost it.
type Entry struct {
	Owner uint16
	Since uint32
}

// historyMost is how many former owners a bucket may have.
const historyMost = 6

// History is a bucket's former owners, newest first; the rest is zero, so histories can be compared.
type History [historyMost]Entry

// Bucket is a row of the ring.
type Bucket struct {
	Current uint16
	Former  History
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

func (r *reader) u8() uint8   { return r.take(1)[0] }
func (r *reader) u16() uint16 { return binary.LittleEndian.Uint16(r.take(2)) }
func (r *reader) u32() uint32 { return binary.LittleEndian.Uint32(r.take(4)) }
func (r *reader) u64() uint64 { return binary.LittleEndian.Uint64(r.take(8)) }

// count reads a number of entries that take `size` bytes each.
func (r *reader) count(size int) int {
	n := int(r.u32())
	if n*size > len(r.left) {
		r.short = true
		return 0
	}
	return n
}

// column reads n numbers.
func column[T uint8 | uint16 | uint32](r *reader, n int, one func() T) []T {
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

// backends adds the entries of the list to a map; known are the flags that one may have.
func (r *reader) backends(into map[uint16]Backend, known uint16) error {
	last := uint16(0)
	for range r.count(22) {
		id, flags, weight := r.u16(), r.u16(), r.u16()
		each := Backend{flags&1 != 0, flags&2 != 0, flags&4 != 0, weight, [16]byte(r.take(16))}
		if id <= last || flags&^known != 0 || each.Dead && !each.Removed || each.Address == [16]byte{} {
			return fmt.Errorf("backend %d after %d, flags %d, address %x is none", id, last, flags, each.Address)
		}
		last = id
		into[id] = each
	}
	return nil
}

// histories reads those of a snapshot, each of known backends.
func (r *reader) histories(known map[uint16]Backend) ([]History, error) {
	n, entries := int(r.u32()), int(r.u32())
	if n+6*entries > len(r.left) {
		return nil, fmt.Errorf("%d histories of %d entries", n, entries)
	}
	count, owner, since := column(r, n, r.u8), column(r, entries, r.u16), column(r, entries, r.u32)
	all, seen := make([]History, n), map[History]bool{}
	for i := range all {
		if count[i] == 0 || count[i] > historyMost || int(count[i]) > len(owner) {
			return nil, fmt.Errorf("history %d has %d entries", i, count[i])
		}
		for j := range count[i] {
			_, is := known[owner[j]]
			if !is || slices.Contains(owner[:j], owner[j]) {
				return nil, fmt.Errorf("history %d names %d, which is unknown or named before", i, owner[j])
			}
			all[i][j] = Entry{owner[j], since[j]}
		}
		if seen[all[i]] {
			return nil, fmt.Errorf("history %d is there twice", i)
		}
		seen[all[i]] = true
		owner, since = owner[count[i]:], since[count[i]:]
	}
	if len(owner) > 0 {
		return nil, fmt.Errorf("%d entries are of no history", len(owner))
	}
	return all, nil
}

// Snapshot reads a whole image.
func Snapshot(data []byte, service, generation uint32, buckets int) (*Image, error) {
	image, err := snapshot(data, service, generation, buckets)
	if err != nil {
		return nil, fmt.Errorf("snapshot %d: %w", generation, err)
	}
	return image, nil
}

func snapshot(data []byte, service, generation uint32, buckets int) (*Image, error) {
	r, err := open(data, "FLS3", service, generation, 0, buckets)
	if err != nil {
		return nil, err
	}
	image := &Image{service, generation, map[uint16]Backend{}, make([]Bucket, buckets)}
	r.u32() // committed
	r.u32() // closed until
	sum := r.u64()
	if err := r.backends(image.Backends, 5); err != nil {
		return nil, err
	}
	current := column(r, buckets, r.u16)
	histories, err := r.histories(image.Backends)
	if err != nil {
		return nil, err
	}
	number := column(r, buckets, r.u32)
	if r.short || len(r.left) > 0 {
		return nil, fmt.Errorf("%d buckets do not fill the body", buckets)
	}
	seen := 0
	for i := range image.Buckets {
		if int(number[i]) > min(seen+1, len(histories)) {
			return nil, fmt.Errorf("bucket %d has history %d, after %d of %d", i, number[i], seen, len(histories))
		}
		seen = max(seen, int(number[i]))
		image.Buckets[i].Current = current[i]
		if number[i] > 0 {
			image.Buckets[i].Former = histories[number[i]-1]
		}
	}
	if seen < len(histories) {
		return nil, fmt.Errorf("history %d is of no bucket", seen+1)
	}
	if err := image.check(); err != nil {
		return nil, err
	}
	if image.sum() != sum {
		return nil, fmt.Errorf("sum is %016x, not %016x", sum, image.sum())
	}
	return image, nil
}

// run is a stretch of buckets: by owner among those that the owner has.
type run struct {
	skip, count    uint32
	current, owner uint16
}

// buckets returns what each run takes; all of the ring count, or in order of owners those of the run's.
func (image *Image) buckets(runs []run, byOwner bool) ([][]int, error) {
	taken := make([][]int, len(runs))
	at := 0
	for i, each := range runs {
		if i == 0 || byOwner && each.owner != runs[i-1].owner {
			at = 0
		}
		if each.count == 0 || byOwner && i > 0 && each.owner < runs[i-1].owner {
			return nil, fmt.Errorf("run %d takes %d buckets of %d", i, each.count, each.owner)
		}
		for skipped := uint32(0); len(taken[i]) < int(each.count); at++ {
			switch {
			case at >= len(image.Buckets):
				return nil, fmt.Errorf("run %d goes beyond the ring", i)
			case byOwner && image.Buckets[at].Current != each.owner:
			case skipped < each.skip:
				skipped++
			default:
				taken[i] = append(taken[i], at)
			}
		}
	}
	return taken, nil
}

// without returns the history without the entries that a function names.
func (h History) without(goes func(Entry) bool) (kept History) {
	n := 0
	for _, each := range h {
		if each.Owner != 0 && !goes(each) {
			kept[n] = each
			n++
		}
	}
	return kept
}

// move gives the bucket to another owner.
func (b Bucket) move(to uint16, committed uint32, isDead func(uint16) bool) (Bucket, error) {
	if b.Current == to {
		return b, nil
	}
	kept := b.Former.without(func(each Entry) bool { return each.Owner == to || isDead(each.Owner) })
	if b.Current != 0 && !isDead(b.Current) {
		if kept[historyMost-1].Owner != 0 {
			return b, fmt.Errorf("more than %d former owners", historyMost)
		}
		copy(kept[1:], kept[:])
		kept[0] = Entry{b.Current, committed}
	}
	return Bucket{to, kept}, nil
}

// Apply returns the image after a delta.
func (image *Image) Apply(data []byte) (*Image, error) {
	next, err := image.apply(data)
	if err != nil {
		return nil, fmt.Errorf("delta %d: %w", image.Generation+1, err)
	}
	return next, nil
}

func (image *Image) apply(data []byte) (*Image, error) {
	generation := image.Generation + 1
	r, err := open(data, "FLD3", image.Service, generation, image.Generation, len(image.Buckets))
	if err != nil {
		return nil, err
	}
	next := &Image{image.Service, generation, maps.Clone(image.Backends), slices.Clone(image.Buckets)}
	committed, closed, sum := r.u32(), r.u32(), r.u64()
	if err := r.backends(next.Backends, 7); err != nil {
		return nil, err
	}
	n := r.count(10)
	order := r.u32()
	moves := columns(r, n, true, order == 1)
	n = r.count(10)
	releases := columns(r, n, false, true)
	if r.short || len(r.left) > 0 || order > 1 {
		return nil, fmt.Errorf("moves of order %d and releases do not fill the body", order)
	}
	if sum != image.sum() {
		return nil, fmt.Errorf("the base's sum is %016x, not %016x", image.sum(), sum)
	}
	isDead := func(id uint16) bool { return next.Backends[id].Dead }
	moved, err := image.buckets(moves, order == 1)
	if err != nil {
		return nil, err
	}
	released, err := image.buckets(releases, false)
	if err != nil {
		return nil, err
	}
	for i := range next.Buckets {
		next.Buckets[i].Former = next.Buckets[i].Former.without(func(each Entry) bool { return closed > 0 && each.Since <= closed })
	}
	for i, each := range releases {
		for _, at := range released[i] {
			next.Buckets[at].Former = next.Buckets[at].Former.without(func(former Entry) bool { return each.owner == 0 || former.Owner == each.owner })
		}
	}
	for i, each := range moves {
		for _, at := range moved[i] {
			if next.Buckets[at], err = next.Buckets[at].move(each.current, committed, isDead); err != nil {
				return nil, fmt.Errorf("bucket %d: %w", at, err)
			}
		}
	}
	for i := range next.Buckets {
		next.Buckets[i].Former = next.Buckets[i].Former.without(func(each Entry) bool { return isDead(each.Owner) })
		if isDead(next.Buckets[i].Current) {
			return nil, fmt.Errorf("bucket %d belongs to %d, which is dead", i, next.Buckets[i].Current)
		}
	}
	return next, next.checkMoved(moves)
}

// columns reads the columns of n runs.
func columns(r *reader, n int, hasCurrent, hasOwner bool) []run {
	runs := make([]run, n)
	skip, count := column(r, n, r.u32), column(r, n, r.u32)
	current, owner := make([]uint16, n), make([]uint16, n)
	if hasCurrent {
		current = column(r, n, r.u16)
	}
	if hasOwner {
		owner = column(r, n, r.u16)
	}
	for i := range runs {
		runs[i] = run{skip[i], count[i], current[i], owner[i]}
	}
	return runs
}

// isIn says whether a bucket may be this backend's: 0, or one in the pool.
func (image *Image) isIn(id uint16) bool {
	backend, known := image.Backends[id]
	return id == 0 || known && !backend.Removed
}

// checkMoved refuses moves to backends that are not in the pool.
func (image *Image) checkMoved(moves []run) error {
	for i, each := range moves {
		if !image.isIn(each.current) {
			return fmt.Errorf("run %d gives buckets to %d, which is not in the pool", i, each.current)
		}
	}
	return nil
}

// check refuses buckets whose owners are unknown or removed, or among the former ones.
func (image *Image) check() error {
	for i, bucket := range image.Buckets {
		if !image.isIn(bucket.Current) {
			return fmt.Errorf("bucket %d belongs to %d, which is not in the pool", i, bucket.Current)
		}
		if bucket.Current != 0 && slices.ContainsFunc(bucket.Former[:], func(each Entry) bool { return each.Owner == bucket.Current }) {
			return fmt.Errorf("bucket %d belongs and belonged to %d", i, bucket.Current)
		}
	}
	return nil
}

func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

func (image *Image) sum() (sum uint64) {
	for i, bucket := range image.Buckets {
		h := mix(uint64(i)<<16 | uint64(bucket.Current))
		for _, each := range bucket.Former {
			if each.Owner != 0 {
				h = mix(h ^ (uint64(each.Since)<<16 | uint64(each.Owner)))
			}
		}
		sum += h
	}
	for id, backend := range image.Backends {
		if !backend.Removed {
			h := uint64(id)
			if backend.Foreign {
				h |= 1 << 16
			}
			h = mix(mix(h) ^ binary.LittleEndian.Uint64(backend.Address[:]))
			sum += mix(h ^ binary.LittleEndian.Uint64(backend.Address[8:]))
		}
	}
	return sum
}

// Sum returns the sum that a mux reports of the same ring (protocol/README.md §5), 16 hex digits.
func (image *Image) Sum() string { return fmt.Sprintf("%016x", image.sum()) }
