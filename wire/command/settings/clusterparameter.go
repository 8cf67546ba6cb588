package settings

import (
	"context"
	"strings"
	"sync/atomic"
	"time"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/shard/cluster"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/wire/arguments"
	"github.com/cantledb/cantle/wire/command"
	"github.com/cantledb/cantle/wire/savedsettings"
)

// clusterKind is the type of the one field that a cluster parameter has.
type clusterKind uint8

// The types of cluster parameters: a boolean, a number of at least 1, a number of at least 0, and
// {expireAfterSeconds: number or "off"}. A clusterDocument has several fields, which its row reads and prints.
const (
	clusterBool clusterKind = iota
	clusterPositive
	clusterNatural
	clusterImages
	clusterDocument
)

// clusterParam describes a parameter that all servers over the store share. Each parameter has one field, unless it is a
// clusterDocument.
type clusterParam struct {
	name, field string
	kind        clusterKind
	num         int64 // the default; 1 is true, and -1 "off"
	// parseDoc checks a value of a clusterDocument, whose default is standard, and returns it with all fields.
	parseDoc func(c *command.Call, v bson.Raw) (bson.Raw, error)
	standard bson.Raw
}

// clusterParams lists the parameters in alphabetical order.
// Manual: reference/cluster-parameters.
func clusterParams() []clusterParam {
	return []clusterParam{
		{name: "changeStreamOptions", field: "preAndPostImages", kind: clusterImages, num: -1},
		{name: "changeStreams", field: "expireAfterSeconds", kind: clusterPositive, num: 3600},
		{name: requestCapsName, kind: clusterDocument, parseDoc: parseRequestCaps, standard: requestCaps{}.doc()},
		{name: "defaultMaxTimeMS", field: "readOperations", kind: clusterNatural},
		{name: "pauseMigrationsDuringMultiUpdates", field: "enabled", kind: clusterBool},
	}
}

// clusterSettings holds the current values. Safe for concurrent use.
type clusterSettings struct {
	readMillis atomic.Int64 // defaultMaxTimeMS.readOperations
	caps       atomic.Pointer[requestCaps]

	savedsettings.Setting
	values map[string]clusterSetting // only values that were set
}

// clusterSetting holds the value of a cluster parameter, and the timestamp at which it was set.
type clusterSetting struct {
	num int64
	doc bson.Raw // of a clusterDocument
	at  storage.Timestamp
}

// clusterParamsName is the name of the stored setting.
const clusterParamsName = "clusterParameters"

// apply applies the stored setting.
func (p *clusterSettings) apply(doc bson.Raw) {
	p.values = map[string]clusterSetting{}
	for it := doc.Iter(); it.Next(); {
		d, _ := it.Value.Doc()
		n, _ := d.Get("n").Int64()
		t, i, _ := d.Get("at").Timestamp()
		v, _ := d.Get("doc").Doc()
		p.values[string(it.Name)] = clusterSetting{n, v.Clone(), storage.MakeTimestamp(t, i)}
	}
	p.caps.Store(requestCapsOf(p.values[requestCapsName].doc))
	p.readMillis.Store(p.values["defaultMaxTimeMS"].num)
}

// put stores a value.
func (p *clusterSettings) put(ctx context.Context, latest func() storage.Timestamp, d clusterParam, num int64, doc bson.Raw) error {
	return p.Change(ctx, func() (bson.Raw, error) {
		at := max(latest(), p.values[d.name].at+1)
		b := bson.NewBuilder(nil)
		for _, q := range clusterParams() {
			v, ok := p.values[q.name]
			if q.name == d.name {
				v, ok = clusterSetting{num, doc, at}, true
			}
			if ok {
				b.BeginDoc(q.name)
				b.Int64("n", v.num)
				if v.doc != nil {
					b.Raw("doc", v.doc)
				}
				b.Timestamp("at", v.at.Seconds(), v.at.Increment())
				b.End()
			}
		}
		return b.Doc(), nil
	})
}

