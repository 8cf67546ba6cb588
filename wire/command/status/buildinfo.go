package status

import (
	"runtime"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/wire/command"
)

// runBuildInfo answers buildInfo. Manual: reference/command/buildInfo.
func runBuildInfo(c *command.Call) error {
	if err := c.NoArguments(); err != nil {
		return err
	}
	b := c.Reply
	r := c.ShownVersion()
	b.String("version", r.Version)
	b.String("gitVersion", c.Server.Version)
	emptyArray(b, "modules")
	b.String("allocator", "system")
	engine := "none"
	if c.Server.JavaScript {
		engine = "goja"
	}
	b.String("javascriptEngine", engine)
	b.String("sysInfo", "deprecated")
	b.BeginArray("versionArray")
	for _, part := range r.Parts {
		b.Int32("", part)
	}
	b.End()
	b.BeginDoc("openssl")
	b.String("running", "crypto/tls of "+runtime.Version())
	b.String("compiled", "crypto/tls of "+runtime.Version())
	b.End()
	b.BeginDoc("buildEnvironment")
	b.String("distmod", "")
	b.String("distarch", runtime.GOARCH)
	b.String("cc", runtime.Version())
	b.String("target_arch", runtime.GOARCH)
	b.String("target_os", runtime.GOOS)
	b.End()
	b.Int32("bits", 64)
	b.Bool("debug", false)
	b.Int32("maxBsonObjectSize", int32(c.Limits().DocumentBytes))
	b.BeginArray("storageEngines")
	b.String("", c.Server.Engine)
	b.End()
	b.BeginDoc("cantle")
	b.String("version", c.Server.Version)
	b.End()
	return nil
}

// emptyArray appends an array without elements.
func emptyArray(b *bson.Builder, name string) {
	b.BeginArray(name)
	b.End()
}
