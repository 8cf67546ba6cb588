package expr

import (
	"crypto/md5"
	"encoding/base64"
	"encoding/hex"
	"math"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/decimal"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"

	"github.com/dop251/goja"
)

// preludeSource is JavaScript that each new VM runs, before any script. It defines the functions that are
// easiest to define in JavaScript, and limits or removes functions that could allocate gigabytes in one step, run
// code from strings or backtrack.
const preludeSource = `
(function(global) {
	"use strict";
	var max = 16 * 1024 * 1024;
	function define(o, name, f) { Object.defineProperty(o, name, {value: f, writable: true, configurable: true}); }
	function bound(o, name, size) {
		var f = o[name];
		if (typeof f !== "function") return;
		define(o, name, function() {
			if (size.apply(this, arguments) > max) throw new RangeError(name + ": result too large");
			return f.apply(this, arguments);
		});
	}
	bound(String.prototype, "repeat", function(n) { return this.length * n; });
	bound(String.prototype, "padStart", function(n) { return n; });
	bound(String.prototype, "padEnd", function(n) { return n; });
	bound(String.prototype, "split", function() { return this.length * 8; });
	["replace", "replaceAll"].forEach(function(name) {
		bound(String.prototype, name, function(p, r) {
			r = typeof r === "function" ? "" : String(r);
			var n = typeof p === "string" && name === "replace" ? 1 : this.length + 1;
			return this.length + n * (r.indexOf("$") < 0 ? r.length : r.length * (this.length + 1));
		});
	});
	Object.getOwnPropertyNames(Array.prototype).forEach(function(name) {
		if (["constructor", "length", "push", "pop", "join", "flat", "flatMap", "toLocaleString"].indexOf(name) >= 0) return;
		bound(Array.prototype, name, function() { return this.length; });
	});
	bound(Array.prototype, "join", function(sep) {
		var n = this.length * (sep === undefined ? 1 : String(sep).length);
		for (var i = 0; i < this.length && n <= max; i++) if (typeof this[i] === "string") n += this[i].length;
		return n;
	});
	delete Array.prototype.toLocaleString;
	bound(Array, "from", function(a) { return a && a.length || 0; });
	["SharedArrayBuffer", "BigInt64Array", "BigUint64Array", "BigInt", "Atomics", "Proxy", "eval"].forEach(function(n) { delete global[n]; });

	// Code comes from the command alone.
	function refused() { throw new TypeError("code from strings is not allowed"); }
	[function() {}, function*() {}, async function() {}].forEach(function(f) {
		define(Object.getPrototypeOf(f), "constructor", refused);
	});
	refused.prototype = Function.prototype;
	global.Function = refused;

	// Patterns and texts of regular expressions are limited in length; see also regexpSource.
	var Native = global.RegExp;
	function check(p) {
		p = String(p instanceof Native ? p.source : p);
		if (p.length > 16384) throw new SyntaxError("regular expression too long: " + p.slice(0, 40));
	}
	function RegExp(p, flags) { check(p); return new Native(p, flags); }
	RegExp.prototype = Native.prototype;
	define(Native.prototype, "constructor", RegExp);
	delete Native.prototype.compile;
	global.RegExp = RegExp;
	["match", "matchAll", "search"].forEach(function(name) {
		var f = String.prototype[name];
		if (f) define(String.prototype, name, function(p) {
			check(p);
			if (this.length > max / 8) throw new RangeError(name + ": text too long");
			return f.call(this, p);
		});
	});

	var parse = JSON.parse;
	JSON.parse = function(text, reviver) {
		text = String(text);
		for (var i = 0, n = 0; (i = text.indexOf("[", i)) >= 0; i++) if (++n > 100000) throw new SyntaxError("JSON nests too deep");
		for (i = 0; (i = text.indexOf("{", i)) >= 0; i++) if (++n > 100000) throw new SyntaxError("JSON nests too deep");
		return parse(text, reviver);
	};
	var quote = JSON.stringify;
	JSON.stringify = function(value, replacer, space) {
		var gap = typeof space === "number" ? "          ".slice(0, space) : typeof space === "string" ? space.slice(0, 10) : "";
		function write(holder, key, indent) {
			var v = holder[key];
			if (v !== null && v !== undefined && typeof v.toJSON === "function") v = v.toJSON(key);
			if (typeof replacer === "function") v = replacer.call(holder, key, v);
			if (v instanceof Number || v instanceof String || v instanceof Boolean) v = v.valueOf();
			if (typeof v !== "object" || v === null) return quote(v);
			var inner = indent + gap, parts = [], sep = gap ? ",\n" + inner : ",", s, i;
			if (Array.isArray(v)) {
				for (i = 0; i < v.length; i++) parts.push(write(v, String(i), inner) || "null");
				s = ["[", "]"];
			} else {
				var keys = Array.isArray(replacer) ? replacer : Object.keys(v);
				for (i = 0; i < keys.length; i++) {
					var t = write(v, keys[i], inner);
					if (t !== undefined) parts.push(quote(String(keys[i])) + (gap ? ": " : ":") + t);
				}
				s = ["{", "}"];
			}
			if (!parts.length) return s[0] + s[1];
			return gap ? s[0] + "\n" + inner + parts.join(sep) + "\n" + indent + s[1] : s[0] + parts.join(",") + s[1];
		}
		return write({"": value}, "", "");
	};

	// A date without a zone is one of UTC. Manual: reference/method/Date.
	global.ISODate = function(s) {
		if (!s) return new Date();
		var p = /^(\d{4})-?(\d\d)-?(\d\d)(?:[T ](\d\d)(?::?(\d\d)(?::?(\d\d)(?:\.(\d+))?)?)?(?:Z|([+-])(\d\d):?(\d\d)?)?)?$/.exec(s);
		var n = function(i) { return +(p[i] || 0); };
		if (!p || n(2) < 1 || n(2) > 12 || n(3) < 1 || n(3) > 31 || n(4) > 23 || n(5) > 59 || n(6) > 59) throw new Error("invalid ISO date: " + s);
		var d = new Date(0);
		d.setUTCFullYear(n(1), n(2) - 1, n(3));
		d.setUTCHours(n(4), n(5), n(6), +((p[7] || "") + "000").slice(0, 3));
		return new Date(d.getTime() + (p[8] === "-" ? 1 : -1) * (n(9) * 60 + n(10)) * 60000);
	};
	global.isNumber = function(x) { return typeof x === "number"; };
	global.isObject = function(x) { return typeof x === "object" && x !== null; };
	global.isString = function(x) { return typeof x === "string"; };
	global.print = global.printjson = function() {};
	global.gc = function() {};

	global.doassert = function(msg) { throw new Error(typeof msg === "function" ? msg() : String(msg)); };
	global.assert = function(ok, msg) { if (!ok) doassert("assert failed" + said(msg)); };
	global.friendlyEqual = function(a, b) { return a == b || tojson(a) === tojson(b); };
	function said(msg) { return msg === undefined ? "" : " : " + (typeof msg === "function" ? msg() : msg); }
	function compares(name, sign, holds) {
		assert[name] = function(a, b, msg) { if (!holds(a, b)) doassert(tojson(a) + " is not " + sign + " " + tojson(b) + said(msg)); };
	}
	compares("eq", "equal to", friendlyEqual);
	compares("neq", "unequal to", function(a, b) { return !friendlyEqual(a, b); });
	compares("lt", "less than", function(a, b) { return a < b; });
	compares("lte", "less than or equal to", function(a, b) { return a <= b; });
	compares("gt", "greater than", function(a, b) { return a > b; });
	compares("gte", "greater than or equal to", function(a, b) { return a >= b; });
	compares("contains", "in", function(a, b) { return Array.contains(b, a); });
	assert.isnull = function(x, msg) { if (x !== null && x !== undefined) doassert(tojson(x) + " is not null" + said(msg)); };
	assert.throws = function(f, args, msg) {
		try { f.apply(null, args || []); } catch (e) { return e; }
		doassert("did not throw" + said(msg));
	};

	global.DBRef = function(ns, id, db) {
		var ref = this instanceof DBRef ? this : Object.create(DBRef.prototype);
		ref.$ref = ns;
		ref.$id = id;
		if (db !== undefined) ref.$db = db;
		return ref;
	};
	define(DBRef.prototype, "getRef", function() { return this.$ref; });
	define(DBRef.prototype, "getCollection", function() { return this.$ref; });
	define(DBRef.prototype, "getId", function() { return this.$id; });
	define(DBRef.prototype, "getDb", function() { return this.$db; });

	define(String.prototype, "ltrim", function() { return this.trimStart(); });
	define(String.prototype, "rtrim", function() { return this.trimEnd(); });
	["trim", "ltrim", "rtrim"].forEach(function(name) { String[name] = function(s) { return String(s)[name](); }; });

	Array.unique = function(a) {
		var seen = {}, out = [];
		a.forEach(function(x) {
			var key = typeof x + tojson(x);
			if (!Object.prototype.hasOwnProperty.call(seen, key)) { seen[key] = true; out.push(x); }
		});
		return out;
	};
	Array.shuffle = function(a) {
		for (var i = a.length - 1; i > 0; i--) {
			var j = Math.floor(Math.random() * (i + 1)), x = a[i];
			a[i] = a[j];
			a[j] = x;
		}
		return a;
	};
	Array.stdDev = function(a) {
		var avg = Array.avg(a), sum = 0;
		for (var i = 0; i < a.length; i++) sum += (a[i] - avg) * (a[i] - avg);
		return a.length === 0 ? null : Math.sqrt(sum / a.length);
	};
	Object.merge = function() {
		var out = {};
		for (var i = 0; i < arguments.length; i++) Object.extend(out, arguments[i]);
		return out;
	};
	Array.sum = function(a) { return a.length === 0 ? null : a.reduce(function(x, y) { return x + y; }); };
	Array.contains = function(a, x) { return a.indexOf(x) >= 0; };
	Array.avg = function(a) { return a.length === 0 ? null : Array.sum(a) / a.length; };
	Object.keySet = Object.keys;
	Object.extend = function(dst, src) { for (var k in src) dst[k] = src[k]; return dst; };
	define(Number.prototype, "toNumber", function() { return this.valueOf(); });
})(this);
`

