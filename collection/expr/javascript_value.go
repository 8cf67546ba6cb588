package expr

import (
	"encoding/base64"
	"encoding/hex"
	"errors"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"

	"github.com/dop251/goja"
)

// box holds a BSON value of a type that JavaScript lacks, such as an ObjectId, in a JavaScript object. Scripts
// may call its exported methods.
type box struct {
	v     bson.Value
	value float64 // of numbers
}

// prototypes are the constructors, for instanceof.
type prototypes map[bson.Type]*goja.Object

// number returns the JavaScript number nearest to the boxed BSON number.
func (b *box) number() float64 { return b.value }

// text returns the boxed value as text, in the form in which the shell prints it; of an ObjectId only the digits.
func (b *box) text() string {
	switch b.v.Type {
	case bson.TypeObjectID:
		return hex.EncodeToString(b.v.Data)
	case bson.TypeInt64:
		n, _ := b.v.Int64()
		if n > 1<<53 || n < -1<<53 {
			return `NumberLong("` + strconv.FormatInt(n, 10) + `")`
		}
		return "NumberLong(" + strconv.FormatInt(n, 10) + ")"
	case bson.TypeInt32:
		n, _ := b.v.Int32()
		return "NumberInt(" + strconv.Itoa(int(n)) + ")"
	case bson.TypeDecimal128:
		return `NumberDecimal("` + show(b.v) + `")`
	case bson.TypeTimestamp:
		t, i, _ := b.v.Timestamp()
		return "Timestamp(" + strconv.FormatUint(uint64(t), 10) + ", " + strconv.FormatUint(uint64(i), 10) + ")"
	case bson.TypeBinary:
		sub, p, _ := b.v.Binary()
		if sub == 4 && len(p) == 16 {
			return `UUID("` + string(appendUUID(nil, p)) + `")`
		}
		return "BinData(" + strconv.Itoa(int(sub)) + `,"` + base64.StdEncoding.EncodeToString(p) + `")`
	}
	return b.v.Type.String()
}

// boxed returns a JavaScript object that holds a BSON value and has the prototype of the value's type.
func (vm *VM) boxed(v bson.Value) goja.Value {
	b := &box{v: v.Clone()}
	b.value, _ = v.AsFloat()
	o := vm.rt.NewObject()
	if p, ok := vm.boxes[v.Type]; ok {
		_ = o.SetPrototype(p)
	}
	_ = o.DefineDataPropertySymbol(vm.key, vm.rt.ToValue(b), goja.FLAG_FALSE, goja.FLAG_FALSE, goja.FLAG_FALSE)
	switch v.Type {
	case bson.TypeObjectID:
		_ = o.Set("str", b.text())
	case bson.TypeTimestamp:
		t, i, _ := v.Timestamp()
		_ = o.Set("t", int64(t))
		_ = o.Set("i", int64(i))
	}
	return o
}

// unboxed returns the box behind an object.
func (vm *VM) unboxed(v goja.Value) (*box, bool) {
	o, ok := v.(*goja.Object)
	if !ok {
		return nil, false
	}
	inner := o.GetSymbol(vm.key)
	if inner == nil {
		return nil, false
	}
	b, ok := inner.Export().(*box)
	return b, ok
}

// toJS returns the JavaScript value of a BSON value; types that JavaScript lacks are boxed.
func (vm *VM) toJS(v bson.Value) goja.Value {
	switch v.Type {
	case bson.TypeMissing, bson.TypeUndefined:
		return goja.Undefined()
	case bson.TypeNull:
		return goja.Null()
	case bson.TypeDouble:
		f, _ := v.Double()
		return vm.rt.ToValue(f)
	case bson.TypeInt32:
		n, _ := v.Int32()
		return vm.rt.ToValue(int64(n))
	case bson.TypeString, bson.TypeSymbol:
		t, _ := v.Str()
		return vm.rt.ToValue(t)
	case bson.TypeBool:
		b, _ := v.Boolean()
		return vm.rt.ToValue(b)
	case bson.TypeDateTime:
		ms, _ := v.DateTime()
		d, err := vm.rt.New(vm.rt.Get("Date"), vm.rt.ToValue(float64(ms)))
		if err != nil {
			return goja.Undefined()
		}
		return d
	case bson.TypeRegex:
		pattern, options, _ := v.Regex()
		r, err := vm.rt.New(vm.rt.Get("RegExp"), vm.rt.ToValue(pattern), vm.rt.ToValue(strings.Map(jsFlag, options)))
		if err != nil {
			return vm.rt.ToValue("/" + pattern + "/" + options)
		}
		return r
	case bson.TypeDocument:
		o := vm.rt.NewObject()
		for it := bson.Raw(v.Data).Iter(); it.Next(); {
			_ = o.Set(string(it.Name), vm.toJS(it.Value))
		}
		return o
	case bson.TypeArray:
		var vs []any
		for it := bson.Raw(v.Data).Iter(); it.Next(); {
			vs = append(vs, vm.toJS(it.Value))
		}
		return vm.rt.NewArray(vs...)
	case bson.TypeCode:
		c, _ := v.Code()
		f, err := vm.code(c)
		if err == nil {
			return f
		}
		// A code value that is not a function becomes a string. If a limit was exceeded, the call ends.
		var known *mongoerr.Error
		if !errors.As(err, &known) || known.Code != mongoerr.JSInterpreterFailure {
			vm.guard.interrupt(err)
		}
		return vm.rt.ToValue(c)
	}
	return vm.boxed(v)
}

