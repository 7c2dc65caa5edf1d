// SPDX-License-Identifier: Apache-2.0

package scenario

// Draw is SplitMix64: a seed gives the same numbers in every language.
type Draw struct{ state uint64 }

// NewDraw returns the sequence of a seed.
func NewDraw(seed uint64) *Draw { return &Draw{seed} }

// Next returns the next 64 bits.
func (d *Draw) Next() uint64 {
	d.state += 0x9e3779b97f4a7c15
	z := d.state
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// Below returns a number in 0..n-1.
func (d *Draw) Below(n int) int { return int(d.Next() % uint64(n)) }

// Float returns a number from 0 to below 1.
func (d *Draw) Float() float64 { return float64(d.Next()>>11) / (1 << 53) }
