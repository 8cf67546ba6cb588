package update

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
)

// ParseDiff reads the diff of an update entry of the oplog, {$v: 2, diff: {…}}:
//
//	{d: {field: false}, u: {field: value}, i: {field: value}, sfield: {…}}
//
// removes fields, changes values in place, adds fields at the end, and does the same inside of field.
// The form for an array is
//
//	{a: true, l: length, u0: value, s1: {…}}
//
// Fields in d, and fields with inner changes, need not exist; a missing field in u is added. So the diff can be
// applied again. The Program keeps no reference to the bytes. Observed: local.oplog.rs of mongod 7.0.
//
// Errors: FailedToParse (9).
func ParseDiff(d bson.Raw) (*Program, error) {
	x, err := parseDiff(d.Clone())
	if err != nil {
		return nil, err
	}
	return &Program{diff: x}, nil
}

// diff describes the changes of a document or array.
type diff struct {
	array   bool
	length  int // length of the new array, to which the old one is cut or extended; -1 = unchanged
	removed map[string]bool
	updated []bson.Field // elements of an array are named by position
	at      map[string]int
	added   []bson.Field
	adds    map[string]bool
	inside  map[string]*diff
}

func parseDiff(d bson.Raw) (*diff, error) {
	_, array := d.Lookup("a")
	x := &diff{array: array, length: -1, removed: map[string]bool{}, at: map[string]int{}, adds: map[string]bool{}, inside: map[string]*diff{}}
	for name, v := range d.Fields() {
		n := string(name)
		ok, err := false, error(nil)
		switch fields, isDoc := v.Doc(); {
		case n == "":
		case n[0] == 's' && isDoc && (!array || isArrayPosition(n[1:])):
			x.inside[n[1:]], err = parseDiff(fields)
			ok = true
		case array:
			ok = x.parseElement(n, v)
		case isDoc:
			ok = x.parseSection(n, fields)
		}
		if err != nil {
			return nil, err
		}
		if !ok {
			return nil, mongoerr.New(mongoerr.FailedToParse, "Unexpected field '%s' in the diff of an update", n)
		}
	}
	if array {
		slices.SortStableFunc(x.updated, func(a, b bson.Field) int {
			return cmp.Compare(arrayPosition(string(a.Name)), arrayPosition(string(b.Name)))
		})
	}
	for i, f := range x.updated {
		x.at[string(f.Name)] = i
	}
	return x, nil
}

// parseSection reads d, u or i of a document.
func (x *diff) parseSection(name string, fields bson.Raw) bool {
	for field, v := range fields.Fields() {
		switch name {
		case "d":
			x.removed[string(field)] = true
		case "u":
			x.updated = append(x.updated, bson.Field{Name: field, Value: v})
		case "i":
			x.adds[string(field)] = true
			x.added = append(x.added, bson.Field{Name: field, Value: v})
		}
	}
	return name == "d" || name == "u" || name == "i"
}

// parseElement reads a, l or u0 of an array.
func (x *diff) parseElement(name string, v bson.Value) bool {
	switch {
	case name == "a":
		return v.Truthy()
	case name == "l":
		n, ok := v.AsInt64()
		x.length = int(n)
		return ok && n >= 0 && n < bson.MaxDocumentBytes
	case name[0] != 'u' || !isArrayPosition(name[1:]):
		return false
	}
	x.updated = append(x.updated, bson.Field{Name: []byte(name[1:]), Value: v})
	return true
}

// arrayPosition returns the array position that a name denotes, such as "12"; -1 if the name is no number or one
// that no array within the size limit of documents has.
func arrayPosition(name string) int {
	n, err := strconv.ParseUint(name, 10, 32)
	if err != nil || n >= bson.MaxDocumentBytes || strconv.FormatUint(n, 10) != name {
		return -1
	}
	return int(n)
}

func isArrayPosition(name string) bool { return arrayPosition(name) >= 0 }

// applyDiff writes doc with the changes of the diff.
func (p *Program) applyDiff(dst *bson.Builder, doc bson.Raw) error {
	b := bson.NewBuilder(nil)
	if err := p.diff.document(b, doc); err != nil {
		return err
	}
	changed := b.Doc()
	if changed.Depth() > bson.MaxDepth {
		return tooDeep()
	}
	dst.Splice(changed.Elements())
	return nil
}

// document writes the fields of doc.
func (x *diff) document(b *bson.Builder, doc bson.Raw) error {
	found := make([]bool, len(x.updated))
	for name, v := range doc.Fields() {
		if x.removed[string(name)] || x.adds[string(name)] {
			continue
		}
		if i, ok := x.at[string(name)]; ok {
			found[i], v = true, x.updated[i].Value
		}
		if err := x.inside[string(name)].value(b, name, v); err != nil {
			return err
		}
	}
	for i, f := range x.updated {
		if !found[i] {
			b.ValueBytes(f.Name, f.Value)
		}
	}
	for _, f := range x.added {
		b.ValueBytes(f.Name, f.Value)
	}
	return tooLong(b)
}

// value writes a value with the changes of the diff x inside of it. If x is nil or made for a value of another type,
// the value is written unchanged.
func (x *diff) value(b *bson.Builder, name []byte, v bson.Value) (err error) {
	switch {
	case x != nil && v.Type == bson.TypeDocument && !x.array:
		b.BeginDocBytes(name)
		err = x.document(b, bson.Raw(v.Data))
	case x != nil && v.Type == bson.TypeArray && x.array:
		b.BeginNamedArray(name)
		err = x.elements(b, bson.Raw(v.Data))
	default:
		b.ValueBytes(name, v)
		return nil
	}
	b.End()
	return err
}

// elements writes the elements of an array.
func (x *diff) elements(b *bson.Builder, list bson.Raw) error {
	n := 0
	for v := range list.Values() {
		if n == x.length {
			return nil
		}
		name := strconv.Itoa(n)
		if i, ok := x.at[name]; ok {
			v = x.updated[i].Value
		}
		if err := x.inside[name].value(b, []byte(name), v); err != nil {
			return err
		}
		n++
	}
	pad := func(to int) error {
		for ; n < to; n++ {
			b.ValueBytes(strconv.AppendInt(nil, int64(n), 10), bson.Null)
			if err := tooLong(b); err != nil {
				return err
			}
		}
		return nil
	}
	for _, f := range x.updated {
		i := arrayPosition(string(f.Name))
		if i < n || x.length >= 0 && i >= x.length {
			continue
		}
		if err := pad(i); err != nil {
			return err
		}
		b.ValueBytes(f.Name, f.Value)
		n++
	}
	return pad(x.length)
}

// tooLong returns error 17419 if the document that a diff produces exceeds the size limit of documents by over 16
// KiB.
func tooLong(b *bson.Builder) error {
	if b.Len() > bson.MaxDocumentBytes+16<<10 {
		return mongoerr.New(17419, "Resulting document after update is larger than %d", bson.MaxDocumentBytes)
	}
	return nil
}
