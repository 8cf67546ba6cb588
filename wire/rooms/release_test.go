package rooms

import (
	"testing"

	"github.com/cantledb/cantle/collection/release"
	"github.com/cantledb/cantle/storage/memkv"
	"github.com/cantledb/cantle/wire/command"
)

// TestReleases checks that hello, buildInfo, serverStatus, explain and the feature compatibility version show the set
// release, and at the Cosmos address 7.0 with each of these releases.
func TestReleases(t *testing.T) {
	for _, shown := range []release.Release{release.V7_0, release.V8_0, release.V8_3, release.V9_0} {
		w := newWorld(t, nil)
		w.Release = shown
		for tag, r := range map[string]release.Release{"mongos": shown, command.TagCosmos: release.V7_0} {
			c := w.dialAs(tag)
			if got := number(c.ok(`{hello: 1}`).Get("maxWireVersion")); got != int64(r.MaxWireVersion()) {
				t.Errorf("%s at %s: wire version %d, want %d", shown, tag, got, r.MaxWireVersion())
			}
			info := c.ok(`{buildInfo: 1}`)
			major := int64(r.Version()[0] - '0')
			if text(info.Get("version")) != r.Version() || number(at(info, "versionArray.0")) != major || !at(info, "versionArray.4").IsMissing() {
				t.Errorf("%s at %s: buildInfo %v", shown, tag, info)
			}
			if got := text(c.ok(`{serverStatus: 1}`).Get("version")); got != r.Version() {
				t.Errorf("%s at %s: serverStatus %s", shown, tag, got)
			}
			if got := text(at(c.ok(`{explain: {find: "c"}}`), "serverInfo.version")); got != r.Version() {
				t.Errorf("%s at %s: explain %s", shown, tag, got)
			}
		}
		if got := featureVersion(w.dial()); got != shown.String() {
			t.Errorf("%s: feature compatibility version %s", shown, got)
		}
		if got := featureVersion(w.dialAs(command.TagCosmos)); got != "7.0" {
			t.Errorf("%s: feature compatibility version on the Cosmos address %s", shown, got)
		}
	}
}

// featureVersion returns the feature compatibility version.
func featureVersion(c *client) string {
	r := c.ok(`{getParameter: 1, featureCompatibilityVersion: 1, $db: "admin"}`)
	return text(at(r, "featureCompatibilityVersion.version"))
}

// TestFeatureVersion checks that the feature compatibility version can be lowered by one release and raised again,
// and that it survives a restart.
func TestFeatureVersion(t *testing.T) {
	store := memkv.Open(memkv.Options{})
	defer store.Close()
	c := newWorld(t, store).dial()
	for _, step := range []struct {
		cmd  string
		code int64
		then string
	}{
		{`{setFeatureCompatibilityVersion: "7.0", $db: "admin"}`, 7369100, "8.0"},
		{`{setFeatureCompatibilityVersion: "7.0", confirm: true, $db: "admin"}`, 0, "7.0"},
		{`{setFeatureCompatibilityVersion: "6.0", confirm: true, $db: "admin"}`, 4926900, "7.0"},
		{`{setFeatureCompatibilityVersion: "8.3", confirm: true, $db: "admin"}`, 4926900, "7.0"},
		{`{setFeatureCompatibilityVersion: "8.0", dryRun: true, $db: "admin"}`, 0, "7.0"},
		{`{setFeatureCompatibilityVersion: "8.3", dryRun: true, $db: "admin"}`, 4926900, "7.0"},
		{`{setFeatureCompatibilityVersion: "8.0", $db: "admin"}`, 7369100, "7.0"},
		{`{setFeatureCompatibilityVersion: "8.0", confirm: true, $db: "admin"}`, 0, "8.0"},
		{`{setFeatureCompatibilityVersion: "7.0", confirm: true, $db: "admin"}`, 0, "7.0"},
	} {
		if got := c.code(step.cmd); got != step.code {
			t.Errorf("%s: %d, want %d", step.cmd, got, step.code)
		}
		if got := featureVersion(c); got != step.then {
			t.Errorf("after %s: %s, want %s", step.cmd, got, step.then)
		}
	}
	c = newWorld(t, store).dial()
	if got := featureVersion(c); got != "7.0" {
		t.Errorf("after a restart: %s", got)
	}
	w := newWorld(t, nil) // can be lowered to the last major release and to the last minor one
	w.Release = release.V8_3
	for _, lower := range []string{"8.2", "8.0", "8.3"} {
		if got := w.dial(); got.ok(`{setFeatureCompatibilityVersion: "`+lower+`", confirm: true, $db: "admin"}`) == nil || featureVersion(got) != lower {
			t.Errorf("8.3 set to %s: %s", lower, featureVersion(got))
		}
	}
	if r := c.ok(`{find: "system.version", $db: "admin"}`); text(at(r, "cursor.firstBatch.0.version")) != "7.0" {
		t.Errorf("admin.system.version: %v", r)
	}
}

// TestNewerMetrics checks the counters of serverStatus that exist since releases 7.1 and 7.2, and the new path of one
// of them in 9.0.
func TestNewerMetrics(t *testing.T) {
	for shown, path := range map[release.Release]string{
		release.V8_0: "metrics.changeStreams.showExpandedEvents", release.V9_0: "metrics.changeStreams.option.showExpandedEvents",
	} {
		w := newWorld(t, nil)
		w.Release = shown
		c := w.dial()
		c.watch("test", `"c"`, `{}`)
		c.watch("test", `"c"`, `{showExpandedEvents: true}`)
		c.ok(`{configureFailPoint: "maxTimeAlwaysTimeOut", mode: "alwaysOn", $db: "admin"}`)
		if got := c.code(`{find: "c", maxTimeMS: 1000}`); got != 50 {
			t.Fatalf("find: %d", got)
		}
		r := c.ok(`{serverStatus: 1}`)
		if a, b := number(at(r, path)), number(at(r, "metrics.operation.killedDueToMaxTimeMSExpired")); a != 1 || b != 1 {
			t.Errorf("%s: %d expanded streams, %d commands out of time", shown, a, b)
		}
	}
}
