/* libmongoc, the C driver. One function per area; the line per area that the runner reads is printed by main. */
#include <inttypes.h>
#include <mongoc/mongoc.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DB "clients_c"

static const char *uri_text; /* of all servers, or of one of them in areas about a single one */
static bool cosmos;
static jmp_buf failed;
static char why[2048];
enum { FAILED = 1, SKIPPED };

/* FAIL ends the area. What it had open is left to the end of the process. */
static void fail(int line, const char *format, ...) {
  char said[1500];
  va_list args;
  va_start(args, format);
  vsnprintf(said, sizeof said, format, args);
  va_end(args);
  snprintf(why, sizeof why, "client.c:%d: %s", line, said);
  longjmp(failed, FAILED);
}

/* skip says why an area does not apply. */
static void skip(const char *reason) {
  snprintf(why, sizeof why, "%s", reason);
  longjmp(failed, SKIPPED);
}

#define CHECK(cond) do { if (!(cond)) fail(__LINE__, "%s", #cond); } while (0)
#define OK(call) do { if (!(call)) fail(__LINE__, "%s: %s", #call, error.message); } while (0)
#define REFUSED(want, call) do { if (call) fail(__LINE__, "%s succeeded", #call); \
    if (error.code != (want)) fail(__LINE__, "%s: %u %s", #call, error.code, error.message); } while (0)

static bson_error_t error;

static bson_t *json(const char *format, ...) {
  char text[8192];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  bson_t *b = bson_new_from_json((const uint8_t *)text, -1, &error);
  if (!b) fail(__LINE__, "%s: %s", text, error.message);
  return b;
}

static mongoc_client_t *connect_with(const char *options) {
  char text[1024];
  snprintf(text, sizeof text, "%s%s%s", uri_text, strchr(uri_text, '?') ? "&" : "?", *options ? options : "appName=c");
  mongoc_uri_t *uri = mongoc_uri_new_with_error(text, &error);
  if (!uri) fail(__LINE__, "%s", error.message);
  mongoc_client_t *client = mongoc_client_new_from_uri_with_error(uri, &error);
  if (!client) fail(__LINE__, "%s", error.message);
  mongoc_client_set_error_api(client, MONGOC_ERROR_API_VERSION_2);
  mongoc_uri_destroy(uri);
  return client;
}

static bool run(mongoc_client_t *client, const char *db, bson_t *command, bson_t *reply) {
  bson_t ignored;
  bool ok = mongoc_client_command_simple(client, db, command, NULL, reply ? reply : &ignored, &error);
  if (!reply) bson_destroy(&ignored);
  bson_destroy(command);
  return ok;
}

static mongoc_collection_t *empty(mongoc_client_t *client, const char *name) {
  mongoc_collection_t *coll = mongoc_client_get_collection(client, DB, name);
  mongoc_collection_drop(coll, NULL); /* it may not be there */
  return coll;
}

static bool insert(mongoc_collection_t *coll, const char *doc) {
  bson_t *b = json("%s", doc);
  bool ok = mongoc_collection_insert_one(coll, b, NULL, NULL, &error);
  bson_destroy(b);
  return ok;
}

static int64_t count(mongoc_collection_t *coll, const char *filter, mongoc_client_session_t *session) {
  bson_t opts = BSON_INITIALIZER;
  if (session) OK(mongoc_client_session_append(session, &opts, &error));
  int64_t n = mongoc_collection_count_documents(coll, json("%s", filter), &opts, NULL, NULL, &error);
  bson_destroy(&opts);
  if (n < 0) fail(__LINE__, "count: %s", error.message);
  return n;
}

static int64_t number(const bson_t *doc, const char *path) {
  bson_iter_t it, found;
  CHECK(bson_iter_init(&it, doc));
  if (!bson_iter_find_descendant(&it, path, &found)) fail(__LINE__, "no %s in %s", path, bson_as_json(doc, NULL));
  return bson_iter_as_int64(&found);
}

/* drain counts what a cursor has left and returns the last document's _id. */
static int drain(mongoc_cursor_t *cursor, int64_t *last) {
  const bson_t *doc;
  int n = 0;
  while (mongoc_cursor_next(cursor, &doc)) {
    n++;
    if (last) *last = number(doc, "_id");
  }
  if (mongoc_cursor_error(cursor, &error)) fail(__LINE__, "cursor: %s", error.message);
  mongoc_cursor_destroy(cursor);
  return n;
}

static void connect_area(void) {
  static const char *forms[] = {"", "maxPoolSize=3&w=majority&journal=true", "retryWrites=false&readPreference=primaryPreferred",
                                "readConcernLevel=majority&wtimeoutMS=1000&serverSelectionTimeoutMS=30000"};
  for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
    mongoc_client_t *client = connect_with(forms[i]);
    bson_t reply;
    OK(run(client, "admin", json("{\"hello\": 1}"), &reply));
    bson_iter_t it;
    CHECK(bson_iter_init_find(&it, &reply, cosmos ? "setName" : "msg"));
    CHECK(!strcmp(bson_iter_utf8(&it, NULL), cosmos ? "globaldb" : "isdbgrid"));
    bson_destroy(&reply);
    mongoc_client_destroy(client);
  }
  mongoc_client_t *nobody = mongoc_client_new("mongodb://127.0.0.1:1/?serverSelectionTimeoutMS=200&serverSelectionTryOnce=false");
  mongoc_client_set_error_api(nobody, MONGOC_ERROR_API_VERSION_2);
  CHECK(!run(nobody, "admin", json("{\"ping\": 1}"), NULL) && error.domain == MONGOC_ERROR_SERVER_SELECTION);
  mongoc_client_destroy(nobody);
}

