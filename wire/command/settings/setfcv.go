package settings

import (
	"slices"
	"strings"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/wire/arguments"
	"github.com/cantledb/cantle/wire/command"
)

// runSetFCV sets and stores the feature compatibility version: the server's release, or an earlier release. Both need
// confirm: true. With dryRun it only checks the request: no data can conflict with a version.
// command.Server.FeatureVersion describes the effect.
// Manual: reference/command/setFeatureCompatibilityVersion.
// Errors: 4926900, 7369100, errors of the arguments and of the store.
func (s *State) runSetFCV(c *command.Call) error {
	field := c.Field(c.Name())
	if c.Value.IsNullish() {
		return mongoerr.MissingField(field)
	}
	version, ok := c.Value.Str()
	if !ok || c.Value.Type != bson.TypeString {
		return mongoerr.WrongType(field, c.Value.Type.String(), "string")
	}
	confirm, dry := false, false
	err := c.ReadArgs(
		arguments.Bool("confirm", &confirm),
		arguments.Bool("dryRun", &dry),
		arguments.Ignored("fromConfigServer", "phase", "changeTimestamp", "downgradeOnDiskChanges"),
	)
	if err != nil {
		return err
	}
	low, high := s.Release.LowerFeatures(), s.Release.String()
	switch {
	case version != high && !slices.Contains(low, version):
		return mongoerr.New(4926900, "Invalid value for featureCompatibilityVersion, found %s, expected '%s' or '%s'", version, strings.Join(low, "', '"), high)
	case dry:
		return nil
	case !confirm && version == high:
		return mongoerr.New(7369100, "Once you have upgraded to %s, you will not be able to downgrade FCV and binary version without support assistance. "+
			"Please re-run this command with 'confirm: true' to acknowledge this and continue with the FCV upgrade.", version)
	case !confirm:
		return mongoerr.New(7369100, "Once you have downgraded the FCV to %s, a downgrade of the binary version needs support assistance. "+
			"Please re-run this command with 'confirm: true' to acknowledge this and continue with the FCV downgrade.", version)
	}
	return s.fcv.Change(c.Ctx, func() (bson.Raw, error) {
		b := bson.NewBuilder(nil)
		b.String("version", version)
		return b.Doc(), nil
	})
}

// lower sets the feature compatibility version, if it is earlier than the server's release; otherwise the version is
// that release again.
func (s *State) lower(version string) {
	s.Lowered.Store(nil)
	if slices.Contains(s.Release.LowerFeatures(), version) {
		version = strings.Clone(version)
		s.Lowered.Store(&version)
	}
}

// fcvName is the name of the stored setting.
const fcvName = "featureCompatibilityVersion"

// applyFCV applies the stored feature compatibility version. It ignores a version that this release does not offer,
// because the server presented itself as another release when that version was set.
func (s *State) applyFCV(doc bson.Raw) {
	version, _ := doc.Get("version").Str()
	s.lower(version)
}
