package expr

import (
	"encoding/binary"
	"math"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mql"
)

// vectorSubtype is the subtype of binary data that holds a vector: a byte for the type of its elements, a byte
// for the number of unused bits in the last byte, and the elements. Spec: bson-binary-vector.
const vectorSubtype = 9

// The types of a vector's elements.
const (
	vectorInt8      = 0x03
	vectorPackedBit = 0x10
	vectorFloat32   = 0x27
)

// vectorElements converts a vector to the array of its elements.
//
// Errors: ConversionFailure; ExceededMemoryLimit; the reason why the command must end.
func vectorElements(env *mql.Env, s *Scratch, v bson.Value) (bson.Value, error) {
	sub, data, _ := v.Binary()
	if sub != vectorSubtype {
		return v, failed("Only binData of subtype %d converts to an array, not of subtype %d", vectorSubtype, sub)
	}
	if len(data) < 2 {
		return v, failed("The binData is too short for a vector: %d bytes", len(data))
	}
	kind, padding, data := data[0], int(data[1]), data[2:]
	if padding > 7 || padding > 0 && (kind != vectorPackedBit || len(data) == 0) {
		return v, failed("The binData is no vector: it states %d bits of padding", padding)
	}
	count := len(data)
	var element func(i int) bson.Value
	switch kind {
	case vectorInt8:
		element = func(i int) bson.Value { return s.Int32(int32(int8(data[i]))) }
	case vectorPackedBit:
		count = 8*len(data) - padding
		element = func(i int) bson.Value { return bson.Bool(data[i/8]>>(7-i%8)&1 == 1) }
	case vectorFloat32:
		if count%4 != 0 {
			return v, failed("The binData is no vector: %d bytes are no numbers of four bytes", count)
		}
		count /= 4
		element = func(i int) bson.Value {
			return s.Double(float64(math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:]))))
		}
	default:
		return v, failed("The binData is no vector: it has elements of type %d", kind)
	}
	b := s.newArray()
	mark := s.Mark()
	for i := range count {
		if err := s.element(env, b, element(i)); err != nil {
			s.drop(b)
			return v, err
		}
		s.Release(mark)
	}
	return s.endArray(env, b)
}

// vectorOf converts an array to a binary vector: booleans to bits, integers to bytes if each fits into one, other
// numbers to floats.
//
// Errors: ConversionFailure; ExceededMemoryLimit; the reason why the command must end.
func vectorOf(env *mql.Env, s *Scratch, v bson.Value, subtype byte) (bson.Value, error) {
	if subtype != vectorSubtype {
		return v, failed("An array converts only to binData of subtype %d, not of subtype %d", vectorSubtype, subtype)
	}
	a, _ := v.Array()
	kind := byte(vectorInt8)
	bits, count := 0, 0
	for it := a.Iter(); it.Next(); count++ {
		if err := env.Tick(); err != nil {
			return v, err
		}
		n, small := asInt32(it.Value)
		switch {
		case it.Value.Type == bson.TypeBool:
			bits++
		case !it.Value.IsNumber():
			return v, failed("An array with an element of type %s does not convert to binData", it.Value.Type)
		case it.Value.Type == bson.TypeDouble || it.Value.Type == bson.TypeDecimal128 || !small || n != int32(int8(n)):
			kind = vectorFloat32
		}
	}
	if bits > 0 && bits < count {
		return v, failed("An array with booleans and numbers does not convert to binData")
	}
	if bits > 0 {
		return s.Binary(vectorSubtype, packBits(a, count)), nil
	}
	if err := s.reserve(env, 8*count); err != nil {
		return v, err
	}
	data := append(make([]byte, 0, 2+4*count), kind, 0)
	for it := a.Iter(); it.Next(); {
		if f, _ := it.Value.AsFloat(); kind == vectorInt8 {
			data = append(data, byte(int8(f)))
		} else if data = binary.LittleEndian.AppendUint32(data, math.Float32bits(float32(f))); math.Abs(f) > math.MaxFloat32 && !math.IsInf(f, 0) {
			return v, failed("Conversion would overflow target type: %s", show(it.Value))
		}
	}
	return s.Binary(vectorSubtype, data), nil
}

// packBits returns a vector of booleans.
func packBits(a bson.Raw, count int) []byte {
	data := make([]byte, 2+(count+7)/8)
	data[0], data[1] = vectorPackedBit, byte((8-count%8)%8)
	i := 0
	for it := a.Iter(); it.Next(); i++ {
		if it.Value.Truthy() {
			data[2+i/8] |= 1 << (7 - i%8)
		}
	}
	return data
}