static void crud_area(void) {
  mongoc_client_t *client = connect_with("");
  mongoc_collection_t *coll = empty(client, "crud");
  bson_t reply;
  for (int i = 1; i <= 3; i++) {
    bson_t *b = json("{\"_id\": %d, \"n\": %d, \"tags\": [\"a\"], \"price\": {\"$numberDecimal\": \"1.50\"}}", i, i);
    OK(mongoc_collection_insert_one(coll, b, NULL, NULL, &error));
  }
  OK(mongoc_collection_update_one(coll, json("{\"_id\": 2}"), json("{\"$inc\": {\"n\": 10}}"), NULL, &reply, &error));
  CHECK(number(&reply, "modifiedCount") == 1);
  OK(mongoc_collection_update_many(coll, json("{}"), json("{\"$push\": {\"tags\": \"c\"}}"), NULL, &reply, &error));
  CHECK(number(&reply, "matchedCount") == 3);
  OK(mongoc_collection_replace_one(coll, json("{\"_id\": 9}"), json("{\"n\": 90}"), json("{\"upsert\": true}"), &reply, &error));
  CHECK(number(&reply, "upsertedId") == 9);
  mongoc_find_and_modify_opts_t *fam = mongoc_find_and_modify_opts_new();
  mongoc_find_and_modify_opts_set_update(fam, json("{\"$inc\": {\"n\": 1}}"));
  mongoc_find_and_modify_opts_set_flags(fam, MONGOC_FIND_AND_MODIFY_RETURN_NEW);
  OK(mongoc_collection_find_and_modify_with_opts(coll, json("{\"_id\": 9}"), fam, &reply, &error));
  CHECK(number(&reply, "value.n") == 91);
  CHECK(count(coll, "{\"n\": {\"$gte\": 3}}", NULL) == 3);
  CHECK(mongoc_collection_estimated_document_count(coll, NULL, NULL, NULL, &error) == 4);
  OK(mongoc_collection_delete_one(coll, json("{\"_id\": 9}"), NULL, &reply, &error));
  OK(mongoc_collection_delete_many(coll, json("{}"), NULL, &reply, &error));
  CHECK(number(&reply, "deletedCount") == 3);
  mongoc_client_destroy(client);
}

