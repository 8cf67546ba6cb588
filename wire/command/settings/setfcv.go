package settings

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/wire/command"
)

// runSetFCV sets the feature compatibility version. There is one, so that
// setting it changes nothing.
// Manual: reference/command/setFeatureCompatibilityVersion.
func runSetFCV(c *command.Call) error {
	field := c.Field(c.Name())
	if c.Value.IsNullish() {
		return mongoerr.MissingField(field)
	}
	version, ok := c.Value.Str()
	if !ok || c.Value.Type != bson.TypeString {
		return mongoerr.WrongType(field, c.Value.Type.String(), "string")
	}
	confirm := false
	err := c.Each(func(name string, v bson.Value) (bool, error) {
		var err error
		switch name {
		case "confirm":
			confirm, err = c.BoolArg(name, v)
		case "fromConfigServer", "phase", "changeTimestamp", "downgradeOnDiskChanges":
		default:
			return false, nil
		}
		return true, err
	})
	switch {
	case err != nil:
		return err
	case version != command.CompatibleVersion[:3]:
		return mongoerr.New(4926900, "Invalid value for featureCompatibilityVersion, found %s, expected '%s'", version, command.CompatibleVersion[:3])
	case !confirm:
		return mongoerr.New(7369100, "Once you have upgraded to %s, you will not be able to downgrade FCV and binary version without support assistance. "+
			"Please re-run this command with 'confirm: true' to acknowledge this and continue with the FCV upgrade.", version)
	}
	return nil
}
