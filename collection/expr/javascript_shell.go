package expr

import (
	"context"
	"math"
	"sync"
	"time"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mql"

	"github.com/dop251/goja"
)

// Shell is the host of a script that works on databases, as scripts of mongosh do.
type Shell struct {
	// Database is the name of the database of the variable db.
	Database string
	// Run runs a command on a database. An error is thrown in the script.
	Run func(db string, command bson.Raw) (reply bson.Raw, err error)
	// Print receives the texts that the script prints.
	Print func(text string)
	// Environ has the variables of process.env, as os.Environ returns them.
	Environ map[string]string
}

// RunShell runs a script once, with the subset of mongosh's methods that shellSource defines, under the limits of one
// call into JavaScript. Numbers without a fraction become 32-bit integers where they fit, as in mongosh.
// Errors: as VM.Call; an error of a command that the script does not catch.
func RunShell(ctx context.Context, now func() time.Time, source string, s *Shell) error {
	env := mql.NewEnv(ctx)
	env.Clock = now
	vm, err := NewVM()
	if err != nil {
		return err
	}
	vm.follow(env)
	if err := vm.addShell(s); err != nil {
		return scriptError(err)
	}
	script, err := CompileScript(env, "function() { "+source+"\n}")
	if err != nil {
		return err
	}
	var a bson.Arena
	_, err = vm.Call(env, script, &a, bson.Value{})
	return err
}

// addShell defines db and the other globals of mongosh.
func (vm *VM) addShell(s *Shell) error {
	run := func(call goja.FunctionCall) goja.Value {
		var a bson.Arena
		v, err := vm.fromJS(&a, call.Argument(1))
		if err != nil {
			panic(vm.rt.NewGoError(err))
		}
		command, ok := v.Doc()
		if !ok {
			panic(vm.rt.NewTypeError("a command is an object"))
		}
		b := bson.NewBuilder(nil)
		for name, v := range command.Fields() {
			appendShell(b, string(name), v)
		}
		reply, err := s.Run(call.Argument(0).String(), b.Doc())
		if err != nil {
			panic(vm.rt.NewGoError(err))
		}
		return vm.toJS(reply.Value())
	}
	dynamic := func(call goja.FunctionCall) goja.Value {
		missing, ok := goja.AssertFunction(call.Argument(1))
		if !ok {
			panic(vm.rt.NewTypeError("a function is missing"))
		}
		return vm.rt.NewDynamicObject(&shellObject{call.Argument(0).ToObject(vm.rt), func(name string) goja.Value {
			v, err := missing(goja.Undefined(), vm.rt.ToValue(name))
			if err != nil {
				panic(err)
			}
			return v
		}})
	}
	v, err := vm.rt.RunProgram(shellProgram())
	if err != nil {
		return err
	}
	define, _ := goja.AssertFunction(v)
	_, err = define(goja.Undefined(), vm.rt.GlobalObject(), vm.rt.ToValue(run), vm.rt.ToValue(s.Print), vm.rt.ToValue(dynamic), vm.rt.ToValue(s.Database), vm.rt.ToValue(s.Environ))
	return err
}

// appendShell appends a value of a script to a command: whole numbers of 32 bits as such, and null for undefined.
func appendShell(b *bson.Builder, name string, v bson.Value) {
	switch v.Type {
	case bson.TypeUndefined:
		b.Null(name)
	case bson.TypeDouble:
		if f, _ := v.Double(); f == math.Trunc(f) && math.Abs(f) <= math.MaxInt32 && (f != 0 || !math.Signbit(f)) {
			b.Int32(name, int32(f))
			return
		}
		b.Value(name, v)
	case bson.TypeDocument:
		b.BeginDoc(name)
		d, _ := v.Doc()
		for n, x := range d.Fields() {
			appendShell(b, string(n), x)
		}
		b.End()
	case bson.TypeArray:
		b.BeginArray(name)
		list, _ := v.Array()
		for x := range list.Values() {
			appendShell(b, "", x)
		}
		b.End()
	default:
		b.Value(name, v)
	}
}

// shellObject is an object whose unknown properties are made by missing: db.orders is a collection, db.log.items, too.
type shellObject struct {
	base    *goja.Object
	missing func(name string) goja.Value
}

// Get implements goja.DynamicObject.
func (o *shellObject) Get(key string) goja.Value {
	if v := o.base.Get(key); v != nil {
		return v
	}
	return o.missing(key)
}

// Set implements goja.DynamicObject.
func (o *shellObject) Set(key string, v goja.Value) bool { return o.base.Set(key, v) == nil }

