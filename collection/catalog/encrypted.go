package catalog

import (
	"strings"

	"github.com/cantledb/cantle/bson"
)

// EncryptedPaths returns the paths of the fields whose values clients encrypt, from the option encryptedFields of a
// collection. Manual: core/queryable-encryption.
func (o *Options) EncryptedPaths() (paths []string) {
	config, _ := o.Raw.Get("encryptedFields").Doc()
	list, _ := config.Get("fields").Array()
	for v := range list.Values() {
		if d, ok := v.Doc(); ok {
			p, _ := d.Get("path").Str()
			paths = append(paths, p)
		}
	}
	return paths
}

// withEncryption adds to a validator the condition that the values of encrypted fields arrive encrypted.
func (o *Options) withEncryption(validator bson.Raw) bson.Raw {
	paths := o.EncryptedPaths()
	if len(paths) == 0 {
		return validator
	}
	b := bson.NewBuilder(nil)
	b.BeginArray("$and")
	if !validator.IsEmpty() {
		b.Raw("", validator)
	}
	for _, p := range paths {
		b.BeginDoc("")
		b.BeginDoc("$jsonSchema")
		names := strings.Split(p, ".")
		for _, n := range names {
			b.BeginDoc("properties")
			b.BeginDoc(n)
		}
		b.BeginDoc("encrypt")
		b.End()
		for range names {
			b.End()
			b.End()
		}
		b.End()
		b.End()
	}
	b.End()
	return b.Doc()
}
