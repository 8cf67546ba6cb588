package expr

import (
	"github.com/cantledb/cantle/bson"

	"github.com/dop251/goja"
)

// tojsonSource is JavaScript that each new VM runs after preludeSource. It defines tojson and tojsononeline, which write
// values as the shell prints them: a document or a list of less than 80 characters on one line. boxText returns the text
// of an object that holds a BSON value, undefined for others.
const tojsonSource = `
(function(global, boxText) {
	"use strict";
	var own = Object.prototype.hasOwnProperty;
	function two(n) { return (n < 10 ? "0" : "") + n; }
	function date(d) {
		if (isNaN(d)) return "ISODate(NaN)";
		var ms = d.getUTCMilliseconds();
		return 'ISODate("' + d.toISOString().replace(/\.[0-9]+Z$/, "") + (ms === 0 ? "" : "." + (ms < 100 ? "0" : "") + two(ms)) + 'Z")';
	}
	// A part of a document or list begins with begin, which has a line end unless the text has one line.
	function joined(open, parts, close, indent, line) {
		if (parts.length === 0) return open + " " + close;
		var begin = line ? " " : "\n" + indent + "\t";
		return open + begin + parts.join("," + begin) + (line ? " " : "\n" + indent) + close;
	}
	function text(x, indent, line) {
		switch (typeof x) {
		case "string":
			return JSON.stringify(x);
		case "object":
			break;
		default:
			return String(x);
		}
		if (x === null) return "null";
		var boxed = boxText(x);
		if (boxed !== undefined) return boxed;
		if (x instanceof Date) return date(x);
		if (x instanceof RegExp || x instanceof Error) return String(x);
		if (x instanceof Number || x instanceof String || x instanceof Boolean) return text(x.valueOf(), indent, line);
		if (typeof x.tojson === "function") return x.tojson(indent, line);
		if (x instanceof DBRef && own.call(x, "$ref")) {
			return "DBRef(" + Object.keys(x).map(function(k) { return text(x[k], indent, true); }).join(", ") + ")";
		}
		var parts = [], inner = indent + "\t";
		if (Array.isArray(x)) {
			for (var i = 0; i < x.length; i++) parts.push(text(x[i], inner, line));
			return joined("[", parts, "]", indent, line);
		}
		Object.keys(x).forEach(function(k) { parts.push(JSON.stringify(k) + " : " + text(x[k], inner, line)); });
		return joined("{", parts, "}", indent, line);
	}
	global.tojson = function(x, indent, line) {
		var s = text(x, indent || "", line === true);
		return typeof x === "object" && s.length < 80 && !indent && line !== false ? s.replace(/[\t\n]+/g, " ") : s;
	};
	global.tojsononeline = function(x) { return text(x, "", true); };
	Array.tojson = global.tojson;
})
`

// addToJSON runs tojsonSource.
func (vm *VM) addToJSON() error {
	v, err := vm.rt.RunProgram(tojsonProgram())
	if err != nil {
		return err
	}
	define, _ := goja.AssertFunction(v)
	_, err = define(goja.Undefined(), vm.rt.GlobalObject(), vm.rt.ToValue(func(call goja.FunctionCall) goja.Value {
		b, ok := vm.unboxed(call.Argument(0))
		if !ok {
			return goja.Undefined()
		}
		return vm.rt.ToValue(b.shellText())
	}))
	return err
}

// shellText returns the boxed value as tojson writes it.
func (b *box) shellText() string {
	switch b.v.Type {
	case bson.TypeObjectID:
		return `ObjectId("` + b.text() + `")`
	case bson.TypeMinKey:
		return `{ "$minKey" : 1 }`
	case bson.TypeMaxKey:
		return `{ "$maxKey" : 1 }`
	}
	return b.text()
}
