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

// Bounds of capped collections. Manual: reference/command/create.
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

// isView reports whether the command creates a view.
func (o *createOptions) isView() bool { return o.hasViewOn }

// parseCreate reads and checks the arguments.
func parseCreate(c *command.Call, ns collection.Namespace) (*createOptions, error) {
	o := &createOptions{}
	err := c.Each(func(name string, v bson.Value) (bool, error) { return createOption(c, o, name, v) })
	if err != nil {
		return nil, err
	}
	return o, checkCreate(c, ns, o)
}

// accountRules maps options of create to the rules by which an account of Azure Cosmos DB refuses them.
var accountRules = map[string]cosmos.RuleID{
	"capped": cosmos.CappedCollections, "clusteredIndex": cosmos.ClusteredCollections, "collation": cosmos.CollectionCollations,
	"encryptedFields": cosmos.EncryptedFields, "timeseries": cosmos.TimeSeries, "validator": cosmos.Validators, "viewOn": cosmos.Views,
}

// createOption reads one argument.
func createOption(c *command.Call, o *createOptions, name string, v bson.Value) (known bool, err error) {
	known = true
	if rule, ok := accountRules[name]; ok && v.Truthy() {
		if err := c.Env().Cosmos.CheckRule(rule); err != nil {
			return true, err
		}
	}
	switch name {
	case "capped", "size", "max":
		err = cappedOption(c, o, name, v)
	case "autoIndexId":
		var yes bool
		if yes, err = c.BoolArg(name, v); err == nil && !v.IsMissing() && !yes {
			err = mongoerr.New(mongoerr.InvalidOptions, "Collections must have an _id index: autoIndexId: false is not supported")
		}
	case "temp", "recordIdsReplicated":
		_, err = c.StrictBool(name, v)
	case "flags":
		_, err = c.IntArg(name, v)
	case "viewOn":
		o.hasViewOn = !v.IsMissing()
		if o.viewOn, err = c.StringArg(name, v); err == nil && o.hasViewOn && o.viewOn == "" {
			err = mongoerr.New(mongoerr.BadValue, "'viewOn' cannot be empty")
		}
	case "pipeline":
		o.pipeline, err = pipelineArg(c, name, v)
	case "collation":
		o.collation, err = collationArg(c, name, v)
	case "validator":
		if o.validator, err = c.DocArg(name, v); err == nil {
			err = checkValidator(c, o.validator)
		}
	case "validationLevel":
		o.level, err = c.EnumArg(name, v, validationLevels...)
	case "validationAction":
		o.action, err = c.EnumArg(name, v, validationActions...)
	case "clusteredIndex":
		o.hasClustered = true
		o.clustered, err = clusteredArg(c, v)
	case "timeseries":
		o.timeseries, err = timeseriesArg(c, name, v)
	case "expireAfterSeconds":
		o.hasExpire = !v.IsMissing()
		if o.expire, err = c.LongArg(name, v); err == nil {
			err = checkExpire(c, o.expire)
		}
	case "changeStreamPreAndPostImages":
		o.images, o.hasImages, err = imagesArg(c, name, v)
	case "idIndex":
		o.idIndex, err = c.DocArg(name, v)
	case "storageEngine":
		if o.storage, err = c.DocArg(name, v); err == nil {
			err = checkStorageEngine(o.storage)
		}
	case "indexOptionDefaults":
		o.indexDefault, err = indexDefaultsArg(c, name, v)
	case "encryptedFields":
		o.encrypted, err = encryptedFieldsArg(c, name, v)
	case "shardKey": // an argument of Azure Cosmos DB, accepted on all listeners
		if o.shardKey, err = c.ShardKeyArg(name, v); err == nil {
			o.shardKey = o.shardKey.Clone()
		}
	case "suffix":
		if o.suffix, err = c.DocArg(name, v); err == nil {
			o.suffix = o.suffix.Clone()
		}
	case "indexes":
		if !v.IsMissing() {
			o.indexes, err = c.DocArray(name, v, index.SpecsMax)
		}
	default:
		known = false
	}
	return known, err
}

// cappedOption reads one of the options of a capped collection.
func cappedOption(c *command.Call, o *createOptions, name string, v bson.Value) (err error) {
	switch name {
	case "capped":
		o.hasCapped = !v.IsMissing()
		o.capped, err = c.BoolArg(name, v)
	case "size":
		o.hasSize = !v.IsMissing()
		if o.size, err = c.LongArg(name, v); err == nil && o.hasSize {
			err = arguments.Between(name, o.size, 1, cappedBytesMax)
		}
	case "max":
		o.hasMax = !v.IsMissing()
		if o.max, err = c.LongArg(name, v); err == nil && o.max > cappedDocsMax {
			err = mongoerr.New(mongoerr.BadValue, "max in a capped collection has to be < 2^31 or not set")
		}
	}
	return err
}

var (
	validationLevels  = []string{"off", "moderate", "strict", catalog.LevelConstraint}
	validationActions = []string{"error", "warn", "errorAndLog"}
)

// pipelineArg reads the stages of a view definition; null stages are dropped.
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

// collationArg reads a collation document. An empty document is an error, because it has no locale.
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

// checkValidator parses a validator, and refuses operators that need more than the document.
// Manual: core/schema-validation#restrictions.
// Errors: BadValue (2), 5626500, those of match.Parse.
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
	_, err := match.Parse(c.Env(), v)
	return err
}

// checkExpire bounds a time to live: it must not be negative, and not exceed the time since 1970.
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
	has := false
	err = arguments.EachField(d, c.Field(name), func(field string, v bson.Value) (bool, error) {
		if field != "enabled" {
			return false, nil
		}
		has = !v.IsMissing()
		enabled, err = c.StrictBool(name+"."+field, v)
		return true, err
	})
	if err == nil && !has {
		err = mongoerr.MissingField(c.Field(name + ".enabled"))
	}
	return enabled, true, err
}

// checkStorageEngine accepts options for WiredTiger without effect, because tools copy them from other
// servers.
// Errors: InvalidOptions (72), BadValue (2), FailedToParse (9).
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

// wiredTigerOptions are configuration keys that are in use.
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
	return d, arguments.EachField(d, c.Field(name), func(field string, v bson.Value) (bool, error) {
		if field != "storageEngine" {
			return false, nil
		}
		engine, err := c.DocArg(name+"."+field, v)
		if err == nil {
			err = checkStorageEngine(engine)
		}
		return true, err
	})
}