// The compiled parts of the prelude, made with the first VM.
var (
	preludeProgram = compiledOnce(preludeSource)
	arraysProgram  = compiledOnce(arraysSource)
	tojsonProgram  = compiledOnce(tojsonSource)
	regexpProgram  = compiledOnce(regexpSource)
)

// compiledOnce returns a function that returns a compiled source, which is compiled by the first call.
func compiledOnce(source string) func() *goja.Program {
	return sync.OnceValue(func() *goja.Program { return goja.MustCompile("", source, false) })
}

// prelude fills a new VM's global object.
func (vm *VM) prelude() error {
	for _, part := range [...]func() *goja.Program{preludeProgram, arraysProgram} {
		if _, err := vm.rt.RunProgram(part()); err != nil {
			return err
		}
	}
	if err := vm.addToJSON(); err != nil {
		return err
	}
	if err := vm.addRegexps(); err != nil {
		return err
	}
	vm.boxes = prototypes{}
	for _, c := range [...]struct {
		name string
		t    bson.Type
		make func(args []goja.Value) (bson.Value, bool)
	}{
		{"NumberLong", bson.TypeInt64, makeLong},
		{"NumberInt", bson.TypeInt32, makeInt},
		{"NumberDecimal", bson.TypeDecimal128, makeDecimal},
		{"ObjectId", bson.TypeObjectID, makeObjectID},
		{"Timestamp", bson.TypeTimestamp, makeTimestamp},
		{"BinData", bson.TypeBinary, makeBinary},
		{"UUID", bson.TypeBinary, makeUUID},
		{"HexData", bson.TypeBinary, makeHex},
		{"MD5", bson.TypeBinary, makeMD5},
		{"MinKey", bson.TypeMinKey, func([]goja.Value) (bson.Value, bool) { return bson.MinKey, true }},
		{"MaxKey", bson.TypeMaxKey, func([]goja.Value) (bson.Value, bool) { return bson.MaxKey, true }},
	} {
		if err := vm.constructor(c.name, c.t, c.make); err != nil {
			return err
		}
	}
	if err := vm.rt.Set("ObjectID", vm.rt.Get("ObjectId")); err != nil {
		return err
	}
	if err := vm.rt.Set("hex_md5", func(s string) string {
		sum := md5.Sum([]byte(s))
		return hex.EncodeToString(sum[:])
	}); err != nil {
		return err
	}
	if err := vm.rt.Set("sleep", vm.sleep); err != nil {
		return err
	}
	if err := vm.rt.Get("Object").(*goja.Object).Set("bsonsize", vm.bsonSize); err != nil {
		return err
	}
	return vm.rt.Set("emit", func(call goja.FunctionCall) goja.Value {
		if vm.emit == nil {
			panic(vm.rt.NewTypeError("emit is only for the map function of mapReduce"))
		}
		if len(call.Arguments) != 2 {
			panic(vm.rt.NewGoError(mongoerr.New(31220, "emit takes 2 args")))
		}
		var a bson.Arena
		key, err := vm.fromJS(&a, call.Argument(0))
		if err == nil {
			var value bson.Value
			if value, err = vm.fromJS(&a, call.Argument(1)); err == nil {
				err = vm.emit(key, value)
			}
		}
		if err != nil {
			panic(vm.rt.NewGoError(err))
		}
		return goja.Undefined()
	})
}

