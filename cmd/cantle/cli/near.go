package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/serve/flags"
)

// checkCollection returns an error for a collection that does not exist, with the name in its database that is
// nearest. If the user may not list the collections, it returns nil.
func checkCollection(ctx context.Context, uri, verb, db, coll string) error {
	s, err := connect(uri, verb)
	if err != nil {
		return err
	}
	defer s.close()
	var names []string
	found := false
	take := func(d bson.Raw) bool {
		name, _ := d.Get("name").Str()
		names = append(names, name)
		found = found || name == coll
		return !found
	}
	list := bson.D{{"listCollections", 1}, {"nameOnly", true}, {"authorizedCollections", true}}.Doc()
	err = s.eachDocument(ctx, db, "$cmd.listCollections", list, take)
	var refused *refusedError
	switch {
	case errors.As(err, &refused) || err == nil && found:
		return nil
	case err != nil:
		return err
	}
	hint := "no commands on it have been recorded"
	if near := flags.Nearest(coll, names); near != "" {
		hint = fmt.Sprintf("did you mean %s.%s?", db, near)
	}
	return fmt.Errorf("%s.%s does not exist; %s", db, coll, hint)
}
