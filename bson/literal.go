package bson

import "fmt"

// D is a document written as a Go literal: D{{"find", "orders"}, {"limit", 1}}. Tools make their commands of it.
// Code that runs for each document uses Builder, which converts no values to interfaces.
type D []E

// E is an element of a D: its name, which is a string, and its value.
type E = [2]any

// A is an array as a literal.
type A []any

// Doc returns the BSON document of d. An int becomes the smallest integer type that holds it, nil becomes null, and
// an element with a missing Value is left out. Doc panics for a Go type that literalValue does not convert.
func (d D) Doc() Raw {
	b := NewBuilder(nil)
	b.literal(d)
	return b.Doc()
}

// Docs returns an array of documents.
func Docs(list []Raw) A {
	out := make(A, len(list))
	for i, r := range list {
		out[i] = r
	}
	return out
}

// D returns the elements of a document.
func (r Raw) D() (d D) {
	for name, v := range r.Fields() {
		d = append(d, E{string(name), v})
	}
	return d
}

// literal appends the elements of d.
func (b *Builder) literal(d D) {
	for _, e := range d {
		b.literalValue(e[0].(string), e[1])
	}
}

func (b *Builder) literalValue(name string, v any) {
	switch v := v.(type) {
	case nil:
		b.Null(name)
	case bool:
		b.Bool(name, v)
	case int:
		b.Int(name, int64(v))
	case int32:
		b.Int32(name, v)
	case int64:
		b.Int64(name, v)
	case float64:
		b.Double(name, v)
	case string:
		b.String(name, v)
	case []byte:
		b.Binary(name, 0, v)
	case Value:
		b.Value(name, v)
	case Raw:
		b.Raw(name, v)
	case D:
		b.BeginDoc(name)
		b.literal(v)
		b.End()
	case A:
		b.BeginArray(name)
		for _, x := range v {
			b.literalValue("", x)
		}
		b.End()
	default:
		panic(fmt.Sprintf("bson: %s has no type in BSON: %T", name, v))
	}
}
