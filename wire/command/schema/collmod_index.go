package schema

import (
	"math"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/wire/arguments"
	"github.com/cantledb/cantle/wire/command"
)

// indexChange is collMod's index argument: an index, and the options to set.
type indexChange struct {
	name string
	key  bson.Raw
	has  map[string]bool
	// The new values, if has contains their names.
	hidden, prepareUnique, unique bool
	expire                        int64
	// converts is the index that was found, before the change.
	converts *catalog.Index
}

// indexChangeArg reads the index argument.
// Errors: TypeMismatch (14), InvalidOptions (72), IDLUnknownField (40415).
func indexChangeArg(c *command.Call, name string, v bson.Value) (*indexChange, error) {
	d, err := c.DocArg(name, v)
	if err != nil {
		return nil, err
	}
	x := &indexChange{has: map[string]bool{}}
	err = arguments.EachField(d, c.Field(name), func(field string, v bson.Value) (_ bool, err error) {
		full := name + "." + field
		switch field {
		case "name":
			x.name, err = c.StringArg(full, v)
		case "keyPattern":
			x.key, err = c.DocArg(full, v)
		case "hidden":
			x.hidden, err = c.BoolArg(full, v)
		case "prepareUnique":
			x.prepareUnique, err = c.BoolArg(full, v)
		case "unique":
			x.unique, err = c.BoolArg(full, v)
		case "expireAfterSeconds":
			x.expire, err = c.LongArg(full, v)
			x.expire = min(x.expire, math.MaxInt32)
		default:
			return false, nil
		}
		x.has[field] = !v.IsMissing()
		return true, err
	})
	if err != nil {
		return nil, err
	}
	invalid := func(text string) (*indexChange, error) { return nil, mongoerr.New(mongoerr.InvalidOptions, text) }
	switch {
	case !x.has["name"] && !x.has["keyPattern"]:
		return invalid("must specify either index name or key pattern")
	case x.has["name"] && x.has["keyPattern"]:
		return invalid("can only specify one of index name or key pattern")
	case x.has["expireAfterSeconds"] && x.expire < 0:
		return invalid("TTL index 'expireAfterSeconds' option cannot be less than 0")
	case x.has["unique"] && !x.unique:
		return nil, mongoerr.New(mongoerr.BadValue, "Cannot make index non-unique")
	}
	return x, nil
}

// changesMore reports whether an option other than unique is set.
func (x *indexChange) changesMore() bool {
	return x.has["hidden"] || x.has["prepareUnique"] || x.has["expireAfterSeconds"]
}

// find looks the index up.
// Errors: IndexNotFound (27), AmbiguousIndexKeyPattern (181).
func (x *indexChange) find(coll *catalog.Collection) (*catalog.Index, error) {
	if x.has["name"] {
		if ix := coll.Index(x.name); ix != nil {
			return ix, nil
		}
		return nil, mongoerr.New(mongoerr.IndexNotFound, "cannot find index %s for ns %s", x.name, coll.Namespace)
	}
	var found *catalog.Index
	for _, ix := range coll.UnstagedIndexes() {
		if !bson.Equal(ix.Key.Value(), x.key.Value(), nil) {
			continue
		}
		if found != nil {
			return nil, mongoerr.New(mongoerr.AmbiguousIndexKeyPattern, "index keyPattern %s matches 2 indexes, must use index name", x.key)
		}
		found = ix
	}
	if found == nil {
		return nil, mongoerr.New(mongoerr.IndexNotFound, "cannot find index %s for ns %s", x.key, coll.Namespace)
	}
	return found, nil
}

