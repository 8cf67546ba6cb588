package lint

import (
	"github.com/cantledb/cantle/bson"
)

// JSON returns the findings that Print prints, for programs, and the number of features that the account refuses.
func (l *Linter) JSON() (doc bson.Raw, refused int) {
	list := bson.A{}
	features := map[feature]bool{}
	for _, f := range l.sorted() {
		features[f.feature] = true
		r := f.kind.Find(f.name)
		e := f.kind.Refusal(f.name, r)
		one := bson.D{{"in", f.location.in}}
		if f.location.line > 0 {
			one = append(one, bson.E{"line", f.location.line})
		}
		list = append(list, append(one, bson.E{"times", f.times}, bson.E{"basis", string(f.basis)}, bson.E{"feature", f.name}, bson.E{"kind", f.kind.String()},
			bson.E{"availableWith", enabledBy(r)}, bson.E{"code", int32(e.Code)}, bson.E{"error", e.Msg}))
	}
	return bson.D{{"account", l.Account()}, {"refusedFeatures", len(features)}, {"findings", list},
		{"checked", bson.D{{"commands", l.looked.commands}, {"sourceFiles", l.looked.files}, {"collections", l.looked.collections}}}}.Doc(), len(features)
}