// bsonSize is Object.bsonsize: the size of a stored document in bytes.
func (vm *VM) bsonSize(call goja.FunctionCall) goja.Value {
	if goja.IsUndefined(call.Argument(0)) || goja.IsNull(call.Argument(0)) {
		return vm.rt.ToValue(0)
	}
	var a bson.Arena
	v, err := vm.fromJS(&a, call.Argument(0))
	if err != nil {
		panic(vm.rt.NewGoError(err))
	}
	d, ok := v.Doc()
	if !ok {
		panic(vm.rt.NewTypeError("bsonsize takes an object"))
	}
	return vm.rt.ToValue(len(d))
}

// constructor defines a type of BSON, such as NumberLong, as a global constructor of the VM that works with and
// without new. make makes the value from the arguments.
func (vm *VM) constructor(name string, t bson.Type, make func([]goja.Value) (bson.Value, bool)) error {
	f := vm.rt.ToValue(func(call goja.ConstructorCall) *goja.Object {
		v, ok := make(call.Arguments)
		if !ok {
			panic(vm.rt.NewTypeError("bad argument of " + name))
		}
		return vm.boxed(v).(*goja.Object)
	}).(*goja.Object)
	if vm.boxes[t] == nil {
		p := f.Get("prototype").(*goja.Object)
		vm.boxes[t] = p
		self := func(call goja.FunctionCall) *box {
			b, ok := vm.unboxed(call.This)
			if !ok {
				panic(vm.rt.NewTypeError("not a " + name))
			}
			return b
		}
		methods := map[string]func(goja.FunctionCall) goja.Value{
			"toString": func(c goja.FunctionCall) goja.Value {
				if b := self(c); b.v.Type == bson.TypeObjectID {
					return vm.rt.ToValue(`ObjectId("` + b.text() + `")`)
				}
				return vm.rt.ToValue(self(c).text())
			},
			"toJSON": func(c goja.FunctionCall) goja.Value { return vm.rt.ToValue(self(c).text()) },
		}
		switch t {
		case bson.TypeInt64, bson.TypeInt32, bson.TypeDecimal128:
			number := func(c goja.FunctionCall) goja.Value { return vm.rt.ToValue(self(c).number()) }
			methods["toNumber"], methods["valueOf"] = number, number
		case bson.TypeObjectID:
			methods["valueOf"] = func(c goja.FunctionCall) goja.Value { return vm.rt.ToValue(self(c).text()) }
			methods["getTimestamp"] = func(c goja.FunctionCall) goja.Value {
				ms, _ := dateOfValue(self(c).v)
				return vm.toJS((&bson.Arena{}).DateTime(ms))
			}
			methods["equals"] = func(c goja.FunctionCall) goja.Value {
				o, ok := vm.unboxed(c.Argument(0))
				return vm.rt.ToValue(ok && o.v.Identical(self(c).v))
			}
		case bson.TypeBinary:
			methods["length"] = func(c goja.FunctionCall) goja.Value { return vm.rt.ToValue(len(self(c).v.Data) - 5) }
			methods["subtype"] = func(c goja.FunctionCall) goja.Value { return vm.rt.ToValue(int(self(c).v.Data[4])) }
			methods["base64"] = func(c goja.FunctionCall) goja.Value {
				return vm.rt.ToValue(base64.StdEncoding.EncodeToString(self(c).v.Data[5:]))
			}
			methods["hex"] = func(c goja.FunctionCall) goja.Value {
				return vm.rt.ToValue(hex.EncodeToString(self(c).v.Data[5:]))
			}
		}
		for n, m := range methods {
			if err := p.DefineDataProperty(n, vm.rt.ToValue(m), goja.FLAG_FALSE, goja.FLAG_FALSE, goja.FLAG_FALSE); err != nil {
				return err
			}
		}
	} else if err := f.Set("prototype", vm.boxes[t]); err != nil {
		return err
	}
	// Without new, the constructor also makes an object.
	wrap, err := vm.rt.RunString(`(function(C) { var f = function() { return Reflect.construct(C, arguments); }; f.prototype = C.prototype; return f; })`)
	if err != nil {
		return err
	}
	call, _ := goja.AssertFunction(wrap)
	w, err := call(goja.Undefined(), f)
	if err != nil {
		return err
	}
	return vm.rt.Set(name, w)
}

