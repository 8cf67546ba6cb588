package keystring

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/big"

	"github.com/cantledb/cantle/bson"
)

// Decode decodes the values at the beginning of a key, one for each direction in dirs, and returns the bytes after
// them. It appends the values to an array, or to a document with empty names. typeBits are the type bits that Append
// collected for the whole key.
//
// Errors: ErrCorrupt; dst is then unusable.
func Decode(dst *bson.Builder, key []byte, dirs []Dir, typeBits []byte) (rest []byte, err error) {
	d := NewDecoder(typeBits)
	for _, dir := range dirs {
		if key, err = d.Value(dst, "", key, dir); err != nil {
			return nil, err
		}
	}
	return key, nil
}

// Decoder decodes the values of one key one by one, so that each can have its own name or be skipped. It is for one
// goroutine.
type Decoder struct {
	bits    bitReader
	plain   []byte // an inverted value, inverted back
	scratch []byte // the payload of one value
}

// NewDecoder starts a key with these type bits.
func NewDecoder(typeBits []byte) Decoder { return Decoder{bits: bitReader{rest: typeBits}} }

// Reset starts the next key and reuses the memory.
func (d *Decoder) Reset(typeBits []byte) { d.bits = bitReader{rest: typeBits} }

// Value decodes the first value of key and appends it to dst under a name (ignored in an array). It returns the
// bytes after the value. A missing value appends nothing.
//
// Errors: ErrCorrupt; dst is then unusable.
func (d *Decoder) Value(dst *bson.Builder, name string, key []byte, dir Dir) (rest []byte, err error) {
	n, err := Skip(key, dir)
	if err != nil {
		return nil, err
	}
	value := key[:n]
	if dir == Descending {
		d.plain = append(d.plain[:0], value...)
		invert(d.plain)
		value = d.plain
	}
	left, err := d.value(dst, []byte(name), value)
	if err != nil || len(left) != 0 {
		return nil, ErrCorrupt
	}
	return key[n:], nil
}

// Pass skips the first value of key and its type bits, and returns the bytes after the value.
//
// Errors: ErrCorrupt.
func (d *Decoder) Pass(key []byte, dir Dir) (rest []byte, err error) {
	return d.Value(bson.NewArrayBuilder(nil), "", key, dir)
}

// value decodes one ascending value whose length Skip has checked.
func (d *Decoder) value(dst *bson.Builder, name, key []byte) (rest []byte, err error) {
	code, err := d.bits.value()
	if err != nil {
		return nil, err
	}
	t := key[0]
	key = key[1:]
	v := bson.Value{}
	d.scratch = d.scratch[:0]
	switch t {
	case tMinKey:
		v.Type = bson.TypeMinKey
	case tMaxKey:
		v.Type = bson.TypeMaxKey
	case tUndefined:
		v.Type = bson.TypeUndefined
	case tNull:
		if code != codeMissing {
			v.Type = bson.TypeNull
		}
	case tFalse:
		v = bson.False
	case tTrue:
		v = bson.True
	case tNaN, tZero, tNegative, tPositive:
		v, key, err = d.number(t, key, code)
	case tString:
		v, key, err = d.text(key, code)
	case tCode:
		key = d.unescaped(key)
		v = bson.Value{Type: bson.TypeCode, Data: d.scratch}
	case tObjectID:
		v, key = bson.Value{Type: bson.TypeObjectID, Data: key[:12]}, key[12:]
	case tDate:
		d.scratch = binary.LittleEndian.AppendUint64(d.scratch, binary.BigEndian.Uint64(key)^1<<63)
		v, key = bson.Value{Type: bson.TypeDateTime, Data: d.scratch}, key[8:]
	case tTimestamp:
		d.scratch = binary.LittleEndian.AppendUint64(d.scratch, binary.BigEndian.Uint64(key))
		v, key = bson.Value{Type: bson.TypeTimestamp, Data: d.scratch}, key[8:]
	case tBinary:
		n := binary.BigEndian.Uint32(key)
		d.scratch = binary.LittleEndian.AppendUint32(d.scratch, n)
		d.scratch = append(d.scratch, key[4:5+n]...)
		v, key = bson.Value{Type: bson.TypeBinary, Data: d.scratch}, key[5+n:]
	case tDBPointer:
		n := binary.BigEndian.Uint32(key)
		if n < 13 {
			return nil, ErrCorrupt
		}
		d.scratch = binary.LittleEndian.AppendUint32(d.scratch, n-12)
		d.scratch = append(d.scratch, key[4:4+n]...)
		v, key = bson.Value{Type: bson.TypeDBPointer, Data: d.scratch}, key[4+n:]
	case tRegex:
		n := bytes.IndexByte(key, 0) + 1
		n += bytes.IndexByte(key[n:], 0) + 1
		v, key = bson.Value{Type: bson.TypeRegex, Data: key[:n]}, key[n:]
	case tObject:
		return d.object(dst, name, key)
	case tArray:
		return d.array(dst, name, key)
	case tCodeScope:
		v, key, err = d.codeScope(key)
	default:
		return nil, ErrCorrupt
	}
	if err != nil {
		return nil, err
	}
	dst.ValueBytes(name, v)
	return key, nil
}

