package access

import "github.com/cantledb/cantle/bson"

// userDocs returns the documents of admin.system.users.
// Manual: reference/system-users-collection, reference/system-roles-collection.
func (s *State) userDocs() (docs []bson.Raw) {
	for _, u := range s.Auth.Users("") {
		docs = append(docs, u.Doc())
	}
	return docs
}

// roleDocs returns the documents of admin.system.roles.
func (s *State) roleDocs() (docs []bson.Raw) {
	for _, r := range s.Auth.Roles("") {
		docs = append(docs, r.Doc())
	}
	return docs
}
