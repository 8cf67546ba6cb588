package catalog

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/match"
	"github.com/cantledb/cantle/collection/mql"
)

// LevelConstraint is the validation level at which every document satisfies the validator, so
// that no write may bypass it. Manual: core/schema-validation/specify-validation-level.
const LevelConstraint = "constraint"

// Options holds what create and collMod set on a collection, parsed.
// Manual: reference/command/create.
type Options struct {
	// Raw is the options document as listCollections prints it.
	Raw bson.Raw

	Capped    bool
	CapBytes  int64 // size, rounded up as MongoDB does: the maximum bytes of a capped collection
	CapDocs   int64 // max: the maximum number of documents, 0 = unlimited
	ViewOn    string
	Pipeline  []bson.Raw
	Collation *mql.Collation
	// CollationRaw is the collation document as given, nil for none.
	CollationRaw bson.Raw

	// Validator accepts the documents that may be written, by the collection's collation;
	// nil accepts everything.
	Validator        match.Node
	ValidationLevel  string // "strict", "moderate", "off", LevelConstraint
	ValidationAction string // "error", "warn"

	Clustered          bool
	ClusteredName      string
	ExpireAfterSeconds int64 // of clustered and time-series collections; -1 = none
	TimeSeries         bson.Raw
	TimeField          string // of TimeSeries
	MetaField          string // of TimeSeries; "" = none
	PrePostImages      bool   // changeStreamPreAndPostImages

	held int64 // bytes counted for the options
}

// OwnOrder reports whether records are stored in an order that neither the shard key nor _id
// determines.
func (o *Options) OwnOrder() bool { return o.Capped || o.TimeSeries != nil }

// ParseOptions parses an options document that create has already checked field by field. The result aliases raw. by
// is the version of the rules by which the collation compares.
func ParseOptions(env *mql.Env, raw bson.Raw, by mql.CollatorVersion) (Options, error) {
	o := Options{Raw: raw, ValidationLevel: "strict", ValidationAction: "error", ExpireAfterSeconds: -1}
	var validator bson.Raw
	for name, v := range raw.Fields() {
		var err error
		switch string(name) {
		case "capped":
			o.Capped = v.Truthy()
		case "size":
			n, _ := v.TruncInt64()
			o.CapBytes = max((n+255)/256*256, 4096)
		case "max":
			o.CapDocs, _ = v.TruncInt64()
		case "viewOn":
			o.ViewOn, _ = v.Str()
		case "pipeline":
			stages, _ := v.Array()
			for s := range stages.Values() {
				if d, ok := s.Doc(); ok {
					o.Pipeline = append(o.Pipeline, d)
				}
			}
		case "collation":
			if d, ok := v.Doc(); ok {
				o.CollationRaw = d
				o.Collation, err = mql.ParseStoredCollation(v, by)
			}
		case "validator":
			validator, _ = v.Doc()
		case "validationLevel":
			o.ValidationLevel, _ = v.Str()
		case "validationAction":
			o.ValidationAction, _ = v.Str()
		case "clusteredIndex":
			o.Clustered = v.Truthy()
			if d, ok := v.Doc(); ok {
				o.ClusteredName, _ = d.Get("name").Str()
			}
		case "expireAfterSeconds":
			if n, ok := v.TruncInt64(); ok {
				o.ExpireAfterSeconds = n
			}
		case "timeseries":
			if o.TimeSeries, _ = v.Doc(); o.TimeSeries != nil {
				o.TimeField, _ = o.TimeSeries.Get("timeField").Str()
				o.MetaField, _ = o.TimeSeries.Get("metaField").Str()
			}
		case "changeStreamPreAndPostImages":
			if d, ok := v.Doc(); ok {
				o.PrePostImages = d.Get("enabled").Truthy()
			}
		}
		if err != nil {
			return o, err
		}
	}
	o.held = o.weigh()
	if validator = o.withEncryption(validator); validator.IsEmpty() {
		return o, nil
	}
	var err error
	o.Validator, err = match.Parse(env.ForCatalog().WithCollation(o.Collation).WithLateConstants(), validator)
	return o, err
}