func argument(args []goja.Value, i int) goja.Value {
	if i < len(args) {
		return args[i]
	}
	return goja.Undefined()
}

func makeLong(args []goja.Value) (bson.Value, bool) {
	var a bson.Arena
	switch len(args) {
	case 0:
		return a.Int64(0), true
	case 1:
		if n, err := strconv.ParseInt(args[0].String(), 10, 64); err == nil {
			return a.Int64(n), true
		}
		f := args[0].ToFloat()
		return a.Int64(int64(f)), f == f && math.Abs(f) <= 1<<63
	case 3: // floatApprox, top, bottom
		return a.Int64(args[1].ToInteger()<<32 | int64(uint32(args[2].ToInteger()))), true
	}
	return bson.Value{}, false
}

func makeInt(args []goja.Value) (bson.Value, bool) {
	var a bson.Arena
	if len(args) == 0 {
		return a.Int32(0), true
	}
	return a.Int32(int32(args[0].ToInteger())), true
}

func makeDecimal(args []goja.Value) (bson.Value, bool) {
	var a bson.Arena
	if len(args) == 0 {
		return a.Decimal(bson.ComposeDecimal(false, 0, 0, 0)), true
	}
	d, ok := decimal.Parse(args[0].String())
	return a.Decimal(d), ok
}