// applyTo passes values of cluster parameters to the cluster, which does not read the parameters itself. It runs when
// the server is attached to the cluster, and after each change.
func (p *clusterSettings) applyTo(c *cluster.Cluster) {
	c.SetImageLife(time.Duration(max(p.values["changeStreamOptions"].num, 0)) * time.Second)
}

// append appends a parameter with its current value.
func (p *clusterSettings) append(b *bson.Builder, d clusterParam) {
	v, ok := p.values[d.name]
	if !ok {
		v.num, v.doc = d.num, d.standard
	}
	b.BeginDoc("")
	b.String("_id", d.name)
	if ok {
		b.Timestamp("clusterParameterTime", v.at.Seconds(), v.at.Increment())
	}
	switch d.kind {
	case clusterBool:
		b.Bool(d.field, v.num != 0)
	case clusterImages:
		b.BeginDoc(d.field)
		if v.num < 0 {
			b.String("expireAfterSeconds", "off")
		} else {
			b.Int64("expireAfterSeconds", v.num)
		}
		b.End()
	case clusterDocument:
		b.Splice(v.doc.Elements())
	default:
		b.Int64(d.field, v.num)
	}
	b.End()
}

// runGetClusterParameter replies with the values of one cluster parameter, of several or, with "*", of all. Unknown
// arguments are ignored.
// Manual: reference/command/getClusterParameter.
func (s *State) runGetClusterParameter(c *command.Call) error {
	var names []string
	all := false
	if list, ok := c.Value.Array(); ok {
		if list.IsEmpty() {
			return mongoerr.New(mongoerr.BadValue, "Must supply at least one cluster parameter name to getClusterParameter")
		}
		for it := list.Iter(); it.Next(); {
			text, ok := it.Value.Str()
			if !ok {
				return mongoerr.WrongType(c.Field(c.Name())+"."+string(it.Name), it.Value.Type.String(), "string")
			}
			names = append(names, text)
		}
	} else if text, ok := c.Value.Str(); ok && c.Value.Type == bson.TypeString {
		names, all = []string{text}, text == "*"
	} else {
		return mongoerr.WrongType(c.Field(c.Name()), c.Value.Type.String(), "string", "array")
	}
	var out []clusterParam
	if all {
		out = clusterParams()
	} else {
		for _, name := range names {
			d, ok := findClusterParam(name)
			if !ok {
				return unknownClusterParam(name)
			}
			out = append(out, d)
		}
	}
	p := &s.clusterSettings
	p.Lock()
	defer p.Unlock()
	c.Reply.BeginArray("clusterParameters")
	for _, d := range out {
		p.append(c.Reply, d)
	}
	c.Reply.End()
	return nil
}

// findClusterParam returns the row of a parameter.
func findClusterParam(name string) (clusterParam, bool) {
	for _, d := range clusterParams() {
		if d.name == name {
			return d, true
		}
	}
	return clusterParam{}, false
}

// unknownClusterParam returns the error for the name of a cluster parameter that does not exist. Errors: NoSuchKey
// (4).
func unknownClusterParam(name string) error {
	return mongoerr.New(mongoerr.NoSuchKey, "Unknown server parameter: %s", name)
}

