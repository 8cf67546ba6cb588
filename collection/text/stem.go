package text

import "strings"

// stem drops the suffix of an English word in lower case by the Porter2 rules.
// Source: https://snowballstem.org/algorithms/english/stemmer.html.
func stem(word string) string {
	if len(word) <= 2 {
		return word
	}
	for i := range len(word) {
		if word[i] >= 0x80 {
			return word
		}
	}
	if s, ok := irregular(word); ok {
		return s
	}
	s := stemmer{w: []byte(strings.TrimPrefix(word, "'"))}
	s.markConsonantY()
	s.regions()
	s.step0()
	s.step1a()
	if t, ok := final(string(s.w)); ok {
		return t
	}
	s.step1b()
	s.step1c()
	s.step2()
	s.step3()
	s.step4()
	s.step5()
	return strings.ReplaceAll(string(s.w), "Y", "y")
}

func irregular(word string) (string, bool) {
	switch word {
	case "skis":
		return "ski", true
	case "skies":
		return "sky", true
	case "dying":
		return "die", true
	case "lying":
		return "lie", true
	case "tying":
		return "tie", true
	case "idly":
		return "idl", true
	case "gently":
		return "gentl", true
	case "ugly":
		return "ugli", true
	case "early":
		return "earli", true
	case "only":
		return "onli", true
	case "singly":
		return "singl", true
	case "sky", "news", "howe", "atlas", "cosmos", "bias", "andes":
		return word, true
	}
	return "", false
}

// final lists words that no further step may touch.
func final(word string) (string, bool) {
	switch word {
	case "inning", "outing", "canning", "herring", "earring", "proceed", "exceed", "succeed":
		return word, true
	}
	return "", false
}

// stemmer is a word with its regions: r1 and r2 are where they begin. A Y that
// is a consonant stands in upper case.
type stemmer struct {
	w      []byte
	r1, r2 int
}

func isVowel(c byte) bool { return strings.IndexByte("aeiouy", c) >= 0 }

func (s *stemmer) markConsonantY() {
	for i, c := range s.w {
		if c == 'y' && (i == 0 || isVowel(s.w[i-1])) {
			s.w[i] = 'Y'
		}
	}
}

func (s *stemmer) regions() {
	s.r1 = s.after(0)
	for _, p := range []string{"gener", "commun", "arsen"} {
		if strings.HasPrefix(string(s.w), p) {
			s.r1 = len(p)
		}
	}
	s.r2 = s.after(s.r1)
}

// after finds what follows the first consonant after a vowel.
func (s *stemmer) after(from int) int {
	for i := from + 1; i < len(s.w); i++ {
		if !isVowel(s.w[i]) && isVowel(s.w[i-1]) {
			return i + 1
		}
	}
	return len(s.w)
}

func (s *stemmer) has(suffix string) bool { return strings.HasSuffix(string(s.w), suffix) }

// longest returns the first of the suffixes, longest first, that the word has.
func (s *stemmer) longest(suffixes ...string) string {
	best := ""
	for _, x := range suffixes {
		if len(x) > len(best) && s.has(x) {
			best = x
		}
	}
	return best
}

func (s *stemmer) cut(n int)               { s.w = s.w[:len(s.w)-n] }
func (s *stemmer) replace(old, new string) { s.w = append(s.w[:len(s.w)-len(old)], new...) }
func (s *stemmer) inR1(suffix string) bool { return len(s.w)-len(suffix) >= s.r1 }
func (s *stemmer) inR2(suffix string) bool { return len(s.w)-len(suffix) >= s.r2 }
func (s *stemmer) vowelBefore(end int) bool {
	for _, c := range s.w[:end] {
		if isVowel(c) {
			return true
		}
	}
	return false
}

func (s *stemmer) step0() {
	if x := s.longest("'s'", "'s", "'"); x != "" {
		s.cut(len(x))
	}
}

func (s *stemmer) step1a() {
	switch x := s.longest("sses", "ied", "ies", "us", "ss", "s"); x {
	case "sses":
		s.replace(x, "ss")
	case "ied", "ies":
		if len(s.w) > 4 {
			s.replace(x, "i")
		} else {
			s.replace(x, "ie")
		}
	case "s":
		if n := len(s.w); n > 2 && s.vowelBefore(n-2) {
			s.cut(1)
		}
	}
}

