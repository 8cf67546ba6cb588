package operations

import "github.com/cantledb/cantle/bson"

// Secrets reports which commands contain passwords or proofs of passwords.
type Secrets interface {
	IsSecret(command string) bool
}

// hidden replaces a secret value.
const hidden = "xxx"

// Redact returns a command for display in logs and currentOp: without passwords and proofs of passwords, also in
// commands that are nested in it at any depth. Of a command with secrets it shows only the fields that isHarmless
// lists, because a client may send the password under a mistyped field name. If secrets is nil, Redact hides nothing.
func Redact(body bson.Raw, secrets Secrets) bson.Raw {
	if secrets == nil || !holdsSecret(body, secrets) {
		return body
	}
	b := bson.NewBuilder(nil)
	redact(b, body, secrets)
	return b.Doc()
}

// isProof reports whether a field contains a password, or a proof of one, in every command.
func isProof(name string) bool {
	return name == "speculativeAuthenticate" || name == "credentials" || name == "pwd"
}

// holdsSecret reports whether a document or an array contains secrets.
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

// redact appends to b the fields of a document, or the values of an array, without the secrets.
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

// isHarmless reports whether a field of a command with secrets may be shown: the name of the command, the user to
// which it applies, and some generic fields.
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
