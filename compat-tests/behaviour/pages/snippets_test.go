package pages

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/cantledb/cantle/compat-tests/rig/harness"
)

// csharpNames are the names of MongoDB.Driver, Testcontainers and .NET that programs of C# in the pages use. These programs
// are not compiled, for lack of .NET: the test finds misspelt names, and new names, which must be looked up first.
// Source: API documentation of MongoDB.Driver 3 and Testcontainers 4.
var csharpNames = strings.Fields(`BsonDocument Build Console ContainerBuilder CountDocuments ForUnixContainer FromConnectionString GetCollection GetDatabase
	GetMappedPublicPort Hostname MongoClient MongoClientSettings StartAsync UntilMessageIsLogged Wait WithCommand WithImage WithPortBinding WithWaitStrategy WriteLine`)

var (
	connectionString = regexp.MustCompile(`mongodb://[^\s"'` + "`" + `);>]+`)
	textInQuotes     = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)
	certificateFile  = regexp.MustCompile(`&?tls(CAFile|CertificateKeyFile)=[^&]*`) // not here
	capitalised      = regexp.MustCompile(`\b[A-Z][A-Za-z]+\b`)
)

// TestSnippets checks programs and settings in the pages that cannot run here: connection strings can be parsed, brackets
// of programs match, and programs of C# have known names only.
func TestSnippets(t *testing.T) {
	root, err := harness.Root()
	if err != nil {
		t.Fatal(err)
	}
	strs, programs := 0, 0
	for _, p := range allPages(t, root) {
		for _, b := range p.blocks {
			if b.runs() || b.language == "text" || b.language == "sh" {
				continue
			}
			where := fmt.Sprintf("%s:%d", p.name, b.line)
			for _, uri := range connectionString.FindAllString(b.text, -1) {
				if strings.HasSuffix(uri, "//") || strings.ContainsAny(uri, "{$") {
					continue // made of parts
				}
				strs++
				uri = certificateFile.ReplaceAllString(uri, "")
				if err := options.Client().ApplyURI(uri).Validate(); err != nil {
					t.Errorf("%s: %s: %v", where, uri, err)
				}
			}
			if b.language != "csharp" && b.language != "java" {
				continue
			}
			programs++
			code := textInQuotes.ReplaceAllString(b.text, `""`)
			for _, pair := range []string{"()", "{}", "[]"} {
				if strings.Count(code, pair[:1]) != strings.Count(code, pair[1:]) {
					t.Errorf("%s: the brackets %s do not match", where, pair)
				}
			}
			if b.language == "csharp" {
				for _, name := range capitalised.FindAllString(code, -1) {
					if !slices.Contains(csharpNames, name) {
						t.Errorf("%s: is %s a name of MongoDB.Driver, Testcontainers or .NET? Then add it to csharpNames", where, name)
					}
				}
			}
		}
	}
	if strs < 8 || programs < 4 {
		t.Errorf("only %d connection strings and %d programs were found", strs, programs)
	}
}
