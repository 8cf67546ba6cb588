package schema

import (
	"slices"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/verify"
	"github.com/cantledb/cantle/wire/arguments"
	"github.com/cantledb/cantle/wire/command"
)

// runValidate compares the records and the index entries of a collection at one snapshot, while other commands run,
// and replies with the defects. With metadata: true it reads nothing and reports none.
// Manual: reference/command/validate.
func (s *State) runValidate(c *command.Call) error {
	ns, err := validateNamespace(c)
	if err != nil {
		return err
	}
	flags := map[string]bool{}
	var rows []arguments.Arg
	for _, name := range []string{"full", "repair", "metadata", "checkBSONConformance", "background", "fixMultikey", "enforceFastCount",
		"collHash", "hashPrefixes", "unrevealHashes", "logDiagnostics", "wiredTigerVerifyConfigurationOverride", "scandata"} {
		rows = append(rows, arguments.By(name, func(v bson.Value) error {
			flags[name] = v.Truthy()
			return nil
		}))
	}
	err = c.ReadArgs(append(rows, arguments.Others())...) // unknown options are ignored. Observed: mongod 8.0
	if err != nil {
		return err
	}
	for _, pair := range [][2]string{{"metadata", "full"}, {"metadata", "repair"}, {"metadata", "fixMultikey"}, {"metadata", "checkBSONConformance"},
		{"metadata", "background"}, {"checkBSONConformance", "repair"}, {"background", "full"}, {"background", "repair"}} {
		if flags[pair[0]] && flags[pair[1]] {
			return mongoerr.New(mongoerr.InvalidOptions, "Running the validate command with both {%s: true} and {%s: true} is not supported.", pair[0], pair[1])
		}
	}
	if docs, ok := s.virtualCount(c, ns); ok {
		validateDerived(c, ns, docs, flags)
		return nil
	}
	// If the command names the buckets of a time series, the time-series collection itself is validated.
	named := ns
	if series := c.Cluster.Catalog().Series(ns); series != nil {
		ns = series.Namespace
	}
	coll, err := c.Collection(ns)
	if err != nil {
		return err
	}
	b := c.Reply
	b.String("ns", named.String())
	b.Binary("uuid", 4, coll.UUID[:])
	if flags["metadata"] {
		b.Int32("nIndexes", int32(len(shownIndexes(coll))))
		validateTail(c, nil, flags)
		return nil
	}
	v, err := c.Cluster.Validate(&c.Op, ns)
	if err != nil {
		return err
	}
	b.Int("nInvalidDocuments", v.Invalid)
	b.Int("nNonCompliantDocuments", v.NonCompliant)
	b.Int("nrecords", v.Records)
	seen := shownIndexes(v.Coll)
	b.Int32("nIndexes", int32(len(seen)))
	shown := slices.DeleteFunc(slices.Clone(v.Indexes), func(x verify.Index) bool { return !slices.Contains(seen, x.Index) })
	b.BeginDoc("keysPerIndex")
	for i := range shown {
		b.Int(shown[i].Index.Name, shown[i].Keys)
	}
	b.End()
	b.BeginDoc("indexDetails")
	for i := range shown {
		b.BeginDoc(shown[i].Index.Name)
		b.Bool("valid", shown[i].Valid())
		b.Raw("spec", shown[i].Index.Raw())
		b.End()
	}
	b.End()
	validateTail(c, v, flags)
	return nil
}

// validateNamespace returns the namespace that validate names. A name with a leading dollar sign is not an invalid
// name here: it counts as a collection that does not exist.
func validateNamespace(c *command.Call) (ns collection.Namespace, err error) {
	if ns, err = c.Namespace(); err != nil {
		if s, ok := c.Value.Str(); ok && s != "" && s[0] == '$' {
			return ns, mongoerr.NoNamespace(c.DB + "." + s)
		}
	}
	return ns, err
}

// validateTail appends the findings; v is nil if nothing was read.
func validateTail(c *command.Call, v *verify.Collection, flags map[string]bool) {
	var errs, warnings []string
	var missing, extra, corrupt []bson.Raw
	if v != nil {
		errs, warnings = verdict(v)
		corrupt = v.Corrupt
		for i := range v.Indexes {
			missing = append(missing, v.Indexes[i].Missing...)
			extra = append(extra, v.Indexes[i].Extra...)
		}
	}
	b := c.Reply
	b.Bool("valid", len(errs) == 0)
	b.Bool("repaired", false)
	mode := "None"
	switch {
	case flags["repair"]:
		mode = "FixErrors"
	case flags["fixMultikey"]:
		mode = "AdjustMultikey"
	}
	b.String("repairMode", mode)
	for _, list := range []struct {
		name  string
		texts []string
	}{{"warnings", warnings}, {"errors", errs}} {
		b.BeginArray(list.name)
		for _, s := range list.texts {
			b.String("", s)
		}
		b.End()
	}
	for _, list := range []struct {
		name string
		docs []bson.Raw
	}{{"extraIndexEntries", extra}, {"missingIndexEntries", missing}, {"corruptRecords", corrupt}} {
		b.BeginArray(list.name)
		for _, d := range list.docs {
			b.Raw("", d)
		}
		b.End()
	}
}

// verdict formats the findings as texts.
func verdict(v *verify.Collection) (errs, warnings []string) {
	say := func(format string, args ...any) { errs = append(errs, mongoerr.New(0, format, args...).Msg) }
	if v.Invalid > 0 {
		say("Detected %d invalid documents.", v.Invalid)
	}
	for i := range v.Damages {
		say("Data cannot be read: %s.", v.Damages[i].Error())
	}
	for i := range v.Indexes {
		x := &v.Indexes[i]
		if x.Multikey > 0 {
			say("Index %s is not multikey although %d documents have arrays in its fields.", x.Index.Name, x.Multikey)
		}
		if x.MissingCount > 0 {
			say("Detected %d missing index entries in %s.", x.MissingCount, x.Index.Name)
		}
		if x.ExtraCount > 0 {
			say("Detected %d extra index entries in %s.", x.ExtraCount, x.Index.Name)
		}
		if x.Index.State == catalog.IndexBuilding && !x.Index.Staged {
			warnings = append(warnings, "Index "+x.Index.Name+" is still being built and was not checked.")
		}
	}
	if v.Places.Wrong > 0 {
		say("Detected %d wrong places in the insertion order: reads in natural order may leave out documents or return them twice. "+
			"Copy the collection by an aggregation with the stages $sort by _id and $out, and rename the copy.", v.Places.Wrong)
	}
	if v.NonCompliant > 0 {
		warnings = append(warnings, "Detected one or more documents not compliant with the collection's schema. Check logs for log id 5363500.")
	}
	return errs, warnings
}