// Has implements goja.DynamicObject.
func (o *shellObject) Has(key string) bool { return o.base.Get(key) != nil }

// Delete implements goja.DynamicObject.
func (o *shellObject) Delete(key string) bool { return o.base.Delete(key) == nil }

// Keys implements goja.DynamicObject.
func (o *shellObject) Keys() []string { return o.base.Keys() }

// shellProgram is the compiled shellSource, made for the first script.
var shellProgram = sync.OnceValue(func() *goja.Program { return goja.MustCompile("", shellSource, false) })

// shellSource defines the methods of mongosh that scripts of a first start use. It is a function of the global object,
// of the functions run and print, of dynamic, which makes an object with a fallback for unknown properties, of the name
// of the database, and of the environment.
// Manual: reference/method.
const shellSource = `
(function(global, run, print, dynamic, name, environ) {
	"use strict";
	function write(db, command) {
		var reply = run(db, command);
		if (reply.writeErrors && reply.writeErrors.length > 0) throw new Error(reply.writeErrors[0].errmsg);
		return reply;
	}
	function withOptions(command, options) {
		for (var k in options) if (options[k] !== undefined) command[k] = options[k];
		return command;
	}
	function withID(doc) { return "_id" in doc ? doc : Object.assign({_id: new ObjectId()}, doc); }
	function indexName(keys) { return Object.keys(keys).map(function(k) { return k + "_" + keys[k]; }).join("_"); }
	function cursor(open, db, coll) {
		var command = open, list = null, at = 0;
		function all() {
			if (list !== null) return list;
			list = [];
			for (var c = run(db, command).cursor, batch = c.firstBatch;;) {
				for (var i = 0; i < batch.length; i++) list.push(batch[i]);
				if (c.id == 0) return list;
				c = run(db, {getMore: c.id, collection: coll}).cursor;
				batch = c.nextBatch;
			}
		}
		var out = {
			toArray: all,
			forEach: function(f) { all().forEach(function(d) { f(d); }); },
			map: function(f) { return all().map(function(d) { return f(d); }); },
			hasNext: function() { return at < all().length; },
			next: function() { return all()[at++]; },
			itcount: function() { return all().length; },
			pretty: function() { return out; }
		};
		["sort", "limit", "skip", "hint", "projection", "collation", "batchSize", "comment"].forEach(function(k) {
			out[k] = function(v) { command[k] = v; return out; };
		});
		out.count = out.itcount;
		return out;
	}
	function collection(db, coll) {
		function update(q, u, options, multi) {
			var o = withOptions({q: q, u: u, multi: multi}, options);
			var r = write(db, {update: coll, updates: [o]});
			var up = r.upserted ? r.upserted[0]._id : null;
			return {acknowledged: true, insertedId: up, matchedCount: up === null ? r.n : 0, modifiedCount: r.nModified, upsertedCount: up === null ? 0 : 1};
		}
		function remove(q, options, limit) {
			return {acknowledged: true, deletedCount: write(db, {delete: coll, deletes: [withOptions({q: q, limit: limit}, options)]}).n};
		}
		function modify(q, options, extra) {
			options = Object.assign({}, options);
			if (options.returnDocument) options["new"] = options.returnDocument === "after";
			if (options.returnNewDocument) options["new"] = true;
			if (options.projection) options.fields = options.projection;
			["returnDocument", "returnNewDocument", "projection"].forEach(function(k) { delete options[k]; });
			return run(db, withOptions(withOptions({findAndModify: coll, query: q}, extra), options)).value;
		}
		var c = {
			getName: function() { return coll; },
			getFullName: function() { return db + "." + coll; },
			getDB: function() { return database(db); },
			insertOne: function(doc) {
				doc = withID(doc);
				write(db, {insert: coll, documents: [doc]});
				return {acknowledged: true, insertedId: doc._id};
			},
			insertMany: function(docs, options) {
				docs = docs.map(withID);
				for (var i = 0; i < docs.length; i += 1000) write(db, withOptions({insert: coll, documents: docs.slice(i, i + 1000)}, options));
				return {acknowledged: true, insertedIds: docs.map(function(d) { return d._id; })};
			},
			insert: function(docs, options) { return Array.isArray(docs) ? c.insertMany(docs, options) : c.insertOne(docs); },
			updateOne: function(q, u, options) { return update(q, u, options, false); },
			updateMany: function(q, u, options) { return update(q, u, options, true); },
			replaceOne: function(q, u, options) { return update(q, u, options, false); },
			deleteOne: function(q, options) { return remove(q, options, 1); },
			deleteMany: function(q, options) { return remove(q, options, 0); },
			find: function(q, projection) { return cursor(withOptions({find: coll, filter: q || {}}, {projection: projection}), db, coll); },
			findOne: function(q, projection) { var l = c.find(q, projection).limit(1).toArray(); return l.length ? l[0] : null; },
			findOneAndUpdate: function(q, u, options) { return modify(q, options, {update: u}); },
			findOneAndReplace: function(q, u, options) { return modify(q, options, {update: u}); },
			findOneAndDelete: function(q, options) { return modify(q, options, {remove: true}); },
			countDocuments: function(q) {
				var l = c.aggregate([{$match: q || {}}, {$count: "n"}]).toArray();
				return l.length ? l[0].n : 0;
			},
			estimatedDocumentCount: function() { return run(db, {count: coll}).n; },
			distinct: function(key, q) { return run(db, {distinct: coll, key: key, query: q || {}}).values; },
			aggregate: function(pipeline, options) {
				return cursor(withOptions({aggregate: coll, pipeline: pipeline, cursor: {}}, options), db, coll);
			},
			createIndex: function(keys, options) {
				var ix = withOptions({key: keys, name: indexName(keys)}, options);
				run(db, {createIndexes: coll, indexes: [ix]});
				return ix.name;
			},
			createIndexes: function(list, options) { return list.map(function(keys) { return c.createIndex(keys, options); }); },
			getIndexes: function() { return cursor({listIndexes: coll}, db, coll).toArray(); },
			dropIndex: function(index) { return run(db, {dropIndexes: coll, index: index}); },
			dropIndexes: function() { return run(db, {dropIndexes: coll, index: "*"}); },
			drop: function() { return run(db, {drop: coll}).ok == 1; },
			renameCollection: function(to) { return run("admin", {renameCollection: db + "." + coll, to: db + "." + to}); },
			runCommand: function(command, options) { return run(db, withOptions(typeof command === "string" ? {[command]: coll} : command, options)); }
		};
		return dynamic(c, function(sub) { return collection(db, coll + "." + sub); });
	}
	function database(db) {
		function command(on, c) { return run(on, typeof c === "string" ? {[c]: 1} : c); }
		var d = {
			getName: function() { return db; },
			getSiblingDB: database,
			getSisterDB: database,
			getCollection: function(coll) { return collection(db, coll); },
			getCollectionNames: function() {
				return cursor({listCollections: 1, nameOnly: true}, db, "$cmd.listCollections").map(function(x) { return x.name; }).sort();
			},
			createCollection: function(coll, options) { return run(db, withOptions({create: coll}, options)); },
			createView: function(view, source, pipeline, options) { return run(db, withOptions({create: view, viewOn: source, pipeline: pipeline}, options)); },
			runCommand: function(c) { return command(db, c); },
			adminCommand: function(c) { return command("admin", c); },
			dropDatabase: function() { return run(db, {dropDatabase: 1}); },
			createUser: function(user) {
				user = Object.assign({}, user);
				var who = user.user;
				delete user.user;
				return run(db, Object.assign({createUser: who}, user));
			},
			createRole: function(role) {
				role = Object.assign({}, role);
				var which = role.role;
				delete role.role;
				return run(db, Object.assign({createRole: which}, role));
			},
			grantRolesToUser: function(user, roles) { return run(db, {grantRolesToUser: user, roles: roles}); },
			dropUser: function(user) { return run(db, {dropUser: user}); },
			auth: function() { return {ok: 1}; },
			version: function() { return run("admin", {buildInfo: 1}).version; },
			getMongo: function() { return {getDB: database}; }
		};
		return dynamic(d, function(coll) { return collection(db, coll); });
	}
	function text(v) { return typeof v === "string" ? v : typeof v === "object" && v !== null ? JSON.stringify(v) : String(v); }
	function show() { print(Array.prototype.slice.call(arguments).map(text).join(" ")); }
	global.print = global.printjson = show;
	global.console = {log: show, info: show, warn: show, error: show};
	global.process = {env: environ};
	global._getEnv = function(k) { return environ[k] === undefined ? "" : environ[k]; };
	global.sh = {
		enableSharding: function(db) { return run("admin", {enableSharding: db}); },
		shardCollection: function(ns, key, unique, options) { return run("admin", withOptions({shardCollection: ns, key: key}, Object.assign({unique: unique || undefined}, options))); }
	};
	global.db = database(name);
})
`
