package expr

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/collection/release"
)

// convert is $convert or one of its short forms $toInt, $toDate and so on, which have a constant target type and
// format, and no argument but input.
type convert struct {
	name                                              string // of a short form, "" for $convert
	input, to, onError, onNull, format, base, byteOrd Expr   // nil if absent
}

var convertSignature = &signature{
	fields: []field{{name: "input", missing: mongoerr.FailedToParse}, {name: "to", missing: mongoerr.FailedToParse},
		{name: "onError"}, {name: "onNull"}, {name: "format"}, {name: "base"}, {name: "byteOrder"}},
	notObject: mongoerr.FailedToParse, unknown: mongoerr.FailedToParse,
}

func parseConvert(p *parser, op *Operator, v bson.Value) (Expr, error) {
	raw, err := p.namedValues(op, convertSignature, v)
	if err != nil {
		return nil, err
	}
	var args [7]Expr
	for i, v := range raw {
		if v.IsMissing() {
			continue
		}
		if args[i], err = p.parse(v); err != nil {
			return nil, err
		}
	}
	return p.fold(&convert{"", args[0], args[1], args[2], args[3], args[4], args[5], args[6]})
}

// parseConvertTo returns the parse function of a short form of $convert, such as $toInt, to the type t; subtype
// is -1 for none. format is the equivalent format argument of $convert, "" for none.
func parseConvertTo(t bson.Type, subtype int, format string) func(*parser, *Operator, bson.Value) (Expr, error) {
	return func(p *parser, op *Operator, v bson.Value) (Expr, error) {
		c := &convert{name: op.Name, to: Constant((&bson.Arena{}).String(t.String()))}
		if subtype >= 0 {
			c.to = Constant((&bson.Arena{}).Doc(func(b *bson.Builder) {
				b.String("type", t.String())
				b.Int32("subtype", int32(subtype))
			}))
		}
		if format != "" {
			c.format = Constant((&bson.Arena{}).String(format))
		}
		if a, ok := v.Array(); ok {
			if n := a.Len(); n != 1 {
				return nil, mongoerr.New(50723, "%s requires a single argument, got %d", op.Name, n)
			}
			v, _ = a.Index(0)
		}
		var err error
		if c.input, err = p.parse(v); err != nil {
			return nil, err
		}
		return p.fold(c)
	}
}

// target is the value of `to`.
type target struct {
	t       bson.Type
	subtype byte
}

// parseTarget returns the target type of $convert, given as a type name, a type number or {type:, subtype:}; ok
// is false for a nullish target. typeOnly does not check the subtype.
func parseTarget(v bson.Value, typeOnly bool) (t target, ok bool, err error) {
	if d, isDoc := v.Doc(); isDoc {
		if v, ok = d.Lookup("type"); !ok || v.IsNullish() {
			return t, false, mongoerr.New(mongoerr.FailedToParse, "$convert's 'to' argument must have a 'type' field when it is an object")
		}
		if sub, ok := d.Lookup("subtype"); ok && !typeOnly {
			if !sub.IsNumber() {
				return t, false, mongoerr.New(4341108, "$convert's 'subtype' argument must be a number, but is %s", sub.Type)
			}
			n, ok := asInt32(sub)
			if !ok {
				return t, false, mongoerr.New(4341106, "In $convert, numeric 'subtype' argument is not an integer")
			}
			if n < 0 || n > 255 || n > 9 && n < 128 {
				return t, false, mongoerr.New(4341107, "In $convert, numeric value for 'subtype' does not correspond to a BinData type: %d", n)
			}
			t.subtype = byte(n)
		}
	}
	switch {
	case v.IsNullish():
		return t, false, nil
	case v.Type == bson.TypeString:
		name, _ := v.Str()
		if t.t, ok = bson.TypeByAlias(name); !ok && name != "missing" {
			return t, false, mongoerr.New(mongoerr.BadValue, "Unknown type name: %s", name)
		}
		return t, true, nil
	case v.IsNumber():
		n, ok := asInt32(v)
		if !ok {
			return t, false, mongoerr.New(mongoerr.FailedToParse, "In $convert, numeric 'to' argument is not an integer")
		}
		switch t.t = bson.Type(n); {
		case n == -1:
			t.t = bson.TypeMinKey
		case n < -1 || n > 127 || n != 0 && !t.t.Valid():
			return t, false, mongoerr.New(mongoerr.FailedToParse, "In $convert, numeric value for 'to' does not correspond to a BSON type: %d", n)
		}
		return t, true, nil
	}
	return t, false, mongoerr.New(mongoerr.FailedToParse, "$convert's 'to' argument must be a string or number, but is %s", v.Type)
}

