package status

import (
	"github.com/cantledb/cantle/bson"
)

// versionDocs returns the documents of admin.system.version.
func (s *State) versionDocs() []bson.Raw {
	b := bson.NewBuilder(nil)
	b.String("_id", "featureCompatibilityVersion")
	b.String("version", s.FeatureVersion())
	return []bson.Raw{b.Doc()}
}

// startupDocs returns the documents of local.startup_log: only of this start.
func (s *State) startupDocs() []bson.Raw {
	b := bson.NewBuilder(nil)
	b.String("_id", "cantle-"+s.Started.UTC().Format("20060102T150405.000"))
	b.DateTime("startTime", s.Started.UnixMilli())
	b.String("startTimeLocal", s.Started.Format("Mon Jan _2 15:04:05.000"))
	b.BeginDoc("cmdLine")
	b.End()
	b.BeginDoc("buildinfo")
	b.String("version", s.Release.Version())
	b.End()
	return []bson.Raw{b.Doc()}
}