static void bulk_area(void) {
  mongoc_client_t *client = connect_with("");
  mongoc_collection_t *coll = empty(client, "bulk");
  bson_t reply;
  mongoc_bulk_operation_t *bulk = mongoc_collection_create_bulk_operation_with_opts(coll, NULL);
  mongoc_bulk_operation_insert(bulk, json("{\"_id\": 1}"));
  mongoc_bulk_operation_insert(bulk, json("{\"_id\": 2}"));
  mongoc_bulk_operation_update(bulk, json("{}"), json("{\"$set\": {\"seen\": true}}"), false);
  mongoc_bulk_operation_replace_one(bulk, json("{\"_id\": 3}"), json("{\"n\": 3}"), true);
  mongoc_bulk_operation_remove_one(bulk, json("{\"_id\": 2}"));
  OK(mongoc_bulk_operation_execute(bulk, &reply, &error));
  CHECK(number(&reply, "nInserted") == 2 && number(&reply, "nModified") == 2 && number(&reply, "nUpserted") == 1 && number(&reply, "nRemoved") == 1);
  bulk = mongoc_collection_create_bulk_operation_with_opts(coll, json("{\"ordered\": false}"));
  int ids[] = {1, 20, 3, 21};
  for (int i = 0; i < 4; i++) mongoc_bulk_operation_insert(bulk, json("{\"_id\": %d}", ids[i]));
  REFUSED(11000, mongoc_bulk_operation_execute(bulk, &reply, &error));
  CHECK(number(&reply, "nInserted") == 2 && number(&reply, "writeErrors.0.index") == 0 && number(&reply, "writeErrors.1.index") == 2);
  int size = cosmos ? 1000 : 10000;
  bulk = mongoc_collection_create_bulk_operation_with_opts(coll, NULL);
  for (int i = 0; i < size; i++) mongoc_bulk_operation_insert(bulk, json("{\"_id\": %d}", 1000 + i));
  OK(mongoc_bulk_operation_execute(bulk, &reply, &error));
  CHECK(count(coll, "{}", NULL) == size + 4);
  mongoc_client_destroy(client);
}

static void fill(mongoc_collection_t *coll, int n) {
  mongoc_bulk_operation_t *bulk = mongoc_collection_create_bulk_operation_with_opts(coll, NULL);
  for (int i = 0; i < n; i++) mongoc_bulk_operation_insert(bulk, json("{\"_id\": %d, \"g\": %d, \"v\": %d}", i, i % 4, i));
  OK(mongoc_bulk_operation_execute(bulk, NULL, &error));
  mongoc_bulk_operation_destroy(bulk);
}

static void cursors_area(void) {
  mongoc_client_t *client = connect_with("");
  mongoc_collection_t *coll = empty(client, "cursors");
  fill(coll, 250);
  int64_t last = 0;
  int n = drain(mongoc_collection_find_with_opts(coll, json("{}"), json("{\"sort\": {\"_id\": -1}, \"batchSize\": 20, \"skip\": 10, \"limit\": 200}"), NULL), &last);
  CHECK(n == 200 && last == 40);
  mongoc_cursor_t *cursor = mongoc_collection_find_with_opts(coll, json("{}"), json("{\"batchSize\": 10}"), NULL);
  const bson_t *doc;
  CHECK(mongoc_cursor_next(cursor, &doc));
  int64_t id = mongoc_cursor_get_id(cursor);
  mongoc_cursor_destroy(cursor);
  REFUSED(43, run(client, DB, json("{\"getMore\": {\"$numberLong\": \"%" PRId64 "\"}, \"collection\": \"cursors\"}", id), NULL));
  CHECK(drain(mongoc_collection_find_with_opts(coll, json("{\"g\": 3}"), json("{\"hint\": {\"_id\": 1}, \"maxTimeMS\": 5000, \"projection\": {\"g\": 0}}"), NULL), NULL) == 62);
  mongoc_database_t *db = mongoc_client_get_database(client, DB);
  CHECK(mongoc_database_has_collection(db, "cursors", &error));
  mongoc_client_destroy(client);
}

static void indexes_area(void) {
  mongoc_client_t *client = connect_with("");
  mongoc_collection_t *coll = empty(client, "indexes");
  OK(insert(coll, "{\"a\": 1, \"b\": 2}"));
  OK(run(client, DB, json("{\"createIndexes\": \"indexes\", \"indexes\": [{\"key\": {\"a\": 1, \"b\": -1}, \"name\": \"one\"}, {\"key\": {\"at\": 1}, \"name\": \"two\", \"expireAfterSeconds\": 3600}]}"), NULL));
  CHECK(drain(mongoc_collection_find_indexes_with_opts(coll, NULL), NULL) == 3);
  bson_t reply;
  OK(run(client, DB, json("{\"explain\": {\"find\": \"indexes\", \"filter\": {\"a\": 1}}}"), &reply));
  CHECK(strstr(bson_as_json(&reply, NULL), "IXSCAN"));
  OK(mongoc_collection_drop_index(coll, "one", &error));
  REFUSED(27, mongoc_collection_drop_index(coll, "one", &error));
  mongoc_client_destroy(client);
}

