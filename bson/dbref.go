package bson

// IsDBRefField reports whether a name that begins with a dollar sign is one of the fields of a DBRef: $ref, $id or $db.
// Documents, paths and expressions may have these names where others with a dollar sign are refused.
// Manual: reference/database-references#dbrefs.
func IsDBRefField(name string) bool { return name == "$ref" || name == "$id" || name == "$db" }

// DollarField returns the name of the first field within v, at any depth, that begins with a dollar sign and is not one of
// a DBRef: a document that begins with $ref, a string, and $id, and may continue with $db, a string. ok is false if
// there is none.
func DollarField(v Value) (name string, ok bool) {
	if v.Type != TypeDocument && v.Type != TypeArray {
		return "", false
	}
	at := 0
	ref := false
	for it := Raw(v.Data).Iter(); it.Next(); at++ {
		if len(it.Name) > 0 && it.Name[0] == '$' {
			switch text := it.Value.Type == TypeString; string(it.Name) {
			case "$ref":
				ref = at == 0 && text
			case "$id":
				ref = ref && at == 1
			case "$db":
				ref = ref && at == 2 && text
			default:
				ref = false
			}
			if !ref {
				return string(it.Name), true
			}
		}
		if name, ok := DollarField(it.Value); ok {
			return name, true
		}
	}
	if ref && at == 1 { // $ref without $id
		return "$ref", true
	}
	return "", false
}
