package schema

import (
	"math"
	"strings"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/cosmos"
	"github.com/cantledb/cantle/collection/index"
	"github.com/cantledb/cantle/collection/match"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/wire/arguments"
	"github.com/cantledb/cantle/wire/command"
)

// Bounds of the size and of the number of documents of capped collections. Manual: reference/command/create.
const (
	cappedBytesMax = 1 << 50
	cappedDocsMax  = math.MaxInt32
)

// createOptions holds the checked arguments of create.
type createOptions struct {
	capped, hasCapped     bool
	size, max             int64
	hasSize, hasMax       bool
	viewOn                string
	hasViewOn             bool
	pipeline              bson.Raw // array body
	collation             *mql.Collation
	validator             bson.Raw
	level, action         string
	clustered             bson.Raw // as listCollections prints it
	hasClustered          bool
	timeseries            bson.Raw
	expire                int64
	hasExpire             bool
	images, hasImages     bool
	idIndex               bson.Raw
	storage, indexDefault bson.Raw
	shardKey, suffix      bson.Raw
	indexes               []bson.Raw
	encrypted             bson.Raw
}

// isView reports whether the create command creates a view, which it does with the option viewOn.
func (o *createOptions) isView() bool { return o.hasViewOn }

// parseCreate reads and checks the arguments.
func parseCreate(c *command.Call, ns collection.Namespace) (*createOptions, error) {
	o := &createOptions{}
	guard := func(rule cosmos.RuleID) func(bson.Value) error {
		return func(v bson.Value) error { return offered(c, rule, v) }
	}
	autoIndex := true
	err := c.ReadArgs(
		arguments.Bool("capped", &o.capped).Given(&o.hasCapped).Guard(guard(cosmos.CappedCollections)),
		arguments.Long("size", &o.size).Within(1, cappedBytesMax).Given(&o.hasSize),
		arguments.Long("max", &o.max).Given(&o.hasMax).Check(func() error {
			if o.max > cappedDocsMax {
				return mongoerr.New(mongoerr.BadValue, "max in a capped collection has to be < 2^31 or not set")
			}
			return nil
		}),
		arguments.Bool("autoIndexId", &autoIndex).Check(func() error {
			if !autoIndex {
				return mongoerr.New(mongoerr.InvalidOptions, "Collections must have an _id index: autoIndexId: false is not supported")
			}
			return nil
		}),
		arguments.StrictBool("temp", nil),
		arguments.StrictBool("recordIdsReplicated", nil),
		arguments.Truncated("flags", nil),
		arguments.String("viewOn", &o.viewOn).Given(&o.hasViewOn).Guard(guard(cosmos.Views)).Check(func() error {
			if o.viewOn == "" {
				return mongoerr.New(mongoerr.BadValue, "'viewOn' cannot be empty")
			}
			return nil
		}),
		arguments.By("pipeline", func(v bson.Value) (err error) { o.pipeline, err = pipelineArg(c, "pipeline", v); return err }),
		arguments.By("collation", func(v bson.Value) error { return o.readCollation(c, v) }),
		arguments.Doc("validator", &o.validator).Guard(guard(cosmos.Validators)).Check(func() error { return checkValidator(c, o.validator) }),
		arguments.Enum("validationLevel", &o.level, validationLevels...),
		arguments.Enum("validationAction", &o.action, validationActions...),
		arguments.By("clusteredIndex", func(v bson.Value) error { return o.readClustered(c, v) }).WithNull(),
		arguments.By("timeseries", func(v bson.Value) error { return o.readTimeseries(c, v) }),
		arguments.Long("expireAfterSeconds", &o.expire).Given(&o.hasExpire).Check(func() error { return checkExpire(c, o.expire) }),
		arguments.By("changeStreamPreAndPostImages", func(v bson.Value) (err error) {
			o.images, o.hasImages, err = imagesArg(c, "changeStreamPreAndPostImages", v)
			return err
		}),
		arguments.Doc("idIndex", &o.idIndex),
		arguments.Doc("storageEngine", &o.storage).Check(func() error { return checkStorageEngine(o.storage) }),
		arguments.By("indexOptionDefaults", func(v bson.Value) (err error) {
			o.indexDefault, err = indexDefaultsArg(c, "indexOptionDefaults", v)
			return err
		}),
		arguments.By("encryptedFields", func(v bson.Value) error { return o.readEncryptedFields(c, v) }),
		arguments.ShardKey("shardKey", &o.shardKey), // an argument of Azure Cosmos DB, accepted on all listeners
		arguments.Doc("suffix", &o.suffix),
		arguments.Docs("indexes", &o.indexes, index.SpecsMax),
	)
	o.shardKey, o.suffix = o.shardKey.Clone(), o.suffix.Clone()
	if err != nil {
		return nil, err
	}
	return o, checkCreate(c, ns, o)
}