static void aggregation_area(void) {
  mongoc_client_t *client = connect_with("");
  mongoc_collection_t *coll = empty(client, "aggregation");
  fill(coll, 100);
  int64_t last = 0;
  CHECK(drain(mongoc_collection_aggregate(coll, MONGOC_QUERY_NONE, json("[{\"$match\": {\"v\": {\"$lt\": 80}}}, "
    "{\"$group\": {\"_id\": \"$g\", \"n\": {\"$sum\": 1}}}, {\"$match\": {\"n\": 20}}, {\"$sort\": {\"_id\": 1}}]"), json("{\"batchSize\": 2}"), NULL), &last) == 4);
  CHECK(last == 3);
  CHECK(drain(mongoc_collection_aggregate(coll, MONGOC_QUERY_NONE, json("[{\"$match\": {\"_id\": 1}}, {\"$lookup\": {\"from\": "
    "\"aggregation\", \"localField\": \"g\", \"foreignField\": \"g\", \"as\": \"same\"}}, {\"$unwind\": \"$same\"}]"), NULL, NULL), NULL) == 25);
  mongoc_client_destroy(client);
}

static void gridfs_area(void) {
  mongoc_client_t *client = connect_with("");
  mongoc_database_t *db = mongoc_client_get_database(client, DB);
  empty(client, "fs.files");
  empty(client, "fs.chunks");
  /* Cosmos DB sorts only by what is indexed. */
  OK(run(client, DB, json("{\"createIndexes\": \"fs.chunks\", \"indexes\": [{\"key\": {\"n\": 1}, \"name\": \"n\"}]}"), NULL));
  mongoc_gridfs_bucket_t *bucket = mongoc_gridfs_bucket_new(db, json("{\"chunkSizeBytes\": 65536}"), NULL, &error);
  if (!bucket) fail(__LINE__, "%s", error.message);
  bson_value_t id;
  size_t size = 1000000, got = 0;
  char *data = malloc(size), *back = malloc(size + 1);
  for (size_t i = 0; i < size; i++) data[i] = (char)(i * 7);
  mongoc_stream_t *up = mongoc_gridfs_bucket_open_upload_stream(bucket, "a.bin", NULL, &id, &error);
  CHECK(up && mongoc_stream_write(up, data, size, 0) == (ssize_t)size);
  mongoc_stream_destroy(up);
  mongoc_stream_t *down = mongoc_gridfs_bucket_open_download_stream(bucket, &id, &error);
  CHECK(down);
  for (ssize_t n; (n = mongoc_stream_read(down, back + got, size + 1 - got, 1, 0)) > 0; got += (size_t)n) {}
  CHECK(got == size && !memcmp(data, back, size));
  CHECK(drain(mongoc_gridfs_bucket_find(bucket, json("{\"filename\": \"a.bin\"}"), NULL), NULL) == 1);
  OK(mongoc_gridfs_bucket_delete_by_id(bucket, &id, &error));
  CHECK(count(mongoc_client_get_collection(client, DB, "fs.chunks"), "{}", NULL) == 0);
  mongoc_client_destroy(client);
}

static void sessions_area(void) {
  mongoc_client_t *client = connect_with("");
  mongoc_collection_t *coll = empty(client, "sessions");
  mongoc_session_opt_t *how = mongoc_session_opts_new();
  mongoc_session_opts_set_causal_consistency(how, true);
  mongoc_client_session_t *session = mongoc_client_start_session(client, how, &error);
  CHECK(session);
  bson_t opts = BSON_INITIALIZER;
  OK(mongoc_client_session_append(session, &opts, &error));
  OK(mongoc_collection_insert_one(coll, json("{\"_id\": 1}"), &opts, NULL, &error));
  uint32_t t = 0, i = 0;
  mongoc_client_session_get_operation_time(session, &t, &i);
  CHECK(t > 0);
  CHECK(count(coll, "{}", session) == 1);
  mongoc_client_session_destroy(session);
  if (!cosmos) {
    how = mongoc_session_opts_new();
    mongoc_session_opts_set_snapshot(how, true);
    session = mongoc_client_start_session(client, how, &error);
    CHECK(session);
    CHECK(count(coll, "{}", session) == 1);
    OK(insert(coll, "{\"_id\": 2}"));
    CHECK(count(coll, "{}", session) == 1);
    mongoc_client_session_destroy(session);
  }
  mongoc_client_destroy(client);
}