// runSetClusterParameter sets one parameter. Unknown arguments are ignored.
// Manual: reference/command/setClusterParameter.
func (s *State) runSetClusterParameter(c *command.Call) error {
	field := c.Field(c.Name())
	if c.Value.IsNullish() {
		return mongoerr.MissingField(field)
	}
	doc, ok := c.Value.Doc()
	if !ok || c.Value.Type != bson.TypeDocument {
		return mongoerr.WrongType(field, c.Value.Type.String(), "object")
	}
	first, ok := doc.First()
	if !ok {
		return unknownClusterParam("")
	}
	if doc.Len() > 1 {
		return mongoerr.New(mongoerr.InvalidOptions, "setClusterParameter only supports setting exactly one parameter")
	}
	d, ok := findClusterParam(string(first.Name))
	if !ok {
		return unknownClusterParam(string(first.Name))
	}
	v, ok := first.Value.Doc()
	if !ok || first.Value.Type != bson.TypeDocument {
		return mongoerr.New(mongoerr.BadValue, "Cluster parameter value must be an object")
	}
	if d.kind == clusterDocument {
		doc, err := d.parseDoc(c, v)
		if err != nil {
			return err
		}
		return s.clusterSettings.put(c.Ctx, c.Cluster.Latest, d, 0, doc)
	}
	num, set, err := d.parse(v)
	if err != nil || !set {
		return err
	}
	return s.clusterSettings.put(c.Ctx, c.Cluster.Latest, d, num, nil)
}

// parse reads the new value of a cluster parameter from the document v; set is false if v lacks the parameter's
// field. A null resets the field to its default. For changeStreamOptions, a missing field and a null are errors.
// Errors: BadValue (2), TypeMismatch (14), DollarPrefixedFieldName (52).
func (d clusterParam) parse(v bson.Raw) (num int64, set bool, err error) {
	num = d.num
	for it := v.Iter(); it.Next(); {
		name := string(it.Name)
		field := d.name + "." + name
		switch {
		case strings.HasPrefix(name, "$"):
			return 0, false, mongoerr.New(mongoerr.DollarPrefixedFieldName, "The dollar ($) prefixed field '%s' is not valid for storage.", name)
		case name == "_id" || name == "clusterParameterTime":
			continue
		case name != d.field:
			return 0, false, mongoerr.New(mongoerr.BadValue, "BSON field '%s' is an unknown field.", field)
		}
		set = true
		if d.kind == clusterImages {
			if num, err = parseImages(it.Value); err != nil {
				return 0, false, err
			}
			continue
		}
		if it.Value.IsNullish() {
			continue
		}
		if d.kind == clusterBool {
			yes, ok := it.Value.Boolean()
			if !ok {
				return 0, false, mongoerr.WrongType(field, it.Value.Type.String(), "bool")
			}
			num = 0
			if yes {
				num = 1
			}
			continue
		}
		n, ok := arguments.RoundedLong(it.Value)
		if !ok {
			return 0, false, mongoerr.WrongType(field, it.Value.Type.String(), "long", "int", "decimal", "double")
		}
		least := int64(1)
		if d.kind == clusterNatural {
			least = 0
		}
		if n < least {
			return 0, false, mongoerr.OutOfRange(d.field, n, ">=", least)
		}
		num = n
	}
	if d.kind == clusterImages && !set {
		return 0, false, mongoerr.New(mongoerr.BadValue, "Expected preAndPostImages options")
	}
	return num, set, nil
}

// parseImages reads {expireAfterSeconds: number or "off"}, the time for which pre-images and post-images are kept, in
// seconds; it returns -1 for "off" and for an empty document.
// Errors: BadValue (2).
func parseImages(v bson.Value) (int64, error) {
	doc, ok := v.Doc()
	if !ok || v.Type != bson.TypeDocument {
		return 0, mongoerr.New(mongoerr.BadValue, "preAndPostImages must be an object")
	}
	num := int64(-1)
	for it := doc.Iter(); it.Next(); {
		if string(it.Name) != "expireAfterSeconds" {
			return 0, mongoerr.New(mongoerr.BadValue, "BSON field 'preAndPostImages.%s' is an unknown field.", it.Name)
		}
		if s, ok := it.Value.Str(); ok && s == "off" {
			continue
		}
		n, ok := arguments.RoundedLong(it.Value)
		if !ok || n <= 0 {
			return 0, mongoerr.New(mongoerr.BadValue, "Expected a number greater than 0 or 'off' for expireAfterSeconds")
		}
		num = n
	}
	return num, nil
}
