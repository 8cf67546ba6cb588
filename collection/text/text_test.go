package text

import (
	"slices"
	"strings"
	"testing"
)

func TestStem(t *testing.T) {
	english, _ := LanguageOf("en")
	// Pairs of the Porter2 sample vocabulary.
	for _, pair := range strings.Fields(`
		consign:consign consigned:consign consigning:consign consignment:consign consist:consist consisted:consist
		consistency:consist consistent:consist consistently:consist consolation:consol consolatory:consolatori
		consolingly:consol consternation:constern conspicuously:conspicu knack:knack knackeries:knackeri knaves:knave
		knavish:knavish kneeling:kneel kneels:kneel knightly:knight knots:knot foxes:fox running:run skies:sky
		hopping:hop hoping:hope generally:general communism:communism happiness:happi relational:relat
		coffee:coffe shopping:shop agreed:agre ties:tie cries:cri dogs:dog gas:gas this:this`) {
		word, want, _ := strings.Cut(pair, ":")
		if got := english.rules.stemmed(word); got != want {
			t.Errorf("stem(%s) = %s, want %s", word, got, want)
		}
	}
}

// TestStemLanguages requires that two forms of one word are the same term in its language, and different terms
// without a language.
func TestStemLanguages(t *testing.T) {
	none, _ := LanguageOf("none")
	for _, c := range []struct{ language, one, other string }{
		{"danish", "undersøgelse", "undersøgelser"},
		{"dutch", "lichamelijk", "lichamelijke"},
		{"english", "running", "runs"},
		{"finnish", "talossa", "talosta"},
		{"french", "continuellement", "continuelle"},
		{"german", "Häuser", "Hauses"},
		{"hungarian", "házban", "házak"},
		{"italian", "abbandonata", "abbandonato"},
		{"norwegian", "opplysning", "opplysningene"},
		{"porter", "connected", "connections"},
		{"portuguese", "quilométricas", "quilométrico"},
		{"romanian", "frumoase", "frumoasă"},
		{"russian", "книга", "книги"},
		{"spanish", "correr", "corriendo"},
		{"swedish", "flickorna", "flicka"},
		{"turkish", "evler", "evlerin"},
	} {
		l, ok := LanguageOf(c.language)
		if a, b := l.Term(c.one), l.Term(c.other); !ok || a != b || a == "" {
			t.Errorf("%s: %s is %q, %s is %q", c.language, c.one, a, c.other, b)
		}
		if none.Term(c.one) == none.Term(c.other) {
			t.Errorf("%s and %s are one term without rules", c.one, c.other)
		}
	}
	for name := range languages {
		l, _ := LanguageOf(name)
		for _, word := range []string{"", "a", "'", "''", "日本", "x\u0301", strings.Repeat("ing", 100), "yyyy", "ß"} {
			l.Term(word) // must not panic
		}
	}
}

func terms(l Language, s string) (list []string) {
	l.Terms(s, func(term string) { list = append(list, term) })
	return list
}

func TestTerms(t *testing.T) {
	english, _ := LanguageOf("English")
	none, _ := LanguageOf("none")
	for _, c := range []struct {
		l       Language
		s, want string
	}{
		{english, "The quick, brown-foxes don't jump!", "quick brown fox jump"},
		{english, "Café Crème's CAFE", "cafe creme cafe"},
		{none, "The quick foxes don't", "the quick foxes don t"},
		{english, "", ""},
		{english, "日本語 x2", "日本語 x2"},
	} {
		if got := strings.Join(terms(c.l, c.s), " "); got != c.want {
			t.Errorf("%q: %q, want %q", c.s, got, c.want)
		}
	}
	if _, ok := LanguageOf("klingon"); ok {
		t.Error("klingon")
	}
}

func TestQuery(t *testing.T) {
	l, _ := LanguageOf("en")
	q := ParseQuery(`coffee -shop "black Tea" -"green tea" pre-market`, l, Differ{Case: false, Diacritics: false})
	if got := strings.Join(q.Terms, " "); got != "coffe black tea pre market" {
		t.Errorf("terms %q", got)
	}
	if !slices.Equal(q.Negated, []string{"shop"}) || !slices.Equal(q.Phrases, []string{"black Tea"}) || !slices.Equal(q.NegatedPhrases, []string{"green tea"}) {
		t.Errorf("%+v", q)
	}
	match := func(q *Query, texts ...string) bool {
		return q.Match(func(yield func(string) bool) {
			for _, s := range texts {
				if !yield(s) {
					return
				}
			}
		})
	}
	for text, want := range map[string]bool{
		"I like BLACK TEA": true, "coffee": false, "black tea shops": false, "black tea and Green tea": false,
	} {
		if match(q, text) != want {
			t.Errorf("%q: %v", text, !want)
		}
	}
	q = ParseQuery("Coffee", l, Differ{Case: true, Diacritics: false})
	if match(q, "coffee") || !match(q, "my Coffees") {
		t.Error("case")
	}
	q = ParseQuery("café", l, Differ{Case: false, Diacritics: true})
	if match(q, "cafe") || !match(q, "CAFÉ") {
		t.Error("diacritics")
	}
}

func TestScores(t *testing.T) {
	l, _ := LanguageOf("en")
	for _, c := range []struct {
		text  string
		score float64
	}{{"coffee shop", 0.75}, {"Coffee", 1}, {"tea", 0}, {"coffee coffee", 1.5}} {
		var s Scores
		s.Add(l, c.text, 1)
		if got := s.Of(ParseQuery("coffee", l, Differ{Case: false, Diacritics: false})); got != c.score {
			t.Errorf("%q: %v, want %v", c.text, got, c.score)
		}
	}
	var s Scores
	s.Add(l, "tea", 10)
	if got := s.Of(ParseQuery("tea", l, Differ{Case: false, Diacritics: false})); got != 11 {
		t.Errorf("whole text: %v", got)
	}
}

// TestStopWords requires that each language leaves out its own stop words, compared with their diacritics, and no
// other words.
func TestStopWords(t *testing.T) {
	for _, c := range []struct{ language, text, want string }{
		{"danish", "hunden og ikke efter på", "hund"},
		{"dutch", "de kat zijn niet een", "kat"},
		{"english", "The cat shouldn't be there", "cat"},
		{"finnish", "kissa ja että minä", "kis"},
		{"french", "Le chat été même à", "chat"},
		{"german", "Die Katze können über nicht", "katz"},
		{"hungarian", "kutya és azért", "kuty"},
		{"italian", "il gatto perché più", "gatt"},
		{"none", "le chat the og", "le chat the og"},
		{"norwegian", "katten og ikke på", "katt"},
		{"porter", "the cat", "cat"},
		{"portuguese", "o gato não está", "gat"},
		{"romanian", "pisica este și această", "pisic si"}, // its list has ş with a cedilla
		{"russian", "кошка и не чтобы", "кошк"},
		{"spanish", "el gato también está", "gat"},
		{"swedish", "katten och är inte", "katt"},
		{"turkish", "kedi ve çünkü ama", "kedi"},
	} {
		l, ok := LanguageOf(c.language)
		if got := strings.Join(terms(l, c.text), " "); !ok || got != c.want {
			t.Errorf("%s: %q is %q, want %q", c.language, c.text, got, c.want)
		}
		if byCode, _ := LanguageOf(l.rules.code); byCode != l {
			t.Errorf("%s and %s differ", c.language, l.rules.code)
		}
	}
	for name, r := range languages {
		if n := len(r.stopWords()); (n == 0) != (name == "none") {
			t.Errorf("%s has %d stop words", name, n)
		}
	}
}