struct adding { mongoc_collection_t *coll; };

static bool add(mongoc_client_session_t *session, void *ctx, bson_t **reply, bson_error_t *e) {
  bson_t opts = BSON_INITIALIZER;
  *reply = bson_new();
  return mongoc_client_session_append(session, &opts, e) &&
         mongoc_collection_update_one(((struct adding *)ctx)->coll, json("{\"_id\": 1}"), json("{\"$inc\": {\"n\": 1}}"), &opts, NULL, e);
}

static void transactions_area(void) {
  mongoc_client_t *client = connect_with("");
  mongoc_collection_t *coll = empty(client, "transactions");
  OK(insert(coll, "{\"_id\": 1, \"n\": 0}"));
  mongoc_client_session_t *session = mongoc_client_start_session(client, NULL, &error);
  struct adding ctx = {coll};
  OK(mongoc_client_session_with_transaction(session, add, NULL, &ctx, NULL, &error));
  CHECK(count(coll, "{\"n\": 1}", NULL) == 1);
  bson_t *reply;
  OK(mongoc_client_session_start_transaction(session, NULL, &error));
  OK(add(session, &ctx, &reply, &error));
  CHECK(count(coll, "{\"n\": 2}", session) == 1 && count(coll, "{\"n\": 2}", NULL) == 0);
  mongoc_client_session_t *other = mongoc_client_start_session(client, NULL, &error);
  OK(mongoc_client_session_start_transaction(other, NULL, &error));
  REFUSED(112, add(other, &ctx, &reply, &error));
  mongoc_client_session_destroy(other);
  OK(mongoc_client_session_abort_transaction(session, &error));
  CHECK(count(coll, "{\"n\": 1}", NULL) == 1);
  mongoc_client_session_destroy(session);
  mongoc_client_destroy(client);
}

static void retryable_area(void) {
  mongoc_client_t *client = connect_with("appName=c_retryable");
  mongoc_collection_t *coll = empty(client, "retryable");
  static const char *fail_point = "{\"configureFailPoint\": \"failCommand\", \"mode\": {\"times\": 1}, \"data\": {\"appName\": \"c_retryable\", %s}}";
  bson_t *set = json(fail_point, "\"failCommands\": [\"insert\"], \"closeConnection\": true");
  OK(run(client, "admin", set, NULL));
  OK(insert(coll, "{\"_id\": 1}"));
  OK(run(client, "admin", json(fail_point, "\"failCommands\": [\"update\"], \"errorCode\": 91, \"errorLabels\": [\"RetryableWriteError\"]"), NULL));
  OK(mongoc_collection_update_one(coll, json("{\"_id\": 1}"), json("{\"$inc\": {\"n\": 1}}"), NULL, NULL, &error));
  OK(run(client, "admin", json(fail_point, "\"failCommands\": [\"find\"], \"errorCode\": 11602"), NULL));
  CHECK(drain(mongoc_collection_find_with_opts(coll, json("{\"n\": 1}"), NULL, NULL), NULL) == 1);
  OK(run(client, "admin", json(fail_point, "\"failCommands\": [\"insert\"], \"errorCode\": 11601"), NULL));
  REFUSED(11601, insert(coll, "{\"_id\": 2}"));
  OK(run(client, "admin", json("{\"configureFailPoint\": \"failCommand\", \"mode\": \"off\"}"), NULL));
  mongoc_client_destroy(client);
}

