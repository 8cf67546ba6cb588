package operations

import "github.com/cantledb/cantle/bson"

// Secrets says which commands carry passwords or proofs of them.
type Secrets interface {
	IsSecret(command string) bool
}

// hidden stands for a value that nobody else sees.
const hidden = "xxx"

// Redact is a command as somebody else may see it: without passwords and proofs of them, also in
// commands that are in it, at whatever depth. Of a command that carries such, only what is known
// to be harmless is shown: who mistypes a field has put the password under another name.
func Redact(body bson.Raw, secrets Secrets) bson.Raw {
	if secrets == nil || !holdsSecret(body, secrets) {
		return body
	}
	b := bson.NewBuilder(nil)
	redact(b, body, secrets)
	return b.Doc()
}

// isProof reports whether a field holds a password, or a proof of one, in whatever command.
func isProof(name string) bool {
	return name == "speculativeAuthenticate" || name == "credentials" || name == "pwd"
}

// holdsSecret reports whether there is something to hide in a document or an array.
func holdsSecret(d bson.Raw, secrets Secrets) bool {
	for it := d.Iter(); it.Next(); {
		if isProof(string(it.Name)) || secrets.IsSecret(string(it.Name)) {
			return true
		}
		if t := it.Value.Type; (t == bson.TypeDocument || t == bson.TypeArray) && holdsSecret(bson.Raw(it.Value.Data), secrets) {
			return true
		}
	}
	return false
}

// redact appends the fields of a document, or the values of an array.
func redact(b *bson.Builder, d bson.Raw, secrets Secrets) {
	secret := false
	for it := d.Iter(); it.Next(); {
		secret = secret || secrets.IsSecret(string(it.Name))
	}
	for it := d.Iter(); it.Next(); {
		name := string(it.Name)
		switch t := it.Value.Type; {
		case isProof(name) || secret && !isHarmless(name, it.Value, secrets):
			b.String(name, hidden)
		case t == bson.TypeDocument:
			b.BeginDoc(name)
			redact(b, bson.Raw(it.Value.Data), secrets)
			b.End()
		case t == bson.TypeArray:
			b.BeginArray(name)
			redact(b, bson.Raw(it.Value.Data), secrets)
			b.End()
		default:
			b.ValueBytes(it.Name, it.Value)
		}
	}
}

// isHarmless reports whether a field of a command with secrets has none: its name, whom it is
// about, and what every command may have.
func isHarmless(name string, v bson.Value, secrets Secrets) bool {
	switch name {
	case "$db", "db", "user", "mechanism":
		_, ok := v.Str()
		return ok
	case "lsid", "$clusterTime", "txnNumber", "maxTimeMS", "conversationId", "digestPassword", "writeConcern", "ok":
		_, text := v.Str()
		return !text
	}
	_, named := v.Str()
	_, number := v.AsFloat()
	return (named || number) && secrets.IsSecret(name)
}
