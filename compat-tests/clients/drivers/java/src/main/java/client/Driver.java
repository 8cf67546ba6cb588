package client;

import static client.Areas.COSMOS;
import static client.Areas.ONE;
import static client.Areas.URI;
import static client.Areas.equal;
import static client.Areas.refused;
import static client.Areas.that;
import static com.mongodb.client.model.Accumulators.sum;
import static com.mongodb.client.model.Aggregates.group;
import static com.mongodb.client.model.Aggregates.lookup;
import static com.mongodb.client.model.Aggregates.match;
import static com.mongodb.client.model.Aggregates.merge;
import static com.mongodb.client.model.Aggregates.sort;
import static com.mongodb.client.model.Filters.eq;
import static com.mongodb.client.model.Filters.gt;
import static com.mongodb.client.model.Filters.gte;
import static com.mongodb.client.model.Filters.lt;
import static com.mongodb.client.model.Indexes.ascending;
import static com.mongodb.client.model.Indexes.compoundIndex;
import static com.mongodb.client.model.Indexes.descending;
import static com.mongodb.client.model.Updates.combine;
import static com.mongodb.client.model.Updates.inc;
import static com.mongodb.client.model.Updates.push;
import static com.mongodb.client.model.Updates.set;

import com.mongodb.ClientBulkWriteException;
import com.mongodb.ClientSessionOptions;
import com.mongodb.ConnectionString;
import com.mongodb.DuplicateKeyException;
import com.mongodb.MongoBulkWriteException;
import com.mongodb.MongoClientSettings;
import com.mongodb.MongoException;
import com.mongodb.MongoExecutionTimeoutException;
import com.mongodb.MongoNamespace;
import com.mongodb.MongoTimeoutException;
import com.mongodb.MongoWriteException;
import com.mongodb.ReadConcern;
import com.mongodb.ReadPreference;
import com.mongodb.TransactionOptions;
import com.mongodb.WriteConcern;
import com.mongodb.client.ClientSession;
import com.mongodb.client.MongoClient;
import com.mongodb.client.MongoClients;
import com.mongodb.client.MongoCollection;
import com.mongodb.client.gridfs.GridFSBuckets;
import com.mongodb.client.model.BulkWriteOptions;
import com.mongodb.client.model.DeleteOneModel;
import com.mongodb.client.model.FindOneAndUpdateOptions;
import com.mongodb.client.model.IndexOptions;
import com.mongodb.client.model.InsertManyOptions;
import com.mongodb.client.model.InsertOneModel;
import com.mongodb.client.model.ReplaceOneModel;
import com.mongodb.client.model.ReplaceOptions;
import com.mongodb.client.model.ReturnDocument;
import com.mongodb.client.model.UpdateManyModel;
import com.mongodb.client.model.UpdateOptions;
import com.mongodb.client.model.bulk.ClientBulkWriteOptions;
import com.mongodb.client.model.bulk.ClientNamespacedWriteModel;
import com.mongodb.client.model.bulk.ClientReplaceOneOptions;
import com.mongodb.client.model.bulk.ClientUpdateOneOptions;
import com.mongodb.client.model.changestream.FullDocument;
import com.mongodb.event.CommandFailedEvent;
import com.mongodb.event.CommandListener;
import com.mongodb.event.CommandSucceededEvent;
import com.mongodb.event.ConnectionCreatedEvent;
import com.mongodb.event.ConnectionPoolListener;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.bson.Document;
import org.bson.types.Decimal128;

/** The blocking Java driver. */
final class Driver {
  private static MongoCollection<Document> coll(MongoClient client, String name) {
    return client.getDatabase("clients_java").getCollection(name);
  }

  private static Document doc(Object... pairs) {
    var d = new Document();
    for (int i = 0; i < pairs.length; i += 2) d.append((String) pairs[i], pairs[i + 1]);
    return d;
  }

  private static List<Document> docs(int from, int to) {
    var list = new ArrayList<Document>();
    for (int i = from; i < to; i++) list.add(doc("_id", i, "g", i % 4, "v", i));
    return list;
  }

