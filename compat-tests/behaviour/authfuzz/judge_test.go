package authfuzz

import (
	"bytes"
	"fmt"
	"sort"
	"strings"

	cbson "github.com/cantledb/cantle/bson"
)

// classNames describe the data in which a mark was.
var classNames = map[byte]string{inVault: "a document of vault", inGold: "a document of mine.gold", ofVault: "a definition or a name of vault", ofMine: "a definition or a name of mine",
	ofUsers: "a user or a role", ofSecrets: "what a password leaves", ofActivity: "what somebody else does", ofServer: "a setting", inProfile: "vault's profiler"}

// leak returns a description of the data in a reply that the user must not see; "" if there is none.
func (w *world) leak(u *user, frame []byte, reply cbson.Raw) string {
	for rest := []byte(reply); ; {
		i := bytes.Index(rest, []byte(w.prefix))
		if i < 0 {
			break
		}
		rest = rest[i+len(w.prefix):]
		if class := rest[0]; !strings.ContainsRune(u.sees, rune(class)) {
			return "shows " + classNames[class]
		}
	}
	for _, n := range w.needles {
		if n.of != u.db+"."+u.name && !strings.ContainsRune(u.sees, rune(n.class)) && bytes.Contains(reply, n.bytes) && !bytes.Contains(frame, n.bytes) {
			return "shows " + classNames[n.class]
		}
	}
	found := ""
	visit(reply.Value(), func(name string, v cbson.Value) {
		n, ok := v.AsInt64()
		switch {
		case !ok || n == 0 || found != "":
		case n == vaultGold && !strings.ContainsRune(u.sees, 'v') && counts[name], n == mineGold && !strings.ContainsRune(u.sees, 'm') && counts[name]:
			found = "shows how many documents there are, by " + name
		case !u.matches && written[name]:
			found = "shows what a write found, by " + name
		}
	})
	return found
}

// counts are the fields of replies that count documents.
var counts = map[string]bool{"n": true, "nMatched": true, "nModified": true, "nReturned": true, "nDeleted": true, "count": true, "numObjects": true, "objects": true, "nrecords": true,
	"totalDocsExamined": true, "docsExamined": true, "keysExamined": true, "totalKeysExamined": true, "input": true, "emit": true, "numberOfDocs": true}

// written are the fields of replies whose values are numbers of documents that a write matched or changed; they could
// reveal the number of others' documents.
var written = map[string]bool{"nMatched": true, "nModified": true, "nDeleted": true, "nInserted": true, "nUpserted": true, "nWouldModify": true, "nWouldDelete": true}

// outside returns a description of the changes between two states that the user may not make; "" if there are none.
func outside(u *user, before, after state) string {
	var out []string
	for key := range before.keys(after) {
		if before[key] != after[key] && (u.may == nil || !u.may(key)) {
			out = append(out, fmt.Sprintf("%s: %s, was %s", key, brief(after[key]), brief(before[key])))
		}
	}
	sort.Strings(out)
	return strings.Join(out, "; ")
}

// brief returns the beginning of a long text.
func brief(s string) string {
	if s == "" {
		return "not there"
	}
	if len(s) > 300 {
		return s[:300] + "…"
	}
	return s
}

// logged reports whether the log contains a password.
func (w *world) logged() (bool, error) {
	if strings.Contains(w.server.Log(), loggedNever) {
		return true, nil
	}
	reply, err := w.root.do("admin", `{getLog: "global"}`)
	return bytes.Contains(reply, []byte(loggedNever)), err
}
