package settings

import (
	"slices"
	"strings"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/wire/arguments"
	"github.com/cantledb/cantle/wire/command"
)

// runSetFCV sets the feature compatibility version: to the server's release, or down to an earlier release
// and back. Both need confirm. The version is stored. With dryRun only the request is checked, because no
// data can conflict with a version; command.Server.FeatureVersion describes the effect.
// Manual: reference/command/setFeatureCompatibilityVersion.
// Errors: 4926900, 7369100, those of the arguments and of the store.
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

// lower lowers the version, if it is an earlier one than the server's release.
func (s *State) lower(version string) {
	s.Lowered.Store(nil)
	if slices.Contains(s.Release.LowerFeatures(), version) {
		version = strings.Clone(version)
		s.Lowered.Store(&version)
	}
}

// fcvName is the name of the stored setting.
const fcvName = "featureCompatibilityVersion"

// applyFCV applies the stored setting. A version that this release does not offer is ignored: it was set while
// the server presented itself as another release.
func (s *State) applyFCV(doc bson.Raw) {
	version, _ := doc.Get("version").Str()
	s.lower(version)
}
