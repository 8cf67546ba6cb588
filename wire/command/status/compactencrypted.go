package status

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/wire/command"
)

// runCompactEncrypted compacts what Queryable Encryption keeps beside a
// collection; no collection has it here.
// Manual: reference/command/compactStructuredEncryptionData.
func runCompactEncrypted(c *command.Call) error {
	name, ok := c.Value.Str()
	if !ok || c.Value.Type != bson.TypeString {
		return mongoerr.New(mongoerr.InvalidNamespace, "collection name has invalid type %s", c.Value.Type)
	}
	if name == "" {
		return mongoerr.BadNamespace(c.DB + ".")
	}
	tokens := false
	err := c.Each(func(name string, v bson.Value) (bool, error) {
		var err error
		switch name {
		case "compactionTokens":
			tokens = !v.IsMissing()
			_, err = c.DocArg(name, v)
		case "encryptionInformation", "anchorPaddingFactor":
		default:
			return false, nil
		}
		return true, err
	})
	if err == nil && !tokens {
		err = mongoerr.MissingField(c.Field("compactionTokens"))
	}
	if err != nil {
		return err
	}
	for _, coll := range c.Cluster.Catalog.Peek().Collections(c.DB) {
		if coll.Namespace.Coll == name {
			if coll.IsView() {
				return mongoerr.ViewNotAllowed(coll.Namespace.String())
			}
			return mongoerr.New(6346807, "Target namespace is not an encrypted collection")
		}
	}
	return mongoerr.NoNamespace(c.DB + "." + name)
}
