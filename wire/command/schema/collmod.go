package schema

import (
	"strings"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/agg"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/shard/ddl"
	"github.com/cantledb/cantle/wire/arguments"
	"github.com/cantledb/cantle/wire/command"
)

// collModArgs holds the arguments of collMod.
type collModArgs struct {
	set     *bson.Builder // options, with the names of create
	options bson.Raw      // set, once all arguments are read
	index   *indexChange
	dryRun  bool
	capped  bool // cappedSize or cappedMax was given
	// cap has the options of a capped collection.
	cap    *bson.Builder
	images bool
	expire bool
	// expireSeconds is the time to live, 0 for none.
	expireSeconds int64
	series        *seriesChange
	validator     bson.Raw
	validates     bool // any option of validation was given
	viewOn        string
	pipeline      bson.Raw

	ns      collection.Namespace
	view    bool         // the collection is a view, and its definition is changed
	outline *agg.Outline // of the view's new pipeline
}

// parseCollMod reads the arguments of collMod.
func parseCollMod(c *command.Call) (command.Request, error) {
	a := &collModArgs{set: bson.NewBuilder(nil), cap: bson.NewBuilder(nil)}
	var err error
	if a.ns, err = c.Namespace(); err != nil {
		return nil, err
	}
	if err := a.read(c); err != nil {
		return nil, err
	}
	coll := c.Cluster.Catalog().Collection(a.ns)
	if a.view = coll != nil && coll.IsView() && (a.viewOn != "" || a.pipeline != nil); a.view {
		if a.viewOn == "" {
			a.viewOn = coll.Options.ViewOn
		}
		if a.pipeline == nil {
			a.pipeline, _ = coll.Options.Raw.Get("pipeline").Array()
		}
		a.outline = c.OutlineOf(a.pipeline)
	}
	return a, nil
}

// Needs notes the privileges for the new definition of a view, if the collMod changes a view; the privilege collMod
// is in the row.
func (a *collModArgs) Needs(q *command.PrivilegeCheck) {
	if a.view {
		viewNeeds(q, a.ns, a.viewOn, a.outline)
	}
}

// Run answers collMod. Manual: reference/command/collMod.
func (a *collModArgs) Run(c *command.Call) error {
	ns := a.ns
	if err := c.Cluster.CheckExpected(&c.Op); err != nil {
		return err
	}
	coll := c.Cluster.Catalog().Collection(ns)
	if coll == nil && a.capped && ns.DB == "local" && strings.HasPrefix(ns.Coll, "oplog.") {
		return mongoerr.New(mongoerr.InvalidOptions, "The size of the oplog cannot be changed by collMod: %s", ns)
	}
	if coll == nil {
		return mongoerr.New(mongoerr.NamespaceNotFound, "ns does not exist: %s", ns)
	}
	if err := checkCollMod(c, ns, coll, a); err != nil {
		return err
	}
	if a.series != nil {
		if err := a.series.apply(coll, a); err != nil {
			return err
		}
	}
	if coll.Options.Capped { // for other collections they were refused or have no effect
		a.set.Splice(a.cap.Doc().Elements())
	}
	a.options = a.set.Doc()
	if a.dryRun && (!a.options.IsEmpty() || a.index.changesMore()) {
		return mongoerr.New(mongoerr.InvalidOptions, "'dryRun' is only supported for the conversion of an index to a unique one: leave out the other options, which it would not try")
	}
	constrains, err := a.constrains(coll)
	if err != nil {
		return err
	}
	mod := ddl.CollMod{Options: a.options}
	if a.index != nil {
		done, err := prepareIndexChange(c, ns, coll, a)
		if err != nil || done {
			return err
		}
		mod.IndexName, mod.IndexKey, mod.IndexOptions = a.index.name, a.index.key, a.index.document()
	}
	changed, err := c.Server.DDL.CollMod(&c.Op, ns, mod)
	if err != nil && a.index != nil {
		err = a.index.cannotConvert(c, ns, err)
	}
	if err != nil {
		return err
	}
	if constrains {
		if err := confirmConstraint(c, coll); err != nil {
			return err
		}
	}
	if changed.Before != nil {
		a.index.report(c.Reply, changed.Before, changed.After)
	}
	return nil
}

// read reads the arguments of a collMod. It appends the changed options of the collection to a.set, those of a capped
// collection to a.cap, and keeps the changes of an index or time series in a.index and a.series.
func (a *collModArgs) read(c *command.Call) error {
	var level, action bool
	capped := func(name string) arguments.Arg {
		return arguments.By(name, func(v bson.Value) error { return cappedArg(c, a, name, v) })
	}
	copied := func(name string, words []string, given *bool) arguments.Arg {
		return arguments.By(name, func(v bson.Value) error {
			_, err := c.EnumArg(name, v, words...)
			a.set.Value(name, v)
			return err
		}).Given(given)
	}
	var validator bool
	err := c.ReadArgs(
		arguments.By("index", func(v bson.Value) (err error) { a.index, err = indexChangeArg(c, "index", v); return err }),
		arguments.Doc("validator", &a.validator).Given(&validator).Check(func() error { return a.setValidator(c) }),
		copied("validationLevel", validationLevels, &level),
		copied("validationAction", validationActions, &action),
		arguments.String("viewOn", &a.viewOn).Check(a.setViewOn),
		arguments.By("pipeline", func(v bson.Value) (err error) {
			if a.pipeline, err = pipelineArg(c, "pipeline", v); err == nil {
				a.set.Array("pipeline", a.pipeline)
			}
			return err
		}),
		capped("cappedSize"),
		capped("cappedMax"),
		arguments.By("expireAfterSeconds", func(v bson.Value) error { return expireArg(c, a, "expireAfterSeconds", v) }).WithNull(),
		arguments.By("changeStreamPreAndPostImages", func(v bson.Value) error { return a.readImages(c, v) }),
		arguments.By("timeseries", func(v bson.Value) (err error) { a.series, err = seriesChangeArg(c, "timeseries", v); return err }),
		arguments.Bool("dryRun", &a.dryRun),
		c.ExpectUUID(a.ns),
		arguments.Bool("isTimeseriesNamespace", nil),
	)
	a.validates = validator || level || action
	return err
}