func (c *convert) Eval(env *mql.Env, doc bson.Raw, s *Scratch) (bson.Value, error) {
	v, err := c.input.Eval(env, doc, s)
	if err != nil {
		return v, err
	}
	to, err := c.to.Eval(env, doc, s)
	if err != nil {
		return to, err
	}
	t, known, err := parseTarget(to, v.IsNullish())
	if err != nil {
		return to, err
	}
	if v.IsNullish() {
		if c.onNull != nil {
			return c.onNull.Eval(env, doc, s)
		}
		return bson.Null, nil
	}
	if !known {
		return bson.Null, nil
	}
	opt, err := c.options(env, doc, s)
	if err == nil {
		err = env.Spend(len(v.Data))
	}
	if err != nil {
		return v, err
	}
	out, err := convertValue(env, s, v, t, opt)
	if err != nil && c.onError != nil {
		if code := mongoerr.CodeOf(err); code == mongoerr.ConversionFailure || code == 16493 || code == 18537 {
			return c.onError.Eval(env, doc, s)
		}
	}
	if err == nil {
		err = s.counts(env)
	}
	return out, err
}

// convertOptions are the other arguments of $convert.
type convertOptions struct {
	format    string
	hasFormat bool
	base      int // 0: absent
	bigEndian bool
	subnormal bool // strings may denote subnormal doubles
}

// options evaluates the arguments format, byteOrder and base of $convert; null counts as absent.
func (c *convert) options(env *mql.Env, doc bson.Raw, s *Scratch) (o convertOptions, err error) {
	o.subnormal = env.Release.Has(release.SubnormalsParse)
	var v [3]bson.Value
	for i, e := range [3]Expr{c.format, c.byteOrd, c.base} {
		if e == nil {
			continue
		}
		if v[i], err = e.Eval(env, doc, s); err != nil {
			return o, err
		}
	}
	if format := v[0]; !format.IsNullish() {
		if format.Type != bson.TypeString {
			return o, mongoerr.New(4341114, "$convert requires that 'format' be a string, found: %s with value %s", format.Type, show(format))
		}
		o.format, _ = format.Str()
		o.hasFormat = true
		switch o.format {
		case "base64", "base64url", "hex", "utf8", "uuid", "auto":
		default:
			return o, mongoerr.New(4341125, "Invalid 'format' argument for $convert: %s", o.format)
		}
	}
	if order := v[1]; !order.IsNullish() {
		if order.Type != bson.TypeString {
			return o, mongoerr.New(9130001, "$convert requires that 'byteOrder' be a string, found: %s with value %s", order.Type, show(order))
		}
		t, _ := order.Str()
		if t != "big" && t != "little" {
			return o, mongoerr.New(9130002, "Invalid 'byteOrder' argument for $convert: %s", t)
		}
		o.bigEndian = t == "big"
	}
	if base := v[2]; !base.IsNullish() {
		n, ok := asInt32(base)
		if !ok {
			return o, mongoerr.New(3501301, "In $convert, 'base' argument is not an integer")
		}
		if n != 2 && n != 8 && n != 10 && n != 16 {
			return o, mongoerr.New(3501302, "In $convert, 'base' argument is not a valid base")
		}
		o.base = int(n)
	}
	return o, nil
}

func (c *convert) args() [7]Expr {
	return [7]Expr{c.input, c.to, c.onError, c.onNull, c.format, c.base, c.byteOrd}
}

func (c *convert) children(add func(Expr)) {
	for _, e := range c.args() {
		if e != nil {
			add(e)
		}
	}
}

func (c *convert) Paths(add func(string)) { pathsOf(c, add) }

func (c *convert) Append(b *bson.Builder, name string) {
	b.BeginDoc(name)
	if c.name != "" {
		c.input.Append(b, c.name)
	} else {
		b.BeginDoc("$convert")
		for i, e := range c.args() {
			if e != nil {
				e.Append(b, convertSignature.fields[i].name)
			}
		}
		b.End()
	}
	b.End()
}

// unsupported returns the error for a pair of types without a conversion.
func unsupported(v bson.Value, to bson.Type) error {
	return mongoerr.New(mongoerr.ConversionFailure, "Unsupported conversion from %s to %s in $convert with no onError value", v.Type, to)
}

// failed returns the error for a value that cannot be converted.
func failed(format string, args ...any) error {
	return mongoerr.New(mongoerr.ConversionFailure, format+" in $convert with no onError value", args...)
}

func convertValue(env *mql.Env, s *Scratch, v bson.Value, t target, o convertOptions) (bson.Value, error) {
	switch t.t {
	case bson.TypeDouble:
		return toDouble(s, v, o)
	case bson.TypeInt32, bson.TypeInt64:
		return toInteger(s, v, t.t, o)
	case bson.TypeDecimal128:
		return toDecimalValue(s, v, o)
	case bson.TypeBool:
		return toBool(v)
	case bson.TypeString:
		return toText(env, s, v, o)
	case bson.TypeObjectID:
		return toObjectID(s, v)
	case bson.TypeDateTime:
		return toDate(s, v, o)
	case bson.TypeBinary:
		if v.Type == bson.TypeArray {
			return vectorOf(env, s, v, t.subtype)
		}
		return toBinary(s, v, t, o)
	case bson.TypeDocument:
		return toObject(env, s, v)
	case bson.TypeArray:
		return toArray(env, s, v)
	}
	return v, unsupported(v, t.t)
}

// toBool returns true for every value but false and zero.
func toBool(v bson.Value) (bson.Value, error) {
	return bson.Bool(v.Truthy()), nil
}