// object decodes a document after its type byte.
func (d *Decoder) object(dst *bson.Builder, name, key []byte) (rest []byte, err error) {
	dst.BeginDocBytes(name)
	rest, err = d.fields(dst, key)
	dst.End()
	return rest, err
}

// array decodes an array after its type byte.
func (d *Decoder) array(dst *bson.Builder, name, key []byte) (rest []byte, err error) {
	dst.BeginArrayBytes(name)
	for key[0] != 0 {
		if key, err = d.value(dst, nil, key); err != nil {
			return nil, err
		}
	}
	dst.End()
	return key[1:], nil
}

// fields decodes the fields of a document and skips its end.
func (d *Decoder) fields(dst *bson.Builder, key []byte) (rest []byte, err error) {
	for key[0] != 0 {
		n := bytes.IndexByte(key[1:], 0)
		name := key[1 : 1+n]
		if key, err = d.value(dst, name, key[n+2:]); err != nil {
			return nil, err
		}
	}
	return key[1:], nil
}

// unescaped decodes an escaped text at the beginning of key, and stores it in d.scratch in the form of a BSON
// string.
func (d *Decoder) unescaped(key []byte) (rest []byte) {
	s := append(d.scratch[:0], 0, 0, 0, 0)
	for {
		i := bytes.IndexByte(key, 0)
		s = append(s, key[:i]...)
		s = append(s, 0)
		end := key[i+1] == 1
		key = key[i+2:]
		if end {
			binary.LittleEndian.PutUint32(s, uint32(len(s)-4))
			d.scratch = s
			return key
		}
	}
}

func (d *Decoder) text(key []byte, code byte) (v bson.Value, rest []byte, err error) {
	v.Type = bson.TypeString
	if code == codeSymbol || code == codeSymbolText {
		v.Type = bson.TypeSymbol
	}
	if code == codeText || code == codeSymbolText {
		s, err := d.bits.text()
		if err != nil {
			return v, nil, err
		}
		v.Data = binary.LittleEndian.AppendUint32(nil, uint32(len(s)+1))
		v.Data = append(append(v.Data, s...), 0)
		n := skipEscaped(key, 0)
		return v, key[n:], nil
	}
	rest = d.unescaped(key)
	v.Data = d.scratch
	return v, rest, nil
}

func (d *Decoder) codeScope(key []byte) (v bson.Value, rest []byte, err error) {
	key = d.unescaped(key)
	out := append([]byte{0, 0, 0, 0}, d.scratch...)
	b := bson.NewBuilder(nil)
	if key, err = d.fields(b, key); err != nil {
		return v, nil, err
	}
	out = append(out, b.Doc()...)
	binary.LittleEndian.PutUint32(out, uint32(len(out)))
	return bson.Value{Type: bson.TypeCodeScope, Data: out}, key, nil
}

// number decodes the four number types.
func (d *Decoder) number(t byte, key []byte, code byte) (v bson.Value, rest []byte, err error) {
	var neg bool
	var exp int
	if code == codeDecimal {
		if neg, exp, err = d.bits.decimal(); err != nil {
			return v, nil, err
		}
	}
	switch t {
	case tNaN:
		if code == codeDecimal {
			return d.decimal(bson.DecimalNaNValue), key, nil
		}
		return d.double(math.NaN()), key, nil
	case tZero:
		switch code {
		case codeDecimal:
			return d.decimal(bson.ComposeDecimal(neg, 0, 0, exp)), key, nil
		case codeDouble:
			return d.double(0), key, nil
		case codeNegativeZero:
			return d.double(math.Copysign(0, -1)), key, nil
		case codeInt64:
			return d.int64(0), key, nil
		}
		return d.int32(0), key, nil
	}
	neg = t == tNegative
	m := byte(0)
	if neg {
		m = 0xFF
	}
	var mag uint64
	for i := 1; ; i++ {
		if len(key) == 0 {
			return v, nil, ErrCorrupt
		}
		c := key[0] ^ m
		key = key[1:]
		mag |= uint64(c>>1) << (63 - 7*i)
		if c&1 == 0 {
			break
		}
		if i == 9 {
			return d.tail(key, m, code, exp)
		}
	}
	f := math.Float64frombits(mag)
	if neg {
		f = -f
	}
	switch {
	case code == codeDecimal && math.IsInf(f, 1):
		return d.decimal(bson.DecimalInfValue), key, nil
	case code == codeDecimal && math.IsInf(f, -1):
		return d.decimal(bson.DecimalNegInfValue), key, nil
	case code == codeDecimal:
		v, err = d.exactDecimal(f, exp)
		return v, key, err
	case code == codeInt64:
		return d.int64(int64(f)), key, nil
	case code != codeDouble && f >= math.MinInt32 && f <= math.MaxInt32 && f == math.Trunc(f):
		return d.int32(int32(f)), key, nil
	}
	return d.double(f), key, nil
}