// setValidator checks the new validator of a collMod and adds it to the changed options; an empty one removes the
// collection's validator.
func (a *collModArgs) setValidator(c *command.Call) error {
	if err := checkValidator(c, a.validator); err != nil {
		return err
	}
	if a.validator.IsEmpty() {
		a.set.Null("validator")
	} else {
		a.set.Raw("validator", a.validator)
	}
	return nil
}

// setViewOn adds viewOn to the options. Errors: BadValue (2).
func (a *collModArgs) setViewOn() error {
	if a.viewOn == "" {
		return mongoerr.New(mongoerr.BadValue, "'viewOn' option cannot be empty")
	}
	a.set.String("viewOn", a.viewOn)
	return nil
}

// readImages reads changeStreamPreAndPostImages.
func (a *collModArgs) readImages(c *command.Call, v bson.Value) (err error) {
	const name = "changeStreamPreAndPostImages"
	var on bool
	if on, a.images, err = imagesArg(c, name, v); err != nil {
		return err
	}
	if on {
		a.set.Raw(name, enabledDoc())
	} else {
		a.set.Null(name)
	}
	return nil
}

// enabledDoc returns {enabled: true}.
func enabledDoc() bson.Raw {
	b := bson.NewBuilder(nil)
	b.Bool("enabled", true)
	return b.Doc()
}

// cappedArg reads cappedSize and cappedMax.
func cappedArg(c *command.Call, a *collModArgs, name string, v bson.Value) error {
	n, err := c.LongArg(name, v)
	if err != nil {
		return err
	}
	a.capped = true
	if name == "cappedSize" {
		if err := arguments.Between(name, n, 1, cappedBytesMax); err != nil {
			return err
		}
		a.cap.Int("size", (n+255)/256*256)
		return nil
	}
	switch {
	case n >= cappedDocsMax+1:
		return mongoerr.OutOfRange(name, n, "<", cappedDocsMax+1)
	case n <= 0:
		a.cap.Null("max")
	default:
		a.cap.Int("max", n)
	}
	return nil
}

// expireArg reads the time to live of a collection, or "off".
func expireArg(c *command.Call, a *collModArgs, name string, v bson.Value) error {
	if v.IsMissing() { // null is an error here, although elsewhere it counts as absent
		return mongoerr.WrongType(c.Field(name), bson.TypeNull.String(), "string", "long", "int", "decimal", "double")
	}
	a.expire = true
	if s, ok := v.Str(); ok && v.Type == bson.TypeString {
		if s != "off" {
			return mongoerr.New(mongoerr.InvalidOptions, "Invalid string value for the 'clusteredIndex::expireAfterSeconds' option. Got: '%s'. Accepted value is 'off'", s)
		}
		a.set.Null(name)
		return nil
	}
	n, ok := arguments.RoundedLong(v)
	if !ok {
		return mongoerr.WrongType(c.Field(name), v.Type.String(), "string", "long", "int", "decimal", "double")
	}
	a.expireSeconds = n
	a.set.Int64(name, n)
	if n < 0 || n > 1<<53 {
		return checkExpire(c, n)
	}
	return nil
}

// checkCollMod refuses options of a collMod that its collection cannot have, such as an index option on a view.
// Errors: InvalidOptions (72), NamespaceNotFound (26) for a view that was created after its arguments were read,
// errors of checkView.
func checkCollMod(c *command.Call, ns collection.Namespace, coll *catalog.Collection, a *collModArgs) error {
	invalid := func(format string, args ...any) error { return mongoerr.New(mongoerr.InvalidOptions, format, args...) }
	switch {
	case a.index != nil && coll.IsView():
		return invalid("option not supported on a view: index")
	case a.capped && !coll.Options.Capped && a.series == nil:
		return invalid("Collection %s is not capped", ns)
	case a.images && coll.IsView():
		return invalid("option not supported on a view: changeStreamPreAndPostImages")
	case a.expire && coll.Options.TimeSeries != nil && a.expireSeconds > c.Start.Unix():
		return checkExpire(c, a.expireSeconds)
	case a.expire && !coll.Options.Clustered && coll.Options.TimeSeries == nil:
		return invalid("'expireAfterSeconds' is only supported on time-series collections and those clustered by _id")
	case coll.Options.TimeSeries != nil && a.validates:
		return invalid("option not supported on a time-series collection: validator")
	case coll.Options.TimeSeries != nil && a.images:
		return invalid("option not supported on a time-series collection: changeStreamPreAndPostImages")
	case a.series != nil && coll.Options.TimeSeries == nil:
		return invalid("option only supported on a time-series collection: timeseries")
	case a.dryRun && (a.index == nil || !a.index.hasUnique):
		return invalid("'dryRun' is only supported for the conversion of an index to a unique one")
	}
	if err := checkValidated(ns, a.validator); err != nil && a.validator != nil {
		return err
	}
	if coll.IsView() && !a.view && (a.viewOn != "" || a.pipeline != nil) { // the view was created after the arguments were read
		return mongoerr.New(mongoerr.NamespaceNotFound, "ns does not exist: %s", ns)
	}
	if a.view {
		return checkView(c, ns, a.viewOn, a.pipeline, a.outline)
	}
	return nil
}
