package account

import (
	"fmt"
	"strings"

	"github.com/cantledb/cantle/bson"
)

// ShardKeys holds the shard keys that the flags --shard-key of a restore set: by namespace in the dump; "" stands for
// all other collections.
type ShardKeys map[string]bson.Raw

// Set adds the shard key of a flag --shard-key: "field" for all collections, or "database.collection=field" for one.
// Several fields, separated by commas, make a hierarchical key.
// Errors: a text of another form.
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

// Of returns the shard key that the flags set for a collection of the dump, nil for none.
func (k ShardKeys) Of(ns string) bson.Raw {
	if key, ok := k[ns]; ok {
		return key
	}
	return k[""]
}