func makeObjectID(args []goja.Value) (bson.Value, bool) {
	var a bson.Arena
	if len(args) == 0 {
		return a.ObjectID(bson.NewObjectID()), true
	}
	var id [12]byte
	text := strings.TrimSuffix(strings.TrimPrefix(args[0].String(), `ObjectId("`), `")`)
	if len(text) != 24 {
		return bson.Value{}, false
	}
	_, err := hex.Decode(id[:], []byte(text))
	return a.ObjectID(id), err == nil
}

func makeTimestamp(args []goja.Value) (bson.Value, bool) {
	var a bson.Arena
	return a.Timestamp(uint32(argument(args, 0).ToInteger()), uint32(argument(args, 1).ToInteger())), true
}

func makeBinary(args []goja.Value) (bson.Value, bool) {
	var a bson.Arena
	b, err := base64.StdEncoding.DecodeString(argument(args, 1).String())
	return a.Binary(byte(argument(args, 0).ToInteger()), b), err == nil
}

func makeUUID(args []goja.Value) (bson.Value, bool) {
	var a bson.Arena
	text := argument(args, 0).String()
	b, ok := parseUUID(text)
	if !ok {
		var err error
		b, err = hex.DecodeString(text)
		ok = err == nil && len(b) == 16
	}
	return a.Binary(4, b), ok
}

func makeHex(args []goja.Value) (bson.Value, bool) {
	var a bson.Arena
	b, err := hex.DecodeString(argument(args, 1).String())
	return a.Binary(byte(argument(args, 0).ToInteger()), b), err == nil
}

// makeMD5 returns binary data from a hash in hexadecimal digits.
func makeMD5(args []goja.Value) (bson.Value, bool) {
	var a bson.Arena
	b, err := hex.DecodeString(argument(args, 0).String())
	return a.Binary(5, b), err == nil && len(b) == md5.Size
}

// serve prepares the VM for a command: with the server's time and version, and the functions stored in the
// database.
func (vm *VM) serve(env *mql.Env) error {
	vm.follow(env)
	if err := vm.rt.Set("version", env.Release.Version); err != nil {
		return scriptError(err)
	}
	if env.Stored != nil {
		stored, err := env.Stored.Scripts(env)
		if err != nil {
			return err
		}
		if err := vm.define(env, stored); err != nil {
			return err
		}
	}
	vm.retained.globals = vm.globals()
	return nil
}

// follow sets the clock of scripts (Date) to the server's clock. Unlike $$NOW it advances while a script runs,
// because scripts measure time and wait by it.
func (vm *VM) follow(env *mql.Env) {
	clock := env.Clock
	if clock == nil {
		now := clockOf(env)
		clock = func() time.Time { return now }
	}
	vm.rt.SetTimeSource(clock)
}
