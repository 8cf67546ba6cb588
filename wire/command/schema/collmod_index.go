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

// indexChange holds the argument index of collMod: an index, by its name or key, and the options of that index to
// change.
type indexChange struct {
	name            string
	key             bson.Raw
	hasName, hasKey bool
	// The new values, if they are given.
	hidden, prepareUnique, unique                     bool
	hasHidden, hasPrepareUnique, hasUnique, hasExpire bool
	expire                                            int64
	// converts is the index that was found, before the change.
	converts *catalog.Index
}

// indexChangeArg reads the argument index of collMod: one index, and the new values of its options.
// Errors: TypeMismatch (14), BadValue (2), InvalidOptions (72), IDLUnknownField (40415).
func indexChangeArg(c *command.Call, name string, v bson.Value) (*indexChange, error) {
	d, err := c.DocArg(name, v)
	if err != nil {
		return nil, err
	}
	x := &indexChange{}
	err = c.ReadFields(name, d,
		arguments.String("name", &x.name).Given(&x.hasName),
		arguments.Doc("keyPattern", &x.key).Given(&x.hasKey),
		arguments.Bool("hidden", &x.hidden).Given(&x.hasHidden),
		arguments.Bool("prepareUnique", &x.prepareUnique).Given(&x.hasPrepareUnique),
		arguments.Bool("unique", &x.unique).Given(&x.hasUnique),
		arguments.Long("expireAfterSeconds", &x.expire).Given(&x.hasExpire),
	)
	x.expire = min(x.expire, math.MaxInt32)
	if err != nil {
		return nil, err
	}
	invalid := func(text string) (*indexChange, error) { return nil, mongoerr.New(mongoerr.InvalidOptions, text) }
	switch {
	case !x.hasName && !x.hasKey:
		return invalid("must specify either index name or key pattern")
	case x.hasName && x.hasKey:
		return invalid("can only specify one of index name or key pattern")
	case x.hasExpire && x.expire < 0:
		return invalid("TTL index 'expireAfterSeconds' option cannot be less than 0")
	case x.hasUnique && !x.unique:
		return nil, mongoerr.New(mongoerr.BadValue, "Cannot make index non-unique")
	}
	return x, nil
}

// changesMore reports whether an option other than unique is set.
func (x *indexChange) changesMore() bool {
	return x.hasHidden || x.hasPrepareUnique || x.hasExpire
}

// find looks the index up.
// Errors: IndexNotFound (27), AmbiguousIndexKeyPattern (181).
func (x *indexChange) find(coll *catalog.Collection) (*catalog.Index, error) {
	if x.hasName {
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

// prepareIndexChange checks a collMod's change against the index, and removes from the change the values of hidden,
// prepareUnique and unique that the index already has. done is true if the collMod changes nothing else, or after a dry
// run.
// Errors: InvalidOptions (72), BadValue (2), CannotConvertIndexToUnique (359), errors of find.
func prepareIndexChange(c *command.Call, ns collection.Namespace, coll *catalog.Collection, a *collModArgs) (done bool, err error) {
	x := a.index
	ix, err := x.find(coll)
	if err != nil {
		return false, err
	}
	x.name, x.key = ix.Name, nil
	if !x.hasHidden && !x.hasExpire && !x.hasPrepareUnique && !x.hasUnique {
		return false, mongoerr.New(mongoerr.InvalidOptions, "no expireAfterSeconds, hidden, unique, or prepareUnique field")
	}
	if x.hasHidden && ix.IsID() && coll.Options.Clustered {
		return false, mongoerr.New(6011800, "The 'hidden' option is not supported for a clusteredIndex")
	}
	if x.hasHidden && ix.IsID() {
		return false, mongoerr.New(mongoerr.BadValue, "can't hide _id index")
	}
	if x.hasExpire && (ix.IsID() || len(ix.Parts) != 1 || ix.Parts[0].Plugin == "wildcard" || ix.Parts[0].Plugin == "text") {
		return false, mongoerr.New(mongoerr.InvalidOptions, "TTL indexes are single-field indexes, compound indexes do not support TTL")
	}
	if x.hasPrepareUnique && x.prepareUnique != ix.PrepareUnique && (x.hasHidden || x.hasExpire || x.hasUnique) {
		return false, mongoerr.New(mongoerr.InvalidOptions, "cannot combine prepareUnique with any other modification")
	}
	if x.hasPrepareUnique && x.prepareUnique && coll.Sharded() && !coll.Key.IsPrefixOf(ix.Key) {
		return false, mongoerr.New(mongoerr.InvalidOptions, "Cannot prepare index %s of the sharded collection %s to be unique: it must begin with the shard key", ix.Name, ns)
	}
	if x.hasHidden && x.hidden == ix.Hidden {
		x.hasHidden = false
	}
	if x.hasPrepareUnique && x.prepareUnique == ix.PrepareUnique {
		x.hasPrepareUnique = false
	}
	if x.hasUnique && ix.Unique {
		x.hasUnique = false
	}
	if x.hasUnique && !ix.PrepareUnique {
		return false, mongoerr.New(mongoerr.InvalidOptions, "Cannot make index unique with 'unique: true' without first setting 'prepareUnique: true'")
	}
	x.converts = ix
	if a.dryRun {
		if !x.hasUnique {
			return true, nil
		}
		return true, dryRunUnique(c, ns, ix)
	}
	nothing := !x.hasHidden && !x.hasExpire && !x.hasPrepareUnique && !x.hasUnique
	if nothing {
		a.index = nil
	}
	return nothing && a.options.IsEmpty(), nil
}

// dryRunUnique refuses to make an index unique if documents have the same key in it, and writes nothing: for collMod
// with dryRun.
// Errors: CannotConvertIndexToUnique (359), errors of an aggregation.
func dryRunUnique(c *command.Call, ns collection.Namespace, ix *catalog.Index) error {
	found, err := violations(c, ns, ix)
	if err != nil || len(found.groups) == 0 {
		return err
	}
	return found.refuse()
}

// cannotConvert converts the error err of a collMod that makes an index unique: if documents have the same key, it
// returns an error that lists these documents, else err.
func (x *indexChange) cannotConvert(c *command.Call, ns collection.Namespace, err error) error {
	if !x.hasUnique || mongoerr.CodeOf(err) != mongoerr.DuplicateKey {
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
	if x.hasHidden {
		b.Bool("hidden", x.hidden)
	}
	if x.hasPrepareUnique {
		b.Bool("prepareUnique", x.prepareUnique)
	}
	if x.hasUnique {
		b.Bool("unique", true)
	}
	if x.hasExpire {
		b.Int("expireAfterSeconds", x.expire)
	}
	return b.Doc()
}

// report appends the old and the new values.
func (x *indexChange) report(b *bson.Builder, before, after *catalog.Index) {
	if x.hasExpire {
		if before.HasTTL {
			b.Int64("expireAfterSeconds_old", before.ExpireAfterSeconds)
		}
		b.Int64("expireAfterSeconds_new", after.ExpireAfterSeconds)
	}
	if x.hasHidden {
		b.Bool("hidden_old", before.Hidden)
		b.Bool("hidden_new", after.Hidden)
	}
	if x.hasPrepareUnique {
		b.Bool("prepareUnique_old", before.PrepareUnique)
		b.Bool("prepareUnique_new", after.PrepareUnique)
	}
	if x.hasUnique {
		b.Bool("unique_new", true)
	}
}