// offered refuses an option of create, if its value v switches it on and a rule of the client's Cosmos DB account
// refuses it.
func offered(c *command.Call, rule cosmos.RuleID, v bson.Value) error {
	if !v.Truthy() {
		return nil
	}
	return c.Env().Cosmos.CheckRule(rule)
}

func (o *createOptions) readCollation(c *command.Call, v bson.Value) (err error) {
	if err := offered(c, cosmos.CollectionCollations, v); err != nil {
		return err
	}
	o.collation, err = collationArg(c, "collation", v)
	return err
}

func (o *createOptions) readClustered(c *command.Call, v bson.Value) (err error) {
	if err := offered(c, cosmos.ClusteredCollections, v); err != nil {
		return err
	}
	o.hasClustered = true
	o.clustered, err = clusteredArg(c, v)
	return err
}

func (o *createOptions) readTimeseries(c *command.Call, v bson.Value) (err error) {
	if err := offered(c, cosmos.TimeSeries, v); err != nil {
		return err
	}
	o.timeseries, err = timeseriesArg(c, "timeseries", v)
	return err
}

func (o *createOptions) readEncryptedFields(c *command.Call, v bson.Value) (err error) {
	if err := offered(c, cosmos.EncryptedFields, v); err != nil {
		return err
	}
	o.encrypted, err = encryptedFieldsArg(c, "encryptedFields", v)
	return err
}

var (
	validationLevels  = []string{"off", "moderate", "strict", catalog.LevelConstraint}
	validationActions = []string{"error", "warn", "errorAndLog"}
)

// pipelineArg reads the pipeline of a view definition, and returns it without null stages.
// Errors: TypeMismatch (14).
func pipelineArg(c *command.Call, name string, v bson.Value) (bson.Raw, error) {
	if v.IsMissing() {
		return nil, nil
	}
	list, ok := v.Array()
	if !ok {
		return nil, mongoerr.WrongType(c.Field(name), v.Type.String(), "array")
	}
	b := bson.NewArrayBuilder(nil)
	for it := list.Iter(); it.Next(); {
		switch it.Value.Type {
		case bson.TypeNull, bson.TypeUndefined:
		case bson.TypeDocument:
			b.Value("", it.Value)
		default:
			return nil, mongoerr.WrongType(c.Field(name+"."+string(it.Name)), it.Value.Type.String(), "object")
		}
	}
	return b.Doc(), nil
}

// collationArg reads an argument with a collation, nil if it is missing. An empty document is an error, because it
// has no locale.
func collationArg(c *command.Call, name string, v bson.Value) (*mql.Collation, error) {
	if v.IsMissing() {
		return nil, nil
	}
	if v.Type != bson.TypeDocument {
		return nil, mongoerr.WrongType(c.Field(name), v.Type.String(), "object")
	}
	return mql.ParseCollation(v)
}

// validatorDepthMax is the maximum depth of a validator. Observed: mongod 8.0.
const validatorDepthMax = 100

// checkValidator refuses an invalid validator, and operators in it that need more than the one document that is
// validated.
// Manual: core/schema-validation#restrictions.
// Errors: BadValue (2), Overflow (15), 5626500, errors of match.Parse.
func checkValidator(c *command.Call, v bson.Raw) error {
	if v.IsEmpty() {
		return nil
	}
	if v.Depth() > validatorDepthMax*2 {
		return mongoerr.New(mongoerr.Overflow, "Validator is nested too deeply")
	}
	if err := match.RefuseInValidator(v); err != nil {
		return err
	}
	_, err := match.Parse(c.Env().WithLateConstants(), v)
	return err
}