func (s *stemmer) step1b() {
	switch x := s.longest("eed", "eedly", "ed", "edly", "ing", "ingly"); x {
	case "eed", "eedly":
		if s.inR1(x) {
			s.replace(x, "ee")
		}
	case "ed", "edly", "ing", "ingly":
		if !s.vowelBefore(len(s.w) - len(x)) {
			return
		}
		s.cut(len(x))
		switch {
		case s.has("at") || s.has("bl") || s.has("iz"):
			s.w = append(s.w, 'e')
		case s.doubled():
			s.cut(1)
		case s.short():
			s.w = append(s.w, 'e')
		}
	}
}

func (s *stemmer) doubled() bool {
	n := len(s.w)
	return n >= 2 && s.w[n-1] == s.w[n-2] && strings.IndexByte("bdfgmnprt", s.w[n-1]) >= 0
}

// short reports a word that ends in a short syllable and has no first region.
func (s *stemmer) short() bool { return s.r1 >= len(s.w) && s.shortEnd(len(s.w)) }

func (s *stemmer) shortEnd(n int) bool {
	switch {
	case n == 2:
		return isVowel(s.w[0]) && !isVowel(s.w[1])
	case n < 3:
		return false
	}
	a, b, c := s.w[n-3], s.w[n-2], s.w[n-1]
	return !isVowel(a) && isVowel(b) && !isVowel(c) && c != 'w' && c != 'x' && c != 'Y'
}

func (s *stemmer) step1c() {
	if n := len(s.w); n > 2 && (s.w[n-1] == 'y' || s.w[n-1] == 'Y') && !isVowel(s.w[n-2]) {
		s.w[n-1] = 'i'
	}
}

// rule replaces a suffix.
type rule struct{ old, new string }

var step2Rules = []rule{
	{"ization", "ize"}, {"ational", "ate"}, {"fulness", "ful"}, {"ousness", "ous"}, {"iveness", "ive"}, {"tional", "tion"},
	{"biliti", "ble"}, {"lessli", "less"}, {"entli", "ent"}, {"ation", "ate"}, {"alism", "al"}, {"aliti", "al"},
	{"ousli", "ous"}, {"iviti", "ive"}, {"fulli", "ful"}, {"enci", "ence"}, {"anci", "ance"}, {"abli", "able"},
	{"izer", "ize"}, {"ator", "ate"}, {"alli", "al"}, {"bli", "ble"}, {"ogi", "og"}, {"li", ""},
}

func (s *stemmer) step2() {
	r, ok := s.rule(step2Rules)
	if !ok || !s.inR1(r.old) {
		return
	}
	n := len(s.w) - len(r.old)
	switch r.old {
	case "ogi":
		if n == 0 || s.w[n-1] != 'l' {
			return
		}
	case "li":
		if n == 0 || strings.IndexByte("cdeghkmnrt", s.w[n-1]) < 0 {
			return
		}
	}
	s.replace(r.old, r.new)
}

var step3Rules = []rule{
	{"ational", "ate"}, {"tional", "tion"}, {"alize", "al"}, {"icate", "ic"}, {"iciti", "ic"}, {"ative", ""},
	{"ical", "ic"}, {"ness", ""}, {"ful", ""},
}

func (s *stemmer) step3() {
	r, ok := s.rule(step3Rules)
	if ok && s.inR1(r.old) && (r.old != "ative" || s.inR2(r.old)) {
		s.replace(r.old, r.new)
	}
}

var step4Rules = []rule{
	{"ement", ""}, {"ance", ""}, {"ence", ""}, {"able", ""}, {"ible", ""}, {"ment", ""}, {"ant", ""}, {"ent", ""},
	{"ism", ""}, {"ate", ""}, {"iti", ""}, {"ous", ""}, {"ive", ""}, {"ize", ""}, {"ion", ""}, {"al", ""}, {"er", ""}, {"ic", ""},
}

func (s *stemmer) step4() {
	r, ok := s.rule(step4Rules)
	if !ok || !s.inR2(r.old) {
		return
	}
	if n := len(s.w) - 3; r.old == "ion" && (n == 0 || s.w[n-1] != 's' && s.w[n-1] != 't') {
		return
	}
	s.cut(len(r.old))
}

func (s *stemmer) rule(rules []rule) (rule, bool) {
	for _, r := range rules { // longest first
		if s.has(r.old) {
			return r, true
		}
	}
	return rule{}, false
}

func (s *stemmer) step5() {
	n := len(s.w)
	switch {
	case n == 0:
	case s.w[n-1] == 'e' && (s.inR2("e") || s.inR1("e") && !s.shortEnd(n-1)):
		s.cut(1)
	case s.w[n-1] == 'l' && s.inR2("l") && n > 1 && s.w[n-2] == 'l':
		s.cut(1)
	}
}
