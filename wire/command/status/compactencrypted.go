package status

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/wire/arguments"
	"github.com/cantledb/cantle/wire/command"
)

// runCompactEncrypted accepts the compaction of the metadata collections of Queryable Encryption, which are always
// empty, because encrypted fields cannot be queried here. The client must still send a token for each encrypted
// field.
// Errors: InvalidNamespace (73), NamespaceNotFound (26), CommandNotSupportedOnView (166), 6346807, 7294900.
// Manual: reference/command/compactStructuredEncryptionData.
func runCompactEncrypted(c *command.Call) error {
	name, ok := c.Value.Str()
	if !ok || c.Value.Type != bson.TypeString {
		return mongoerr.New(mongoerr.InvalidNamespace, "collection name has invalid type %s", c.Value.Type)
	}
	if name == "" {
		return mongoerr.BadNamespace(c.DB + ".")
	}
	var tokens bson.Raw
	err := c.ReadArgs(
		arguments.Doc("compactionTokens", &tokens).Required(),
		arguments.Ignored("encryptionInformation", "anchorPaddingFactor"),
	)
	if err != nil {
		return err
	}
	for _, coll := range c.Cluster.Catalog().Collections(c.DB) {
		if coll.Namespace.Coll == name {
			if coll.IsView() {
				return mongoerr.ViewNotAllowed(coll.Namespace.String())
			}
			paths := coll.Options.EncryptedPaths()
			if len(paths) == 0 {
				return mongoerr.New(6346807, "Target namespace is not an encrypted collection")
			}
			for _, p := range paths {
				if !tokens.Has(p) {
					return mongoerr.New(7294900, "compactionTokens lacks a token for the encrypted path '%s'", p)
				}
			}
			b := c.Reply
			b.BeginDoc("stats")
			for section, counts := range [...][]string{{"read", "deleted"}, {"read", "inserted", "updated", "deleted"}} {
				b.BeginDoc([...]string{"ecoc", "esc"}[section])
				for _, n := range counts {
					b.Int64(n, 0)
				}
				b.End()
			}
			b.End()
			return nil
		}
	}
	return mongoerr.NoNamespace(c.DB + "." + name)
}