// prepareIndexChange checks a change against the index, and removes from it what is already so; done is true
// if nothing is left, or after a dry run.
// Errors: InvalidOptions (72), BadValue (2), CannotConvertIndexToUnique (359).
func prepareIndexChange(c *command.Call, ns collection.Namespace, coll *catalog.Collection, a *collModArgs) (done bool, err error) {
	x := a.index
	ix, err := x.find(coll)
	if err != nil {
		return false, err
	}
	x.name, x.key = ix.Name, nil
	if !x.has["hidden"] && !x.has["expireAfterSeconds"] && !x.has["prepareUnique"] && !x.has["unique"] {
		return false, mongoerr.New(mongoerr.InvalidOptions, "no expireAfterSeconds, hidden, unique, or prepareUnique field")
	}
	if x.has["hidden"] && ix.IsID() {
		return false, mongoerr.New(mongoerr.BadValue, "can't hide _id index")
	}
	if x.has["expireAfterSeconds"] && (ix.IsID() || len(ix.Parts) != 1 || ix.Parts[0].Plugin == "wildcard" || ix.Parts[0].Plugin == "text") {
		return false, mongoerr.New(mongoerr.InvalidOptions, "TTL indexes are single-field indexes, compound indexes do not support TTL")
	}
	if x.has["prepareUnique"] && x.prepareUnique != ix.PrepareUnique && (x.has["hidden"] || x.has["expireAfterSeconds"] || x.has["unique"]) {
		return false, mongoerr.New(mongoerr.InvalidOptions, "cannot combine prepareUnique with any other modification")
	}
	if x.has["prepareUnique"] && x.prepareUnique && coll.Sharded() && !coll.Key.IsPrefixOf(ix.Key) {
		return false, mongoerr.New(mongoerr.InvalidOptions, "Cannot prepare index %s of the sharded collection %s to be unique: it must begin with the shard key", ix.Name, ns)
	}
	if x.has["hidden"] && x.hidden == ix.Hidden {
		x.has["hidden"] = false
	}
	if x.has["prepareUnique"] && x.prepareUnique == ix.PrepareUnique {
		x.has["prepareUnique"] = false
	}
	if x.has["unique"] && ix.Unique {
		x.has["unique"] = false
	}
	if x.has["unique"] && !ix.PrepareUnique {
		return false, mongoerr.New(mongoerr.InvalidOptions, "Cannot make index unique with 'unique: true' without first setting 'prepareUnique: true'")
	}
	x.converts = ix
	if a.dryRun {
		if !x.has["unique"] {
			return true, nil
		}
		return true, dryRunUnique(c, ns, ix)
	}
	nothing := !x.has["hidden"] && !x.has["expireAfterSeconds"] && !x.has["prepareUnique"] && !x.has["unique"]
	if nothing {
		a.index = nil
	}
	return nothing && a.options.IsEmpty(), nil
}

// dryRunUnique refuses an index that cannot become unique because of its documents, and writes nothing.
// Errors: CannotConvertIndexToUnique (359), those of an aggregation.
func dryRunUnique(c *command.Call, ns collection.Namespace, ix *catalog.Index) error {
	found, err := violations(c, ns, ix)
	if err != nil || len(found.groups) == 0 {
		return err
	}
	return found.refuse()
}

// cannotConvert returns the error of a collMod whose unique index could not be built: it lists the documents
// that prevent that.
func (x *indexChange) cannotConvert(c *command.Call, ns collection.Namespace, err error) error {
	if !x.has["unique"] || mongoerr.CodeOf(err) != mongoerr.DuplicateKey {
		return err
	}
	found, err := violations(c, ns, x.converts)
	if err != nil {
		return err
	}
	return found.refuse()
}

// document returns the options to set, with the names of createIndexes.
func (x *indexChange) document() bson.Raw {
	b := bson.NewBuilder(nil)
	if x.has["hidden"] {
		b.Bool("hidden", x.hidden)
	}
	if x.has["prepareUnique"] {
		b.Bool("prepareUnique", x.prepareUnique)
	}
	if x.has["unique"] {
		b.Bool("unique", true)
	}
	if x.has["expireAfterSeconds"] {
		b.Int("expireAfterSeconds", x.expire)
	}
	return b.Doc()
}

// report appends the old and the new values.
func (x *indexChange) report(b *bson.Builder, before, after *catalog.Index) {
	if x.has["expireAfterSeconds"] {
		if before.HasTTL {
			b.Int64("expireAfterSeconds_old", before.ExpireAfterSeconds)
		}
		b.Int64("expireAfterSeconds_new", after.ExpireAfterSeconds)
	}
	if x.has["hidden"] {
		b.Bool("hidden_old", before.Hidden)
		b.Bool("hidden_new", after.Hidden)
	}
	if x.has["prepareUnique"] {
		b.Bool("prepareUnique_old", before.PrepareUnique)
		b.Bool("prepareUnique_new", after.PrepareUnique)
	}
	if x.has["unique"] {
		b.Bool("unique_new", true)
	}
}
