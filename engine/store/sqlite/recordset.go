package sqlite

import (
	"maps"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"github.com/ncruces/go-sqlite3"
)

// recordSet is a set of the numbers of records, which are close to each other: it has a bit for
// each of the 4,096 in a block. The zero set is empty.
type recordSet struct {
	length int
	blocks map[int64]*[64]uint64
}

func (r *recordSet) has(n int64) bool {
	block := r.blocks[n>>12]
	return block != nil && block[n>>6&63]&(1<<(n&63)) != 0
}

func (r *recordSet) add(n int64) {
	if r.has(n) {
		return
	}
	block := r.blocks[n>>12]
	if block == nil {
		if r.blocks == nil {
			r.blocks = map[int64]*[64]uint64{}
		}
		block = &[64]uint64{}
		r.blocks[n>>12] = block
	}
	block[n>>6&63] |= 1 << (n & 63)
	r.length++
}

// json returns the numbers as a JSON array in ascending order.
func (r *recordSet) json() string {
	list := []byte{'['}
	for _, at := range slices.Sorted(maps.Keys(r.blocks)) {
		for i, word := range r.blocks[at] {
			for ; word != 0; word &= word - 1 {
				list = append(strconv.AppendInt(list, at<<12|int64(i<<6|bits.TrailingZeros64(word)), 10), ',')
			}
		}
	}
	return strings.TrimSuffix(string(list), ",") + "]"
}

// among reports whether a set, the first argument, has a number.
func among(ctx sqlite3.Context, arg ...sqlite3.Value) {
	set, _ := arg[0].Pointer().(*recordSet)
	ctx.ResultBool(set != nil && set.has(arg[1].Int64()))
}