static void changestreams_area(void) {
  mongoc_client_t *client = connect_with("");
  mongoc_collection_t *coll = empty(client, "changestreams");
  OK(run(client, DB, json("{\"create\": \"changestreams\"}"), NULL));
  bson_t *pipeline = json("{\"pipeline\": [{\"$match\": {\"operationType\": {\"$in\": [\"insert\", \"update\", \"replace\"]}}}, "
                          "{\"$project\": {\"_id\": 1, \"fullDocument\": 1, \"ns\": 1, \"documentKey\": 1}}]}");
  mongoc_change_stream_t *stream = mongoc_collection_watch(coll, pipeline, json("{\"fullDocument\": \"updateLookup\", \"maxAwaitTimeMS\": 100}"));
  const bson_t *event, *reply;
  CHECK(!mongoc_change_stream_next(stream, &event) && !mongoc_change_stream_error_document(stream, &error, &reply));
  OK(insert(coll, "{\"_id\": 1}"));
  for (int tries = 0; !mongoc_change_stream_next(stream, &event); tries++) CHECK(tries < 100);
  CHECK(number(event, "documentKey._id") == 1);
  char *token = bson_as_canonical_extended_json(mongoc_change_stream_get_resume_token(stream), NULL);
  mongoc_change_stream_destroy(stream);
  OK(insert(coll, "{\"_id\": 2}"));
  stream = mongoc_collection_watch(coll, pipeline, json("{\"fullDocument\": \"updateLookup\", \"maxAwaitTimeMS\": 100, \"resumeAfter\": %s}", token));
  for (int tries = 0; !mongoc_change_stream_next(stream, &event); tries++) CHECK(tries < 100);
  CHECK(number(event, "documentKey._id") == 2);
  mongoc_change_stream_destroy(stream);
  mongoc_client_destroy(client);
}

static void throttling_area(void) {
  mongoc_client_t *client = connect_with("");
  mongoc_collection_t *coll = empty(client, "throttling");
  OK(run(client, DB, json("{\"customAction\": \"CreateCollection\", \"collection\": \"throttling\", \"shardKey\": \"k\", \"offerThroughput\": 400}"), NULL));
  char pad[901];
  memset(pad, 'x', 900);
  pad[900] = 0;
  int refusals = 0;
  for (int i = 0; i < 300; i++) {
    bson_t *b = json("{\"_id\": %d, \"k\": %d, \"pad\": \"%s\"}", i, i, pad);
    /* Waiting as told and trying again; this driver is older than retries by labels. */
    while (!mongoc_collection_insert_one(coll, b, NULL, NULL, &error)) {
      if (error.code != 16500) fail(__LINE__, "%u %s", error.code, error.message);
      const char *after = strstr(error.message, "RetryAfterMs=");
      CHECK(after);
      usleep((useconds_t)(atoi(after + 13) + 50) * 1000);
      refusals++;
    }
    bson_destroy(b);
  }
  CHECK(refusals > 0);
  mongoc_client_destroy(client);
}

static void errors_area(void) {
  mongoc_client_t *client = connect_with("");
  mongoc_collection_t *coll = empty(client, "errors");
  OK(insert(coll, "{\"_id\": 1}"));
  REFUSED(11000, insert(coll, "{\"_id\": 1}"));
  CHECK(error.domain == MONGOC_ERROR_SERVER);
  REFUSED(59, run(client, DB, json("{\"noSuchCommand\": 1}"), NULL));
  REFUSED(2, run(client, DB, json("{\"find\": \"errors\", \"filter\": {\"a\": {\"$nope\": 1}}}"), NULL));
  REFUSED(40324, run(client, DB, json("{\"aggregate\": \"errors\", \"pipeline\": [{\"$nope\": 1}], \"cursor\": {}}"), NULL));
  REFUSED(48, run(client, DB, json("{\"create\": \"errors\", \"capped\": true, \"size\": 4096}"), NULL));
  REFUSED(50, run(client, DB, json("{\"find\": \"errors\", \"filter\": {\"$where\": \"sleep(300) || true\"}, \"maxTimeMS\": 50}"), NULL));
  if (!cosmos) {
    OK(run(client, DB, json("{\"collMod\": \"errors\", \"validator\": {\"n\": {\"$type\": \"int\"}}}"), NULL));
    REFUSED(121, insert(coll, "{\"n\": \"x\"}"));
  }
  mongoc_client_destroy(client);
}