// jsFlag returns a regex option if JavaScript supports it, else -1.
func jsFlag(r rune) rune {
	if strings.ContainsRune("imsu", r) {
		return r
	}
	return -1
}

// fromJS returns the BSON value of a JavaScript value, in the memory of a. JavaScript numbers become doubles,
// as in MongoDB.
//
// Errors: JSInterpreterFailure for a value that nests too deep or a name with a null byte; BSONObjectTooLarge.
func (vm *VM) fromJS(a *bson.Arena, v goja.Value) (bson.Value, error) {
	b := bson.NewBuilder(nil)
	if err := vm.append(b, "v", v, 0); err != nil {
		return bson.Value{}, err
	}
	return a.Keep(b.Doc().Get("v")), nil
}

func (vm *VM) append(b *bson.Builder, name string, v goja.Value, depth int) error {
	if depth > bson.MaxDepth {
		return mongoerr.New(mongoerr.JSInterpreterFailure, "the value of a JavaScript function nests too deep")
	}
	if b.Len() > bson.MaxInternalBytes {
		return mongoerr.New(mongoerr.BSONObjectTooLarge, "the value of a JavaScript function is larger than %d bytes", bson.MaxDocumentBytes)
	}
	if strings.IndexByte(name, 0) >= 0 {
		return mongoerr.New(mongoerr.JSInterpreterFailure, "a field name must not contain a null byte")
	}
	switch {
	case v == nil || goja.IsUndefined(v):
		b.Value(name, bson.Value{Type: bson.TypeUndefined})
		return nil
	case goja.IsNull(v):
		b.Null(name)
		return nil
	}
	if x, ok := vm.unboxed(v); ok {
		b.Value(name, x.v)
		return nil
	}
	o, isObject := v.(*goja.Object)
	if !isObject {
		switch x := v.Export().(type) {
		case bool:
			b.Bool(name, x)
		case string:
			b.String(name, x)
		case int64:
			b.Double(name, float64(x))
		case float64:
			b.Double(name, x)
		default:
			b.String(name, v.String())
		}
		return nil
	}
	switch o.ClassName() {
	case "Date":
		if t, ok := o.Export().(time.Time); ok {
			b.DateTime(name, t.UnixMilli())
		} else {
			b.Double(name, math.NaN())
		}
		return nil
	case "RegExp":
		var s bson.Arena
		b.Value(name, s.Regex(o.Get("source").String(), strings.Map(jsFlag, o.Get("flags").String())))
		return nil
	case "Number", "Boolean", "String":
		return vm.append(b, name, vm.rt.ToValue(o.Export()), depth+1)
	case "Function":
		b.Value(name, codeValue(o.String()))
		return nil
	case "Array":
		b.BeginArray(name)
		n := o.Get("length").ToInteger()
		for i := range n {
			if err := vm.append(b, "", o.Get(strconv.FormatInt(i, 10)), depth+1); err != nil {
				return err
			}
		}
		b.End()
		return nil
	}
	b.BeginDoc(name)
	for _, k := range o.Keys() {
		if err := vm.append(b, k, o.Get(k), depth+1); err != nil {
			return err
		}
	}
	b.End()
	return nil
}

// codeValue returns a BSON JavaScript value with a source text.
func codeValue(source string) bson.Value {
	v := (&bson.Arena{}).String(source)
	v.Type = bson.TypeCode
	return v
}