  private static void all(int threads, int times, Callable<Object> work) throws Exception {
    var pool = Executors.newFixedThreadPool(threads);
    try {
      for (var done : pool.invokeAll(java.util.Collections.nCopies(times, work))) done.get();
    } finally {
      pool.shutdown();
    }
  }

  static void all() {
    Areas.area("java", "connect", client -> {
      // Another database, and nothing that says whether there are several servers.
      var direct = Areas.with(ONE, "directConnection=true").replace("/?", "/admin?").replaceAll("replicaSet=\\w+&", "");
      for (var form : List.of(URI, Areas.with("maxPoolSize=3&w=majority&journal=true"), Areas.with("retryWrites=false&readPreference=primaryPreferred"),
          direct, URI.replace("127.0.0.1", "localhost"))) {
        try (var c = MongoClients.create(form)) {
          var hello = c.getDatabase("admin").runCommand(doc("hello", 1));
          if (COSMOS) equal(hello.get("setName"), "globaldb");
          else equal(hello.get("msg"), "isdbgrid");
        }
      }
      try (var nobody = MongoClients.create("mongodb://127.0.0.1:1/?serverSelectionTimeoutMS=200")) {
        nobody.getDatabase("admin").runCommand(doc("ping", 1));
        throw new AssertionError("no error from nobody");
      } catch (MongoTimeoutException expected) {
        that(expected.getMessage().contains("127.0.0.1:1"));
      }
    });

    Areas.area("java", "crud", client -> {
      var c = coll(client, "crud");
      c.insertOne(doc("_id", 1, "n", 1, "tags", List.of("a"), "price", Decimal128.parse("1.50")));
      equal(c.insertMany(List.of(doc("_id", 2, "n", 2), doc("_id", 3, "n", 3))).getInsertedIds().size(), 2);
      equal(c.find(eq("tags", "a")).first().get("price"), "1.50");
      equal(c.updateOne(eq("_id", 2), combine(set("a", 1), inc("n", 10))).getModifiedCount(), 1);
      equal(c.updateMany(new Document(), push("tags", "c")).getMatchedCount(), 3);
      equal(c.updateOne(eq("_id", 9), set("n", 9), new UpdateOptions().upsert(true)).getUpsertedId().asInt32().getValue(), 9);
      equal(c.replaceOne(eq("_id", 9), doc("n", 90)).getModifiedCount(), 1);
      equal(c.findOneAndUpdate(eq("_id", 9), List.of(doc("$set", doc("n", doc("$add", List.of("$n", 1))))),
          new FindOneAndUpdateOptions().returnDocument(ReturnDocument.AFTER)).get("n"), 91);
      equal(c.findOneAndReplace(eq("_id", 9), doc("n", 5)).get("n"), 91);
      equal(c.findOneAndDelete(eq("_id", 9)).get("n"), 5);
      equal(c.distinct("n", Integer.class).into(new ArrayList<>()).stream().sorted().toList(), "[1, 3, 12]");
      equal(c.countDocuments(gte("n", 3)), 2);
      equal(c.estimatedDocumentCount(), 3);
      equal(c.deleteMany(new Document()).getDeletedCount(), 3);
    });

    Areas.area("java", "bulk", client -> {
      var c = coll(client, "bulk");
      var r = c.bulkWrite(List.of(new InsertOneModel<>(doc("_id", 1)), new InsertOneModel<>(doc("_id", 2)),
          new UpdateManyModel<>(new Document(), set("seen", true)), new ReplaceOneModel<>(eq("_id", 3), doc("n", 3), new ReplaceOptions().upsert(true)),
          new DeleteOneModel<>(eq("_id", 2))), new BulkWriteOptions().ordered(true));
      equal(List.of(r.getInsertedCount(), r.getModifiedCount(), r.getUpserts().size(), r.getDeletedCount()), "[2, 2, 1, 1]");
      try {
        c.insertMany(List.of(doc("_id", 1), doc("_id", 20), doc("_id", 3)), new InsertManyOptions().ordered(false));
        throw new AssertionError("duplicates were inserted");
      } catch (MongoBulkWriteException e) {
        equal(e.getWriteErrors().stream().map(w -> w.getIndex()).toList(), "[0, 2]");
      }
      int size = COSMOS ? 1000 : 10_000;
      c.insertMany(docs(1000, 1000 + size));
      equal(c.countDocuments(), size + 3);
    });

    Areas.area("java", "bulkwrite", client -> {
      if (COSMOS) throw new Areas.Skip("the service says 7.0, which has no bulkWrite");
      var one = new MongoNamespace("clients_java.bulkwrite");
      var other = new MongoNamespace("clients_java.other");
      var r = client.bulkWrite(List.of(
          ClientNamespacedWriteModel.insertOne(one, doc("_id", 1)), ClientNamespacedWriteModel.insertOne(one, doc("_id", 2)),
          ClientNamespacedWriteModel.insertOne(other, doc("_id", 1)),
          ClientNamespacedWriteModel.updateOne(one, new Document(), set("last", true), ClientUpdateOneOptions.clientUpdateOneOptions().sort(descending("_id"))),
          ClientNamespacedWriteModel.updateMany(one, new Document(), set("seen", true)),
          ClientNamespacedWriteModel.replaceOne(other, eq("_id", 3), doc("n", 3), ClientReplaceOneOptions.clientReplaceOneOptions().upsert(true)),
          ClientNamespacedWriteModel.deleteOne(one, eq("_id", 1))), ClientBulkWriteOptions.clientBulkWriteOptions().verboseResults(true));
      equal(List.of(r.getInsertedCount(), r.getMatchedCount(), r.getModifiedCount(), r.getUpsertedCount(), r.getDeletedCount()), "[3, 3, 3, 1, 1]");
      equal(r.getVerboseResults().get().getUpdateResults().get(5).getUpsertedId().get().asInt32().getValue(), 3);
      equal(coll(client, "bulkwrite").find().into(new ArrayList<>()), List.of(doc("_id", 2, "last", true, "seen", true)));
      try {
        client.bulkWrite(List.of(ClientNamespacedWriteModel.insertOne(other, doc("_id", 1)), ClientNamespacedWriteModel.insertOne(one, doc("_id", 3)),
            ClientNamespacedWriteModel.insertOne(one, doc("_id", 2))), ClientBulkWriteOptions.clientBulkWriteOptions().ordered(false));
        throw new AssertionError("duplicates were inserted");
      } catch (ClientBulkWriteException e) {
        equal(e.getWriteErrors().keySet().stream().sorted().toList(), "[0, 2]");
        equal(e.getPartialResult().get().getInsertedCount(), 1);
      }
    });

    Areas.area("java", "cursors", client -> {
      var c = coll(client, "cursors");
      c.insertMany(docs(0, 250));
      var got = c.find().sort(descending("_id")).batchSize(20).skip(10).limit(200).into(new ArrayList<>());
      equal(List.of(got.size(), got.get(0).get("_id"), got.get(199).get("_id")), "[200, 239, 40]");
      long id;
      try (var cursor = c.find().batchSize(10).cursor()) {
        cursor.next();
        id = cursor.getServerCursor().getId();
      }
      refused(43, () -> client.getDatabase("clients_java").runCommand(doc("getMore", id, "collection", "cursors")));
      equal(client.getDatabase("clients_java").listCollectionNames().into(new ArrayList<>()), "[cursors]");
    });

    Areas.area("java", "indexes", client -> {
      var c = coll(client, "indexes");
      c.insertOne(doc("a", 1, "b", 2));
      equal(c.createIndex(compoundIndex(ascending("a"), descending("b"))), "a_1_b_-1");
      c.createIndex(ascending("at"), new IndexOptions().expireAfter(3600L, TimeUnit.SECONDS));
      equal(c.listIndexes().into(new ArrayList<>()).size(), 3);
      that(c.find(eq("a", 1)).explain().toJson().contains("IXSCAN"));
      c.dropIndex("a_1_b_-1");
      refused(27, () -> client.getDatabase("clients_java").runCommand(doc("dropIndexes", "indexes", "index", "none")));
      c.dropIndexes();
    });

    Areas.area("java", "aggregation", client -> {
      var c = coll(client, "aggregation");
      c.insertMany(docs(0, 100));
      var groups = c.aggregate(List.of(match(lt("v", 80)), group("$g", sum("n", 1)), sort(ascending("_id")))).batchSize(2).allowDiskUse(true)
          .into(new ArrayList<>());
      equal(groups.stream().map(d -> d.get("n")).toList(), "[20, 20, 20, 20]");
      equal(c.aggregate(List.of(match(eq("_id", 1)), lookup("aggregation", "g", "g", "same"))).first().getList("same", Document.class).size(), 25);
      c.aggregate(List.of(match(eq("g", 0)), merge("merged"))).toCollection();
      equal(coll(client, "merged").countDocuments(), 25);
    });

    Areas.area("java", "gridfs", client -> {
      coll(client, "fs.chunks").createIndex(ascending("n")); // Cosmos DB sorts only by what is indexed
      var bucket = GridFSBuckets.create(client.getDatabase("clients_java"));
      var data = new byte[1_000_000];
      for (int i = 0; i < data.length; i++) data[i] = (byte) (i * 7);
      var id = bucket.uploadFromStream("a.bin", new ByteArrayInputStream(data));
      var back = new ByteArrayOutputStream();
      bucket.downloadToStream(id, back);
      that(Arrays.equals(back.toByteArray(), data));
      equal(bucket.find(eq("filename", "a.bin")).first().getLength(), data.length);
      bucket.rename(id, "b.bin");
      bucket.delete(id);
      equal(coll(client, "fs.chunks").countDocuments(), 0);
    });

    Areas.area("java", "sessions", client -> {
      var c = coll(client, "sessions");
      try (var session = client.startSession(ClientSessionOptions.builder().causallyConsistent(true).build())) {
        c.insertOne(session, doc("_id", 1));
        that(session.getOperationTime() != null && session.getClusterTime() != null);
        equal(c.withReadConcern(ReadConcern.MAJORITY).countDocuments(session), 1);
      }
      if (COSMOS) return;
      try (var session = client.startSession(ClientSessionOptions.builder().snapshot(true).build())) {
        equal(c.countDocuments(session), 1);
        c.insertOne(doc("_id", 2));
        equal(c.countDocuments(session), 1);
      }
    });

    Areas.area("java", "transactions", client -> {
      var c = coll(client, "transactions");
      c.insertMany(List.of(doc("_id", "a", "n", 100), doc("_id", "b", "n", 0)));
      var how = TransactionOptions.builder().readConcern(ReadConcern.SNAPSHOT).writeConcern(WriteConcern.MAJORITY).build();
      all(8, 8, () -> {
        try (var session = client.startSession()) {
          return session.withTransaction(() -> move(session, c), how);
        }
      });
      equal(c.find(eq("_id", "b")).first().get("n"), 8);
      try (var single = MongoClients.create(ONE); var one = single.startSession(); var two = single.startSession()) {
        var same = coll(single, "transactions");
        one.startTransaction();
        two.startTransaction();
        move(one, same);
        that(refused(112, () -> move(two, same)).hasErrorLabel(MongoException.TRANSIENT_TRANSACTION_ERROR_LABEL));
        one.abortTransaction();
      }
      equal(c.find(eq("_id", "b")).first().get("n"), 8);
    });

    Areas.area("java", "retryable", client -> {
      var c = coll(client, "retryable");
      var admin = client.getDatabase("admin");
      try {
        for (var data : List.of(doc("closeConnection", true), doc("errorCode", 91, "errorLabels", List.of("RetryableWriteError")))) {
          admin.runCommand(doc("configureFailPoint", "failCommand", "mode", doc("times", 1),
              "data", data.append("failCommands", List.of("insert")).append("appName", "java_retryable")));
          c.insertOne(doc("n", 1));
        }
        admin.runCommand(doc("configureFailPoint", "failCommand", "mode", doc("times", 1),
            "data", doc("failCommands", List.of("find"), "errorCode", 11602, "appName", "java_retryable")));
        equal(c.find().into(new ArrayList<>()).size(), 2);
        admin.runCommand(doc("configureFailPoint", "failCommand", "mode", doc("times", 1),
            "data", doc("failCommands", List.of("insert"), "errorCode", 11601, "appName", "java_retryable")));
        refused(11601, () -> c.insertOne(doc("n", 2)));
      } finally {
        admin.runCommand(doc("configureFailPoint", "failCommand", "mode", "off"));
      }
    });

    Areas.area("java", "changestreams", client -> {
      client.getDatabase("clients_java").createCollection("changestreams");
      var c = coll(client, "changestreams");
      var pipeline = List.of(doc("$match", doc("operationType", doc("$in", List.of("insert", "update", "replace")))),
          doc("$project", doc("_id", 1, "fullDocument", 1, "ns", 1, "documentKey", 1)));
      var stream = c.watch(pipeline, Document.class).fullDocument(FullDocument.UPDATE_LOOKUP).maxAwaitTime(200, TimeUnit.MILLISECONDS);
      Object token;
      try (var cursor = c.aggregate(List.of(doc("$changeStream", doc("fullDocument", "updateLookup")), pipeline.get(0), pipeline.get(1))).cursor()) {
        c.insertOne(doc("_id", 1));
        var event = cursor.next();
        equal(event.get("documentKey", Document.class).get("_id"), 1);
        token = event.get("_id");
      }
      c.insertOne(doc("_id", 2));
      var resume = ((Document) token).toBsonDocument();
      try (var cursor = stream.resumeAfter(resume).withDocumentClass(Document.class).cursor()) {
        equal(cursor.next().get("documentKey", Document.class).get("_id"), 2);
      }
    });

    Areas.area("java", "throttling", client -> {
      var db = client.getDatabase("clients_java");
      db.runCommand(doc("customAction", "CreateCollection", "collection", "throttling", "shardKey", "k", "offerThroughput", 400));
      var c = coll(client, "throttling");
      List<Document> left = new ArrayList<>();
      for (int i = 0; i < 1000; i++) left.add(doc("_id", i, "k", i, "pad", "x".repeat(900)));
      for (int round = 0; round == 0 || left.size() > 900; round++) {
        try {
          c.insertMany(left, new InsertManyOptions().ordered(false));
          throw new AssertionError("1 MB at once into 400 RU/s");
        } catch (MongoBulkWriteException e) {
          var again = new ArrayList<Document>();
          int wait = 0;
          for (var w : e.getWriteErrors()) {
            equal(w.getCode(), 16500);
            again.add(left.get(w.getIndex()));
            Matcher m = Pattern.compile("RetryAfterMs=(\\d+)").matcher(w.getMessage());
            that(m.find());
            wait = Integer.parseInt(m.group(1));
          }
          left = again;
          Thread.sleep(wait + 50);
        } catch (MongoException e) { // not even the first was paid for
          if (round == 0) throw e;
          equal(e.getCode(), 16500);
          Thread.sleep(300);
        }
      }
      Thread.sleep(1200);
      db.runCommand(doc("customAction", "InjectThrottle", "kind", "read", "nth", 1, "count", 1, "retryAfterMs", 50, "collection", "throttling"));
      try {
        that(c.find(doc("_id", 0, "k", 0)).first() != null);
      } catch (MongoException e) { // Cosmos DB, or a driver older than retries by labels
        equal(e.getCode(), 16500);
        that(e.hasErrorLabel("SystemOverloadedError") == !COSMOS);
        that(c.find(doc("_id", 0, "k", 0)).first() != null);
      }
      db.runCommand(doc("customAction", "InjectThrottle", "off", true));
    });

    Areas.area("java", "errors", client -> {
      var db = client.getDatabase("clients_java");
      var c = coll(client, "errors");
      c.insertOne(doc("_id", 1));
      that(refused(11000, () -> c.insertOne(doc("_id", 1))) instanceof MongoWriteException);
      refused(59, () -> db.runCommand(doc("noSuchCommand", 1)));
      refused(2, () -> c.find(doc("a", doc("$nope", 1))).first());
      refused(40324, () -> c.aggregate(List.of(doc("$nope", 1))).first());
      refused(48, () -> db.runCommand(doc("create", "errors", "capped", true, "size", 4096)));
      that(refused(50, () -> c.find(doc("$where", "sleep(300) || true")).maxTime(50, TimeUnit.MILLISECONDS).first()) instanceof MongoExecutionTimeoutException);
    });

    Areas.area("java", "compression", client -> {
      var text = "cantle ".repeat(50_000);
      for (var kind : List.of("snappy", "zlib", "zstd")) {
        try (var one = MongoClients.create(Areas.with("compressors=" + kind))) {
          coll(one, "compression").replaceOne(eq("_id", 1), doc("text", text), new ReplaceOptions().upsert(true));
          equal(coll(one, "compression").find().first().get("text"), text);
        }
      }
    });

    Areas.area("java", "pool", client -> {
      coll(client, "pool").insertMany(docs(0, 50));
      var made = new AtomicInteger();
      var settings = MongoClientSettings.builder().applyConnectionString(new ConnectionString(ONE))
          .applyToConnectionPoolSettings(b -> b.maxSize(5).addConnectionPoolListener(new ConnectionPoolListener() {
            @Override public void connectionCreated(ConnectionCreatedEvent event) {
              made.incrementAndGet();
            }
          }));
      try (var busy = MongoClients.create(settings.build())) {
        all(20, 400, () -> {
          that(coll(busy, "pool").find(gt("_id", 40)).first() != null);
          return null;
        });
      }
      that(made.get() <= 5);
      for (int i = 0; i < 30; i++) {
        try (var one = MongoClients.create(ONE)) {
          coll(one, "pool").withReadPreference(ReadPreference.nearest()).find().first();
        }
      }
    });

    Areas.area("java", "hosts", client -> {
      // The driver sorts them; the first one is to be that which lives to the end.
      var hosts = new ArrayList<>(new ConnectionString(URI).getHosts());
      hosts.sort(Comparator.comparing(h -> !ONE.contains(h)));
      if (hosts.size() == 1) throw new Areas.Skip("there is one server");
      var answered = new java.util.concurrent.ConcurrentSkipListSet<String>();
      var failed = new AtomicInteger();
      var settings = MongoClientSettings.builder().applyConnectionString(new ConnectionString(URI)).applicationName("hosts")
          .addCommandListener(new CommandListener() {
            @Override public void commandSucceeded(CommandSucceededEvent e) {
              if (e.getCommandName().equals("insert")) answered.add(e.getConnectionDescription().getServerAddress().toString());
            }

            @Override public void commandFailed(CommandFailedEvent e) {
              if (e.getConnectionDescription().getServerAddress().toString().equals(hosts.get(0))) failed.incrementAndGet();
            }
          });
      try (var single = MongoClients.create("mongodb://" + hosts.get(0) + "/"); var all = MongoClients.create(settings.build())) {
        var admin = single.getDatabase("admin");
        admin.runCommand(doc("configureFailPoint", "failCommand", "mode", "alwaysOn",
            "data", doc("failCommands", List.of("insert", "find"), "closeConnection", true, "appName", "hosts")));
        try {
          var c = coll(all, "hosts");
          for (int i = 0; i < 40; i++) {
            c.insertOne(doc("_id", i));
            that(c.find(eq("_id", i)).first() != null);
          }
          that(failed.get() > 0);
          equal(answered, hosts.subList(1, hosts.size()).stream().sorted().toList());
          equal(c.countDocuments(), 40);

          admin.runCommand(doc("configureFailPoint", "failCommand", "mode", "off"));
          var end = hosts.get(hosts.size() - 1);
          try (var last = MongoClients.create("mongodb://" + end + "/")) {
            last.getDatabase("admin").runCommand(doc("shutdown", 1));
          }
          var n = new AtomicInteger(40);
          Runnable work = () -> {
            var byId = eq("_id", n.getAndIncrement());
            c.insertOne(doc("_id", n.get() - 1));
            c.updateMany(byId, set("seen", true)); // which no driver retries
            that(c.find(byId).first().getBoolean("seen"));
          };
          for (long until = System.nanoTime() + 1_500_000_000L; System.nanoTime() < until; ) work.run();
          answered.clear();
          for (int i = 0; i < 30; i++) work.run();
          that(!answered.contains(end));
          equal(c.countDocuments(), n.get());
        } finally {
          admin.runCommand(doc("configureFailPoint", "failCommand", "mode", "off"));
        }
      }
    });
  }

  private static Object move(ClientSession session, MongoCollection<Document> c) {
    c.updateOne(session, eq("_id", "a"), inc("n", -1));
    return c.updateOne(session, eq("_id", "b"), inc("n", 1));
  }
}
