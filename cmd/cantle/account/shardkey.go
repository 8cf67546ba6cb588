package account

import (
	"fmt"
	"strings"

	"github.com/cantledb/cantle/bson"
)

// ShardKeys are the shard keys of the flags of a restore: by namespace of the dump, and "" for all.
type ShardKeys map[string]bson.Raw

// Set reads "field", or "database.collection=field"; several fields, divided by commas, make a
// hierarchical key. Errors: a text that is neither.
func (k ShardKeys) Set(text string) error {
	ns, fields, named := strings.Cut(text, "=")
	if !named {
		ns, fields = "", text
	}
	if named && !strings.Contains(ns, ".") {
		return fmt.Errorf("%s is not a database and a collection, as in shop.orders=customer", ns)
	}
	key := bson.D{}
	for _, f := range strings.Split(fields, ",") {
		if f = strings.TrimSpace(f); f == "" {
			return fmt.Errorf("%q has a field without a name", text)
		}
		key = append(key, bson.E{f, "hashed"})
	}
	k[ns] = key.Doc()
	return nil
}

// Of returns the key for a collection of the dump, nil for none.
func (k ShardKeys) Of(ns string) bson.Raw {
	if key, ok := k[ns]; ok {
		return key
	}
	return k[""]
}
