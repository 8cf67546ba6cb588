package agg

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
)

var stageFill = StageDef{Name: "$fill", Parse: parseFill, Since: "5.3", Doc: "reference/operator/aggregation/fill"}

// parseFill replaces $fill by simpler stages: $setWindowFields for outputs with a method, $addFields for
// outputs with a value.
func parseFill(p *parser, _ string, arg bson.Value) ([]Stage, error) {
	d, err := documentArg(arg, mongoerr.FailedToParse, "the $fill stage specification must be an object, found %s", arg.Type)
	if err != nil {
		return nil, err
	}
	var by, partition, fields, out bson.Value
	for it := d.Iter(); it.Next(); {
		switch string(it.Name) {
		case "sortBy":
			by = it.Value
			if by.Type != bson.TypeDocument {
				return nil, mongoerr.WrongType("$fill.sortBy", by.Type.String(), "object")
			}
		case "partitionBy":
			partition = it.Value
			if partition.Type != bson.TypeDocument && partition.Type != bson.TypeString {
				return nil, mongoerr.WrongType("$fill.partitionBy", partition.Type.String(), "object", "string")
			}
		case "partitionByFields":
			fields = it.Value
			if fields.Type != bson.TypeArray {
				return nil, mongoerr.WrongType("$fill.partitionByFields", fields.Type.String(), "array")
			}
		case "output":
			out = it.Value
		default:
			return nil, mongoerr.New(40415, "BSON field '$fill.%s' is an unknown field.", it.Name)
		}
	}
	o, ok := out.Doc()
	switch {
	case out.IsMissing():
		return nil, mongoerr.New(40414, "BSON field '$fill.output' is missing but a required field")
	case !ok:
		return nil, mongoerr.WrongType("$fill.output", out.Type.String(), "object")
	case o.IsEmpty():
		return nil, mongoerr.New(6050203, "Expected at least one field to fill")
	case !partition.IsMissing() && !fields.IsMissing():
		return nil, mongoerr.New(6050204, "Maximum one of 'partitionBy' and 'partitionByFields can be specified in '$fill'")
	}
	if a, ok := fields.Array(); ok && !a.IsEmpty() {
		if partition, err = fillPartition(a); err != nil {
			return nil, err
		}
	}
	if text, ok := partition.Str(); ok && (text == "" || text[0] != '$') {
		return nil, mongoerr.New(6050200, "$fill: a string as 'partitionBy' must be a field path that starts with '$'")
	}
	windows, values, err := fillOutputs(o, by)
	if err != nil {
		return nil, err
	}
	var stages []Stage
	if windows != nil {
		b := bson.NewBuilder(nil)
		b.Value("partitionBy", partition)
		b.Value("sortBy", by)
		b.Raw("output", windows)
		if stages, err = parseSetWindowFields(p, "$setWindowFields", b.Doc().Value()); err != nil {
			return nil, err
		}
	}
	if values != nil {
		more, err := parseTransform(p, "$addFields", values.Value())
		if err != nil {
			return nil, err
		}
		stages = append(stages, more...)
	}
	return stages, nil
}

// fillPartition returns partitionByFields as an expression of $setWindowFields: an object of the fields.
func fillPartition(a bson.Raw) (bson.Value, error) {
	b := bson.NewBuilder(nil)
	i := 0
	for it := a.Iter(); it.Next(); i++ {
		text, ok := it.Value.Str()
		if !ok || it.Value.Type != bson.TypeString {
			return bson.Value{}, mongoerr.WrongType("$fill.partitionByFields", it.Value.Type.String(), "string")
		}
		if text == "" || text[0] == '$' {
			return bson.Value{}, mongoerr.New(6050202, "fields in partitionByFields cannot begin with '$' or be empty")
		}
		b.String("f"+string(rune('a'+i%26))+string(rune('a'+i/26%26)), "$"+text)
	}
	return b.Doc().Value(), nil
}

// fillOutputs divides the output of $fill into window functions ($locf, $linearFill) and plain values.
func fillOutputs(o bson.Raw, by bson.Value) (windows, values bson.Raw, err error) {
	w, v := bson.NewBuilder(nil), bson.NewBuilder(nil)
	nw, nv := 0, 0
	for it := o.Iter(); it.Next(); {
		name := string(it.Name)
		if _, err := checkField(name); err != nil {
			return nil, nil, err
		}
		spec, ok := it.Value.Doc()
		if !ok {
			return nil, nil, mongoerr.WrongType("$fill.output."+name, it.Value.Type.String(), "object")
		}
		for f := spec.Iter(); f.Next(); {
			if n := string(f.Name); n != "value" && n != "method" {
				return nil, nil, mongoerr.New(40415, "BSON field '$fill.output.%s' is an unknown field.", n)
			}
		}
		method, value := spec.Get("method"), spec.Get("value")
		if method.IsMissing() == value.IsMissing() {
			return nil, nil, mongoerr.New(6050205, "Exactly one of 'method' and 'value' must be specified in '$fill' output")
		}
		if !value.IsMissing() {
			nv++
			v.BeginDoc(name)
			v.BeginArray("$ifNull")
			v.String("", "$"+name)
			v.Value("", value)
			v.End()
			v.End()
			continue
		}
		text, ok := method.Str()
		if !ok {
			return nil, nil, mongoerr.WrongType("$fill.output.method", method.Type.String(), "string")
		}
		fn := ""
		switch text {
		case "locf":
			fn = "$locf"
		case "linear":
			if by.IsMissing() {
				return nil, nil, mongoerr.New(605001, "$linearFill must be specified with a top level sortBy expression with exactly one element")
			}
			fn = "$linearFill"
		default:
			return nil, nil, mongoerr.New(6050206, "Method must be either 'locf' or 'linear'")
		}
		nw++
		w.BeginDoc(name)
		w.String(fn, "$"+name)
		w.End()
	}
	if nw > 0 {
		windows = w.Doc()
	}
	if nv > 0 {
		values = v.Doc()
	}
	return windows, values, nil
}
