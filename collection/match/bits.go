package match

import (
	"encoding/binary"
	"math"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/decimal"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
)

// bits is the predicate of $bitsAllSet and the like: all or any of some bits of a value must be set or clear. In an
// integer, bits from position 64 on repeat the sign. In binary data, the first byte holds the lowest bits, and bits
// beyond the end are clear. A double with a fraction never matches. The fraction of a decimal is ignored. A number
// that does not fit into 64 bits never matches. Manual: reference/operator/query-bitwise. Observed: mongod 7.0
// (decimals).
type bits struct {
	op       string
	set, any bool
	source   bson.Value
	// The bits to test: positions, or the bits set in data.
	positions []uint32
	data      []byte
	// mask holds the tested bits below 64, for integers. high reports that bits from 64 on are tested too; in an
	// integer they repeat the sign.
	mask uint64
	high bool
}

// bitsParser returns the parse function of a bit test.
func bitsParser(set, any bool) func(*parser, operand) (Node, error) {
	return func(_ *parser, a operand) (Node, error) {
		n := &bits{op: a.op.Name, set: set, any: any, source: a.value}
		if err := n.parse(a); err != nil {
			return nil, err
		}
		return newLeaf(a.path, n), nil
	}
}

func (n *bits) parse(a operand) (err error) {
	switch v := a.value; {
	case v.IsNumber():
		if n.mask, err = bitNumber(a.op.Name, v); err != nil {
			return err
		}
		n.data = binary.LittleEndian.AppendUint64(nil, n.mask)
	case v.Type == bson.TypeBinary:
		_, n.data, _ = v.Binary()
		for i, c := range n.data {
			if i < 8 {
				n.mask |= uint64(c) << (8 * i)
			} else if c != 0 {
				n.high = true
			}
		}
	case v.Type == bson.TypeArray:
		return n.parsePositions(a.op.Name, bson.Raw(v.Data))
	default:
		return badValue("%s takes an Array, a number, or a BinData but received: %s", a.op.Name, v.Type)
	}
	return nil
}

func (n *bits) parsePositions(op string, arr bson.Raw) error {
	for v := range arr.Values() {
		at, ok := v.AsInt64()
		switch {
		case !v.IsNumber():
			return badValue("Failed to parse bit position. Expected a number in: %s: %s", op, v.Type)
		case !ok:
			return badValue("Failed to parse bit position. Expected an integer in: %s", op)
		case at < 0:
			return badValue("Failed to parse bit position. Expected a non-negative number in: %s: %d", op, at)
		case at > math.MaxInt32:
			return badValue("Failed to parse bit position. Cannot represent as a 32-bit integer in: %s: %d", op, at)
		case at < 64:
			n.mask |= 1 << at
		default:
			n.high = true
		}
		n.positions = append(n.positions, uint32(at))
	}
	return nil
}

// bitNumber reads a mask given as a number.
func bitNumber(op string, v bson.Value) (uint64, error) {
	mask, ok := v.AsInt64()
	switch {
	case !ok:
		return 0, mongoerr.New(mongoerr.FailedToParse, "Expected an integer: %s: %s", op, v.Type)
	case mask < 0:
		return 0, mongoerr.New(mongoerr.FailedToParse, "Expected a non-negative number in: %s: %d", op, mask)
	}
	return uint64(mask), nil
}

func (n *bits) name() string { return n.op }

func (*bits) reasons() (no, yes string) {
	return "bitwise operator failed to match", "bitwise operator matched successfully"
}

func (*bits) sameForEqual() bool { return false }

func (n *bits) holds(_ *mql.Env, v bson.Value, _ *expr.Scratch) (bool, error) {
	if v.Type == bson.TypeBinary {
		_, data, _ := v.Binary()
		return n.inBytes(data), nil
	}
	if !v.IsNumber() {
		return false, nil
	}
	x, ok := v.AsInt64()
	if d, isDecimal := v.Decimal(); !ok && isDecimal {
		x, ok = decimal.ToInt64(d, decimal.Down)
	}
	return ok && n.inInteger(x), nil
}

func (n *bits) inInteger(x int64) bool {
	y := uint64(x)
	sign := x < 0
	if !n.set {
		y, sign = ^y, !sign
	}
	if n.any {
		return y&n.mask != 0 || n.high && sign
	}
	return y&n.mask == n.mask && (!n.high || sign)
}

func (n *bits) inBytes(data []byte) bool {
	for _, at := range n.positions {
		set := int(at/8) < len(data) && data[at/8]&(1<<(at%8)) != 0
		if (set == n.set) == n.any {
			return n.any
		}
	}
	for i, mask := range n.data {
		c := byte(0)
		if i < len(data) {
			c = data[i]
		}
		if !n.set {
			c = ^c
		}
		if n.any && c&mask != 0 || !n.any && c&mask != mask {
			return n.any
		}
	}
	return !n.any
}

func (n *bits) append(b *bson.Builder) { b.Value(n.op, n.source) }

func (n *bits) shape(dst []byte) []byte { return append(dst, n.op...) }

func (n *bits) bounds(add func(Interval)) (exact bool) {
	add(classBounds(bson.TypeInt64))
	add(classBounds(bson.TypeBinary))
	return false
}
