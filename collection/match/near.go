package match

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/path"
)

func (p *parser) near(path.Path, bson.Raw) (Node, bool, error) { return nil, false, nil }

// Near is a placeholder.
type Near struct{ Leaf }