// exactDecimal returns the decimal with the given exponent whose value is exactly that of the double f.
func (d *Decoder) exactDecimal(f float64, exp int) (v bson.Value, err error) {
	if f != f {
		return v, ErrCorrupt
	}
	r := new(big.Rat).SetFloat64(math.Abs(f))
	p := new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(max(exp, -exp))), nil))
	if exp > 0 {
		p.Inv(p)
	}
	if r.Mul(r, p); !r.IsInt() {
		return v, ErrCorrupt
	}
	return d.compose(f < 0, r.Num(), exp)
}

// tail decodes the decimal part and returns the value.
func (d *Decoder) tail(key []byte, m, code byte, exp int) (v bson.Value, rest []byte, err error) {
	if len(key) < 3 {
		return v, nil, ErrCorrupt
	}
	lead := int(uint16(key[0]^m)<<8|uint16(key[1]^m)) - expBias
	key = key[2:]
	var buf [40]byte
	digits := buf[:0]
	for more := true; more; key = key[1:] {
		if len(key) == 0 || len(digits) > 36 {
			return v, nil, ErrCorrupt
		}
		c := key[0] ^ m
		if c>>1 > 99 {
			return v, nil, ErrCorrupt
		}
		digits = append(digits, '0'+c>>1/10, '0'+c>>1%10)
		more = c&1 != 0
	}
	if digits[len(digits)-1] == '0' {
		digits = digits[:len(digits)-1]
	}
	least := lead - len(digits) + 1 // exponent without trailing zeros
	coef, ok := new(big.Int).SetString(string(digits), 10)
	if !ok {
		return v, nil, ErrCorrupt
	}
	if code != codeDecimal {
		if least >= 0 && lead < 19 {
			n := new(big.Int).Mul(coef, pow10Big(least))
			if m != 0 {
				n.Neg(n)
			}
			if n.IsInt64() {
				return d.int64(n.Int64()), key, nil
			}
		}
		exp = least
	}
	if least < exp || least-exp > 40 {
		return v, nil, ErrCorrupt
	}
	v, err = d.compose(m != 0, coef.Mul(coef, pow10Big(least-exp)), exp)
	return v, key, err
}

func pow10Big(n int) *big.Int {
	return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil)
}

// compose returns the decimal with a sign, a coefficient and an exponent. Errors: ErrCorrupt if one is out of range.
func (d *Decoder) compose(neg bool, coef *big.Int, exp int) (v bson.Value, err error) {
	if coef.BitLen() > 113 || exp < bson.DecimalMinExponent || exp > bson.DecimalMaxExponent {
		return v, ErrCorrupt
	}
	lo := new(big.Int).And(coef, new(big.Int).SetUint64(math.MaxUint64)).Uint64()
	hi := new(big.Int).Rsh(coef, 64).Uint64()
	return d.decimal(bson.ComposeDecimal(neg, hi, lo, exp)), nil
}

func (d *Decoder) int32(n int32) bson.Value {
	d.scratch = binary.LittleEndian.AppendUint32(d.scratch[:0], uint32(n))
	return bson.Value{Type: bson.TypeInt32, Data: d.scratch}
}

func (d *Decoder) int64(n int64) bson.Value {
	d.scratch = binary.LittleEndian.AppendUint64(d.scratch[:0], uint64(n))
	return bson.Value{Type: bson.TypeInt64, Data: d.scratch}
}

func (d *Decoder) double(f float64) bson.Value {
	d.scratch = binary.LittleEndian.AppendUint64(d.scratch[:0], math.Float64bits(f))
	return bson.Value{Type: bson.TypeDouble, Data: d.scratch}
}

func (d *Decoder) decimal(x bson.Decimal128) bson.Value {
	d.scratch = binary.LittleEndian.AppendUint64(d.scratch[:0], x.Lo)
	d.scratch = binary.LittleEndian.AppendUint64(d.scratch, x.Hi)
	return bson.Value{Type: bson.TypeDecimal128, Data: d.scratch}
}
