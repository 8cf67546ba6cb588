package cli

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/cantledb/cantle/bson/bsontest"
)

// A default limit of request units does not stop export, dump, import and restore of users that may change it. At the Cosmos
// address it does, with the next step in the error.
func TestTransfersExceedDefaultLimits(t *testing.T) {
	d := startWith(t, "--memory", "--cosmos-listen", "127.0.0.1:0")
	client, err := mongo.Connect(options.Client().ApplyURI(d.URI()))
	bsontest.Must(t, err)
	defer client.Disconnect(t.Context())
	fill(t, client.Database("test"), "c", 500, func(i int) string { return fmt.Sprintf(`{_id: %d, n: %d}`, i, i) })
	run(t, client.Database("admin"), `{setClusterParameter: {defaultMaxRequestUnits: {commands: 7}}}`)
	if err := client.Database("test").RunCommand(t.Context(), []byte(bsontest.Doc(t, `{find: "c", filter: {none: 1}}`))).Err(); err == nil {
		t.Fatal("a find exceeds the default limit")
	}
	verb := func(name, in string, args ...string) (int, string) {
		var out, errs strings.Builder
		code := verbStatus(t, name, in, &out, &errs, args...)
		return code, out.String() + errs.String()
	}
	folder := filepath.Join(t.TempDir(), "dump")
	code, text := verb("export", "", d.URI(), "test.c")
	if code != 0 || strings.Count(text, "\"_id\"") != 500 {
		t.Errorf("export: status %d\n%s", code, text)
	}
	if code, text := verb("import", text[:strings.LastIndex(text, "}\n")+2], d.URI(), "test.imported"); code != 0 {
		t.Errorf("import: status %d\n%s", code, text)
	}
	if code, text := verb("dump", "", "--db", "test", "--out", folder, d.URI()); code != 0 {
		t.Errorf("dump: status %d\n%s", code, text)
	}
	if code, text := verb("restore", "", "--drop", d.URI(), folder); code != 0 {
		t.Errorf("restore: status %d\n%s", code, text)
	}
	for _, name := range []string{"c", "imported"} {
		if n, err := client.Database("test").Collection(name).EstimatedDocumentCount(t.Context()); n != 500 || err != nil {
			t.Errorf("%s has %d documents, %v", name, n, err)
		}
	}
	if code, text := verb("export", "", d.CosmosURI(), "test.c"); code == 0 || !strings.Contains(text, "the privilege setThroughput") {
		t.Errorf("export at the Cosmos address: status %d\n%s", code, text)
	}
}
