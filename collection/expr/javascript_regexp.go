package expr

import (
	"reflect"
	"strings"
	"unicode/utf8"

	"github.com/cantledb/cantle/collection/regex"

	"github.com/dop251/goja"
)

// Regular expressions of scripts are matched by package regex, under a budget of steps and interruptible. The library's
// engines have no budget, and take a match that they give up for none.

// cachedPatternsMax is the number of compiled patterns that a VM keeps.
const cachedPatternsMax = 200

// regexps holds the compiled patterns of a VM, and the text that was searched last.
type regexps struct {
	programs map[string]*scriptRegexp
	text     searchedText
}

// scriptRegexp is a compiled pattern of a script.
type scriptRegexp struct {
	program              *regex.Program
	names                []regex.GroupName
	unicode, uses, exact bool // uses: a flag that makes it use lastIndex (g or y); exact: y
}

// searchedText is a text in the form of package regex, with a pair of equal offsets from which others are counted.
type searchedText struct {
	of      goja.String
	unicode bool
	bytes   []byte
	ascii   bool
	at      int // in bytes
	unit    int // in UTF-16 code units
}

// regexpSource is JavaScript that each new VM runs after preludeSource, a function of the functions exec and test of
// regular expressions.
const regexpSource = `
(function(global, exec, test) {
	"use strict";
	var proto = global.RegExp.prototype;
	function define(o, name, f) { Object.defineProperty(o, name, {value: f, writable: true, configurable: true}); }
	define(proto, "exec", exec);
	define(proto, "test", function(text) {
		return this.exec === exec ? test.call(this, text) : this.exec(text) !== null;
	});
	define(proto, Symbol.split, function(text, limit) {
		var s = String(text), size = s.length, out = [], p = 0, q = 0, z;
		var most = limit === undefined ? 4294967295 : limit >>> 0;
		var search = new global.RegExp(this.source, this.flags.replace(/[gy]/g, "") + "g");
		if (most === 0) return out;
		if (size === 0) return search.exec(s) === null ? [s] : out;
		while (q < size) {
			search.lastIndex = q;
			z = search.exec(s);
			if (z === null || z.index >= size) break;
			if (search.lastIndex === p) {
				q = z.index + 1;
				continue;
			}
			out.push(s.slice(p, z.index));
			if (out.length === most) return out;
			p = q = search.lastIndex;
			for (var i = 1; i < z.length; i++) {
				out.push(z[i]);
				if (out.length === most) return out;
			}
		}
		out.push(s.slice(p));
		return out;
	});
})
`

// addRegexps runs regexpSource.
func (vm *VM) addRegexps() error {
	vm.regexps = regexps{programs: map[string]*scriptRegexp{}}
	v, err := vm.rt.RunProgram(regexpProgram())
	if err != nil {
		return err
	}
	define, _ := goja.AssertFunction(v)
	_, err = define(goja.Undefined(), vm.rt.GlobalObject(), vm.rt.ToValue(vm.exec), vm.rt.ToValue(vm.test))
	return err
}

// exec is RegExp.prototype.exec.
// Source: ECMA-262, RegExpBuiltinExec.
func (vm *VM) exec(call goja.FunctionCall) goja.Value {
	re, s, m := vm.searched(call)
	if m == nil {
		return goja.Null()
	}
	return vm.matchOf(re, s, m)
}

// test is RegExp.prototype.test of a regular expression whose exec is the one above: it makes no result of a match.
func (vm *VM) test(call goja.FunctionCall) goja.Value {
	_, _, m := vm.searched(call)
	return vm.rt.ToValue(m != nil)
}

// searched searches the text of a call of exec or test, and sets lastIndex. m has the offsets of the match, nil if there
// is none.
func (vm *VM) searched(call goja.FunctionCall) (re *scriptRegexp, s goja.String, m []int) {
	o, ok := call.This.(*goja.Object)
	if !ok || o.ClassName() != "RegExp" {
		panic(vm.rt.NewTypeError("exec: the receiver is no regular expression"))
	}
	s = call.Argument(0).ToString().(goja.String)
	re = vm.regexpOf(o)
	from := 0
	if re.uses {
		from = max(0, int(o.Get("lastIndex").ToInteger()))
	}
	if from <= s.Length() {
		t := vm.regexps.text.set(s, re.unicode)
		find := re.program.Find
		if re.exact {
			find = re.program.FindAt
		}
		var err error
		if m, err = find(t.bytes, t.byteOf(from), vm.ended); err != nil {
			panic(vm.rt.NewGoError(err))
		}
	}
	if re.uses {
		last := 0
		if m != nil {
			last = vm.regexps.text.unitOf(m[1])
		}
		_ = o.Set("lastIndex", last)
	}
	return re, s, m
}

