package peers

import (
	"encoding/binary"
	"fmt"

	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/storage"
)

// demandRow holds the demand of one server for the limited budgets in one second, as the server shows it to its
// peers. The package comment has its stored form.
type demandRow struct {
	second int64 // the second in which it was written; the needs are of the second before
	needs  []ratelimit.Demand
}

const demandVersion = 1

func (r demandRow) encode() []byte {
	b := append(binary.AppendVarint([]byte{demandVersion}, r.second), binary.AppendUvarint(nil, uint64(len(r.needs)))...)
	for _, n := range r.needs {
		b = binary.AppendUvarint(b, uint64(len(n.Database)))
		b = append(b, n.Database...)
		b = binary.AppendUvarint(b, n.Collection)
		for _, v := range []int64{int64(n.Shard), int64(n.Spent), int64(n.Foreground), int64(n.Wanted), int64(n.Unused)} {
			b = binary.AppendVarint(b, v)
		}
	}
	return b
}

// decodeDemandRow decodes the stored demand of a server. A row of another version counts as that of a live server
// without demand. Errors: ErrCorruption.
func decodeDemandRow(b []byte) (r demandRow, err error) {
	if len(b) == 0 || b[0] != demandVersion {
		return demandRow{}, nil
	}
	in := rowReader{rest: b[1:]}
	r.second = in.signed()
	for n := in.unsigned(); n > 0 && !in.bad; n-- {
		var x ratelimit.Demand
		x.Database = string(in.bytes(in.unsigned()))
		x.Collection, x.Shard = in.unsigned(), int(in.signed())
		for _, v := range []*ratelimit.MicroRU{&x.Spent, &x.Foreground, &x.Wanted, &x.Unused} {
			*v = ratelimit.MicroRU(in.signed())
		}
		r.needs = append(r.needs, x)
	}
	if in.bad || len(in.rest) > 0 {
		return demandRow{}, fmt.Errorf("what a server needs of the budgets: %w", storage.ErrCorruption)
	}
	return r, nil
}

// rowReader reads numbers and bytes one after the other. After an error, bad is set.
type rowReader struct {
	rest []byte
	bad  bool
}

func (r *rowReader) take(n int) {
	if n <= 0 {
		r.rest, r.bad = nil, true
		return
	}
	r.rest = r.rest[n:]
}

func (r *rowReader) unsigned() uint64 {
	v, n := binary.Uvarint(r.rest)
	r.take(n)
	return v
}

func (r *rowReader) signed() int64 {
	v, n := binary.Varint(r.rest)
	r.take(n)
	return v
}

func (r *rowReader) bytes(n uint64) []byte {
	if n > uint64(len(r.rest)) {
		r.rest, r.bad = nil, true
		return nil
	}
	b := r.rest[:n]
	r.rest = r.rest[n:]
	return b
}