static void compression_area(void) {
  static const char *kinds[] = {"compressors=snappy", "compressors=zlib", "compressors=zstd"};
  char *doc = malloc(400100), *p = doc + sprintf(doc, "{\"_id\": 1, \"text\": \"");
  for (int i = 0; i < 50000; i++) p += sprintf(p, "cantle ");
  sprintf(p, "\"}");
  for (int i = 0; i < 3; i++) {
    mongoc_client_t *client = connect_with(kinds[i]);
    mongoc_collection_t *coll = empty(client, "compression");
    bson_t *b = bson_new_from_json((const uint8_t *)doc, -1, &error);
    OK(mongoc_collection_insert_one(coll, b, NULL, NULL, &error));
    const bson_t *back;
    mongoc_cursor_t *cursor = mongoc_collection_find_with_opts(coll, json("{}"), NULL, NULL);
    CHECK(mongoc_cursor_next(cursor, &back) && bson_equal(b, back));
    mongoc_cursor_destroy(cursor);
    mongoc_client_destroy(client);
  }
}

static mongoc_client_pool_t *pool;

static void *work(void *arg) {
  for (int i = 0; i < 20; i++) {
    mongoc_client_t *client = mongoc_client_pool_pop(pool);
    bson_error_t e;
    bson_t ping = BSON_INITIALIZER;
    BSON_APPEND_INT32(&ping, "ping", 1);
    if (!mongoc_client_command_simple(client, "admin", &ping, NULL, NULL, &e)) ++*(int *)arg;
    bson_destroy(&ping);
    mongoc_client_pool_push(pool, client);
  }
  return NULL;
}

static void pool_area(void) {
  char text[1024];
  snprintf(text, sizeof text, "%s%smaxPoolSize=5", uri_text, strchr(uri_text, '?') ? "&" : "?");
  pool = mongoc_client_pool_new(mongoc_uri_new(text));
  pthread_t threads[20];
  int bad[20] = {0};
  for (int i = 0; i < 20; i++) CHECK(!pthread_create(&threads[i], NULL, work, &bad[i]));
  for (int i = 0; i < 20; i++) pthread_join(threads[i], NULL);
  for (int i = 0; i < 20; i++) CHECK(bad[i] == 0);
  mongoc_client_pool_destroy(pool);
  for (int i = 0; i < 30; i++) {
    mongoc_client_t *client = connect_with("");
    OK(run(client, "admin", json("{\"ping\": 1}"), NULL));
    mongoc_client_destroy(client);
  }
  mongoc_client_t *client = connect_with("");
  OK(run(client, DB, json("{\"dropDatabase\": 1}"), NULL));
  mongoc_client_destroy(client);
}

/* What a client saw of the servers: who answered its inserts, and how often the first one failed. */
struct seen { char first[BSON_HOST_NAME_MAX], answered[10][BSON_HOST_NAME_MAX]; int distinct, failures; };

static void succeeded(const mongoc_apm_command_succeeded_t *event) {
  struct seen *seen = mongoc_apm_command_succeeded_get_context(event);
  const char *host = mongoc_apm_command_succeeded_get_host(event)->host_and_port;
  if (strcmp(mongoc_apm_command_succeeded_get_command_name(event), "insert")) return;
  for (int i = 0; i < seen->distinct; i++) if (!strcmp(seen->answered[i], host)) return;
  if (seen->distinct < 10) strcpy(seen->answered[seen->distinct++], host);
}

static void refused_by(const mongoc_apm_command_failed_t *event) {
  struct seen *seen = mongoc_apm_command_failed_get_context(event);
  if (!strcmp(mongoc_apm_command_failed_get_host(event)->host_and_port, seen->first)) seen->failures++;
}