// ended returns the reason why the current call must end, nil if it need not.
func (vm *VM) ended() error {
	if vm.guard == nil {
		return nil
	}
	return vm.guard.endCause()
}

// matchOf returns the result of exec for a match.
func (vm *VM) matchOf(re *scriptRegexp, s goja.String, m []int) goja.Value {
	t := &vm.regexps.text
	groups := make([]any, len(m)/2)
	for i := range groups {
		groups[i] = goja.Undefined()
		if m[2*i] >= 0 {
			groups[i] = s.Substring(t.unitOf(m[2*i]), t.unitOf(m[2*i+1]))
		}
	}
	out := vm.rt.NewArray(groups...)
	_ = out.Set("index", t.unitOf(m[0]))
	_ = out.Set("input", s)
	named := goja.Undefined()
	if len(re.names) > 0 {
		names := vm.rt.CreateObject(nil)
		for _, n := range re.names {
			_ = names.Set(n.Name, groups[n.Number])
		}
		named = names
	}
	_ = out.Set("groups", named)
	return out
}

// regexpOf returns the compiled pattern of a regular expression.
func (vm *VM) regexpOf(o *goja.Object) *scriptRegexp {
	source, flags := o.Get("source").String(), o.Get("flags").String()
	key := flags + "/" + source
	if re := vm.regexps.programs[key]; re != nil {
		return re
	}
	has := func(flag string) bool { return strings.Contains(flags, flag) }
	tree, err := regex.ParseScript(source, regex.ScriptFlags{Fold: has("i"), Multiline: has("m"), DotAll: has("s"), Unicode: has("u")})
	if err != nil {
		panic(vm.rt.NewGoError(err))
	}
	if len(vm.regexps.programs) >= cachedPatternsMax {
		clear(vm.regexps.programs)
	}
	re := &scriptRegexp{tree.Compile(), tree.Names, has("u"), has("g") || has("y"), has("y")}
	vm.regexps.programs[key] = re
	return re
}

// set makes s the searched text. A text that is searched several times is converted once.
func (t *searchedText) set(s goja.String, unicode bool) *searchedText {
	if t.of != nil && t.unicode == unicode && sameText(t.of, s) {
		return t
	}
	n := s.Length()
	*t = searchedText{of: s, unicode: unicode, ascii: true}
	if v := reflect.ValueOf(s); v.Kind() == reflect.String {
		t.bytes = []byte(v.String())
		return t
	}
	units := make([]uint16, n)
	for i := range units {
		units[i] = s.CharAt(i)
		t.ascii = t.ascii && units[i] < utf8.RuneSelf
	}
	t.bytes = regex.ScriptText(units, unicode)
	return t
}

// sameText reports whether two strings share their memory. Equal strings in different memory are not the same.
func sameText(a, b goja.String) bool {
	x, y := reflect.ValueOf(a), reflect.ValueOf(b)
	if x.Kind() != y.Kind() || a.Length() != b.Length() {
		return false
	}
	switch x.Kind() {
	case reflect.String:
		return x.String() == y.String() // compares no bytes if the memory is the same
	case reflect.Slice, reflect.Pointer:
		return x.Pointer() == y.Pointer()
	}
	return false
}

// width returns the size in bytes of the character at a byte offset, and the number of its code units.
func (t *searchedText) width(at int) (size, units int) {
	switch b := t.bytes[at]; {
	case b < utf8.RuneSelf:
		return 1, 1
	case b < 0xe0:
		return 2, 1
	case b < 0xf0:
		return 3, 1
	}
	return 4, 2
}

// move moves the known pair of offsets to the last character that begins at or before a place: a byte offset, or if
// byUnit a number of code units.
func (t *searchedText) move(place int, byUnit bool) {
	here := t.at
	if byUnit {
		here = t.unit
	}
	if place < here {
		t.at, t.unit = 0, 0
	}
	for t.at < len(t.bytes) {
		size, units := t.width(t.at)
		if !byUnit && t.at+size > place || byUnit && t.unit+units > place {
			return
		}
		t.at += size
		t.unit += units
	}
}

func (t *searchedText) byteOf(unit int) int {
	if t.ascii {
		return unit
	}
	t.move(unit, true)
	return t.at
}

func (t *searchedText) unitOf(at int) int {
	if t.ascii {
		return at
	}
	t.move(at, false)
	return t.unit
}
