package address

import (
	"errors"
	"strings"
	"testing"
)

// TestRedact checks what stays of a connection string: hosts, database, and options without secrets.
func TestRedact(t *testing.T) {
	for uri, want := range map[string]string{
		"mongodb://h:1/":                      "mongodb://h:1/",
		"mongodb://u:s3cr3t@h:1/shop":         "mongodb://***@h:1/shop",
		"mongodb://u:s3cr3t@h:1,k:2?tls=true": "mongodb://***@h:1,k:2?tls=true",
		"mongodb://u:s3c@r3t@h:1/":            "mongodb://***@h:1/",
		"mongodb://u:s3c/r3t@h:1/":            "mongodb://***",
		"mongodb://u:s3c?r3t@h:1/":            "mongodb://***",
		"mongodb://u:x@s3c/r3t@h:1/":          "mongodb://***",
		"mongodb://u:x@s3c?r3t@h:1/":          "mongodb://***",
		"mongodb://u:s3c?w=r3t@h:1/":          "mongodb://***",
		"u:s3cr3t@h:1":                        "***@h:1",
		"h:1":                                 "h:1",
		"mongodb://h/?tlsCertificateKeyFile=a.pem&tlsCertificateKeyFilePassword=s3cr3t":           "mongodb://h/?tlsCertificateKeyFile=a.pem&tlsCertificateKeyFilePassword=***",
		"mongodb://h/?authMechanism=MONGODB-AWS&authMechanismProperties=AWS_SESSION_TOKEN:s3cr3t": "mongodb://h/?authMechanism=MONGODB-AWS&authMechanismProperties=***",
		"mongodb://a:s3cr3t==@h:10255/?ssl=true&replicaSet=globaldb&appName=@a@":                  "mongodb://***@h:10255/?ssl=true&replicaSet=globaldb&appName=@a@",
		"mongodb://h/?proxyPassword=s3cr3t;TLS=true&s3cr3t":                                       "mongodb://h/?proxyPassword=***&TLS=true&***",
		"http://u:s3cr3t@h:8080/?authSource=admin":                                                "http://***@h:8080/?authSource=admin",
	} {
		got := Redact(uri)
		if got != want || strings.Contains(got, "s3c") || strings.Contains(got, "r3t") {
			t.Errorf("%s becomes %s\nis not %s", uri, got, want)
		}
	}
}

// TestWithoutSecrets checks that errors which quote a part of a connection string lose its secrets.
func TestWithoutSecrets(t *testing.T) {
	uri := "mongodb://u:p%40ss@h/?tlsCertificateKeyFilePassword=k3y&authMechanismProperties=AWS_SESSION_TOKEN:t0ken&w=majority"
	for text, want := range map[string]string{
		`invalid option value "k3y": bad`: `invalid option value "***": bad`,
		`login with p@ss or p%40ss`:       `login with *** or ***`,
		`the token t0ken`:                 `the token ***`,
		`invalid w "majority"`:            `invalid w "majority"`,
		`parse "` + uri + `": bad`:        `parse "` + Redact(uri) + `": bad`,
	} {
		if got := WithoutSecrets(uri, errors.New(text)).Error(); got != want {
			t.Errorf("%s becomes %s", text, got)
		}
	}
}

// TestURI checks which addresses without a scheme become connection strings.
func TestURI(t *testing.T) {
	for text, want := range map[string]string{
		"127.0.0.1":                 "mongodb://127.0.0.1/",
		"localhost":                 "mongodb://localhost/",
		"h:1":                       "mongodb://h:1/",
		"[::1]:27017":               "mongodb://[::1]:27017/",
		"a:1,b:2":                   "mongodb://a:1,b:2/",
		"a:1,b:2/shop":              "mongodb://a:1,b:2/shop",
		"h:1/?tls=true":             "mongodb://h:1/?tls=true",
		"h:1?tls=true":              "mongodb://h:1/?tls=true",
		"ada:s3cr3t@db.example.com": "mongodb://ada:s3cr3t@db.example.com/",
		"ada:s3@cr3t@h:1/admin?w=1": "mongodb://ada:s3@cr3t@h:1/admin?w=1",
		"mongodb://h":               "mongodb://h",
		"dump":                      "dump",
		"orders.json":               "orders.json",
		"folder/a:1":                "folder/a:1",
		"":                          "",
		"a:1,dump":                  "a:1,dump",
	} {
		if got := URI(text); got != want {
			t.Errorf("%s becomes %s\nis not %s", text, got, want)
		}
	}
}