static void hosts_area(void) {
  mongoc_uri_t *uri = mongoc_uri_new(uri_text);
  const mongoc_host_list_t *hosts = mongoc_uri_get_hosts(uri);
  if (!hosts->next) skip("there is one server");
  static struct seen seen;
  strcpy(seen.first, hosts->host_and_port);
  char text[300];
  snprintf(text, sizeof text, "mongodb://%s/", seen.first);
  mongoc_client_t *first = mongoc_client_new(text);
  OK(run(first, "admin", json("{\"configureFailPoint\": \"failCommand\", \"mode\": \"alwaysOn\", \"data\": {\"appName\": \"c_hosts\", "
    "\"failCommands\": [\"insert\", \"find\"], \"closeConnection\": true}}"), NULL));
  mongoc_client_t *client = connect_with("appName=c_hosts&heartbeatFrequencyMS=500");
  mongoc_apm_callbacks_t *watch = mongoc_apm_callbacks_new();
  mongoc_apm_set_command_succeeded_cb(watch, succeeded);
  mongoc_apm_set_command_failed_cb(watch, refused_by);
  CHECK(mongoc_client_set_apm_callbacks(client, watch, &seen));
  mongoc_collection_t *coll = empty(client, "hosts");
  for (int i = 0; i < 40; i++) {
    char doc[32];
    snprintf(doc, sizeof doc, "{\"_id\": %d}", i);
    OK(insert(coll, doc));
    CHECK(drain(mongoc_collection_find_with_opts(coll, json("%s", doc), NULL, NULL), NULL) == 1);
  }
  OK(run(first, "admin", json("{\"configureFailPoint\": \"failCommand\", \"mode\": \"off\"}"), NULL));
  CHECK(seen.failures > 0);
  CHECK(seen.distinct == 2);
  for (int i = 0; i < seen.distinct; i++) CHECK(strcmp(seen.answered[i], seen.first));
  CHECK(count(coll, "{}", NULL) == 40);

  while (hosts->next) hosts = hosts->next;
  snprintf(text, sizeof text, "mongodb://%s/", hosts->host_and_port);
  mongoc_client_t *last = mongoc_client_new(text);
  OK(run(last, "admin", json("{\"shutdown\": 1}"), NULL));
  mongoc_client_destroy(last);
  int n = 40, left = 30;
  for (int64_t end = bson_get_monotonic_time() + 1500000; left > 0; n++) {
    char doc[32], updated[48];
    snprintf(doc, sizeof doc, "{\"_id\": %d}", n);
    snprintf(updated, sizeof updated, "{\"_id\": %d, \"seen\": true}", n);
    OK(insert(coll, doc));
    OK(mongoc_collection_update_many(coll, json("%s", doc), json("{\"$set\": {\"seen\": true}}"), NULL, NULL, &error)); /* which no driver retries */
    CHECK(count(coll, updated, NULL) == 1);
    if (bson_get_monotonic_time() < end) seen.distinct = 0; else left--;
  }
  for (int i = 0; i < seen.distinct; i++) CHECK(strcmp(seen.answered[i], hosts->host_and_port));
  CHECK(count(coll, "{}", NULL) == n);
  mongoc_client_destroy(client);
  mongoc_client_destroy(first);
}

int main(void) {
  static const struct { const char *name; void (*check)(void); bool one; } areas[] = {
    {"connect", connect_area}, {"crud", crud_area}, {"bulk", bulk_area}, {"cursors", cursors_area}, {"indexes", indexes_area},
    {"aggregation", aggregation_area}, {"gridfs", gridfs_area}, {"sessions", sessions_area}, {"transactions", transactions_area, true},
    {"retryable", retryable_area, true}, {"changestreams", changestreams_area}, {"throttling", throttling_area, true}, {"errors", errors_area},
    {"compression", compression_area}, {"pool", pool_area, true}, {"hosts", hosts_area}};
  const char *personality = getenv("CANTLE_PERSONALITY");
  cosmos = personality && !strcmp(personality, "cosmos");
  int failures = 0;
  mongoc_init();
  for (size_t i = 0; i < sizeof areas / sizeof *areas; i++) {
    uri_text = getenv(areas[i].one && getenv("CANTLE_ONE_URI") ? "CANTLE_ONE_URI" : "CANTLE_URI");
    int ended = setjmp(failed);
    if (ended == 0) {
      areas[i].check();
      printf("c %s ok\n", areas[i].name);
    } else if (ended == SKIPPED) {
      printf("c %s skip %s\n", areas[i].name, why);
    } else {
      printf("c %s FAIL %s\n", areas[i].name, why);
      failures++;
    }
    fflush(stdout);
  }
  mongoc_cleanup();
  return failures > 0;
}