// checkExpire refuses an expireAfterSeconds, in seconds, that is negative or longer than the time since 1970.
// Errors: InvalidOptions (72).
func checkExpire(c *command.Call, seconds int64) error {
	switch {
	case seconds < 0:
		return mongoerr.New(mongoerr.InvalidOptions, "TTL index 'expireAfterSeconds' option cannot be less than 0")
	case seconds > math.MaxInt64/1000:
		return mongoerr.New(mongoerr.InvalidOptions, "TTL index 'expireAfterSeconds' option must be within an acceptable range, try a different number than %d", seconds)
	case seconds > c.Start.Unix():
		return mongoerr.New(mongoerr.InvalidOptions, "TTL index 'expireAfterSeconds' option must be within an acceptable range, must be less than the current time since epoch: %d", seconds)
	}
	return nil
}

// imagesArg reads changeStreamPreAndPostImages.
func imagesArg(c *command.Call, name string, v bson.Value) (enabled, given bool, err error) {
	d, err := c.DocArg(name, v)
	if err != nil || v.IsMissing() {
		return false, false, err
	}
	err = c.ReadFields(name, d, arguments.StrictBool("enabled", &enabled).Required())
	return enabled, true, err
}

// checkStorageEngine checks the option storageEngine. Valid options for WiredTiger are accepted without effect,
// because tools copy them from other servers.
// Errors: InvalidOptions (72), BadValue (2), FailedToParse (9), TypeMismatch (14).
func checkStorageEngine(d bson.Raw) error {
	for it := d.Iter(); it.Next(); {
		if string(it.Name) != "wiredTiger" {
			return mongoerr.New(mongoerr.InvalidOptions, "%s is not a registered storage engine for this server", it.Name)
		}
		options, ok := it.Value.Doc()
		if !ok {
			return mongoerr.New(mongoerr.BadValue, "'storageEngine.%s' has to be an embedded document.", it.Name)
		}
		for it := options.Iter(); it.Next(); {
			if string(it.Name) != "configString" {
				return mongoerr.New(mongoerr.InvalidOptions, "'%s' is not a supported option", it.Name)
			}
			text, ok := it.Value.Str()
			switch {
			case !ok:
				return mongoerr.New(mongoerr.TypeMismatch, "'configString' must be a string")
			case strings.ContainsRune(text, 0):
				return mongoerr.New(mongoerr.FailedToParse, "malformed 'configString' value.")
			}
			for _, part := range strings.Split(text, ",") {
				if key, _, _ := strings.Cut(strings.TrimSpace(part), "="); key != "" && !wiredTigerOptions[key] {
					return mongoerr.New(mongoerr.BadValue, "Unable to parse configString: unknown configuration key '%s'", key)
				}
			}
		}
	}
	return nil
}

// wiredTigerOptions holds the WiredTiger configuration keys that the option storageEngine may contain.
// Source: WiredTiger's documentation of WT_SESSION::create.
var wiredTigerOptions = map[string]bool{
	"access_pattern_hint": true, "allocation_size": true, "app_metadata": true, "block_allocation": true,
	"block_compressor": true, "cache_resident": true, "checksum": true, "dictionary": true, "internal_key_max": true,
	"internal_page_max": true, "key_format": true, "leaf_key_max": true, "leaf_page_max": true, "leaf_value_max": true,
	"log": true, "memory_page_max": true, "os_cache_max": true, "prefix_compression": true, "split_pct": true,
	"type": true, "value_format": true,
}

// indexDefaultsArg reads indexOptionDefaults.
func indexDefaultsArg(c *command.Call, name string, v bson.Value) (bson.Raw, error) {
	d, err := c.DocArg(name, v)
	if err != nil || d.IsEmpty() {
		return nil, err
	}
	var engine bson.Raw
	return d, c.ReadFields(name, d,
		arguments.Doc("storageEngine", &engine).Check(func() error { return checkStorageEngine(engine) }),
	)
}
